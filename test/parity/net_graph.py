"""The graph of a random network under construction: nodes, weights, constants, and
which of its operators are layers that a plan may cut, and along what.

What operators there are, and which are drawn, is decided by random_net.py and the
modules that it draws from (net_layers.py, net_movements.py).
"""

from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64

# Operators that only rename their input make no layer, and a softmax at the end is part of the
# loss.
NAMES = {"Identity", "Cast", "CastLike", "SequenceAt", "LogSoftmax"}
RESHAPES = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
            # Composed ones that end in a reshape, or may.
            "Einsum", "Tile", "Resize", "SpaceToDepth", "DepthToSpace", "GatherND",
            "ScatterND", "Gather", "GroupNormalization", "ReduceMax", "ReduceMin",
            "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
            "ReduceLogSumExp", "ReduceSumSquare", "CumSum", "GatherElements",
            "ScatterElements", "TopK", "ArgMax", "ArgMin", "OneHot"}


class Graph:
    """`last` is the value to continue from; `shape` is that of it, without samples."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []
        self.layers = []  # (name, extents by dimension) of layers that a plan may cut
        self.last, self.shape = "images", (rng.choice([1, 3]), 0, 0)
        self.kind = ""  # of the last operator
        self.uncut = False  # operators are no layers that a plan may cut
        self.tokens = 0  # what integers of the input are below; 0: it is floats
        self.scores = ["batch", 10]
        self.mixes_samples = False  # somewhere samples are not the first dimension

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
        if {kind, self.kind} <= RESHAPES and not self.uncut:
            extents, self.layers[-1] = {}, (self.layers[-1][0], {})
        if kind not in NAMES and not self.uncut:
            self.kind = kind
            self.layers.append((name, extents))
        return self.last
