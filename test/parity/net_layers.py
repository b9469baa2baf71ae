"""Layers of a random network (random_net.py): windows, products, and what goes over
images once. Every method but `window` is a generator; it appends nothing where the
images are too small.
"""

from onnx import TensorProto

from net_graph import FLOAT, Graph

# Elementwise operators: defined and of moderate slope for any value; for values in (0, 1).
UNARY = ["Abs", "Elu", "Erf", "HardSigmoid", "HardSwish", "LeakyRelu", "Neg",
         "Relu", "Sigmoid", "Softplus", "Tanh", "Gelu", "Identity"]
UNARY_OF_SIGMOID = ["Exp", "Log", "Sqrt", "Reciprocal", "Tan", "Sinh", "Cosh",
                    "Asin", "Acos", "Atanh"]


class Layers(Graph):
    """What computes new elements."""

    #--- Windows and products

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

    def linear(self, outputs, kind="Gemm"):
        name, inputs = self.name("w"), self.shape[0]
        shape = [outputs, inputs] if kind == "Gemm" else [inputs, outputs]
        weights = [self.weight(name, shape, (1 / inputs) ** 0.5)]
        if kind == "Gemm":
            weights.append(self.constant(name + ".bias", [outputs], 0.0))
        self.op(kind, weights, (outputs,), {"c": outputs, "k": inputs},
                **({"transB": 1} if kind == "Gemm" else {}))

    #--- Elementwise operators and normalization

    def unary(self):
        kind = self.rng.choice(UNARY + UNARY_OF_SIGMOID)
        if kind in UNARY_OF_SIGMOID:
            self.op("Sigmoid")
        self.op(kind)

    def bounded(self):
        kind = self.rng.choice(["Clip", "Pow", "Acosh", "Cast", "CastLike"])
        if kind == "Clip":
            self.op(kind, [self.scalar(-0.8), self.scalar(1.1)])
        elif kind == "Pow":
            self.op("Sigmoid")
            self.op(kind, [self.scalar(self.rng.choice([0.5, 2.0, 1.5]))])
        elif kind == "Acosh":
            self.op("Softplus")
            self.op("Add", [self.scalar(1.5)])
            self.op(kind)
        elif kind == "Cast":
            self.op(kind, to=FLOAT)
        else:
            self.op(kind, [self.last if self.tokens else "images"])

    def normalize(self):
        c, name = self.shape[0], self.name("bn")
        self.op("BatchNormalization",
                [self.constant(name + ".scale", [c], 1.0),
                 self.constant(name + ".bias", [c], 0.5),
                 self.constant(name + ".mean", [c], 0.0),
                 self.constant(name + ".var", [c], 1.0)], training_mode=0)

    def dropout(self):
        self.op("Dropout", [self.scalar(0.3), self.scalar(True, TensorProto.BOOL)])

    def noise(self):
        before, kind = self.last, self.rng.choice(["RandomNormalLike", "RandomUniformLike"])
        self.op(kind)
        if self.rng.random() < 0.3:
            self.op("Mul", [self.scalar(0.5)])
        self.op("Add", [before])

    def softmax(self):
        self.op("Softmax", axis=self.rng.choice([1, 1, 2, 3]))

    def lrn(self):
        self.op("LRN", size=3, alpha=0.1, beta=0.75)
