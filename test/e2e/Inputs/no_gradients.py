"""Modules in which no gradient flows through a part, as PyTorch exports them.

  no_gradients.py FOLDER       FOLDER/detach.onnx, no_grad.onnx, traced.onnx

Trains FOLDER/detach.onnx and compares it with the module.
"""

import os
import sys
import warnings

import numpy as np
import torch
from torch import fx, nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "parity"))
from trainer import Data, Settings, train  # noqa: E402

SETTINGS = Settings(8, 4, 0.1, 0.9, 5e-4, seed=3)


class Quantized(nn.Module):
    """Rounded ahead, and straight through behind."""

    def __init__(self):
        super().__init__()
        self.front, self.head = nn.Linear(9, 6), nn.Linear(6, 5)

    def forward(self, x):
        x = torch.tanh(self.front(x)) * 3
        return self.head(x + (torch.round(x) - x).detach() + self.front.weight.detach()[:, 0])


class Scaled(nn.Module):
    """By what is known of each row, without gradients."""

    def __init__(self):
        super().__init__()
        self.front, self.head = nn.Linear(9, 6), nn.Linear(6, 5)

    def forward(self, x):
        x = self.front(x)
        with torch.no_grad():
            size = x.abs().mean(1, keepdim=True)
            large = x > size
        return self.head(torch.where(large, x, x / size))


class Scores(nn.Module):
    def __init__(self):
        super().__init__()
        self.front, self.head = nn.Linear(9, 6), nn.Linear(6, 5)

    def forward(self, x):
        return self.head(torch.tanh(self.front(x)))


def export(module, path):
    torch.onnx.export(module.train(), (torch.randn(8, 9),), path, optimize=False,
                      verbose=False)


def learn(module, data):
    optimizer = torch.optim.SGD(module.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    losses = []
    for step in range(SETTINGS.steps):
        x, labels = data.batch(step, SETTINGS.batch)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(x.double()), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    warnings.filterwarnings("ignore")
    folder = sys.argv[1]
    torch.manual_seed(4)
    quantized = Quantized()
    paths = [os.path.join(folder, name + ".onnx") for name in
             ("detach", "no_grad", "traced")]
    for module, path in zip((quantized, Scaled(), fx.symbolic_trace(Scores())), paths):
        export(module, path)
    random = np.random.RandomState(1)
    count = SETTINGS.batch * SETTINGS.steps
    np.save(os.path.join(folder, "images.npy"),
            random.uniform(-1, 1, (count, 9)).astype(np.float32))
    np.save(os.path.join(folder, "labels.npy"), random.randint(0, 5, count))
    losses, state = train(["lwcc-run", paths[0], "--batch=8", "--"], folder, SETTINGS)
    module = quantized.double()
    wanted = learn(module, Data(folder, (9,)))
    off = max(abs(a - b) / b for a, b in zip(losses, wanted))
    away = max(np.abs(state[name].reshape(value.shape) - value.detach().numpy()).max()
               for name, value in module.named_parameters())
    print("detach is PyTorch's" if off < 1e-5 and away < 1e-5 else
          f"detach: losses off by {off:.1e}, weights by {away:.1e}")


if __name__ == "__main__":
    main()
