"""Networks of points, sound, films and tables, in small.

Their inputs are not pictures: a trainer gets each as a row of numbers.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Transform(nn.Module):
    """PointNet's matrix of 3x3 that turns the points, from the points."""

    def __init__(self, k):
        super().__init__()
        self.k = k
        self.points = nn.Sequential(
            nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU(),
                                nn.Linear(16, k * k))
        self.register_buffer("identity", torch.eye(k).flatten())

    def forward(self, x):
        x = torch.max(self.points(x), 2, keepdim=True)[0].view(-1, 32)
        return (self.fc(x) + self.identity).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn, self.turn_features = Transform(3), Transform(16)
        self.first = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
        self.second = nn.Sequential(nn.Conv1d(16, 48, 1), nn.BatchNorm1d(48))
        self.head = nn.Sequential(nn.Linear(48, 24), nn.BatchNorm1d(24), nn.ReLU(),
                                  nn.Linear(24, 10))

    def forward(self, x):
        x = torch.bmm(x.transpose(2, 1), self.turn(x)).transpose(2, 1)
        x = self.first(x)
        x = torch.bmm(x.transpose(2, 1), self.turn_features(x)).transpose(2, 1)
        return self.head(torch.max(self.second(x), 2)[0])


def m5():
    """Dai et al. 2017: sound of one channel."""
    def part(inputs, outputs, kernel, stride):
        return (nn.Conv1d(inputs, outputs, kernel, stride), nn.BatchNorm1d(outputs),
                nn.ReLU(), nn.MaxPool1d(4))

    return nn.Sequential(*part(1, 16, 80, 4), *part(16, 16, 3, 1), *part(16, 32, 3, 1),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 10))


class Causal(nn.Module):
    """A block of a temporal convolutional network; padding that is cut off again."""

    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = weight_norm(nn.Conv1d(inputs, outputs, 3, padding=self.pad,
                                           dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(outputs, outputs, 3, padding=self.pad,
                                           dilation=dilation))
        self.shortcut = nn.Conv1d(inputs, outputs, 1)

    def forward(self, x):
        y = F.relu(self.conv1(x)[:, :, :-self.pad].contiguous())
        y = F.relu(self.conv2(y)[:, :, :-self.pad].contiguous())
        return F.relu(y + self.shortcut(x))


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Causal(2, 8, 1), Causal(8, 12, 2), Causal(12, 16, 4))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.blocks(x)[:, :, -1])


class WaveNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=d)
                                     for d in (1, 2, 4))
        self.skips = nn.ModuleList(nn.Conv1d(width, 16, 1) for _ in range(3))
        self.last = nn.Conv1d(16, 10, 1)

    def forward(self, x):
        x, total = self.first(x), 0
        for convolution, skip in zip(self.filters, self.skips):
            values, gates = convolution(x).chunk(2, 1)
            y = torch.tanh(values) * torch.sigmoid(gates)
            x = x[:, :, -y.shape[2]:] + y
            s = skip(y)
            total = s if isinstance(total, int) else total[:, :, -s.shape[2]:] + s
        return self.last(F.relu(total)).mean(2)


class Film(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv3d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv3d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm3d(outputs), nn.BatchNorm3d(outputs)
        self.shortcut = nn.Sequential(nn.Conv3d(inputs, outputs, 1, stride, bias=False),
                                      nn.BatchNorm3d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.shortcut(x))


def r3d():
    return nn.Sequential(
        nn.Conv3d(3, 8, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(8),
        nn.ReLU(), Film(8, 8, 1), Film(8, 16, 2), nn.MaxPool3d(2),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 10))


class Activations(nn.Module):
    """A layer for each of PyTorch's activations."""

    def __init__(self, *activations):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(20, 20) for _ in activations)
        self.activations = nn.ModuleList(activations)
        self.head = nn.Linear(20, 10)

    def forward(self, x):
        for layer, activation in zip(self.layers, self.activations):
            x = x + activation(layer(x))
        return self.head(x)


class Plain(nn.Module):
    """Normalizations without scales: first one of the input, then one that keeps no
    running statistics."""

    def __init__(self, width=20):
        super().__init__()
        self.layers = nn.Sequential(
            nn.BatchNorm1d(width, affine=False), nn.Linear(width, width),
            nn.LayerNorm(width, elementwise_affine=False), nn.ReLU(),
            nn.Linear(width, 16), nn.BatchNorm1d(16, track_running_stats=False),
            nn.GELU(), nn.Linear(16, 10))

    def forward(self, x):
        return self.layers(x)


class GLU(nn.Module):
    """Gated, as in Llama: SwiGLU, with the mean of squares normalized."""

    def __init__(self, width=20):
        super().__init__()
        self.norm = nn.RMSNorm(width)
        self.gate, self.up = nn.Linear(width, 32, False), nn.Linear(width, 32, False)
        self.glu, self.down = nn.GLU(), nn.Linear(16, 10, False)

    def forward(self, x):
        x = self.norm(x)
        return self.down(self.glu(F.silu(self.gate(x)) * self.up(x)))


class Siamese(nn.Module):
    """Two halves of one picture through the same network; then their distances."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.ReLU(),
                                  nn.Conv2d(12, 16, 3, 2, 1), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(18, 10)

    def forward(self, x):
        left, right = x.chunk(2, 3)
        a, b = self.body(left), self.body(right)
        cosine = F.cosine_similarity(a, b).unsqueeze(1)
        distance = torch.linalg.vector_norm(a - b, dim=1, keepdim=True)
        return self.head(torch.cat([torch.abs(a - b), cosine, distance], 1))


class Table(nn.Module):
    """A residual network for tables."""

    def __init__(self, features=14, width=24):
        super().__init__()
        self.norm, self.first = nn.BatchNorm1d(features), nn.Linear(features, width)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.BatchNorm1d(width), nn.Linear(width, 48), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(48, width)) for _ in range(2))
        self.head = nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 10))

    def forward(self, x):
        x = self.first(self.norm(x))
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


ROWS = {
    "pointnet": (PointNet, (3, 64)),
    "m5": (m5, (1, 2000)),
    "tcn": (TCN, (2, 40)),
    "wavenet": (WaveNet, (1, 40)),
    "r3d": (r3d, (3, 8, 24, 24)),
    "mlp_smooth": (lambda: Activations(
        nn.GELU(), nn.GELU(approximate="tanh"), nn.SiLU(), nn.Mish(), nn.Softplus(),
        nn.LogSigmoid(), nn.Tanh(), nn.Sigmoid()), (20,)),
    "mlp_pieces": (lambda: Activations(
        nn.PReLU(), nn.PReLU(20), nn.SELU(), nn.ELU(), nn.CELU(0.7), nn.LeakyReLU(),
        nn.ReLU6(), nn.Hardtanh(), nn.Hardsigmoid(), nn.Hardswish()), (20,)),
    "mlp_rare": (lambda: Activations(
        nn.Softsign(), nn.Tanhshrink(), nn.Softshrink(), nn.Hardshrink(),
        nn.Threshold(0.1, 0.0), nn.Softmin(1), nn.Softmax(1)), (20,)),
    "normalizations": (Plain, (20,)),
    "swiglu": (GLU, (20,)),
    "siamese": (Siamese, (3, 32, 64)),
    "table": (Table, (14,)),
}
