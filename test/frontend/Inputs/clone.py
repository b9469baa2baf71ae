"""A parameter and its clone(), as PyTorch's default exporter writes them: clone.py FILE."""

import sys

import torch
from torch import nn


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.relu(x + self.shift) + self.shift.clone())


torch.onnx.export(Twice().train(), (torch.zeros(2, 4),), sys.argv[1], optimize=False,
                  verbose=False)
