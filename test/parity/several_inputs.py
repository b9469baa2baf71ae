"""Trains networks of several inputs, and compares them with the modules in PyTorch.

  several_inputs.py [--lwcc-run=PROGRAM] [--jobs=N]

Each network is exported by both exporters; its inputs are given as arrays by their
names, in a folder and in an .npz file, and it is trained for three steps on one device
and under plans for several. Losses and parameters are the module's in double precision,
as in zoo.py. The last line is `N passed, M failed`.
"""

import argparse
import functools
import os
import sys
import tempfile
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import zoo
from trainer import TrainerError, train
from workers import results

BATCH, SETTINGS = zoo.BATCH, zoo.SETTINGS
COUNT = BATCH * SETTINGS.steps
PLANS = [[], zoo.THREE_DEVICES, ["--gpus=3", "--strategy=model"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=4"]]


class Pair(nn.Module):
    """Two pictures of different sizes, one with a network of its own."""

    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(),
                                  nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.right = nn.Sequential(nn.Conv2d(1, 6, 5, 1, 2), nn.ReLU(),
                                   nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(14, 5)

    def forward(self, photo, mask):
        return self.head(torch.cat((self.left(photo), self.right(mask)), 1))


class Twins(nn.Module):
    """Two pictures through one network, and how they differ."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Flatten(), nn.Linear(6 * 36, 16))
        self.head = nn.Linear(16, 2)

    def forward(self, a, b):
        return self.head((self.body(a) - self.body(b)).abs())


class Recommender(nn.Module):
    """DLRM: numbers and categories."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(count, 6) for count in (11, 7))
        self.dense = nn.Linear(4, 6)
        self.top = nn.Linear(6 + 3, 3)

    def forward(self, dense, category):
        x = [F.relu(self.dense(dense))]
        x += [table(category[:, i]) for i, table in enumerate(self.tables)]
        dots = [(x[i] * x[j]).sum(1, keepdim=True) for i in range(3) for j in range(i)]
        return self.top(torch.cat([x[0], *dots], 1))


class Reader(nn.Module):
    """A text with the mask of its padding, as BERT takes it."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(23, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(16, 4)

    def forward(self, input_ids, attention_mask):
        kept = attention_mask.unsqueeze(-1).to(self.words.weight.dtype)
        x = self.layers(self.words(input_ids) * kept)
        return self.head((x * kept).sum(1) / kept.sum(1))


class Late(nn.Module):
    """Numbers that are read after the words, though they are the first input."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(13, 6)
        self.head = nn.Linear(9, 4)

    def forward(self, numbers, words):
        text = torch.tanh(self.words(words)).mean(1)
        return self.head(torch.cat((text, numbers), 1))


class Scaled(nn.Module):
    """A row, and one number for it."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.head = nn.Linear(8, 3)

    def forward(self, row, factor):
        return self.head(F.gelu(self.body(row)) * factor.unsqueeze(1))


class Melody(nn.Module):
    """Rows one after the other through an LSTM, and one number for all of them."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, notes, speed):
        return self.head(self.lstm(notes * speed[:, None, None])[0].mean(1))


class Padded(nn.Module):
    """Sequences of several lengths. Only the older exporter writes them."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, batch_first=True, bidirectional=True)
        self.head = nn.Linear(12, 3)

    def forward(self, notes, length):
        packed = nn.utils.rnn.pack_padded_sequence(notes, length, batch_first=True)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(states.sum(1) / length[:, None])


def falling(longest):
    """Lengths of the sequences of each batch, as PyTorch wants them sorted."""
    return lambda random: np.concatenate([
        [longest, *sorted(random.randint(1, longest + 1, BATCH - 1))[::-1]]
        for _ in range(SETTINGS.steps)]).astype(np.int64)


def floats(*shape):
    return lambda random: random.uniform(-1, 1, (COUNT, *shape)).astype(np.float32)


def integers(below, *shape):
    """`below` of each column, or of all."""
    return lambda random: random.randint(0, below, (COUNT, *shape))


def mask(length):
    return lambda random: (np.arange(length)[None] <
                           random.randint(1, length + 1, (COUNT, 1))).astype(np.int64)


NETWORKS = {
    "pair": (Pair, 5, {"photo": floats(3, 20, 20), "mask": floats(1, 9, 11)}),
    "twins": (Twins, 2, {"a": floats(1, 12, 12), "b": floats(1, 12, 12)}),
    "recommender": (Recommender, 3, {"dense": floats(4),
                                     "category": integers(np.array([11, 7]), 2)}),
    "reader": (Reader, 4, {"input_ids": integers(23, 9), "attention_mask": mask(9)}),
    "late": (Late, 4, {"numbers": floats(3), "words": integers(13, 5)}),
    "melody": (Melody, 3, {"notes": floats(5, 4), "speed": floats()}),
    "padded": (Padded, 3, {"notes": floats(7, 4), "length": falling(7)}),
    "scaled": (Scaled, 3, {"row": floats(6), "factor": floats()}),
}


def build(name):
    torch.manual_seed(sum(map(ord, name)))
    return NETWORKS[name][0]().train()


def export(name, arrays, path, kind):
    arguments = tuple(torch.from_numpy(array[:BATCH]) for array in arrays.values())
    options = (dict(optimize=False, verbose=False) if kind == "dynamo" else
               dict(dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                    do_constant_folding=False))
    with zoo.quiet():
        torch.onnx.export(build(name), arguments, path, input_names=list(arrays), **options)


def learn(name, arrays, labels, dtype, seed=0):
    """As zoo.train_module."""
    network = build(name).to(dtype)
    zoo.moved(network.parameters(), seed)
    start = {k: v.detach().double().numpy().copy() for k, v in network.named_parameters()}
    optimizer = torch.optim.SGD(network.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    losses = []
    for step in range(SETTINGS.steps):
        some = slice(step * BATCH, (step + 1) * BATCH)
        batch = [torch.from_numpy(array[some]) for array in arrays.values()]
        batch = [x.to(dtype) if x.is_floating_point() else x for x in batch]
        optimizer.zero_grad()
        loss = F.cross_entropy(network(*batch), torch.from_numpy(labels[some]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    learnt = {k: v.detach().double().numpy() for k, v in network.named_parameters()}
    return losses, learnt, start


def check(program, folder, name):
    """Pairs of a title and what is wrong, or None."""
    _, classes, inputs = NETWORKS[name]
    random = np.random.RandomState(len(name))
    arrays = {key: draw(random) for key, draw in inputs.items()}
    labels = random.randint(0, classes, COUNT)
    data = f"{folder}/{name}"
    os.makedirs(data)
    for key, array in arrays.items():
        np.save(f"{data}/{key}.npy", array)
    np.save(f"{data}/labels.npy", labels)
    np.savez(f"{data}.npz", labels=labels, **arrays)
    truth, found = learn(name, arrays, labels, torch.float64), []
    for kind in ("dynamo", "legacy"):
        if (name, kind) == ("padded", "dynamo"):
            continue
        path = f"{folder}/{name}.{kind}.onnx"
        export(name, arrays, path, kind)
        for flags, place in [([], f"{data}.npz"), *((plan, data) for plan in PLANS)]:
            title = f"{name} {kind} {' '.join(flags)} {os.path.basename(place)}"
            try:
                losses, state = train([program, path, f"--batch={BATCH}", *flags, "--"],
                                      place, SETTINGS)
            except TrainerError as error:
                found.append((title, str(error)))
                continue
            found.append((title, zoo.judge(losses, state, truth, lambda number: learn(
                name, arrays, labels, torch.float32, number))))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="lwcc-inputs-") as folder:
        for found in results(functools.partial(check, args.lwcc_run, folder), NETWORKS,
                             args.jobs):
            for title, wrong in found:
                print(f"{'WRONG ' if wrong else 'equal '} {title}"
                      + (f": {wrong}" if wrong else ""), flush=True)
                passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
