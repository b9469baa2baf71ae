"""torchvision's networks in small: few blocks, narrow, images of 32 to 96 pixels.

Decides sizes only. The modules are torchvision's own, so that a file has the operators
of the published network; dropout and stochastic depth are off, since the zoo compares
with PyTorch step by step.
"""

from collections import OrderedDict

import torchvision.models as tv
from torch import nn
from torchvision.models import (convnext, densenet, efficientnet, maxvit, mnasnet,
                                regnet, resnet, shufflenetv2, swin_transformer,
                                vision_transformer)
from torchvision.models.segmentation import deeplabv3, fcn, lraspp


def _bottlenecks(**options):
    return resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, **options)


def _efficientnet():
    block = efficientnet.MBConvConfig
    return efficientnet.EfficientNet(
        [block(1, 3, 1, 16, 8, 1), block(6, 3, 2, 8, 16, 2), block(6, 5, 2, 16, 24, 1)],
        dropout=0.0, stochastic_depth_prob=0.0, num_classes=10, last_channel=64)


def _efficientnet_v2():
    fused, block = efficientnet.FusedMBConvConfig, efficientnet.MBConvConfig
    return efficientnet.EfficientNet(
        [fused(1, 3, 1, 16, 16, 1), fused(4, 3, 2, 16, 24, 2), block(4, 3, 2, 24, 32, 1)],
        dropout=0.0, stochastic_depth_prob=0.0, num_classes=10, last_channel=64)


def _regnet(ratio):
    return regnet.RegNet(
        regnet.BlockParams(depths=[1, 1, 2], widths=[16, 32, 48], group_widths=[8] * 3,
                           bottleneck_multipliers=[1.0] * 3, strides=[2] * 3,
                           se_ratio=ratio),
        num_classes=10, stem_width=16)


def _convnext():
    block = convnext.CNBlockConfig
    return convnext.ConvNeXt([block(16, 32, 1), block(32, 48, 2), block(48, None, 1)],
                             num_classes=10)


def _swin(**options):
    return swin_transformer.SwinTransformer(
        [2, 2], 16, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10,
        **options)


def _maxvit():
    return maxvit.MaxVit((32, 32), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)


class _Backbone(nn.Module):
    """A few convolutions as torchvision's segmentation heads want them: by name."""

    def __init__(self, names):
        super().__init__()
        self.names = names
        widths = [3, 16, 24, 32]
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o),
                          nn.ReLU()) for i, o in zip(widths, widths[1:]))

    def forward(self, x):
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return OrderedDict(zip(self.names, found[-len(self.names):]))


class _Segmented(nn.Module):
    """The mean of the classes over all pixels: a segmentation as a classifier."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"].mean((2, 3))


def _alexnet():
    """At 32 pixels: the adaptive pooling makes 6x6 places of one."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(32, 48, 3, padding=1), nn.ReLU(),
        nn.Conv2d(48, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d((6, 6)), nn.Flatten(), nn.Dropout(),
        nn.Linear(32 * 36, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 10))


def _vgg():
    """VGG-11 with normalization, at 96 pixels: adaptive pooling from 3x3 to 7x7."""
    widths = [16, "M", 24, "M", 32, 32, "M", 48, 48, "M", 48, 48, "M"]
    features = tv.vgg.make_layers(widths, batch_norm=True)
    return nn.Sequential(
        features, nn.AdaptiveAvgPool2d((7, 7)), nn.Flatten(), nn.Linear(48 * 49, 64),
        nn.ReLU(), nn.Dropout(), nn.Linear(64, 10))


# name: how it is made, shape of one image
TORCHVISION = {
    "resnet18": (lambda: resnet.ResNet(resnet.BasicBlock, [1] * 4, num_classes=10), (3, 64, 64)),
    "resnext": (lambda: _bottlenecks(groups=8, width_per_group=4), (3, 64, 64)),
    "wide_resnet": (lambda: _bottlenecks(width_per_group=128), (3, 64, 64)),
    "densenet": (lambda: densenet.DenseNet(8, (2, 2, 2, 2), 16, num_classes=10), (3, 64, 64)),
    "shufflenet_v2": (lambda: shufflenetv2.ShuffleNetV2(
        [2, 2, 2], [8, 16, 32, 64, 128], num_classes=10), (3, 64, 64)),
    "mnasnet": (lambda: mnasnet.MNASNet(0.35, num_classes=10, dropout=0.0), (3, 64, 64)),
    "efficientnet": (_efficientnet, (3, 32, 32)),
    "efficientnet_v2": (_efficientnet_v2, (3, 32, 32)),
    "regnet_x": (lambda: _regnet(None), (3, 64, 64)),
    "regnet_y": (lambda: _regnet(0.25), (3, 64, 64)),
    "convnext": (_convnext, (3, 64, 64)),
    "vit": (lambda: vision_transformer.VisionTransformer(
        32, 8, 2, 4, 32, 64, num_classes=10), (3, 32, 32)),
    "swin": (_swin, (3, 32, 32)),
    "swin_v2": (lambda: _swin(block=swin_transformer.SwinTransformerBlockV2,
                              downsample_layer=swin_transformer.PatchMergingV2),
                (3, 32, 32)),
    "maxvit": (_maxvit, (3, 32, 32)),
    "fcn": (lambda: _Segmented(fcn.FCN(
        _Backbone(["out"]), fcn.FCNHead(32, 10))), (3, 32, 32)),
    "deeplabv3": (lambda: _Segmented(deeplabv3.DeepLabV3(
        _Backbone(["out"]), deeplabv3.DeepLabHead(32, 10, (2, 3)))), (3, 32, 32)),
    "lraspp": (lambda: _Segmented(lraspp.LRASPP(
        _Backbone(["low", "high"]), 24, 32, 10, 16)), (3, 32, 32)),
    "alexnet_32": (_alexnet, (3, 32, 32)),
    "vgg_96": (_vgg, (3, 96, 96)),
    "squeezenet": (lambda: tv.squeezenet1_0(num_classes=10), (3, 64, 64)),
    "googlenet": (lambda: tv.googlenet(
        num_classes=10, aux_logits=False, init_weights=False), (3, 64, 64)),
    "inception_v3": (lambda: tv.inception_v3(
        num_classes=10, aux_logits=False, init_weights=False), (3, 75, 75)),
    "mobilenet_v2": (lambda: tv.mobilenet_v2(num_classes=10, width_mult=0.35), (3, 64, 64)),
    "mobilenet_v3": (lambda: tv.mobilenet_v3_small(num_classes=10), (3, 64, 64)),
}
