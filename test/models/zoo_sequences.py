"""Networks of integers, in small: language models, classifiers of texts, tables of
categories; and some that give a class for each position or pixel.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Tokens(tuple):
    """The shape of a sample that is integers below `count`."""

    def __new__(cls, count, *shape):
        self = super().__new__(cls, shape)
        self.count = count
        return self


class Decoder(nn.Module):
    """A block of GPT-2, as nanoGPT has it."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)))

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = (part.view(n, t, self.heads, d // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(d, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(n, t, d)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, tied, count=29, length=12, width=16):
        super().__init__()
        self.tokens = nn.Embedding(count, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Decoder(width, 2, length) for _ in range(2)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, count, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, x):
        places = self.places(torch.arange(x.shape[1], device=x.device))
        return self.head(self.norm(self.blocks(self.tokens(x) + places)))


class BERT(nn.Module):
    """A classifier of texts that are padded with zeros."""

    def __init__(self, count=23, length=10, width=16):
        super().__init__()
        self.words = nn.Embedding(count, width, padding_idx=0)
        self.places, self.kinds = nn.Embedding(length, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, 10)

    def forward(self, x):
        given = (x != 0).float()
        y = self.words(x) + self.places.weight + self.kinds(torch.zeros_like(x))
        y = self.norm(y)
        scores = self.q(y) @ self.k(y).transpose(1, 2) / 4 + (1 - given[:, None]) * -1e4
        y = self.norm1(y + self.out(torch.softmax(scores, -1) @ self.v(y)))
        y = self.norm2(y + self.down(F.gelu(self.up(y))))
        return self.head(torch.tanh(self.pool(y[:, 0])))


class Recurrent(nn.Module):
    """A text through an LSTM in both directions, or a model of its next letter."""

    def __init__(self, each, count=19, width=12):
        super().__init__()
        self.each = each
        self.letters = nn.Embedding(count, width)
        self.net = (nn.GRU(width, 14, batch_first=True) if each else
                    nn.LSTM(width, 7, batch_first=True, bidirectional=True))
        self.head = nn.Linear(14, count if each else 10)

    def forward(self, x):
        y, _ = self.net(self.letters(x))
        return self.head(y if self.each else y.mean(1))


class Categories(nn.Module):
    """A row of categories: all in one table, at an offset each."""

    def __init__(self, sizes=(5, 3, 11, 2)):
        super().__init__()
        starts = torch.tensor((0, *sizes)).cumsum(0)[:-1]
        self.register_buffer("starts", starts)
        self.table = nn.Embedding(sum(sizes), 6)
        self.head = nn.Sequential(nn.Linear(6 * len(sizes), 16), nn.ReLU(),
                                  nn.Linear(16, 10))

    def forward(self, x):
        return self.head(self.table(x + self.starts).flatten(1))


class DLRM(nn.Module):
    """A table for each category, and the products of all pairs."""

    def __init__(self, sizes=(5, 7, 11), width=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.head = nn.Sequential(nn.Linear(9 + 3 * width, 16), nn.ReLU(),
                                  nn.Linear(16, 10))

    def forward(self, x):
        rows = torch.stack([table(x[:, i]) for i, table in enumerate(self.tables)], 1)
        pairs = torch.bmm(rows, rows.transpose(1, 2))
        return self.head(torch.cat([rows.flatten(1), pairs.flatten(1)], 1))


class Factors(nn.Module):
    """Matrix factorization: a user and an item, and how one likes the other."""

    def __init__(self, count=17, width=8):
        super().__init__()
        self.users, self.items = nn.Embedding(count, width), nn.Embedding(count, width)
        self.user_bias, self.item_bias = nn.Embedding(count, 1), nn.Embedding(count, 1)
        self.ratings = nn.Linear(1, 10)

    def forward(self, x):
        user, item = x[:, 0], x[:, 1]
        score = (self.users(user) * self.items(item)).sum(1, keepdim=True)
        return self.ratings(score + self.user_bias(user) + self.item_bias(item))


class Bag(nn.Module):
    """The mean of a text's words, as fastText has it."""

    def __init__(self, count=31):
        super().__init__()
        self.words, self.head = nn.Embedding(count, 12), nn.Linear(12, 10)

    def forward(self, x):
        return self.head(self.words(x).mean(1))


def pixels():
    """A class for each pixel."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 12, 3, 1, 1),
        nn.ReLU(), nn.Upsample(scale_factor=2), nn.Conv2d(12, 5, 1))


class Tagger(nn.Module):
    """A class for each of a row of measurements."""

    def __init__(self):
        super().__init__()
        self.net = nn.GRU(4, 9, batch_first=True)
        self.head = nn.Linear(9, 6)

    def forward(self, x):
        return torch.log_softmax(self.head(self.net(x)[0]), -1)


SEQUENCES = {
    "gpt": (lambda: GPT(False), Tokens(29, 12)),
    "gpt_tied": (lambda: GPT(True), Tokens(29, 12)),
    "bert": (BERT, Tokens(23, 10)),
    "lstm_text": (lambda: Recurrent(False), Tokens(19, 9)),
    "gru_letters": (lambda: Recurrent(True), Tokens(19, 9)),
    "categories": (Categories, Tokens(2, 4)),
    "dlrm": (DLRM, Tokens(5, 3)),
    "factors": (Factors, Tokens(17, 2)),
    "fasttext": (Bag, Tokens(31, 8)),
    "pixels": (pixels, (3, 16, 16)),
    "tagger": (Tagger, (7, 4)),
}
