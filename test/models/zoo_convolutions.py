"""Networks of convolutions and of rows that torchvision has not, in small.

Written as their authors' code is: what counts is which operators an exporter finds.
"""

import torch
import torch.nn.functional as F
from torch import nn


def unit(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    """A convolution, normalized, with its activation."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs), act() if act else nn.Identity())


def head(width, classes=10):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


class Ghost(nn.Module):
    """GhostNet's: half of the channels are cheap functions of the others."""

    def __init__(self, inputs, outputs, act=nn.ReLU):
        super().__init__()
        self.outputs, half = outputs, -(-outputs // 2)
        self.primary = unit(inputs, half, 1, act=act)
        self.cheap = unit(half, half, 3, groups=half, act=act)

    def forward(self, x):
        x = self.primary(x)
        return torch.cat([x, self.cheap(x)], 1)[:, :self.outputs]


class GhostBlock(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.first, self.second = Ghost(width, inner), Ghost(inner, width, None)
        self.reduce, self.expand = nn.Conv2d(inner, 8, 1), nn.Conv2d(8, inner, 1)

    def forward(self, x):
        y = self.first(x)
        gate = self.expand(F.relu(self.reduce(y.mean((2, 3), keepdim=True))))
        return x + self.second(y * F.hardsigmoid(gate))


def ghostnet():
    return nn.Sequential(unit(3, 15, 3, 2), GhostBlock(15, 25), unit(15, 20, 3, 2),
                         GhostBlock(20, 31), head(20))


class StandardConv(nn.Conv2d):
    """NFNet's: weights with a mean of zero and a variance of one, times a gain."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.gain = nn.Parameter(torch.ones(self.weight.shape[0], 1, 1, 1))

    def forward(self, x):
        variance, mean = torch.var_mean(self.weight, dim=(1, 2, 3), keepdim=True,
                                        unbiased=False)
        scale = torch.rsqrt((variance * self.weight[0].numel()).clamp(min=1e-4))
        weight = (self.weight - mean) * scale * self.gain
        return F.conv2d(x, weight, self.bias, self.stride, self.padding, self.dilation,
                        self.groups)


class FreeBlock(nn.Module):
    def __init__(self, width, beta):
        super().__init__()
        self.beta = beta
        self.one, self.three = StandardConv(width, 16, 1), StandardConv(16, 16, 3, padding=1,
                                                                         groups=2)
        self.last = StandardConv(16, width, 1)
        self.skip_gain = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        y = F.gelu(x) * 1.7015 * self.beta
        y = F.gelu(self.three(F.gelu(self.one(y)) * 1.7015)) * 1.7015
        return x + self.last(y) * self.skip_gain * 0.2


def nfnet():
    return nn.Sequential(StandardConv(3, 24, 3, stride=2, padding=1), FreeBlock(24, 1.0),
                         nn.AvgPool2d(2, 2), FreeBlock(24, 0.98), head(24))


class FreeNorm(nn.Conv2d):
    """Weight standardization as timm does it: by batch normalization of the weights."""

    def forward(self, x):
        weight = F.batch_norm(
            self.weight.reshape(1, self.out_channels, -1), None, None, training=True,
            momentum=0.0, eps=1e-6).reshape_as(self.weight)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


def resnet_v2_groups():
    """As BiT: standardized weights, groups normalized."""
    return nn.Sequential(FreeNorm(3, 16, 3, 2, 1), nn.GroupNorm(4, 16), nn.ReLU(),
                         FreeNorm(16, 32, 3, 2, 1), nn.GroupNorm(8, 32), nn.ReLU(), head(32))


class RepVGGBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.three = unit(inputs, outputs, 3, stride, act=None)
        self.one = unit(inputs, outputs, 1, stride, act=None)
        self.same = nn.BatchNorm2d(inputs) if inputs == outputs and stride == 1 else None

    def forward(self, x):
        y = self.three(x) + self.one(x)
        return F.relu(y if self.same is None else y + self.same(x))


def repvgg():
    return nn.Sequential(RepVGGBlock(3, 16, 2), RepVGGBlock(16, 16, 1),
                         RepVGGBlock(16, 32, 2), RepVGGBlock(32, 32, 1), head(32))


class HRNet(nn.Module):
    """Two resolutions side by side that exchange what they see."""

    def __init__(self):
        super().__init__()
        self.stem = unit(3, 16, 3, 2)
        self.down = unit(16, 32, 3, 2)
        self.high, self.low = unit(16, 16), unit(32, 32)
        self.up, self.over = unit(32, 16, 1, act=None), unit(16, 32, 3, 2, act=None)
        self.last = nn.Conv2d(48, 10, 1)

    def forward(self, x):
        x = self.stem(x)
        high, low = self.high(x), self.low(self.down(x))
        fused = F.relu(high + F.interpolate(self.up(low), scale_factor=2, mode="nearest"))
        low = F.relu(low + self.over(high))
        low = F.interpolate(low, size=fused.shape[2:], mode="bilinear", align_corners=True)
        return self.last(torch.cat([fused, low], 1)).mean((2, 3))


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        self.a, self.b = self.pair(3, 16), self.pair(16, 32)
        self.c = self.pair(32, 32)
        self.up1, self.up2 = (
            nn.Upsample(scale_factor=2, mode=up) if up else
            nn.ConvTranspose2d(width, width, 2, 2) for width in (32, 16))
        self.d, self.e = self.pair(64, 16), self.pair(32, 16)
        self.last = nn.Conv2d(16, 10, 1)

    def pair(self, inputs, outputs):
        return nn.Sequential(unit(inputs, outputs), unit(outputs, outputs))

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        d = self.d(torch.cat([self.up1(c), b], 1))
        return self.last(self.e(torch.cat([self.up2(d), a], 1))).mean((2, 3))


def dcgan():
    act = lambda: nn.LeakyReLU(0.2, inplace=True)  # noqa: E731
    return nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1, bias=False), act(),
        nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), act(),
        nn.Conv2d(32, 48, 4, 2, 1, bias=False), nn.BatchNorm2d(48), act(),
        nn.Conv2d(48, 10, 4, 1, 0, bias=False), nn.Flatten())


class Autoencoder(nn.Module):
    """Its code and what is decoded of it are classified together."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ELU(),
                                     nn.Conv2d(8, 16, 3, 2, 1), nn.ELU())
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), nn.ELU(),
            nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Sigmoid())
        self.head = nn.Linear(16 + 1, 10)

    def forward(self, x):
        code = self.encoder(x)
        error = (self.decoder(code) - x).square().mean((1, 2, 3)).unsqueeze(1)
        return self.head(torch.cat([code.amax((2, 3)), error], 1))


class SqueezeExcite(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(width, 4), nn.ReLU(), nn.Linear(4, width),
                                nn.Sigmoid())

    def forward(self, x):
        b, c, _, _ = x.shape
        return x * self.fc(F.adaptive_avg_pool2d(x, 1).view(b, c)).view(b, c, 1, 1).expand_as(x)


class CBAM(nn.Module):
    """Attention over channels, then over places, by means and maxima."""

    def __init__(self, width):
        super().__init__()
        self.channels = nn.Sequential(nn.Conv2d(width, 4, 1), nn.ReLU(), nn.Conv2d(4, width, 1))
        self.places = nn.Conv2d(2, 1, 7, padding=3)

    def forward(self, x):
        x = x * torch.sigmoid(self.channels(F.adaptive_avg_pool2d(x, 1))
                              + self.channels(F.adaptive_max_pool2d(x, 1)))
        maps = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]], 1)
        return x * torch.sigmoid(self.places(maps))


class InstanceStyle(nn.Module):
    """As networks for styles: reflected borders, instances normalized, pixels shuffled."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(3, 16, 3), nn.InstanceNorm2d(16, affine=True),
            nn.ReLU(), nn.PixelUnshuffle(2), nn.Conv2d(64, 16, 1), nn.PixelShuffle(2),
            nn.ReplicationPad2d(1), nn.Conv2d(4, 8, 3, 2), nn.InstanceNorm2d(8), nn.Hardtanh())
        self.head = head(8)

    def forward(self, x):
        return self.head(self.body(x))


def senet():
    return nn.Sequential(unit(3, 16, 3, 2), SqueezeExcite(16), unit(16, 24, 3, 2),
                         SqueezeExcite(24), head(24))


def cbam():
    return nn.Sequential(unit(3, 16, 3, 2), CBAM(16), unit(16, 24, 3, 2), CBAM(24), head(24))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5),
        nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(),
        nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))


def local_response():
    """PyTorch's layer, which exporters spell as pooling of squares."""
    return nn.Sequential(nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.LocalResponseNorm(5),
                         nn.MaxPool2d(3, 2), nn.Conv2d(16, 24, 3, 1, 1), nn.ReLU(),
                         nn.LocalResponseNorm(3, 0.1, 0.6, 2.0), head(24))


CONVOLUTIONS = {
    "local_response": (local_response, (3, 32, 32)),
    "ghostnet": (ghostnet, (3, 32, 32)),
    "nfnet": (nfnet, (3, 32, 32)),
    "resnet_v2_groups": (resnet_v2_groups, (3, 32, 32)),
    "repvgg": (repvgg, (3, 32, 32)),
    "hrnet": (HRNet, (3, 32, 32)),
    "unet_transposed": (lambda: UNet(None), (3, 32, 32)),
    "unet_nearest": (lambda: UNet("nearest"), (3, 32, 32)),
    "unet_bilinear": (lambda: UNet("bilinear"), (3, 32, 32)),
    "dcgan": (dcgan, (3, 32, 32)),
    "autoencoder": (Autoencoder, (3, 32, 32)),
    "senet": (senet, (3, 32, 32)),
    "cbam": (cbam, (3, 32, 32)),
    "instance_style": (InstanceStyle, (3, 32, 32)),
    "lenet": (lenet, (1, 28, 28)),
}
