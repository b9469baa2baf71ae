"""Writes a small GPT of letters as an ONNX file: gpt.py [FILE].

Four layers as GPT-2 has them, over sequences of 64 bytes of a text. Needs PyTorch with
onnx and onnxscript. lwcc compiles the file into a program that trains it on any text.
"""

import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

BYTES, LENGTH, WIDTH, HEADS, LAYERS = 256, 64, 64, 4, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("seen", torch.ones(LENGTH, LENGTH).tril() > 0)

    def forward(self, x):
        n = x.shape[0]
        q, k, v = (part.view(n, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        scores = q @ k.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(~self.seen, float("-inf"))
        attended = (F.softmax(scores, dim=3) @ v).transpose(1, 2)
        x = x + self.out(attended.reshape(n, LENGTH, WIDTH))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(BYTES, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, BYTES, bias=False)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, text):
        return self.head(self.norm(self.layers(self.tokens(text) + self.places.weight)))


def main():
    torch.manual_seed(1)
    text = torch.zeros(2, LENGTH, dtype=torch.int64)
    torch.onnx.export(GPT().train(), (text,), sys.argv[1] if sys.argv[1:] else "gpt.onnx",
                      optimize=False, dynamic_shapes=({0: torch.export.Dim("batch")},))


if __name__ == "__main__":
    main()
