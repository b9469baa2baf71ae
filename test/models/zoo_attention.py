"""Networks of attention, mixing and tokens that torchvision has not, in small.

Written as their authors' code is: what counts is which operators an exporter finds.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """As timm has it: queries, keys and values of one product, taken apart."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                 nn.Linear(2 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class DeiT(nn.Module):
    """A class token, a token of distillation, and the mean of their heads."""

    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.dist = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, 18, width))
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.norm = nn.LayerNorm(width)
        self.head, self.head_dist = nn.Linear(width, 10), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1),
                       self.dist.expand(x.shape[0], -1, -1), x), 1)
        x = self.norm(self.blocks(x + self.position))
        return (self.head(x[:, 0]) + self.head_dist(x[:, 1])) / 2


def encoder():
    """torch's own layers of a Transformer, over patches."""
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 32, 8, 8)
            layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, "gelu", batch_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            return self.head(self.layers(x).mean(1))

    return Encoder()


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(tokens, 24), nn.GELU(), nn.Linear(24, tokens))
        self.channels = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 8, 8)
        self.blocks = nn.Sequential(MixerBlock(16, width), MixerBlock(16, width))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class PoolBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(1, width), nn.GroupNorm(1, width)
        self.pool = nn.AvgPool2d(3, 1, 1, count_include_pad=False)
        self.mlp = nn.Sequential(nn.Conv2d(width, 2 * width, 1), nn.GELU(),
                                 nn.Conv2d(2 * width, width, 1))
        self.scale1 = nn.Parameter(1e-1 * torch.randn(width))
        self.scale2 = nn.Parameter(1e-1 * torch.randn(width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.scale1.unsqueeze(-1).unsqueeze(-1) * (self.pool(y) - y)
        return x + self.scale2.unsqueeze(-1).unsqueeze(-1) * self.mlp(self.norm2(x))


def poolformer():
    return nn.Sequential(
        nn.Conv2d(3, 16, 7, 4, 2), PoolBlock(16), nn.Conv2d(16, 32, 3, 2, 1),
        PoolBlock(32), PoolBlock(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.LayerNorm(32), nn.Linear(32, 10))


class LinearNorm(nn.Module):
    """LeViT's linear layer: normalized over all tokens of all images."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bn = nn.BatchNorm1d(outputs)

    def forward(self, x):
        x = self.linear(x)
        return self.bn(x.flatten(0, 1)).reshape_as(x)


class LeViTAttention(nn.Module):
    def __init__(self, width, heads, side):
        super().__init__()
        self.heads, self.key = heads, width // heads
        self.qkv = LinearNorm(width, 4 * width)
        self.proj = nn.Sequential(nn.Hardswish(), LinearNorm(2 * width, width))
        places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side),
                                            indexing="ij")).flatten(1)
        offsets = (places[:, :, None] - places[:, None]).abs()
        self.biases = nn.Parameter(0.1 * torch.randn(heads, side * side))
        self.register_buffer("indices", offsets[0] * side + offsets[1])

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, self.heads, -1).split(
            [self.key, self.key, 2 * self.key], dim=3)
        q, k, v = q.permute(0, 2, 1, 3), k.permute(0, 2, 3, 1), v.permute(0, 2, 1, 3)
        a = (q @ k * self.key ** -0.5 + self.biases[:, self.indices]).softmax(-1)
        return self.proj((a @ v).transpose(1, 2).reshape(b, n, -1))


class LeViT(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(),
            nn.Conv2d(16, width, 3, 4, 1, bias=False), nn.BatchNorm2d(width))
        self.attention = nn.ModuleList(LeViTAttention(width, 4, 4) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(
            LinearNorm(width, 64), nn.Hardswish(), LinearNorm(64, width)) for _ in range(2))
        self.norm, self.head = nn.BatchNorm1d(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for attention, mlp in zip(self.attention, self.mlp):
            x = x + attention(x)
            x = x + mlp(x)
        return self.head(self.norm(x.mean(1)))


class MobileViTBlock(nn.Module):
    """Attention among the pixels that lie at the same place of their patches."""

    def __init__(self, width, inner, patch=2):
        super().__init__()
        self.patch = patch
        self.local = nn.Sequential(
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.SiLU(),
            nn.Conv2d(width, inner, 1, bias=False))
        self.blocks = nn.Sequential(Block(inner, 2), Block(inner, 2))
        self.norm = nn.LayerNorm(inner)
        self.back = nn.Sequential(nn.Conv2d(inner, width, 1, bias=False),
                                  nn.BatchNorm2d(width), nn.SiLU())
        self.fuse = nn.Conv2d(2 * width, width, 3, 1, 1)

    def forward(self, x):
        y = self.local(x)
        b, c, h, w = y.shape
        p, rows, columns = self.patch, h // self.patch, w // self.patch
        y = y.reshape(b * c * rows, p, columns, p).transpose(1, 2)
        y = y.reshape(b, c, rows * columns, p * p).transpose(1, 3)
        y = y.reshape(b * p * p, rows * columns, c)
        y = self.norm(self.blocks(y)).contiguous().view(b, p * p, rows * columns, c)
        y = y.transpose(1, 3).reshape(b * c * rows, columns, p, p).transpose(1, 2)
        y = y.reshape(b, c, h, w)
        return self.fuse(torch.cat((x, self.back(y)), 1))


def mobilevit():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU(),
        MobileViTBlock(16, 24), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU(),
        MobileViTBlock(32, 24), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class Pooled(nn.Module):
    """Attention of one learned query over a feature map (CaiT's, CLIP's last layer)."""

    def __init__(self, width=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.GELU(approximate="tanh"))
        self.query = nn.Parameter(0.1 * torch.randn(1, 1, width))
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.stem(x).flatten(2).permute(0, 2, 1)
        query = self.query.expand(x.shape[0], -1, -1)
        return self.head(self.attention(query, x, x, need_weights=False)[0].squeeze(1))


class Tokens(nn.Module):
    """The FT-Transformer for tables: each number is a token of its own."""

    def __init__(self, features=12, width=16):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(features, width))
        self.bias = nn.Parameter(0.3 * torch.randn(features, width))
        self.cls = nn.Parameter(0.3 * torch.randn(width))
        self.blocks = nn.Sequential(Block(width, 2), Block(width, 2))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 10))

    def forward(self, x):
        x = x.unsqueeze(-1) * self.weight + self.bias
        cls = self.cls.expand(x.shape[0], 1, -1)
        return self.head(self.blocks(torch.cat((cls, x), 1))[:, 0])


ATTENTION = {
    "deit": (DeiT, (3, 32, 32)),
    "encoder": (encoder, (3, 32, 32)),
    "mixer": (Mixer, (3, 32, 32)),
    "poolformer": (poolformer, (3, 32, 32)),
    "levit": (LeViT, (3, 32, 32)),
    "mobilevit": (mobilevit, (3, 32, 32)),
    "attention_pool": (Pooled, (3, 32, 32)),
    "ft_transformer": (Tokens, (12,)),
}
