"""Random networks of every operator that lwcc imports, for plans.py.

Each generator appends one block to the network: those of one operator are in
net_layers.py and net_movements.py, those of several branches here. `build` draws
some of them. Their operators are those of the frontend's table: `undrawn` names
the ones that no network ever has, so that a new operator is noticed here.
"""

import random
import re
from pathlib import Path

import numpy as np
from onnx import helper, save

from net_graph import FLOAT, INT64
from net_elements import Elements

TABLE = Path(__file__).parents[2] / "frontend" / "OnnxOpTable.cpp"

# Loss nodes become the same ops as the loss that lwcc adds; test/frontend has them.
# Upsample ended with opset 9, Scatter with 10.
NOT_DRAWN = {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "Upsample", "Scatter"}


def imported_operators():
    """Operators of the frontend's table that become ops of a program."""
    return set(re.findall(r'^  \{"(\w+)",.*\bimport\w+', TABLE.read_text(), re.M))


def undrawn(networks):
    """Operators of the table that occur in none of the first networks."""
    drawn = set(NOT_DRAWN)
    for seed in range(networks):
        net = Net(random.Random(seed))
        net.draw()
        drawn |= {node.op_type for node in net.nodes}
    return sorted(imported_operators() - drawn)


class Net(Elements):
    """A random network: blocks of several branches, and the draw of all."""

    def residual(self):
        before = self.last
        self.conv(self.shape[0], keep=True)
        self.op(self.rng.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"]),
                [before])

    def quotient(self):
        before = self.last
        self.op("Softplus")
        self.op("Add", [self.scalar(1.0)])
        below, self.last = self.last, before
        self.op("Div", [below])

    def shortcut(self):
        """A residual block that shrinks images to a half or a third. Its shortcut, a
        strided 1x1 convolution, reads few elements of its input."""
        rng, before, shape = self.rng, self.last, self.shape
        stride, outputs = rng.choice([2, 2, 3]), rng.randrange(2, 7)
        if min(shape[1:]) <= stride:
            return
        short = self.conv(outputs, kernel=[1, 1], stride=stride)
        if rng.random() < 0.3:
            return  # the block's only branch
        self.last, self.shape = before, shape
        self.conv(outputs, kernel=[3, 3], stride=stride)
        self.op("Relu")
        self.conv(outputs, keep=True)
        self.op("Add", [short])

    def concat(self):
        before, shape = self.last, self.shape
        self.conv(keep=True)
        self.op("Concat", [before], (shape[0] + self.shape[0], *shape[1:]),
                axis=1)

    def scaled(self):
        """Scales each channel by a number computed from its pixels, as
        squeeze-and-excitation does."""
        rng, before, shape = self.rng, self.last, self.shape
        c, (h, w) = shape[0], shape[1:]
        kind = rng.choice(["GlobalAveragePool", "GlobalMaxPool", "ReduceMean",
                           "ReduceSum"])
        if kind.startswith("Global"):
            self.op(kind, (), (c, 1, 1), {"c": c})
        else:
            extents = dict(c=c) if kind == "ReduceMean" else dict(c=c, h=h, w=w)
            name, keep = self.name("axes"), rng.randrange(2)
            self.op(kind, [self.integers(name, [2, 3])],
                    (c, 1, 1) if keep else (c,), extents, keepdims=keep)
            if keep and rng.random() < 0.3:
                self.op("Squeeze", [self.integers(name + ".off", [2, 3])], (c,),
                        {"c": c})
            if len(self.shape) == 1:
                self.op("Unsqueeze", [self.integers(name + ".on", [2, 3])],
                        (c, 1, 1), {"c": c})
        self.op("Sigmoid")
        if rng.random() < 0.3:
            self.op("Expand", [self.integers(self.name("to"), [1, c, h, w])],
                    shape)
        self.op("Mul", [before], shape)

    def embed(self):
        """Images made of rows of a table, which the data names; returns the shape of
        that."""
        rng, (_, h, w) = self.rng, self.shape
        c, self.tokens = rng.randrange(1, 5), rng.randrange(3, 40)
        name = self.name("gather")
        self.nodes.append(helper.make_node(
            "Gather", [self.weight(name + ".table", [self.tokens, c], 1.0), self.last],
            [name], name=name))
        self.last, self.shape = name, (h * w, c)
        self.layers.append((name, {"c": c}))
        self.op("Transpose", (), (c, h * w), {}, perm=[0, 2, 1])
        self.op("Reshape", [self.integers(self.name("to"), [0, c, h, w])], (c, h, w), {})
        return (h * w,)

    def positions(self):
        """Scores of each pixel, or of each of a row of positions; these are the model's
        output."""
        self.conv(10)
        if self.rng.random() < 0.5:
            _, h, w = self.shape
            self.op("Reshape", [self.integers(self.name("to"), [0, 10, h * w])],
                    (10, h * w), {})
            self.op("Transpose", (), (h * w, 10), {}, perm=[0, 2, 1])
            self.scores = ["batch", h * w, 10]
        else:
            self.scores = ["batch", *self.shape]

    def draw(self):
        """Appends a whole network; returns the shape of its images."""
        rng = self.rng
        size = rng.choice([8, 9, 12])
        self.shape = image = (self.shape[0], size, size + rng.randrange(3))
        if rng.random() < 0.15:
            image = self.embed()
        self.conv()
        for _ in range(rng.randrange(2, 6)):
            rng.choice([
                self.conv, self.conv, self.pool, self.pool, self.normalize,
                self.dropout, self.noise, self.residual, self.residual, self.shortcut,
                self.shortcut, self.concat, self.pad, self.slice, self.slice,
                self.split, self.split, self.sequence, self.shuffle,
                self.shuffle, self.transpose, self.channels_last, self.scaled, self.unary,
                self.unary, self.bounded, self.quotient, self.softmax,
                self.lrn, self.activation, self.activation,
                self.normalize_samples, self.normalize_samples,
                self.reduce_and_scale, self.reduce_and_scale, self.running_sum,
                self.choose, self.choose, self.steps, self.resize,
                self.transposed_conv, self.spaces, self.sample, self.mirror, self.places,
                self.places, self.letters, self.sequences, self.recurrent,
                self.spectrum,
                self.elements, self.elements, self.control, self.list_of_values,
                self.attend])()
        if rng.random() < 0.08:
            self.positions()
            return image
        if rng.random() < 0.3:
            c = self.shape[0]
            self.op("GlobalAveragePool", (), (c, 1, 1), {"c": c})
        c, flat = self.shape[0], int(np.prod(self.shape))
        self.op("Flatten", (), (flat,), {"c": c}, axis=1)
        for _ in range(rng.randrange(2)):
            self.linear(rng.randrange(6, 20), rng.choice(["Gemm", "MatMul"]))
            self.op("Relu")
        if rng.random() < 0.1:  # weights that nodes exchange in parts
            self.linear(rng.randrange(250, 400), "MatMul")
            self.op("Relu")
            self.linear(rng.randrange(250, 400))
        self.linear(10)
        if rng.random() < 0.1:
            self.op("LogSoftmax", axis=1)
        return image

    def build(self, path):
        self.image = image = self.draw()
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("images", INT64 if self.tokens else FLOAT,
                                           ["batch", *image])],
            [helper.make_tensor_value_info(self.last, FLOAT, self.scores)],
            self.constants)
        save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10),
            path)

