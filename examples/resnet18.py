"""Writes torchvision's ResNet-18 for small pictures as an ONNX file.

  resnet18.py CLASSES FILE

Its first convolution has a stride of 1, and nothing is pooled behind it, as is usual
for small pictures; these have 16 x 16 pixels. Weights are PyTorch's random ones. Needs
torchvision, onnx and onnxscript.
"""

import sys

import torch
from torch import nn
from torchvision.models import resnet18


def main():
    classes, path = int(sys.argv[1]), sys.argv[2]
    torch.manual_seed(classes)
    model = resnet18(num_classes=classes)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    torch.onnx.export(model.train(), (torch.randn(2, 3, 16, 16),), path, optimize=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))


if __name__ == "__main__":
    main()
