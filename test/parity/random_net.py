"""Random networks of every operator that lwcc imports, for plans.py.

Each generator (a method of Net from `conv` to `sequence`) appends one block to
the network; `build` draws some of them. Their operators are those of the
frontend's table: `undrawn` names the ones that no network ever has, so that a
new operator is noticed here.
"""

import random
import re
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save

FLOAT = TensorProto.FLOAT
TABLE = Path(__file__).parents[2] / "frontend" / "OnnxOpTable.cpp"

# Loss nodes become the same ops as the loss that lwcc adds; test/frontend has them.
NOT_DRAWN = {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}

# Elementwise operators: defined and of moderate slope for any value; for values in (0, 1).
UNARY = ["Abs", "Elu", "Erf", "HardSigmoid", "HardSwish", "LeakyRelu", "Neg",
         "Relu", "Sigmoid", "Softplus", "Tanh", "Gelu", "Identity"]
UNARY_OF_SIGMOID = ["Exp", "Log", "Sqrt", "Reciprocal"]

# Operators that only rename their input make no layer, and a softmax at the end is part of the
# loss.
NAMES = {"Identity", "Cast", "CastLike", "SequenceAt", "LogSoftmax"}
RESHAPES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}


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


class Net:
    """A random network; `shape` is that of the last value, without samples."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []
        self.layers = []  # (name, extents by dimension) of layers that a plan may cut
        self.last, self.shape = "images", (rng.choice([1, 3]), 0, 0)
        self.kind = ""  # of the last operator

    def name(self, kind):
        return f"{kind}{len(self.nodes)}"

    def weight(self, name, shape, scale):
        self.nodes.append(helper.make_node(
            "RandomNormal", [], [name], name=name, dtype=FLOAT, shape=shape,
            mean=0.0, scale=scale))
        return name

    def constant(self, name, shape, value):
        self.integers(name + ".shape", shape)
        self.nodes.append(helper.make_node(
            "ConstantOfShape", [f"{name}.shape"], [name], name=name,
            value=helper.make_tensor("value", FLOAT, [1], [value])))
        return name

    def integers(self, name, values):
        self.constants.append(helper.make_tensor(
            name, TensorProto.INT64, [len(values)], values))
        return name

    def scalar(self, value, kind=FLOAT):
        name = f"{self.name('scalar')}.{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, kind, [], [value]))
        return name

    def op(self, kind, inputs=(), shape=None, extents=None, outputs=None,
           **attributes):
        name = self.name(kind.lower())
        self.nodes.append(helper.make_node(
            kind, [self.last, *inputs], outputs or [name], name=name,
            **attributes))
        self.last = outputs[0] if outputs else name
        self.shape = shape or self.shape
        if extents is None:
            extents = dict(zip("chw", self.shape)) if len(self.shape) < 4 else {}
        # The compiler makes one op of consecutive reshapes, with other channels to cut
        # than either has: the plan cuts none of them.
        if {kind, self.kind} <= RESHAPES:
            extents, self.layers[-1] = {}, (self.layers[-1][0], {})
        if kind not in NAMES:
            self.kind = kind
            self.layers.append((name, extents))
        return self.last

    #--- Windows

    def window(self, kernel, ceil=False):
        """Strides, pads and dilations with which at least two rows and columns of the
        last value are left, or None; and the size of the result."""
        rng, size, options = self.rng, [], {}
        stride = [rng.choice([1, 1, 2, 3, 4]) for _ in range(2)]
        dilation = [rng.choice([1, 1, 1, 2]) for _ in range(2)]
        # A convolution's windows may cover nothing but padding; a pooling's may not.
        pads = [rng.randrange((k + 1) // 2 if ceil else k + 1)
                for k in kernel * 2]
        if rng.random() < 0.2:
            options["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER"])
        else:
            options["pads"] = pads
        up = ceil and "pads" in options and rng.random() < 0.4
        for d, extent in enumerate(self.shape[1:]):
            if "auto_pad" in options:
                size.append(-(-extent // stride[d]))
                continue
            free = (extent + pads[d] + pads[d + 2]
                    - dilation[d] * (kernel[d] - 1) - 1)
            size.append((-(-free // stride[d]) if up else free // stride[d]) + 1)
            if up and (size[d] - 1) * stride[d] >= extent + pads[d]:
                size[d] -= 1
        if min(size) < 2:
            return None
        if up:
            options["ceil_mode"] = 1
        return dict(options, kernel_shape=kernel, strides=stride,
                    dilations=dilation), size

    def conv(self, outputs=None, keep=False, kernel=None, stride=None):
        rng, (c, h, w) = self.rng, self.shape
        kernel = kernel or [rng.choice([1, 3, 3, 5]) for _ in range(2)]
        if stride:
            size = [(e - 1) // stride + 1 for e in (h, w)]
            options = dict(pads=[k // 2 for k in kernel] * 2,
                           strides=[stride, stride])
        else:
            options, size = (not keep and self.window(kernel)) or (
                dict(pads=[k // 2 for k in kernel] * 2), [h, w])
        groups = rng.choice([g for g in (1, 1, 2, 3, c) if c % g == 0])
        outputs = outputs or groups * rng.randrange(
            1 if groups > 3 else 2, 3 if groups > 3 else 6)
        if outputs % groups:
            groups = 1
        name = self.name("w")
        inputs = [self.weight(name, [outputs, c // groups, *kernel],
                              (2 / (c // groups * kernel[0] * kernel[1])) ** 0.5)]
        if rng.random() < 0.6:
            inputs.append(self.constant(name + ".bias", [outputs], 0.1))
        extents = dict(c=outputs, h=size[0], w=size[1])
        if groups == 1:
            extents["k"] = c
        return self.op("Conv", inputs, (outputs, *size), extents, group=groups,
                       **{"kernel_shape": kernel, **options})

    def pool(self):
        rng, c = self.rng, self.shape[0]
        kernel = [rng.choice([1, 2, 3]) for _ in range(2)]
        options, size = self.window(kernel, ceil=True) or ({}, None)
        if not size:
            return
        if rng.random() < 0.5:
            self.op("MaxPool", shape=(c, *size), **options)
        else:
            self.op("AveragePool", shape=(c, *size),
                    count_include_pad=rng.randrange(2), **options)

    #--- Elementwise operators and normalization

    def unary(self):
        kind = self.rng.choice(UNARY + UNARY_OF_SIGMOID)
        if kind in UNARY_OF_SIGMOID:
            self.op("Sigmoid")
        self.op(kind)

    def bounded(self):
        kind = self.rng.choice(["Clip", "Pow", "Cast", "CastLike"])
        if kind == "Clip":
            self.op(kind, [self.scalar(-0.8), self.scalar(1.1)])
        elif kind == "Pow":
            self.op("Sigmoid")
            self.op(kind, [self.scalar(self.rng.choice([0.5, 2.0, 1.5]))])
        elif kind == "Cast":
            self.op(kind, to=FLOAT)
        else:
            self.op(kind, ["images"])

    def normalize(self):
        c, name = self.shape[0], self.name("bn")
        self.op("BatchNormalization",
                [self.constant(name + ".scale", [c], 1.0),
                 self.constant(name + ".bias", [c], 0.5),
                 self.constant(name + ".mean", [c], 0.0),
                 self.constant(name + ".var", [c], 1.0)], training_mode=0)

    def dropout(self):
        self.op("Dropout", [self.scalar(0.3), self.scalar(True, TensorProto.BOOL)])

    def softmax(self):
        self.op("Softmax", axis=self.rng.choice([1, 1, 2, 3]))

    def lrn(self):
        self.op("LRN", size=3, alpha=0.1, beta=0.75)

    #--- Movements

    def pad(self):
        """Pads that may be negative: they crop."""
        rng, (c, h, w) = self.rng, self.shape
        pads = [0, rng.randrange(2), rng.randrange(-1, 3), rng.randrange(-1, 3)]
        pads += [0, rng.randrange(2), rng.randrange(-1, 3), rng.randrange(-1, 3)]
        shape = tuple(e + pads[d] + pads[d + 4]
                      for d, e in enumerate((c, h, w), 1))
        if min(shape) >= 2:
            self.op("Pad", [self.integers(self.name("pads"), pads)], shape)

    def slice(self):
        """Some channels, rows or columns, now and then every second or third,
        forwards or backwards."""
        rng, name, axis = self.rng, self.name("slice"), self.rng.randrange(1, 4)
        extent, step = self.shape[axis - 1], rng.choice([1, 1, 2, 3, -1, -2])
        first = rng.randrange(extent)
        last = rng.randint(-1, extent)
        if step > 0:
            first, last = min(first, last), max(first, last)
        else:
            first, last = max(first, last), min(first, last)
        taken = range(extent)[first:last if last >= 0 else None:step]
        if len(taken) < (1 if axis == 1 else 2) or len(taken) == extent:
            return
        shape = list(self.shape)
        shape[axis - 1] = len(taken)
        end = taken[-1] + (1 if step > 0 else -1)
        if rng.random() < 0.3:
            self.op("Gather", [self.integers(name + ".at", list(taken))],
                    tuple(shape), axis=axis)
            return
        inputs = dict(starts=taken[0], ends=end if end >= 0 else -extent - 1,
                      axes=axis, steps=step)
        self.op("Slice", [self.integers(f"{name}.{key}", [value])
                          for key, value in inputs.items()], tuple(shape))

    def parts(self, axis):
        """Sizes of two or three parts of the last value, or None."""
        extent, count = self.shape[axis - 1], self.rng.choice([2, 2, 3])
        least = 1 if axis == 1 else 2
        if extent < count * least:
            return None
        sizes = [least] * count
        for _ in range(extent - sum(sizes)):
            sizes[self.rng.randrange(count)] += 1
        return [extent // count] * count if (
            extent % count == 0 and self.rng.random() < 0.5) else sizes

    def split(self):
        """Into parts, of which some are transformed; they are joined or added
        again, or all but one are dropped."""
        rng, before, axis = self.rng, self.shape, self.rng.randrange(1, 4)
        sizes, whole = self.parts(axis), self.last
        if not sizes:
            return
        name, parts, one = self.name("split"), [], rng.random() < 0.25
        extents = dict(zip("chw", before))
        self.op("Split", [self.integers(name + ".sizes", sizes)], None, extents,
                [f"{name}.{i}" for i in range(len(sizes))], axis=axis)
        for i, size in enumerate(sizes):
            shape = list(before)
            shape[axis - 1] = size
            self.last, self.shape = f"{name}.{i}", tuple(shape)
            if not one and rng.random() < 0.4:
                self.conv(shape[0], keep=True)
            parts.append((self.last, self.shape))
        if one:
            self.last, self.shape = rng.choice(parts)
        elif len(set(sizes)) == 1 and rng.random() < 0.4:
            self.last, self.shape = parts[0]
            self.op("Sum", [part for part, _ in parts[1:]])
        else:
            rng.shuffle(parts)
            self.last = parts[0][0]
            self.op("Concat", [part for part, _ in parts[1:]], before, axis=axis)
            if before == self.shape and rng.random() < 0.3:
                self.op("Add", [whole])

    def sequence(self):
        """A split written as exporters write torch.split: SplitToSequence, SequenceAt."""
        axis = self.rng.randrange(1, 4)
        sizes, shape = self.parts(axis), list(self.shape)
        if not sizes:
            return
        name, at = self.name("sequence"), self.rng.randrange(len(sizes))
        self.op("SplitToSequence", [self.integers(name + ".sizes", sizes)], None,
                dict(zip("chw", shape)), axis=axis)
        shape[axis - 1] = sizes[at]
        self.op("SequenceAt", [self.scalar(at, TensorProto.INT64)], tuple(shape))

    def reshape(self, shape, extents=None):
        name = self.name("to")
        return self.op("Reshape", [self.integers(name, [0, *shape])],
                       tuple(shape), extents)

    def shuffle(self):
        """Channel shuffle between groups (ShuffleNet), by a transpose in five dimensions."""
        (c, h, w) = self.shape
        groups = [g for g in range(2, c) if c % g == 0]
        if not groups:
            return
        g = self.rng.choice(groups)
        self.reshape([g, c // g, h, w], dict(c=g))
        self.op("Transpose", (), (c // g, g, h, w), {}, perm=[0, 2, 1, 3, 4])
        self.reshape([c, h, w], dict(c=c // g))

    def transpose(self):
        order = [1, 2, 3]
        self.rng.shuffle(order)
        shape = tuple(self.shape[d - 1] for d in order)
        if order != [1, 2, 3] and min(shape[1:]) >= 2:
            self.op("Transpose", (), shape, perm=[0, *order])

    #--- Several branches

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

    def linear(self, outputs, kind="Gemm"):
        name, inputs = self.name("w"), self.shape[0]
        shape = [outputs, inputs] if kind == "Gemm" else [inputs, outputs]
        weights = [self.weight(name, shape, (1 / inputs) ** 0.5)]
        if kind == "Gemm":
            weights.append(self.constant(name + ".bias", [outputs], 0.0))
        self.op(kind, weights, (outputs,), {"c": outputs, "k": inputs},
                **({"transB": 1} if kind == "Gemm" else {}))

    def draw(self):
        """Appends a whole network; returns the shape of its images."""
        rng = self.rng
        size = rng.choice([8, 9, 12])
        self.shape = image = (self.shape[0], size, size + rng.randrange(3))
        self.conv()
        for _ in range(rng.randrange(2, 5)):
            rng.choice([
                self.conv, self.conv, self.pool, self.pool, self.normalize,
                self.dropout, self.residual, self.residual, self.shortcut,
                self.shortcut, self.concat, self.pad, self.slice, self.slice,
                self.split, self.split, self.sequence, self.shuffle,
                self.shuffle, self.transpose, self.scaled, self.unary,
                self.unary, self.bounded, self.quotient, self.softmax,
                self.lrn])()
        if rng.random() < 0.3:
            c = self.shape[0]
            self.op("GlobalAveragePool", (), (c, 1, 1), {"c": c})
        c, flat = self.shape[0], int(np.prod(self.shape))
        self.op("Flatten", (), (flat,), {"c": c}, axis=1)
        for _ in range(rng.randrange(2)):
            self.linear(rng.randrange(6, 20), rng.choice(["Gemm", "MatMul"]))
            self.op("Relu")
        self.linear(10)
        if rng.random() < 0.1:
            self.op("LogSoftmax", axis=1)
        return image

    def build(self, path):
        image = self.draw()
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("images", FLOAT, ["batch", *image])],
            [helper.make_tensor_value_info(self.last, FLOAT, ["batch", 10])],
            self.constants)
        save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
            path)

