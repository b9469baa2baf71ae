"""Operators of a random network (random_net.py) that lwcc composes of others. What
several ops make of a layer is cut by samples alone, so these have no extents.
"""

import numpy as np
from onnx import TensorProto, helper

from net_movements import Movements

ACTIVATIONS = ["Selu", "Celu", "Mish", "Softsign", "Sin", "Cos", "Atan", "Asinh",
               "ThresholdedRelu", "Shrink", "Swish"]
COMPARISONS = ["Less", "LessOrEqual", "Greater", "GreaterOrEqual"]


class Composed(Movements):
    """What is composed."""

    def numbers(self, name, values):
        self.constants.append(helper.make_tensor(
            name, TensorProto.FLOAT, [len(values)], values))
        return name

    def activation(self):
        kind = self.rng.choice([*ACTIVATIONS, "PRelu"])
        if kind == "PRelu":
            name = self.name("slope")
            self.op(kind, [self.constant(name, [self.shape[0], 1, 1], 0.2)])
        else:
            self.op(kind)

    def normalize_samples(self):
        rng, (c, h, w) = self.rng, self.shape
        kind = rng.choice(["LayerNormalization", "RMSNormalization",
                           "InstanceNormalization", "GroupNormalization",
                           "MeanVarianceNormalization", "LpNormalization"])
        name, size = self.name("norm"), c
        inputs, options = [], {}
        rows = kind in ("LayerNormalization", "RMSNormalization") and rng.randrange(2)
        if rows:  # of three dimensions, which there is a kernel for
            self.reshape([c * h, w], {})
        if kind in ("LayerNormalization", "RMSNormalization"):
            size = w
        if kind == "GroupNormalization":
            options["num_groups"] = rng.choice(
                [g for g in range(1, c + 1) if c % g == 0])
        if kind == "MeanVarianceNormalization":
            options["axes"] = [2, 3]
        elif kind == "LpNormalization":
            options["axis"] = rng.choice([1, -1])
        else:
            inputs = [self.constant(name + ".scale", [size], 0.9)]
            if kind != "RMSNormalization":
                inputs.append(self.constant(name + ".bias", [size], 0.1))
            options["epsilon"] = 1e-2
        self.op(kind, inputs, None, {}, **options)
        if rows:
            self.reshape([c, h, w], {})

    def attend(self):
        """Rows of all channels attend to each other, in heads of some columns each."""
        rng, (c, h, w) = self.rng, self.shape
        self.reshape([c * h, w], {})
        heads = rng.choice([n for n in range(1, w + 1) if w % n == 0])
        queries, groups = self.last, rng.choice([1, heads])
        keys = self.op("Neg", (), None, {})
        if groups < heads:
            at = [self.integers(f"{self.name('at')}.{i}", [value])
                  for i, value in enumerate((0, w // heads, 2))]
            keys = self.op("Slice", at, (c * h, w // heads), {})
        self.last = queries
        self.op("Attention", [keys, keys], (c * h, w), {}, q_num_heads=heads,
                kv_num_heads=groups, is_causal=rng.randrange(2),
                softcap=rng.choice([0.0, 1.5]))
        self.reshape([c, h, w], {})

    def reduce_and_scale(self):
        """A number for each channel, or for each row, scales what it comes from."""
        rng, before, shape = self.rng, self.last, self.shape
        kind = rng.choice(["ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                           "ReduceLogSumExp", "ReduceSumSquare", "ReduceLogSum",
                           "ReduceProd"])
        axes = [3] if kind == "ReduceProd" else rng.choice([[2, 3], [3], [1, 3]])
        if kind in ("ReduceLogSum", "ReduceProd"):
            self.op("Sigmoid")
        reduced = tuple(1 if d + 1 in axes else e for d, e in enumerate(shape))
        self.op(kind, [self.integers(self.name("axes"), axes)], reduced, {})
        self.op("Sigmoid", (), None, {})
        self.op("Mul", [before], shape, {})

    def running_sum(self):
        axis = self.rng.choice([1, 2, 3])
        self.op("CumSum", [self.scalar(axis, TensorProto.INT64)], None, {},
                exclusive=self.rng.randrange(2), reverse=self.rng.randrange(2))

    def choose(self):
        """Where data is on one side of something, it is one thing, else another."""
        rng, before = self.rng, self.last
        condition = self.compare()
        kind = rng.choice(["", "And", "Or", "Xor", "Not"])
        if kind == "Not":
            self.op(kind, (), None, {})
        elif kind:
            self.last = before
            self.compare()
            self.op(kind, [condition], None, {})
        condition, self.last = self.last, before
        other = self.op("Neg", (), None, {})
        self.last = condition
        self.op("Where", rng.choice([[before, other], [other, before]]), None, {})

    def compare(self):
        rng = self.rng
        if rng.random() < 0.1:
            return self.op("Equal", [self.last], None, {})
        if rng.random() < 0.1:
            return self.op(rng.choice(["IsNaN", "IsInf"]), (), None, {})
        return self.op(rng.choice(COMPARISONS),
                       [self.scalar(rng.choice([-0.2, 0.1]))], None, {})

    def steps(self):
        """Adds steps, whose slope is zero, to what they are steps of."""
        before = self.last
        kind = self.rng.choice(["Floor", "Ceil", "Round", "Sign", "Mod"])
        if kind == "Mod":
            self.op(kind, [self.scalar(0.7)], None, {}, fmod=self.rng.randrange(2))
        else:
            self.op(kind, (), None, {})
        self.op("Mul", [self.scalar(0.1)], None, {})
        self.op("Add", [before], None, {})

    def resize(self):
        rng, (c, h, w) = self.rng, self.shape
        sizes = [rng.randrange(max(2, e // 2), 2 * e + 1) for e in (h, w)]
        sizes[0] += sizes == [h, w]  # that would be no layer
        mode = rng.choice(["nearest", "nearest", "linear", "cubic"])
        self.op("Resize", ["", "", self.integers(self.name("sizes"), sizes)],
                (c, *sizes), {}, axes=[2, 3], mode=mode,
                coordinate_transformation_mode=rng.choice(
                    ["half_pixel", "asymmetric", "align_corners"]))

    def transposed_conv(self):
        rng, (c, h, w) = self.rng, self.shape
        kernel = [rng.choice([1, 2, 3]) for _ in range(2)]
        stride = [rng.choice([1, 2]) for _ in range(2)]
        outputs, name = rng.randrange(2, 5), self.name("w")
        size = [(e - 1) * s + k for e, s, k in zip((h, w), stride, kernel)]
        inputs = [self.weight(name, [c, outputs, *kernel], (1 / c) ** 0.5)]
        if rng.random() < 0.5:
            inputs.append(self.constant(name + ".bias", [outputs], 0.1))
        self.op("ConvTranspose", inputs, (outputs, *size), {}, strides=stride)

    def spaces(self):
        rng, (c, h, w) = self.rng, self.shape
        if c % 4 == 0 and rng.random() < 0.3:  # blocks side by side
            self.reshape_again([c, h * w])
            inputs = [self.integers(f"{self.name('fold')}.{i}", values)
                      for i, values in enumerate(([2 * h, 2 * w], [2, 2]))]
            self.op("Col2Im", inputs, (c // 4, 2 * h, 2 * w), {}, strides=[2, 2])
        elif c % 4 == 0 and rng.random() < 0.5:
            self.op("DepthToSpace", (), (c // 4, 2 * h, 2 * w), {}, blocksize=2,
                    mode=rng.choice(["DCR", "CRD"]))
        elif h % 2 == 0 and w % 2 == 0:
            self.op("SpaceToDepth", (), (4 * c, h // 2, w // 2), {}, blocksize=2)

    def reshape_again(self, shape):
        """For an operator that begins with a reshape: both become one."""
        result = self.reshape(shape, {})
        self.layers.pop()
        return result

    def sample(self):
        """Channels at places that their own elements name."""
        rng, (c, h, w), image = self.rng, self.shape, self.last
        if h * w % 2 or c > 8:
            return
        self.op("Tanh", (), None, {})
        places = self.reshape_again([c, h * w // 2, 2])
        self.last = image
        self.op("GridSample", [places], (c, c, h * w // 2), {},
                mode=rng.choice(["linear", "nearest", "cubic"]),
                padding_mode=rng.choice(["zeros", "border", "reflection"]),
                align_corners=rng.randrange(2))

    def mirror(self):
        rng, shape = self.rng, list(self.shape)
        pads = [0, 0, rng.randrange(3), rng.randrange(2)]
        pads += [0, 0, rng.randrange(2), rng.randrange(3)]
        if not any(pads):
            return
        for d in (1, 2):
            shape[d] += pads[d + 1] + pads[d + 5]
        self.op("Pad", [self.integers(self.name("pads"), pads)], tuple(shape), {},
                mode=rng.choice(["reflect", "edge", "wrap"]))

    def places(self):
        """Takes, repeats or overwrites rows at constant places."""
        rng, (c, h, w), name = self.rng, self.shape, self.name("at")
        kind = rng.choice(["Gather", "Tile", "Trilu", "ScatterND", "GatherND"])
        if kind == "Gather":
            at = [rng.randrange(h) for _ in range(rng.randrange(2, 2 * h + 1))]
            if at == list(range(h)):  # no operator at all
                return
            self.op(kind, [self.integers(name, at)], (c, len(at), w), {}, axis=2)
        elif kind == "Tile":
            times = rng.choice([[1, 1, 2, 1], [1, 2, 1, 1], [1, 1, 1, 2]])
            self.op(kind, [self.integers(name, times)],
                    tuple(e * t for e, t in zip(self.shape, times[1:])), {})
        elif kind == "Trilu":
            self.op(kind, (), None, {}, upper=rng.randrange(2))
        else:
            self.rows(kind, name)

    def rows(self, kind, name):
        """Rows in front: a transpose makes the first dimension one of the image's."""
        rng, (c, h, w) = self.rng, self.shape
        self.mixes_samples, planned = True, len(self.layers)
        self.op("Transpose", (), None, {}, perm=[2, 1, 0, 3])
        at = np.array([[rng.randrange(h)] for _ in range(rng.randrange(2, h + 1))])
        if kind == "ScatterND":
            at = np.unique(at, axis=0)
        self.constants.append(helper.make_tensor(
            name, TensorProto.INT64, at.shape, at.reshape(-1)))
        if kind == "GatherND":
            self.op(kind, [name], None, {})
            h = len(at)
        else:
            rows, self.last = self.last, self.last
            updates = self.op("Gather", [name + ".rows"], None, {}, axis=0)
            self.integers(name + ".rows", [0] * len(at))
            self.last = rows
            self.op(kind, [name, updates], None, {})
        self.op("Transpose", (), (c, h, w), {}, perm=[2, 1, 0, 3])
        del self.layers[planned:]  # cut by samples, which are not in front

    def letters(self):
        """Mixes channels, or columns, by a matrix."""
        rng, (c, h, w) = self.rng, self.shape
        outputs, name = rng.randrange(2, 5), self.name("w")
        channels = rng.random() < 0.5
        self.weight(name, [c if channels else w, outputs],
                    (1 / (c if channels else w)) ** 0.5)
        self.op("Einsum", [name], (outputs, h, w) if channels else (c, h, outputs),
                {}, equation="nchw,co->nohw" if channels else "nchw,wo->ncho")

    def spectrum(self):
        """Of rows one side, of pairs of columns both, or of frames of all elements."""
        rng, (c, h, w) = self.rng, self.shape
        kind = rng.choice(["real", "frames"] + ["complex"] * (w % 2 == 0))
        if kind == "frames" and c * h * w >= 16:
            self.reshape_again([c * h * w])
            step = c * h * w // 6
            length = rng.randrange(3, 9)
            self.op("STFT", [self.scalar(step, TensorProto.INT64), "",
                             self.scalar(length, TensorProto.INT64)],
                    ((c * h * w - length) // step + 1, length // 2 + 1, 2), {})
        elif kind == "complex":
            self.reshape_again([c, h, w // 2, 2])
            axis = self.scalar(rng.choice([1, 2, 3]), TensorProto.INT64)
            self.op("DFT", ["", axis], None, {}, inverse=rng.randrange(2))
            self.reshape([c, h, w], {})
        else:
            self.reshape_again([c, h, w, 1])
            axis = self.scalar(3, TensorProto.INT64)
            self.op("DFT", ["", axis], None, {}, onesided=1)
            self.reshape([c, h, 2 * (w // 2 + 1)], {})

    def recurrent(self):
        """Rows are steps; samples are the second dimension, as exporters write it."""
        rng, (c, h, w) = self.rng, self.shape
        kind, name = rng.choice(["RNN", "LSTM", "GRU"]), self.name("cell")
        hidden, way = rng.randrange(2, 5), rng.choice(
            ["forward", "reverse", "bidirectional"])
        rows = {"RNN": 1, "LSTM": 4, "GRU": 3}[kind] * hidden
        dirs = 1 + (way == "bidirectional")
        self.mixes_samples, planned = True, len(self.layers)
        self.op("Transpose", (), None, {}, perm=[2, 0, 1, 3])
        to = self.integers(name + ".to", [h, -1, c * w])
        self.op("Reshape", [to], None, {})
        inputs = [self.weight(name + ".w", [dirs, rows, c * w], (c * w) ** -0.5),
                  self.weight(name + ".r", [dirs, rows, hidden], 0.3)]
        biased = rng.random() < 0.6
        if biased:
            inputs.append(self.constant(name + ".b", [dirs, 2 * rows], 0.1))
        if rng.random() < 0.4:
            inputs += [*([] if biased else [""]), self.lengths(name)]
        self.op(kind, inputs, None, {}, hidden_size=hidden, direction=way)
        self.op("Transpose", (), (dirs, h, hidden), {}, perm=[2, 1, 0, 3])
        del self.layers[planned:]

    def lengths(self, name):
        """As many steps of each sample as the place of its largest says."""
        data = self.last
        self.op("ReduceMax", [self.integers(name + ".axis", [2])], None, {}, keepdims=0)
        self.op("ArgMax", [], None, {}, axis=0, keepdims=0)
        self.op("Add", [self.integers(name + ".one", [1])], None, {})
        self.op("Cast", [], None, {}, to=TensorProto.INT32)
        ends, self.last = self.last, data
        return ends

    def sequences(self):
        """A convolution in one dimension over rows, or in three over channels."""
        rng, (c, h, w) = self.rng, self.shape
        name = self.name("w")
        if rng.random() < 0.5:
            self.reshape([c, h * w], {})
            self.op("Conv", [self.weight(name, [3, c, 3], (1 / (3 * c)) ** 0.5)],
                    (3, h * w), {}, pads=[1, 1])
            self.reshape([3, h, w], {})
        else:  # planes become samples of a convolution
            self.mixes_samples, planned = True, len(self.layers)
            self.reshape([1, c, h, w], {})
            self.op("Conv", [self.weight(name, [2, 1, 1, 3, 3], 0.3)],
                    (2, c, h, w), {}, pads=[0, 1, 1] * 2)
            self.reshape([2 * c, h, w], {})
            del self.layers[planned:]
