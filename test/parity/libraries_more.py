"""Models of vit-pytorch, segmentation_models.pytorch, diffusers and x-transformers, in
small (libraries.py runs them). What these draw at random in training is left out.
"""

import importlib

from torch import nn

from zoo_sequences import Tokens

CLASSES = 7
SHARED = dict(num_classes=CLASSES, dim=32, depth=2, heads=2, mlp_dim=48)
VIT = dict(image_size=32, patch_size=8, **SHARED)
STILL = dict(num_classes=CLASSES, dropout=0.0)  # nothing is drawn
ONES, TWOS = (1, 1, 1, 1), (2, 2, 2, 2)


def of_stages(widths, **options):
    """Arguments of Twins and CvT, which are named by stage."""
    return {f"s{i}_{name}": value
            for i, width in enumerate(widths, 1)
            for name, value in dict(emb_dim=width, depth=1, **options).items()}


# By module of vit-pytorch: the class, its arguments, and the shape of a sample.
VITS = {
    "vit": ("ViT", VIT, (3, 32, 32)),
    "simple_vit": ("SimpleViT", VIT, (3, 32, 32)),
    "cait": ("CaiT", dict(cls_depth=1, **VIT), (3, 32, 32)),
    "cct": ("CCT", dict(
        img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, stride=2, padding=1,
        pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2,
        mlp_ratio=2.0, num_classes=CLASSES, positional_embedding="learnable",
        dropout_rate=0.0, attention_dropout=0.0, stochastic_depth_rate=0.0), (3, 32, 32)),
    "cross_vit": ("CrossViT", dict(
        image_size=32, sm_dim=16, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2,
        sm_enc_mlp_dim=32, lg_dim=24, lg_patch_size=16, lg_enc_depth=1, lg_enc_heads=2,
        lg_enc_mlp_dim=32, cross_attn_depth=1, cross_attn_heads=2, depth=1, emb_dropout=0.0,
        **STILL), (3, 32, 32)),
    "cvt": ("CvT", dict(**of_stages((8, 16, 24), heads=2), **STILL), (3, 32, 32)),
    "deepvit": ("DeepViT", VIT, (3, 32, 32)),
    "learnable_memory_vit": ("ViT", VIT, (3, 32, 32)),
    "levit": ("LeViT", dict(image_size=64, stages=2, dim=(32, 48), depth=1, heads=(2, 3),
                            mlp_mult=2, **STILL), (3, 64, 64)),
    "max_vit": ("MaxViT", dict(
        dim_conv_stem=8, dim=8, dim_head=8, depth=(1, 1), window_size=4,
        mbconv_expansion_rate=2, mbconv_shrinkage_rate=0.25, **STILL), (3, 32, 32)),
    "mobile_vit": ("MobileViT", dict(
        image_size=(64, 64), dims=[16, 24, 32], num_classes=CLASSES,
        channels=[8, 8, 16, 16, 24, 24, 32, 32, 48, 48, 64]), (3, 64, 64)),
    "nest": ("NesT", dict(image_size=32, patch_size=4, dim=16, heads=2, num_hierarchies=2,
                          block_repeats=(1, 1), num_classes=CLASSES), (3, 32, 32)),
    "parallel_vit": ("ViT", VIT, (3, 32, 32)),
    "pit": ("PiT", dict(image_size=32, patch_size=8, dim=16, depth=(1, 1), heads=2,
                        mlp_dim=32, emb_dropout=0.0, **STILL), (3, 32, 32)),
    "regionvit": ("RegionViT", dict(
        dim=(8, 16, 24, 32), depth=ONES, window_size=2, num_classes=CLASSES,
        tokenize_local_3_conv=False, use_peg=False), (3, 64, 64)),
    "rvt": ("RvT", VIT, (3, 32, 32)),
    "scalable_vit": ("ScalableViT", dict(
        dim=16, heads=TWOS, depth=ONES, ssa_dim_key=(8, 8, 8, 8), reduction_factor=(2, 2, 1, 1),
        window_size=(4, 2, None, None), **STILL), (3, 64, 64)),
    "vit_for_small_dataset": ("ViT", VIT, (3, 32, 32)),
    "t2t": ("T2TViT", dict(dim=32, image_size=32, depth=1, heads=2, mlp_dim=32,
                           num_classes=CLASSES, t2t_layers=((7, 4), (3, 2))), (3, 32, 32)),
    "twins_svt": ("TwinsSVT", dict(
        **of_stages((8, 16, 16, 24), patch_size=2, local_patch_size=2, global_k=2),
        **STILL), (3, 64, 64)),
    "xcit": ("XCiT", dict(cls_depth=1, local_patch_kernel_size=3, **VIT), (3, 32, 32)),
    "vit_with_patch_merger": ("ViT", dict(patch_merge_layer=1, patch_merge_num_tokens=4,
                                          **VIT), (3, 32, 32)),
    "simple_vit_with_qk_norm": ("SimpleViT", VIT, (3, 32, 32)),
    "simple_vit_with_register_tokens": ("SimpleViT", VIT, (3, 32, 32)),
    "simple_vit_with_relative_proj_pos_bias": ("SimpleViT", VIT, (3, 32, 32)),
    "simple_vit_with_value_residual": ("SimpleViT", VIT, (3, 32, 32)),
    "simple_vit_with_hyper_connections": ("SimpleViT", dict(num_residual_streams=2, **VIT),
                                          (3, 32, 32)),
    "simple_vit_with_fft": ("SimpleViT", dict(freq_patch_size=8, **VIT), (3, 32, 32)),
    "normalized_vit": ("nViT", VIT, (3, 32, 32)),
    "vit_5": ("ViT", VIT, (3, 32, 32)),
    "jumbo_vit": ("JumboViT", dict(num_jumbo_cls=1, jumbo_cls_k=2, jumbo_ff_mult=2, **VIT),
                  (3, 32, 32)),
    "simple_vit_1d": ("SimpleViT", dict(seq_len=32, patch_size=4, channels=3, **SHARED),
                      (3, 32)),
    "vit_1d": ("ViT", dict(seq_len=32, patch_size=4, channels=3, **SHARED), (3, 32)),
    "simple_vit_3d": ("SimpleViT", dict(image_size=16, image_patch_size=8, frames=4,
                                        frame_patch_size=2, **SHARED), (3, 4, 16, 16)),
}
SEGMENTATION = [
    ("Unet", "resnet18"), ("Unet", "timm-mobilenetv3_small_minimal_100"), ("Unet", "mit_b0"),
    ("UnetPlusPlus", "resnet18"), ("MAnet", "resnet18"), ("Linknet", "resnet18"),
    ("FPN", "resnet18"), ("FPN", "mit_b0"), ("PSPNet", "resnet18"), ("DeepLabV3", "resnet18"),
    ("DeepLabV3Plus", "resnet18"), ("UPerNet", "resnet18"), ("Segformer", "resnet18")]
DECODERS = {
    "plain": {}, "rotary": dict(rotary_pos_emb=True),
    "rms": dict(use_rmsnorm=True, ff_glu=True), "t5": dict(rel_pos_bias=True),
    "sandwich": dict(sandwich_norm=True, attn_qk_norm=True), "macaron": dict(macaron=True),
    "gated": dict(attn_gate_values=True, ff_swish=True), "residual": dict(residual_attn=True),
    "one_kv_head": dict(attn_one_kv_head=True), "shifted": dict(shift_tokens=1)}


def of_vit_pytorch():
    def maker(module, name, arguments):
        return lambda: getattr(importlib.import_module(f"vit_pytorch.{module}"),
                               name)(**arguments)
    return {module: (maker(module, name, arguments), shape)
            for module, (name, arguments, shape) in VITS.items()}


def of_segmentation():
    import segmentation_models_pytorch

    def maker(name, encoder):
        return lambda: getattr(segmentation_models_pytorch, name)(
            encoder, encoder_weights=None, classes=5)
    return {f"{name}-{encoder}": (maker(name, encoder), (3, 64, 64))
            for name, encoder in SEGMENTATION}


class Denoiser(nn.Module):
    """A U-Net of diffusion at one time."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x, 7).sample


class Autoencoder(nn.Module):
    """Without what a variational one draws."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model.decode(self.model.encode(x).latent_dist.mode()).sample


def of_diffusers():
    import diffusers
    small = dict(in_channels=3, out_channels=4, block_out_channels=(16, 32), sample_size=16,
                 norm_num_groups=4)
    return {
        "unet": (lambda: Denoiser(diffusers.UNet2DModel(
            layers_per_block=1, attention_head_dim=8,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"), **small)), (3, 16, 16)),
        "autoencoder_kl": (lambda: Autoencoder(diffusers.AutoencoderKL(
            latent_channels=2, down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2, **small)), (3, 16, 16))}


def of_x_transformers():
    import x_transformers

    def maker(options):
        return lambda: x_transformers.TransformerWrapper(
            num_tokens=40, max_seq_len=16, attn_layers=x_transformers.Decoder(
                dim=32, depth=2, heads=2, attn_dim_head=16, **options))
    return {name: (maker(options), Tokens(40, 12)) for name, options in DECODERS.items()}
