"""Blocks for images that other networks of the zoo lack, a small network around each.

Attention of other kinds, kernels that are computed, routing, pooling, computed weights.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm


def head(channels):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def stem(channels):
    return nn.Sequential(nn.Conv2d(3, channels, 3, padding=1), nn.ReLU())


class Around(nn.Module):
    """A block between a stem and a head."""

    def __init__(self, block, inputs, outputs):
        super().__init__()
        self.stem, self.block, self.head = stem(inputs), block, head(outputs)

    def forward(self, x):
        return self.head(self.block(self.stem(x)))


class SplitAttention(nn.Module):
    """ResNeSt (Zhang et al. 2020): a softmax over branches of a grouped convolution."""

    def __init__(self, c, radix=2):
        super().__init__()
        self.radix, self.c = radix, c
        self.conv = nn.Conv2d(c, c * radix, 3, padding=1, groups=radix, bias=False)
        self.norm = nn.BatchNorm2d(c * radix)
        self.fc1, self.fc2 = nn.Conv2d(c, c // 2, 1), nn.Conv2d(c // 2, c * radix, 1)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        b, _, h, w = x.shape
        parts = x.view(b, self.radix, self.c, h, w)
        gap = parts.sum(1).mean((2, 3), keepdim=True)
        weights = self.fc2(F.relu(self.fc1(gap))).view(b, self.radix, self.c)
        weights = F.softmax(weights, 1)[..., None, None]
        return (parts * weights).sum(1)


class Involution(nn.Module):
    """Li et al. 2021: a kernel for each position, computed from it."""

    def __init__(self, c, k=3, groups=2):
        super().__init__()
        self.k, self.groups = k, groups
        self.kernels = nn.Sequential(nn.Conv2d(c, c // 2, 1), nn.ReLU(),
                                     nn.Conv2d(c // 2, k * k * groups, 1))

    def forward(self, x):
        b, c, h, w = x.shape
        kernels = self.kernels(x).view(b, self.groups, 1, self.k ** 2, h, w)
        patches = F.unfold(x, self.k, padding=self.k // 2)
        patches = patches.view(b, self.groups, c // self.groups, self.k ** 2, h, w)
        return (kernels * patches).sum(3).view(b, c, h, w)


class NonLocal(nn.Module):
    """Wang et al. 2018, embedded Gaussian, with pooled keys."""

    def __init__(self, c):
        super().__init__()
        self.q, self.k, self.v = (nn.Conv2d(c, c // 2, 1) for _ in range(3))
        self.out = nn.Conv2d(c // 2, c, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        q = self.q(x).flatten(2).transpose(1, 2)
        k = F.max_pool2d(self.k(x), 2).flatten(2)
        v = F.max_pool2d(self.v(x), 2).flatten(2).transpose(1, 2)
        y = torch.softmax(q @ k, -1) @ v
        return x + self.out(y.transpose(1, 2).reshape(b, -1, h, w))


class Axial(nn.Module):
    """Attention along rows, then along columns."""

    def __init__(self, c, heads=2):
        super().__init__()
        self.rows = nn.MultiheadAttention(c, heads, batch_first=True)
        self.columns = nn.MultiheadAttention(c, heads, batch_first=True)

    def forward(self, x):
        b, c, h, w = x.shape
        rows = x.permute(0, 2, 3, 1).reshape(b * h, w, c)
        rows = rows + self.rows(rows, rows, rows, need_weights=False)[0]
        columns = rows.view(b, h, w, c).transpose(1, 2).reshape(b * w, h, c)
        columns = columns + self.columns(columns, columns, columns, need_weights=False)[0]
        return columns.view(b, w, h, c).permute(0, 3, 2, 1)


class Pyramid(nn.Module):
    """He et al. 2014: maxima of grids of several sizes."""

    def forward(self, x):
        return torch.cat([F.adaptive_max_pool2d(x, n).flatten(1) for n in (1, 2, 4)], 1)


class BiFPN(nn.Module):
    """Tan et al. 2020: levels that are summed by weights that are learnt."""

    def __init__(self, c):
        super().__init__()
        self.down = nn.Conv2d(c, c, 3, stride=2, padding=1)
        self.w1, self.w2 = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, groups=c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, groups=c)

    @staticmethod
    def fuse(w, *levels):
        w = F.relu(w)
        w = w / (w.sum() + 1e-4)
        return sum(w[i] * level for i, level in enumerate(levels))

    def forward(self, x):
        small = self.down(x)
        up = F.interpolate(small, scale_factor=2, mode="nearest")
        large = self.conv1(F.silu(self.fuse(self.w1, x, up)))
        return self.conv2(F.silu(self.fuse(self.w2, small, F.max_pool2d(large, 2))))


class CondConv(nn.Module):
    """Yang et al. 2019: experts' kernels are mixed by what the picture is."""

    def __init__(self, c, experts=3):
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(experts, c, c, 3, 3))
        self.route = nn.Linear(c, experts)

    def forward(self, x):
        route = torch.sigmoid(self.route(x.mean((2, 3))))
        each = torch.stack([F.conv2d(x, w, padding=1) for w in self.weight], 1)
        return (each * route[:, :, None, None, None]).sum(1)


class Perceiver(nn.Module):
    """Learnt latents that attend to the pixels."""

    def __init__(self, c=16, latents=5):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(1, latents, c))
        self.stem = nn.Conv2d(3, c, 4, stride=4)
        self.cross = nn.MultiheadAttention(c, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(c), nn.Linear(c, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        query = self.latents.expand(x.shape[0], -1, -1)
        y = query + self.cross(query, x, x, need_weights=False)[0]
        return self.head(self.norm(y).mean(1))


class GMLP(nn.Module):
    """Liu et al. 2021: a gate along positions."""

    def __init__(self, c=12, t=16):
        super().__init__()
        self.stem = nn.Conv2d(3, c, 4, stride=4)
        self.up, self.down = nn.Linear(c, 4 * c), nn.Linear(2 * c, c)
        self.norm, self.mix = nn.LayerNorm(2 * c), nn.Conv1d(t, t, 1)
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        u, v = F.gelu(self.up(x)).chunk(2, -1)
        x = x + self.down(u * self.mix(self.norm(v)))
        return self.head(x.mean(1))


class Capsules(nn.Module):
    """Sabour et al. 2017: vectors that are routed by agreement, twice."""

    def __init__(self, inputs=18, outputs=10, d=4, e=6):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=4)
        self.weight = nn.Parameter(0.3 * torch.randn(1, inputs, outputs, e, d))
        self.inputs, self.outputs, self.d = inputs, outputs, d

    @staticmethod
    def squash(x):
        square = (x * x).sum(-1, keepdim=True)
        return square / (1 + square) * x / torch.sqrt(square + 1e-8)

    def forward(self, x):
        u = self.squash(self.stem(x).view(-1, self.inputs, self.d))
        votes = (self.weight @ u[:, :, None, :, None]).squeeze(-1)
        logits = torch.zeros(x.shape[0], self.inputs, self.outputs)
        for _ in range(2):
            share = F.softmax(logits.to(votes.dtype), 2)[..., None]
            v = self.squash((share * votes).sum(1))
            logits = logits.to(votes.dtype) + (votes * v[:, None]).sum(-1)
        return 4 * v.norm(dim=-1)


class Bilinear(nn.Module):
    """Lin et al. 2015: products of features, signed roots, a norm of one."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = stem(6), nn.Linear(36, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2)
        x = torch.bmm(x, x.transpose(1, 2)).flatten(1) / x.shape[-1]
        x = torch.sign(x) * torch.sqrt(torch.abs(x) + 1e-3)
        return self.head(F.normalize(x))


class NetVLAD(nn.Module):
    """Arandjelovic et al. 2016."""

    def __init__(self, c=8, clusters=4):
        super().__init__()
        self.stem, self.assign = stem(c), nn.Conv2d(c, clusters, 1)
        self.centres = nn.Parameter(torch.rand(clusters, c))
        self.head = nn.Linear(c * clusters, 10)

    def forward(self, x):
        x = F.normalize(self.stem(x), p=2, dim=1, eps=1e-3)
        share = F.softmax(self.assign(x).flatten(2), 1)
        residual = x.flatten(2)[:, None] - self.centres[None, :, :, None]
        vlad = F.normalize((residual * share[:, :, None]).sum(-1), dim=2)
        return self.head(F.normalize(vlad.flatten(1)))


class Cosine(nn.Module):
    """A classifier of cosines, scaled by a number that is learnt."""

    def __init__(self):
        super().__init__()
        self.stem, self.scale = stem(8), nn.Parameter(torch.tensor(4.0))
        self.weight = nn.Parameter(torch.randn(10, 8))

    def forward(self, x):
        x = self.stem(x).mean((2, 3))
        return self.scale * F.linear(F.normalize(x), F.normalize(self.weight))


class Recurrent(nn.Module):
    """One block, run four times."""

    def __init__(self, c=8):
        super().__init__()
        self.stem, self.head = stem(c), head(c)
        self.conv, self.norm = nn.Conv2d(c, c, 3, padding=1), nn.GroupNorm(2, c)

    def forward(self, x):
        x = self.stem(x)
        for _ in range(4):
            x = x + 0.5 * torch.tanh(self.norm(self.conv(x)))
        return self.head(x)


class Partial(nn.Module):
    """Channels that take different ways, shuffled; others are dropped."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = stem(12), head(10)
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 6, 5, padding=4, dilation=2)
        self.register_buffer("order", torch.randperm(10))

    def forward(self, x):
        a, _, b = torch.split(self.stem(x), [4, 4, 4], 1)
        x = torch.cat([F.hardswish(self.a(a)), F.softsign(self.b(b))], 1)
        return self.head(torch.index_select(x, 1, self.order))


def spectral():
    return nn.Sequential(spectral_norm(nn.Conv2d(3, 8, 3, padding=1)), nn.LeakyReLU(0.1),
                         spectral_norm(nn.Conv2d(8, 8, 4, stride=2, padding=1)),
                         nn.LeakyReLU(0.1), nn.Flatten(), spectral_norm(nn.Linear(512, 10)))


def pools():
    return nn.Sequential(stem(8), nn.LPPool2d(2, 2), nn.Conv2d(8, 8, 3), nn.Softplus(),
                         nn.AvgPool2d(3, 2, padding=1, count_include_pad=False),
                         nn.ZeroPad2d((0, 1, 1, 0)), nn.MaxPool2d(3, 1, dilation=1),
                         nn.Flatten(), nn.Linear(32, 10))


def unshuffle():
    return nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(12, 8, 3, padding=1), nn.CELU(),
                         nn.ChannelShuffle(2), nn.Conv2d(8, 8, 1, groups=2), nn.PixelShuffle(2),
                         nn.Flatten(), nn.Linear(512, 10))


IMAGE = (3, 16, 16)
BLOCKS = {
    "resnest": (lambda: Around(SplitAttention(8), 8, 8), IMAGE),
    "involution": (lambda: Around(Involution(8), 8, 8), IMAGE),
    "non_local": (lambda: Around(NonLocal(8), 8, 8), IMAGE),
    "axial": (lambda: Around(Axial(8), 8, 8), (3, 6, 8)),
    "pyramid": (lambda: nn.Sequential(stem(6), Pyramid(), nn.Linear(126, 10)), (3, 12, 12)),
    "bifpn": (lambda: Around(BiFPN(6), 6, 6), IMAGE),
    "condconv": (lambda: Around(CondConv(6), 6, 6), IMAGE),
    "perceiver": (Perceiver, IMAGE),
    "gmlp": (GMLP, IMAGE),
    "capsules": (Capsules, IMAGE),
    "bilinear_pooling": (Bilinear, IMAGE),
    "netvlad": (NetVLAD, IMAGE),
    "cosine": (Cosine, IMAGE),
    "recurrent_block": (Recurrent, IMAGE),
    "partial": (Partial, IMAGE),
    "spectral_norm": (spectral, IMAGE),
    "pools": (pools, IMAGE),
    "unshuffle": (unshuffle, IMAGE),
}
