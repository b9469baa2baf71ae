"""Models of libraries, of every family that PyTorch exports, as zoo.py.

  libraries.py timm|transformers|vit_pytorch|segmentation|diffusers|x_transformers|keras|
               monai|braindecode|torchaudio|tables [NAME ...] [flags of zoo.py]

The libraries are no part of the tests, as they are large and change every month:

  pip install --target=DIR timm transformers; PYTHONPATH=DIR ... libraries.py timm
  pip install --target=DIR keras tensorflow-cpu tf2onnx;
                              PYTHONPATH=DIR ... libraries.py keras --exports=legacy,plain
  pip install --target=DIR rtdl_revisiting_models pytorch-tabnet   for libraries.py tables

Their models are made small, of random weights, and without what is drawn at random in
training (dropout, stochastic depth), which no two programs draw alike. A family whose
models the library itself, or PyTorch's exporter, cannot make is a line that says so. The
last line is `N passed, M failed`.
"""

import os
import sys

from torch import nn

import zoo

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "models"))
from zoo_networks import ZOO  # noqa: E402
from zoo_sequences import Tokens  # noqa: E402
import libraries_keras  # noqa: E402
import libraries_more  # noqa: E402
import libraries_signals  # noqa: E402

# Models of timm that need no arguments, by the extent of their images.
TIMM = {
    64: """gernet_s repvgg_a0 mobileone_s0 regnetz_b16 eca_resnext26ts lambda_resnet26t
        convnext_atto convnextv2_atto cspresnet50 cspdarknet53 darknet53 dla46x_c dpn48b
        edgenext_xx_small efficientvit_b0 efficientnet_lite0 tf_efficientnetv2_b0 mixnet_s
        fbnetc_100 mobilenetv3_small_050 mobilenetv4_conv_small mobilenetv4_hybrid_medium
        tinynet_e hardcorenas_a lcnet_035 fastvit_t8 fastvit_sa12 focalnet_tiny_srf
        ghostnet_050 ghostnetv2_100 ghostnetv3_100 hgnet_tiny hgnetv2_b0 hrnet_w18_small
        inception_next_atto mambaout_femto poolformer_s12 poolformerv2_s12 caformer_s18
        convformer_s18 mobilevit_xxs mobilevitv2_050 nextvit_small nf_resnet26
        eca_nfnet_l0 pvt_v2_b0 rdnet_tiny repghostnet_050 repvit_m0_9 res2net50_14w_8s
        resnest14d resnet10t resnetblur18 resnetaa34d seresnet33ts ecaresnet26t
        gcresnext26ts resnetrs50 resnetv2_18 resnetv2_50x1_bit rexnet_100 selecsls42b
        legacy_seresnet18 skresnet18 starnet_s050 tresnet_m davit_tiny ese_vovnet19b_slim
        xception41 swiftformer_xs""",
    128: "shvit_s1 csatv2 efficientvit_m0",
    224: "resmlp_12_224 gmlp_ti16_224 mixer_s32_224 tiny_vit_5m_224",
    240: "crossvit_tiny_240",
    256: "bat_resnext26ts halonet26t",
}
# Those whose images and depth can be chosen.
SHRUNK = {
    "cait_xxs24_224": dict(depth=2), "coat_lite_tiny": {}, "coat_tiny": {},
    "coatnet_pico_rw_224": {}, "coatnet_nano_cc_224": {}, "convit_tiny": dict(depth=2),
    "deit_tiny_distilled_patch16_224": dict(depth=2), "efficientformerv2_s0": {},
    "levit_128s": {}, "levit_conv_128s": {}, "mvitv2_tiny": {}, "pit_ti_224": {},
    "pit_ti_distilled_224": {}, "swinv2_cr_tiny_224": dict(depths=(2, 2)),
    "swin_tiny_patch4_window7_224": dict(depths=(2, 2), window_size=4),
    "swinv2_tiny_window8_256": dict(depths=(2, 2), window_size=4),
    "tnt_s_patch16_224": dict(depth=2), "visformer_tiny": {}, "vitamin_small_224": {},
    "twins_pcpvt_small": dict(depths=(1, 1, 1, 1)), "vit_tiny_r_s16_p8_224": {},
    "vit_betwixt_patch16_rope_reg4_gap_256": dict(depth=2),
    "sequencer2d_s": dict(layers=(1, 1, 1, 1)),
}

WIDTH, HEADS, WORDS = 32, 4, 50
SMALL = dict(
    vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
    num_key_value_heads=2, intermediate_size=48, max_position_embeddings=40, num_labels=5,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0,
    use_cache=False)
CLASSES, WRITING = "ForSequenceClassification", "ForCausalLM"
# Of text, by the beginning of their classes' names.
TEXT = {
    "Bert": (CLASSES, {}), "Roberta": (CLASSES, dict(pad_token_id=1)),
    "DistilBert": (CLASSES, dict(dim=WIDTH, hidden_dim=48, n_layers=2, n_heads=HEADS)),
    "Albert": (CLASSES, dict(embedding_size=16)),
    "Electra": (CLASSES, dict(embedding_size=16)),
    "DebertaV2": (CLASSES, dict(relative_attention=True, pos_att_type=["p2c", "c2p"])),
    "MobileBert": (CLASSES, dict(intra_bottleneck_size=WIDTH, embedding_size=WIDTH)),
    "ModernBert": (CLASSES, {}), "RoFormer": (CLASSES, {}),
    "SqueezeBert": (CLASSES, dict(embedding_size=WIDTH)),
    "GPT2": ("LMHeadModel", dict(n_embd=WIDTH, n_layer=2, n_head=HEADS, n_positions=40)),
    "GPTNeo": (WRITING, dict(num_layers=2, num_heads=HEADS,
                             attention_types=[[["global", "local"], 1]])),
    "GPTNeoX": (WRITING, {}), "Bloom": (WRITING, dict(n_layer=2, n_head=HEADS)),
    "OPT": (WRITING, dict(ffn_dim=48, word_embed_proj_dim=WIDTH)),
    "Llama": (WRITING, {}), "Mistral": (WRITING, {}), "Qwen2": (WRITING, {}),
    "Qwen3": (WRITING, dict(head_dim=8)), "Gemma": (WRITING, dict(head_dim=8)),
    "Gemma2": (WRITING, dict(head_dim=8)), "Phi": (WRITING, {}), "Falcon": (WRITING, {}),
    "Olmo2": (WRITING, {}), "Mamba": (WRITING, dict(state_size=4)),
}
VIT = dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS,
           intermediate_size=48, image_size=32, patch_size=8)
STAGES = dict(hidden_sizes=[8, 16, 32, 48], depths=[1, 1, 1, 1])
# Of images, by their extent.
IMAGES = {
    "ViT": (32, VIT), "DeiT": (32, VIT), "Dinov2": (32, VIT), "ViTMSN": (32, VIT),
    "Beit": (32, VIT), "ConvNext": (32, STAGES), "ConvNextV2": (32, STAGES),
    "ResNet": (32, dict(embedding_size=8, layer_type="basic", **STAGES)),
    "RegNet": (32, dict(embedding_size=8, groups_width=4, **STAGES)),
    "Segformer": (64, dict(num_attention_heads=[1, 2, 4, 4], **STAGES)),
    "Pvt": (64, dict(image_size=64, num_attention_heads=[1, 2, 4, 8], **STAGES)),
    "PoolFormer": (64, STAGES),
    "FocalNet": (32, dict(image_size=32, embed_dim=16, depths=[1, 1, 1, 1])),
    "MobileViT": (64, dict(image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=2,
                           neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32])),
    "Levit": (64, dict(image_size=64, hidden_sizes=[32, 48, 64], depths=[1, 1, 1],
                       num_attention_heads=[2, 3, 4], key_dim=[8, 8, 8])),
}


class Scores(nn.Module):
    """What a model of Transformers says of its classes or words."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).logits


def of_timm():
    import timm

    def maker(name, arguments):
        return lambda: timm.create_model(name, num_classes=7, **arguments)

    listed = [(name, size, {}) for size, names in TIMM.items() for name in names.split()]
    listed += [(name, 64, dict(img_size=64, **more)) for name, more in SHRUNK.items()]
    return {name: (maker(name, more), (3, size, size)) for name, size, more in listed}


def of_transformers():
    import transformers

    def maker(name, kind, arguments):
        def make():
            config = getattr(transformers, name + "Config")(**arguments)
            for key, value in list(vars(config).items()):
                if "drop" in key and isinstance(value, float):
                    setattr(config, key, 0.0)
            return Scores(getattr(transformers, name + kind)(config))
        return make

    text = {name: (maker(name, kind, {**SMALL, **more}), Tokens(WORDS, 12))
            for name, (kind, more) in TEXT.items()}
    images = {name: (maker(name, "ForImageClassification", dict(num_labels=5, **more)),
                     (3, size, size)) for name, (size, more) in IMAGES.items()}
    return {**text, **images}


def main():
    made = {"timm": of_timm, "transformers": of_transformers,
            "vit_pytorch": libraries_more.of_vit_pytorch,
            "segmentation": libraries_more.of_segmentation,
            "diffusers": libraries_more.of_diffusers,
            "x_transformers": libraries_more.of_x_transformers,
            "keras": libraries_keras.of_keras,
            "monai": libraries_signals.of_monai,
            "braindecode": libraries_signals.of_braindecode,
            "torchaudio": libraries_signals.of_torchaudio,
            "tables": libraries_signals.of_tables}
    if len(sys.argv) < 2 or sys.argv[1] not in made:
        sys.exit(__doc__)
    ZOO.clear()
    ZOO.update(made[sys.argv.pop(1)]())
    return zoo.main()


if __name__ == "__main__":
    sys.exit(main())
