"""Random networks in which samples wander through the dimensions.

  samples_first.py [--cases=N] [--first=SEED] [--lwcc-run=PROGRAM] [--jobs=N]

Each case draws a network that transposes, merges and splits dimensions, the samples'
among them, with other operators between, and brings the samples back to the front for a
classifier. It is trained for three steps on one device and on three, and compared with
the same file in PyTorch, in double precision, as zoo.py does. The last line is
`N passed, M failed`; a failing case keeps its file.
"""

import argparse
import functools
import os
import random
import shutil
import sys
import tempfile
import warnings

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save

import zoo
from trainer import Data, TrainerError, train
from workers import results

BATCH, CLASSES = zoo.BATCH, 5
SAMPLES = ("n", BATCH)


def extent(dim):
    """Of a dimension, which is a list of factors (name, extent)."""
    return int(np.prod([size for _, size in dim], dtype=np.int64))


class Net:
    """A graph whose last value has `dims`."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.values = np.random.RandomState(seed)
        self.nodes, self.stored, self.count = [], [], 0
        self.dims = [[SAMPLES]] + [[self.factor(self.rng.randint(2, 4))]
                                   for _ in range(self.rng.randint(1, 3))]
        self.value = "x"
        self.inputs = [extent(dim) for dim in self.dims]
        for _ in range(self.rng.randint(4, 12)):
            self.rng.choice(self.MOVES)(self)
            if self.rng.random() < 0.5:
                self.rng.choice(self.OTHERS)(self)
        self.end()

    def factor(self, size):
        self.count += 1
        return f"f{self.count}", size

    def node(self, op, inputs, **attributes):
        self.count += 1
        name = f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def parameter(self, *shape):
        self.count += 1
        name = f"w{self.count}"
        self.stored.append(numpy_helper.from_array(
            self.values.uniform(-0.6, 0.6, shape).astype(np.float32), name))
        return name

    def integers(self, values):
        self.count += 1
        name = f"i{self.count}"
        self.stored.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def reshape(self, dims):
        self.dims = dims
        shape = self.integers([extent(dim) for dim in dims])
        self.value = self.node("Reshape", [self.value, shape])

    def free(self):
        """Dimensions without samples that can be worked along."""
        return [d for d, dim in enumerate(self.dims)
                if SAMPLES not in dim and extent(dim) > 1]

    # What moves samples.

    def transpose(self):
        perm = list(range(len(self.dims)))
        self.rng.shuffle(perm)
        self.dims = [self.dims[d] for d in perm]
        self.value = self.node("Transpose", [self.value], perm=perm)

    def merge(self):
        if len(self.dims) > 1:
            d = self.rng.randrange(len(self.dims) - 1)
            self.reshape(self.dims[:d] + [self.dims[d] + self.dims[d + 1]] + self.dims[d + 2:])

    def split(self):
        wide = [d for d, dim in enumerate(self.dims) if len(dim) > 1]
        if wide and len(self.dims) < 5:
            d = self.rng.choice(wide)
            at = self.rng.randrange(1, len(self.dims[d]))
            self.reshape(self.dims[:d] + [self.dims[d][:at], self.dims[d][at:]]
                         + self.dims[d + 1:])

    def one(self):
        ones = [d for d, dim in enumerate(self.dims) if not dim]
        if ones:
            d = self.rng.choice(ones)
            self.reshape(self.dims[:d] + self.dims[d + 1:])
        elif len(self.dims) < 5:
            d = self.rng.randrange(len(self.dims) + 1)
            self.reshape(self.dims[:d] + [[]] + self.dims[d:])

    # What works on the elements.

    def unary(self):
        self.value = self.node(self.rng.choice(["Tanh", "Sigmoid", "Softplus", "Sin"]),
                               [self.value])

    def binary(self):
        rank = self.rng.randint(1, len(self.dims))
        shape = [extent(dim) if self.rng.random() < (0.1 if SAMPLES in dim else 0.6) else 1
                 for dim in self.dims[len(self.dims) - rank:]]
        self.value = self.node(self.rng.choice(["Add", "Mul"]),
                               [self.value, self.parameter(*shape)])

    def residual(self):
        other = self.node("Tanh", [self.value])
        self.value = self.node("Add", [self.value, other])

    def product(self):
        if SAMPLES not in self.dims[-1]:
            width = self.rng.randint(2, 4)
            self.value = self.node("MatMul", [self.value,
                                              self.parameter(extent(self.dims[-1]), width)])
            self.dims = self.dims[:-1] + [[self.factor(width)]]

    def attention(self):
        rank = len(self.dims)
        if rank > 2 and SAMPLES not in self.dims[-1] + self.dims[-2]:
            perm = [*range(rank - 2), rank - 1, rank - 2]
            turned = self.node("Transpose", [self.value], perm=perm)
            self.value = self.node("MatMul", [self.value, turned])
            self.dims = self.dims[:-1] + [[self.factor(extent(self.dims[-2]))]]

    def softmax(self):
        if self.free():
            self.value = self.node("Softmax", [self.value], axis=self.rng.choice(self.free()))

    def rows(self):
        if SAMPLES not in self.dims[-1] and extent(self.dims[-1]) > 1:
            scale = self.parameter(extent(self.dims[-1]))
            self.value = self.node("LayerNormalization", [self.value, scale], epsilon=0.1)

    def reduce(self):
        if len(self.free()) > 1:
            d, kept = self.rng.choice(self.free()), self.rng.random() < 0.5
            self.value = self.node(self.rng.choice(["ReduceMean", "ReduceSum", "ReduceMax"]),
                                   [self.value, self.integers([d])], keepdims=int(kept))
            self.dims = self.dims[:d] + [[]] * kept + self.dims[d + 1:]

    def slice(self):
        if self.free():
            d = self.rng.choice(self.free())
            start = self.rng.randrange(extent(self.dims[d]) - 1)
            self.value = self.node("Slice", [self.value, *map(self.integers, (
                [start], [extent(self.dims[d])], [d]))])
            self.dims = [*self.dims]
            self.dims[d] = [self.factor(extent(self.dims[d]) - start)]

    def concat(self):
        if self.free():
            d = self.rng.choice(self.free())
            other = self.node("Sigmoid", [self.value])
            self.value = self.node("Concat", [other, self.value], axis=d)
            self.dims = [*self.dims]
            self.dims[d] = [self.factor(2 * extent(self.dims[d]))]

    def pad(self):
        if self.free():
            d, rank = self.rng.choice(self.free()), len(self.dims)
            low, high = self.rng.randint(0, 1), self.rng.randint(0, 2)
            pads = [0] * (2 * rank)
            pads[d], pads[rank + d] = low, high
            self.value = self.node("Pad", [self.value, self.integers(pads)])
            self.dims = [*self.dims]
            self.dims[d] = [self.factor(extent(self.dims[d]) + low + high)]

    def dropout(self):
        ratio = helper.make_tensor(f"r{self.count}", TensorProto.FLOAT, [], [0.3])
        mode = helper.make_tensor(f"m{self.count}", TensorProto.BOOL, [], [True])
        self.stored += [ratio, mode]
        self.value = self.node("Dropout", [self.value, ratio.name, mode.name], seed=7)

    MOVES = [transpose, transpose, transpose, merge, merge, split, split, one]
    OTHERS = [unary, binary, binary, residual, product, product, attention, softmax, rows,
              reduce, slice, concat, pad, dropout]

    def end(self):
        self.reshape([[factor] for dim in self.dims for factor in dim])
        first = self.dims.index([SAMPLES])
        perm = [first] + [d for d in range(len(self.dims)) if d != first]
        self.value = self.node("Transpose", [self.value], perm=perm)
        width = int(np.prod([extent(dim) for dim in self.dims])) // BATCH
        flat = self.node("Reshape", [self.value, self.integers([BATCH, width])])
        self.value = self.node("Gemm", [flat, self.parameter(width, CLASSES)])

    def save(self, path):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "net", [value("x", TensorProto.FLOAT, self.inputs)],
            [value(self.value, TensorProto.FLOAT, [BATCH, CLASSES])], self.stored)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                               ir_version=8), path)


def check(program, folder, seed):
    """Triples of the seed, a title and what is wrong, or None."""
    path, data = f"{folder}/{seed}.onnx", f"{folder}/{seed}.data"
    net = Net(seed)
    net.save(path)
    os.makedirs(data)
    values = np.random.RandomState(seed)
    count = BATCH * zoo.SETTINGS.steps
    images = values.uniform(-1, 1, (count, *net.inputs[1:])).astype(np.float32)
    if len(net.inputs) != 4:
        images = images.reshape(count, -1)
    np.save(f"{data}/images.npy", images)
    np.save(f"{data}/labels.npy", values.randint(0, CLASSES, count))
    source = Data(data, net.inputs[1:])
    found = []
    for flags in ([], zoo.THREE_DEVICES):
        title = f"{seed} {' '.join(flags)}"
        try:
            losses, state = train([program, path, *flags, "--"], data, zoo.SETTINGS)
        except TrainerError as error:
            found.append((seed, title, str(error)))
            continue
        truth = zoo.train_file(path, source, torch.float64, state)
        found.append((seed, title, zoo.judge(
            losses, state, truth, lambda number: zoo.train_file(
                path, source, torch.float32, state, number))))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="lwcc-samples-") as folder:
        for found in results(functools.partial(check, args.lwcc_run, folder),
                             range(args.first, args.first + args.cases), args.jobs):
            for seed, title, wrong in found:
                if wrong:
                    kept = f"{tempfile.gettempdir()}/samples-{seed}.onnx"
                    shutil.copy(f"{folder}/{seed}.onnx", kept)
                    print(f"WRONG {title}: {wrong} ({kept})", flush=True)
                passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
