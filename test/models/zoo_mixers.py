"""Networks of tokens, rows, graphs and films with blocks that others of the zoo lack.

Rotary positions and grouped queries, linear attention, a state space, experts, splines.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from zoo_sequences import Tokens


class Experts(nn.Module):
    """A mixture of experts: of each token the two best, all computed and masked."""

    def __init__(self, c, experts=4):
        super().__init__()
        self.gate = nn.Linear(c, experts)
        self.w1 = nn.Parameter(0.2 * torch.randn(experts, c, 2 * c))
        self.w2 = nn.Parameter(0.2 * torch.randn(experts, 2 * c, c))

    def forward(self, x):
        scores = self.gate(x)
        best = torch.topk(scores, 2, -1)[0][..., -1:]
        weights = F.softmax(scores.masked_fill(scores < best, float("-inf")), -1)
        hidden = F.gelu(torch.einsum("btc,ech->bteh", x, self.w1))
        return torch.einsum("bteh,ehc,bte->btc", hidden, self.w2, weights)


class RMS(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(c))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale


class LlamaBlock(nn.Module):
    """Rotary positions, grouped queries, SwiGLU, a causal mask."""

    def __init__(self, c, heads, groups, length):
        super().__init__()
        self.heads, self.groups, self.d = heads, groups, c // heads
        self.q = nn.Linear(c, c, bias=False)
        self.kv = nn.Linear(c, 2 * groups * self.d, bias=False)
        self.out = nn.Linear(c, c, bias=False)
        self.gate, self.up = (nn.Linear(c, 2 * c, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * c, c, bias=False)
        self.norm1, self.norm2 = RMS(c), RMS(c)
        angle = torch.outer(torch.arange(length).float(),
                            10000 ** (-torch.arange(0, self.d, 2) / self.d))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def turn(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * self.cos - odd * self.sin,
                            even * self.sin + odd * self.cos], -1).flatten(-2)

    def forward(self, x):
        b, t, _ = x.shape
        y = self.norm1(x)
        q = self.q(y).view(b, t, self.heads, self.d).transpose(1, 2)
        k, v = self.kv(y).view(b, t, 2, self.groups, self.d).permute(2, 0, 3, 1, 4)
        k, v = (z.repeat_interleave(self.heads // self.groups, 1)
                for z in (self.turn(k), v))
        y = F.scaled_dot_product_attention(self.turn(q), k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, -1))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 24)
        self.blocks = nn.Sequential(*(LlamaBlock(24, 4, 2, 10) for _ in range(2)))
        self.experts = Experts(24)
        self.norm, self.head = RMS(24), nn.Linear(24, 20, bias=False)

    def forward(self, x):
        x = self.blocks(self.embed(x))
        return self.head(self.norm(x + self.experts(x)))


class T5Bias(nn.Module):
    """Attention with learnt biases by distance, in buckets."""

    def __init__(self, c=16, heads=2, length=9):
        super().__init__()
        self.embed, self.heads = nn.Embedding(15, c), heads
        self.bias = nn.Embedding(5, heads)
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, 10)
        place = torch.arange(length)
        self.register_buffer("bucket", (place[None] - place[:, None]).clamp(-2, 2) + 2)

    def forward(self, x):
        b, t = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2)
                   for z in self.qkv(self.embed(x)).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) + self.bias(self.bucket).permute(2, 0, 1)
        y = torch.softmax(scores, -1) @ v
        return self.out(y.transpose(1, 2).flatten(2).mean(1))


class Performer(nn.Module):
    """Linear attention: elu(x) + 1 for keys and queries, sums up to each position."""

    def __init__(self, c=16):
        super().__init__()
        self.embed, self.qkv = nn.Embedding(12, c), nn.Linear(c, 3 * c)
        self.out = nn.Linear(c, 12)

    def forward(self, x):
        q, k, v = self.qkv(self.embed(x)).chunk(3, -1)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = torch.cumsum(k[..., :, None] * v[..., None, :], 1)
        scale = (q * torch.cumsum(k, 1)).sum(-1, keepdim=True)
        return self.out(torch.einsum("btc,btcd->btd", q, sums) / scale)


class Selective(nn.Module):
    """A state space with steps that depend on the input, unrolled (Mamba, in small)."""

    def __init__(self, c=6, state=4, length=8):
        super().__init__()
        self.length = length
        self.log_a = nn.Parameter(torch.log(torch.arange(1, state + 1.0)).repeat(c, 1))
        self.step, self.bc = nn.Linear(c, c), nn.Linear(c, 2 * state)
        self.skip, self.head = nn.Parameter(torch.ones(c)), nn.Linear(c, 10)

    def forward(self, x):
        step = F.softplus(self.step(x))
        b, c = self.bc(x).chunk(2, -1)
        decay = torch.exp(-step[..., None] * torch.exp(self.log_a))
        adds = (step * x)[..., None] * b[:, :, None]
        state, outputs = 0, []
        for t in range(self.length):
            state = decay[:, t] * state + adds[:, t]
            outputs.append((state * c[:, t, None]).sum(-1))
        return self.head((torch.stack(outputs, 1) + self.skip * x).mean(1))


class SIREN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 24), nn.Linear(24, 24)
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        return self.head(torch.sin(3 * self.second(torch.sin(5 * self.first(x)))))


class Fourier(nn.Module):
    """Random features of angles, which are not learnt."""

    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(6, 12))
        self.net = nn.Sequential(nn.Linear(24, 16), nn.Mish(), nn.Linear(16, 10))

    def forward(self, x):
        angle = 2 * math.pi * x @ self.frequencies
        return self.net(torch.cat([angle.sin(), angle.cos()], -1))


class KAN(nn.Module):
    """Sums of splines of order 1 on a grid (Liu et al. 2024, in small)."""

    def __init__(self, inputs=5, outputs=10, grid=6):
        super().__init__()
        self.register_buffer("knots", torch.linspace(-1, 1, grid))
        self.spline = nn.Parameter(0.3 * torch.randn(outputs, inputs, grid))
        self.base = nn.Linear(inputs, outputs)
        self.width = 2 / (grid - 1)

    def forward(self, x):
        hats = F.relu(1 - (x[..., None] - self.knots).abs() / self.width)
        return self.base(F.silu(x)) + torch.einsum("big,oig->bo", hats, self.spline)


class GraphAttention(nn.Module):
    """A graph that does not change; scores are masked by it."""

    def __init__(self, nodes=7, f=4, c=8):
        super().__init__()
        random = torch.Generator().manual_seed(1)
        edges = torch.rand(nodes, nodes, generator=random) < 0.4
        self.register_buffer("edges", edges | torch.eye(nodes, dtype=torch.bool))
        self.nodes, self.f = nodes, f
        self.weight = nn.Linear(f, c, bias=False)
        self.left, self.right = nn.Linear(c, 1, bias=False), nn.Linear(c, 1)
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = self.weight(x.view(-1, self.nodes, self.f))
        scores = F.leaky_relu(self.left(x) + self.right(x).transpose(1, 2), 0.2)
        scores = torch.where(self.edges, scores, torch.tensor(-1e9, dtype=x.dtype))
        return self.head(F.elu(torch.softmax(scores, -1) @ x).mean(1))


class ConvLSTM(nn.Module):
    """Shi et al. 2015: films of four pictures."""

    def __init__(self, c=5):
        super().__init__()
        self.c, self.gates = c, nn.Conv2d(1 + c, 4 * c, 3, padding=1)
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.c, x.shape[2], x.shape[3])
        state = torch.zeros_like(h)
        for t in range(x.shape[1]):
            i, f, o, g = self.gates(torch.cat([x[:, t:t + 1], h], 1)).chunk(4, 1)
            state = torch.sigmoid(f) * state + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(state)
        return self.head(h.mean((2, 3)))


class Conformer(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.first = nn.Linear(6, c)
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(3))
        self.attention = nn.MultiheadAttention(c, 3, batch_first=True)
        self.point, self.depth = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, c, 5, padding=2, groups=c)
        self.batch = nn.BatchNorm1d(c)
        self.feed = nn.Sequential(nn.Linear(c, 4 * c), nn.SiLU(), nn.Linear(4 * c, c))
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = self.first(x)
        x = x + 0.5 * self.feed(self.norms[0](x))
        y = self.norms[1](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        y = F.glu(self.point(self.norms[2](x).transpose(1, 2)), 1)
        x = x + F.silu(self.batch(self.depth(y))).transpose(1, 2)
        return self.head(x.mean(1))


class Highway(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.first = nn.Linear(6, c)
        self.change, self.gate = (nn.ModuleList(nn.Linear(c, c) for _ in range(3))
                                  for _ in range(2))
        self.head = nn.Linear(c, 10)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for change, gate in zip(self.change, self.gate):
            g = torch.sigmoid(gate(x))
            x = g * torch.relu(change(x)) + (1 - g) * x
        return self.head(x)


class Statistics(nn.Module):
    """What PyTorch can say of a row."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 24), nn.Linear(40, 10)

    def forward(self, x):
        x = torch.tanh(self.first(x)).view(-1, 4, 6)
        said = [x.std(-1), x.var(-1, unbiased=False), torch.logsumexp(x, -1),
                (1.5 + x).prod(-1), x.norm(p=1, dim=-1), x.amin(-1),
                torch.diff(x, dim=-1).abs().mean(-1), x.flip(-1).cumsum(-1)[..., 2],
                torch.roll(x, 2, -1)[..., 0], torch.clamp(x, -0.5, 0.4).sum(-1)]
        return self.head(torch.cat(said, -1))


class Prototypes(nn.Module):
    """Distances from points that are learnt."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 5)
        self.points = nn.Parameter(torch.randn(10, 5))

    def forward(self, x):
        x = self.first(x)
        return -(x[:, None] - self.points).pow(2).sum(-1)


MIXERS = {
    "llama": (Llama, Tokens(20, 10)),
    "t5_bias": (T5Bias, Tokens(15, 9)),
    "performer": (Performer, Tokens(12, 7)),
    "selective": (Selective, (8, 6)),
    "siren": (SIREN, (4,)),
    "fourier": (Fourier, (6,)),
    "kan": (KAN, (5,)),
    "graph_attention": (GraphAttention, (28,)),
    "conv_lstm": (ConvLSTM, (4, 8, 8)),
    "conformer": (Conformer, (9, 6)),
    "highway": (Highway, (6,)),
    "statistics": (Statistics, (6,)),
    "prototypes": (Prototypes, (6,)),
}
