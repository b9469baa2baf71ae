"""Movements of a random network (random_net.py): operators that take, leave out, join
or reorder elements. A split may transform its parts by convolutions before they
are joined again.
"""

from onnx import TensorProto

from net_layers import Layers


class Movements(Layers):
    """What moves elements."""

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
        # Channels last: see channels_last.
        if order not in ([1, 2, 3], [2, 3, 1]) and min(shape[1:]) >= 2:
            self.op("Transpose", (), shape, perm=[0, *order])

    def channels_last(self):
        """Some ops with the channels last, as Keras has them, and a residual connection
        around these or none."""
        rng, (c, h, w) = self.rng, self.shape
        if min(c, h, w) < 2:
            return
        # The compiler has these channels second: it has other layers.
        self.uncut, self.kind = True, ""
        self.op("Transpose", (), (h, w, c), perm=[0, 2, 3, 1])
        before, shape = self.last, self.shape
        for _ in range(rng.randint(1, 3)):
            rng.choice([self.pad, self.slice, self.split, self.unary, self.bias_of_last,
                        self.gate_of_last])()
        if self.shape == shape and rng.random() < 0.5:
            self.op("Add", [before])
        h, w, c = self.shape
        if min(h, w) >= 2:
            self.op("Transpose", (), (c, h, w), perm=[0, 3, 1, 2])
        self.uncut = False

    def bias_of_last(self):
        self.op("Add", [self.weight(self.name("bias"), [self.shape[-1]], 0.5)])

    def gate_of_last(self):
        """Squeeze-and-excitation of channels that are last."""
        before, shape = self.last, self.shape
        self.op("ReduceMean", [self.integers(self.name("axes"), [1, 2])],
                (1, 1, shape[-1]), {}, keepdims=1)
        self.op("Sigmoid", (), None, {})
        self.shape = shape
        self.op("Mul", [before])
