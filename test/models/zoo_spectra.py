"""The zoo, in small: networks that transform to frequencies, and such that rearrange
more than six dimensions.
"""

import torch
from torch import nn


class FNet(nn.Module):
    """Mixes tokens by their spectrum (Lee-Thorp et al. 2021)."""

    def __init__(self, c=16):
        super().__init__()
        self.first, self.head = nn.Linear(6, c), nn.Linear(c, 10)
        self.mixed, self.fed = nn.LayerNorm(c), nn.LayerNorm(c)
        self.feed = nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c))

    def forward(self, x):
        x = self.first(x)
        x = self.mixed(x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
        return self.head(self.fed(x + self.feed(x)).mean(1))


class GlobalFilter(nn.Module):
    """Scales the spectrum of an image by weights (GFNet, Rao et al. 2021)."""

    def __init__(self, c=8):
        super().__init__()
        self.first, self.head = nn.Conv2d(3, c, 4, 4), nn.Linear(c, 10)
        self.filter = nn.Parameter(0.1 * torch.randn(6, 4, c, 2))

    def forward(self, x):
        x = self.first(x).permute(0, 2, 3, 1)
        spectrum = torch.fft.rfft2(x, dim=(1, 2), norm="ortho")
        spectrum = spectrum * torch.view_as_complex(self.filter)
        x = torch.fft.irfft2(spectrum, s=(6, 6), dim=(1, 2), norm="ortho") + x
        return self.head(torch.relu(x).mean((1, 2)))


class Spectrogram(nn.Module):
    """A convolutional network on the mel spectrogram of a sound."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("mel", torch.rand(17, 8))
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(12, 10))

    def forward(self, x):
        z = torch.stft(x, 32, 16, 32, window=self.window, return_complex=True)
        power = z.real ** 2 + z.imag ** 2
        mel = torch.matmul(power.transpose(1, 2), self.mel)
        return self.body(torch.log(mel + 0.01)[:, None])


class Cubes(nn.Module):
    """The patches of a video, as einops writes 'b c (t p) (h q) (w r) -> ...'."""

    def __init__(self, c=16):
        super().__init__()
        self.first, self.head = nn.Linear(3 * 2 * 4 * 4, c), nn.Linear(c, 10)

    def forward(self, x):
        x = x.reshape(len(x), 3, 2, 2, 2, 4, 2, 4).permute(0, 2, 4, 6, 3, 5, 7, 1)
        return self.head(torch.relu(self.first(x.reshape(len(x), 8, -1))).mean(1))


class Stacked(nn.Module):
    """Joins by torch.hstack, and takes the diagonal of products."""

    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(6, 9), nn.Linear(6 + 9 + 3 + 1, 10)

    def forward(self, x):
        y = torch.tanh(self.first(x))
        square = y.view(-1, 3, 3)
        lines = [torch.einsum("bii->bi", square), torch.einsum("bii->b", square)[:, None]]
        return self.head(torch.hstack((x, y, *lines)))


SPECTRA = {
    "fnet": (FNet, (8, 6)),
    "global_filter": (GlobalFilter, (3, 24, 24)),
    "spectrogram": (Spectrogram, (160,)),
    "cubes": (Cubes, (3, 4, 8, 8)),
    "stacked": (Stacked, (6,)),
}
