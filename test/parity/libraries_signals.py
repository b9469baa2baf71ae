"""Models of MONAI (medical images), braindecode (electroencephalograms), torchaudio and of
tables, in small (libraries.py runs them).
"""

from torch import nn

CLASSES = 5
PLANE, SPACE = (1, 32, 32), (1, 16, 16, 16)
ELECTRODES = "Fp1 Fp2 F7 F3 F4 F8 T7 C3 C4 T8 P7 P3 P4 P8 O1 O2".split()


# Of braindecode: no model, other electrodes or times, what is to be fetched, parameters that
# forward() assigns to, angles that PyTorch's exporter writes as others, and two in which
# PyTorch itself crashes.
UNMADE = set("""EEGModuleMixin AttnSleep BENDR EMG2QwertyNet MetaNeuromotorHand REVE Labram
    STEEGFormer USleep VEMG2Pose EEGMiner LUNA SSTDPN SyncNet""".split())


class First(nn.Module):
    """Of several outputs the first."""

    def __init__(self, model, *more):
        super().__init__()
        self.model, self.more = model, more

    def forward(self, x):
        y = self.model(x, *self.more)
        while isinstance(y, (tuple, list)):
            y = y[0]
        return y


def of_monai():
    from monai.networks import nets
    flat = dict(spatial_dims=2, in_channels=1)
    deep = dict(spatial_dims=3, in_channels=1)
    return {name: (lambda make=make: First(make()), shape) for name, make, shape in (
        ("unet", lambda: nets.UNet(**flat, out_channels=CLASSES, channels=(4, 8, 16),
                                   strides=(2, 2), num_res_units=1), PLANE),
        ("unet_3d", lambda: nets.UNet(**deep, out_channels=CLASSES, channels=(4, 8, 16),
                                      strides=(2, 2), num_res_units=2), SPACE),
        ("basic_unet", lambda: nets.BasicUNet(**flat, out_channels=CLASSES,
                                              features=(4, 4, 8, 8, 16, 4)), PLANE),
        ("basic_unet_plus_plus", lambda: nets.BasicUNetPlusPlus(
            **flat, out_channels=CLASSES, features=(4, 4, 8, 8, 16, 4)), PLANE),
        ("attention_unet", lambda: nets.AttentionUnet(
            **flat, out_channels=CLASSES, channels=(4, 8, 16), strides=(2, 2)), PLANE),
        ("seg_res_net", lambda: nets.SegResNet(**deep, out_channels=CLASSES, init_filters=8,
                                               blocks_down=(1, 1), blocks_up=(1,)), SPACE),
        ("seg_res_net_ds", lambda: nets.SegResNetDS(
            **deep, out_channels=CLASSES, init_filters=8, blocks_down=(1, 1)), SPACE),
        ("vnet", lambda: nets.VNet(**flat, out_channels=CLASSES), PLANE),
        ("dyn_unet", lambda: nets.DynUNet(
            **deep, out_channels=CLASSES, kernel_size=[3, 3, 3], strides=[1, 2, 2],
            upsample_kernel_size=[2, 2], filters=[4, 8, 16], res_block=True), SPACE),
        ("unetr", lambda: nets.UNETR(
            1, CLASSES, (32, 32), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2,
            spatial_dims=2), PLANE),
        ("swin_unetr", lambda: nets.SwinUNETR(
            1, CLASSES, patch_size=2, feature_size=12, depths=(1, 1, 1, 1),
            num_heads=(1, 2, 2, 4), window_size=4, spatial_dims=2), (1, 64, 64)),
        ("vit", lambda: nets.ViT(1, (32, 32), (8, 8), hidden_size=24, mlp_dim=32,
                                 num_layers=2, num_heads=2, classification=True,
                                 num_classes=CLASSES, spatial_dims=2,
                                 post_activation=None), PLANE),
        ("vit_autoencoder", lambda: nets.ViTAutoEnc(
            1, (32, 32), (4, 4), out_channels=CLASSES, hidden_size=24, mlp_dim=32,
            num_layers=2, num_heads=2, spatial_dims=2), PLANE),
        ("densenet", lambda: nets.DenseNet(**deep, out_channels=CLASSES, init_features=8,
                                           growth_rate=4, block_config=(1, 2)), SPACE),
        ("efficientnet", lambda: nets.EfficientNetBN(
            "efficientnet-b0", pretrained=False, spatial_dims=2, in_channels=1,
            num_classes=CLASSES), PLANE),
        ("resnet_3d", lambda: nets.ResNet(
            "basic", [1, 1, 1, 1], [4, 8, 8, 16], spatial_dims=3, n_input_channels=1,
            num_classes=CLASSES), (1, 32, 32, 32)),
        ("seresnet", lambda: nets.SEResNet50(spatial_dims=2, in_channels=1,
                                             num_classes=CLASSES), (1, 64, 64)),
        ("high_res_net", lambda: nets.HighResNet(**deep, out_channels=CLASSES), SPACE),
        ("autoencoder", lambda: nets.AutoEncoder(2, 1, CLASSES, (4, 8), (2, 2)), PLANE),
        ("classifier", lambda: nets.Classifier((1, 32, 32), CLASSES, (4, 8), (2, 2)), PLANE),
        ("regressor", lambda: nets.Regressor((1, 32, 32), (CLASSES,), (4, 8), (2, 2)), PLANE),
        ("flexible_unet", lambda: nets.FlexibleUNet(
            1, CLASSES, "efficientnet-b0", decoder_channels=(32, 16, 8, 8, 4),
            spatial_dims=2), (1, 64, 64)),
        ("med_next", lambda: nets.MedNeXt(2, 4, 1, CLASSES, encoder_expansion_ratio=2,
                                          decoder_expansion_ratio=2, kernel_size=3,
                                          blocks_down=(1, 1), blocks_bottleneck=1,
                                          blocks_up=(1, 1)), PLANE),
        ("quicknat", lambda: nets.Quicknat(num_classes=CLASSES, num_channels=1,
                                           num_filters=8), PLANE),
    )}


def of_braindecode():
    import inspect

    from braindecode import models
    channels, samples, rate = 16, 800, 200
    made = {}
    for name in dir(models):
        kind = getattr(models, name)
        if (not isinstance(kind, type) or not issubclass(kind, nn.Module)
                or name.startswith("Interpolated") or name in UNMADE):
            continue
        known = inspect.signature(kind).parameters
        options = {key: value for key, value in dict(
            n_chans=channels, n_outputs=CLASSES, n_times=samples, sfreq=rate,
            chs_info=[dict(ch_name=n, loc=[i * 0.1] * 12) for i, n in enumerate(
                ELECTRODES)]).items() if key in known}
        made[name] = (lambda kind=kind, options=options: First(kind(**options)),
                      (channels, samples))
    return made


def of_torchaudio():
    import torch
    from torchaudio import models
    lengths = torch.full((8,), 20)
    return {
        "wav2letter": (lambda: models.Wav2Letter(num_classes=CLASSES, num_features=8,
                                                 input_type="mfcc"), (8, 64)),
        "conv_tas_net": (lambda: models.ConvTasNet(
            num_sources=2, enc_num_feats=8, msk_num_feats=8, msk_num_hidden_feats=8,
            msk_num_layers=2, msk_num_stacks=1), (1, 128)),
        "deepspeech": (lambda: models.DeepSpeech(n_feature=12, n_hidden=16, n_class=CLASSES),
                       (1, 20, 12)),
        "conformer": (lambda: nn.Sequential(First(models.Conformer(
            input_dim=16, num_heads=2, ffn_dim=32, num_layers=2,
            depthwise_conv_kernel_size=5), lengths), nn.Linear(16, CLASSES)), (20, 16)),
    }


def of_tables():
    import torch
    import rtdl_revisiting_models as rtdl
    from pytorch_tabnet.tab_network import TabNet

    def tabnet(**options):
        model = TabNet(12, CLASSES, n_d=8, n_a=8, n_steps=2, cat_idxs=[], cat_dims=[],
                       virtual_batch_size=8, group_attention_matrix=torch.eye(12), **options)
        for module in model.modules():  # a tensor that does not become double with the rest
            if vars(module).pop("group_attention_matrix", None) is not None:
                module.register_buffer("group_attention_matrix", torch.eye(12))
        return First(model)
    return {
        "mlp": (lambda: rtdl.MLP(d_in=12, d_out=CLASSES, n_blocks=2, d_block=16,
                                 dropout=0.0), (12,)),
        "resnet": (lambda: rtdl.ResNet(
            d_in=12, d_out=CLASSES, n_blocks=2, d_block=16, d_hidden=24,
            d_hidden_multiplier=None, dropout1=0.0, dropout2=0.0), (12,)),
        "ft_transformer": (lambda: First(rtdl.FTTransformer(
            n_cont_features=12, cat_cardinalities=[], d_out=CLASSES, n_blocks=2, d_block=16,
            attention_n_heads=2, attention_dropout=0.0, ffn_d_hidden=24,
            ffn_d_hidden_multiplier=None, ffn_dropout=0.0, residual_dropout=0.0), None), (12,)),
        "tabnet": (tabnet, (12,)),
        "tabnet_entmax": (lambda: tabnet(mask_type="entmax"), (12,)),
    }
