"""The operator grid: layers, from convolutions to losses, and what stands around them
(fused activations, initial values, shared weights).
"""

import itertools

import numpy as np
from onnx import helper, numpy_helper

from grid_case import CLASSES, FLOAT, Case, text


def convolutions(first=0):
    kernels = [(1, 1), (2, 2), (3, 3), (5, 5), (1, 3), (3, 1), (1, 7), (11, 11)]
    strides = [(1, 1), (2, 2), (3, 1), (4, 4)]
    pads = [(0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 1, 3), (0, 0, 1, 1)]
    # groups and channels: dense, two groups, depthwise, depthwise times two
    widths = [(1, 3, 8), (1, 5, 7), (2, 6, 4), (5, 5, 5), (3, 3, 6), (4, 16, 8)]
    rotate = itertools.count(first)
    for kernel, stride, pad in itertools.product(kernels, strides, pads):
        turn = next(rotate)
        group, inputs, outputs = widths[turn % len(widths)]
        dilation = [(1, 1), (1, 1), (2, 2), (2, 1)][turn * 5 // 3 % 4]
        size = [(13, 11), (12, 14), (15, 9 if kernel[1] < 9 else 17)][turn % 3]
        if any(d * (k - 1) + 1 > s + a + b for d, k, s, a, b in zip(
                dilation, kernel, size, pad[:2], pad[2:])):
            dilation = (1, 1)
        bias = turn % 4 != 1
        case = Case(f"Conv k{text(kernel)} s{text(stride)} p{text(pad)} "
                    f"d{text(dilation)} g{group} c{inputs}to{outputs}"
                    + ("" if bias else " nobias"), [3, inputs, *size])
        weights = [case.weight("w", [outputs, inputs // group, *kernel])]
        if bias:
            weights.append(case.weight("b", [outputs]))
        case.last = case.op("Conv", case.last, *weights, group=group,
                            strides=stride, pads=pad, dilations=dilation)
        yield case.model()
    for mode, kernel, stride in itertools.product(
            ("SAME_UPPER", "SAME_LOWER", "VALID"), (2, 3), (1, 2)):
        case = Case(f"Conv {mode} k{kernel} s{stride}", [2, 3, 9, 8])
        case.last = case.op("Conv", case.last,
                            case.weight("w", [4, 3, kernel, kernel]),
                            case.weight("b", [4]), auto_pad=mode,
                            strides=[stride] * 2)
        yield case.model()


def products():
    for a, b, alpha, beta, bias in itertools.product(
            (0, 1), (0, 1), (1.0, 0.5), (1.0, 2.0),
            (None, [7], [1, 7], [1], [5, 7], [5, 1])):
        if bias is None and beta != 1.0:
            continue
        case = Case(f"Gemm ta{a} tb{b} alpha{alpha} beta{beta} "
                    f"bias{text(bias)}", [5, 9])
        x = case.op("Transpose", case.last, perm=[1, 0]) if a else case.last
        weights = [case.weight("w", [7, 9] if b else [9, 7])]
        if bias is not None:
            weights.append(case.weight("c", bias))
        case.last = case.op("Gemm", x, *weights, transA=a, transB=b,
                            alpha=alpha, beta=beta)
        yield case.model()
    for shape, other in (([5, 9], [9, 7]), ([3, 5, 9], [9, 7]),
                         ([3, 5, 9], [3, 9, 4]), ([2, 3, 5, 7], [2, 3, 7, 5]),
                         ([2, 3, 5, 7], [7, 6])):
        case = Case(f"MatMul {text(shape)} {text(other)}", shape)
        case.last = case.op("MatMul", case.last, case.weight("w", other))
        yield case.model()
        case = Case(f"MatMul plus bias {text(shape)} {text(other)}", shape)
        y = case.op("MatMul", case.last, case.weight("w", other))
        case.last = case.op("Add", y, case.weight("b", [other[-1]]))
        yield case.model()
    case = Case("MatMul of one value with itself", [3, 5, 9])
    turned = case.op("Transpose", case.last, perm=[0, 2, 1])
    case.last = case.op("MatMul", case.last, turned)
    yield case.model()
    case = Case("MatMul by a transposed weight", [3, 5, 9])
    turned = case.op("Transpose", case.weight("w", [4, 9]), perm=[1, 0])
    case.last = case.op("MatMul", case.last, turned)
    yield case.model()


def normalizations():
    for shape, epsilon, momentum in itertools.product(
            ([4, 3, 7, 5], [2, 8, 1, 3], [7, 5], [3, 5, 9]), (1e-5, 1e-3),
            (0.9, 0.5)):
        case = Case(f"BatchNormalization {text(shape)} eps{epsilon} "
                    f"m{momentum}", shape)
        channels = [shape[1]]
        parameters = [case.weight("scale", channels), case.weight("bias", channels),
                      case.weight("mean", channels),
                      case.weight("variance", channels, 0.5, 2.0)]
        training = len(shape) == 4 and momentum == 0.9
        results = case.op("BatchNormalization", case.last, *parameters,
                          outputs=3 if training else 1, epsilon=epsilon,
                          momentum=momentum,
                          **(dict(training_mode=1) if training else {}))
        case.last = results[0] if training else results
        yield case.model()
    for shape, training in itertools.product(([6, 3], [1, 4, 9], [3, 4, 5, 2]), (0, 1)):
        # As PyTorch writes F.batch_norm without running statistics.
        case = Case(f"BatchNormalization {text(shape)} of computed statistics, "
                    f"training_mode={training}", shape)
        axes = case.ints(*(a for a in range(len(shape)) if a != 1))
        mean = case.op("ReduceMean", case.last, axes, keepdims=0)
        center = case.op("Sub", case.last, case.op("ReduceMean", case.last, axes))
        variance = case.op("ReduceMean", case.op("Mul", center, center), axes,
                           keepdims=0)
        channels = [shape[1]]
        results = case.op(
            "BatchNormalization", case.last,
            case.stored(np.ones(channels, np.float32)),
            case.weight("bias", channels), mean, variance, epsilon=1e-3,
            outputs=3 if training else 1, training_mode=training)
        case.last = results[0] if training else results
        yield case.model()
    for size, channels, beta, bias in itertools.product(
            (1, 3, 4, 5, 9), (3, 7), (0.75, 0.5), (1.0, 2.0)):
        case = Case(f"LRN size{size} c{channels} beta{beta} bias{bias}",
                    [2, channels, 5, 3])
        case.last = case.op("LRN", case.last, size=size, alpha=0.3, beta=beta,
                            bias=bias)
        yield case.model()


def windows():
    """(kernel, stride, pads, ceil_mode, dilation) of the pooling operators."""
    for kernel, stride, ceil in itertools.product(
            ((2, 2), (3, 3), (3, 2), (1, 1), (5, 4)), ((1, 1), (2, 2), (3, 2)),
            (0, 1)):
        for pad in ((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 1, 0)):
            if all(p < k for p, k in zip(pad, kernel * 2)):
                yield kernel, stride, pad, ceil, (1, 1)
    for ceil in (0, 1):
        yield (3, 3), (1, 1), (1, 1, 1, 1), ceil, (2, 2)
        yield (2, 3), (2, 2), (0, 0, 0, 0), ceil, (3, 1)


def starts_outside(size, kernel, stride, before, after, ceil):
    """Whether the last window would start in the trailing padding. PyTorch
    drops such a window; ONNX's shape inference keeps it."""
    last = -(-(size + before + after - kernel) // stride) * stride
    return ceil and last >= size + before


def poolings(first=0):
    size = [(9, 7), (8, 10), (11, 6)]
    for turn, (kernel, stride, pad, ceil, dilation) in enumerate(windows(), first):
        options = dict(kernel_shape=kernel, strides=stride, pads=pad,
                       ceil_mode=ceil, dilations=dilation)
        label = (f"k{text(kernel)} s{text(stride)} p{text(pad)} ceil{ceil} "
                 f"d{text(dilation)}")
        shape = [2, 3 + turn % 2, *size[turn % 3]]
        if any(starts_outside(*v, ceil) for v in zip(
                shape[2:], kernel, stride, pad[:2], pad[2:])):
            continue
        case = Case(f"MaxPool {label}", shape)
        case.last = case.op("MaxPool", case.last, **options)
        yield case.model()
        include = turn % 2
        case = Case(f"AveragePool {label} include{include}", shape, opset=19)
        case.last = case.op("AveragePool", case.last, count_include_pad=include,
                            **options)
        yield case.model()
    case = Case("MaxPool of more than 256 taps", [2, 3, 19, 18])
    case.last = case.op("MaxPool", case.last, kernel_shape=[17, 17])
    yield case.model()
    for kind, mode in itertools.product(("MaxPool", "AveragePool"),
                                        ("SAME_UPPER", "SAME_LOWER", "VALID")):
        case = Case(f"{kind} {mode}", [2, 3, 8, 7])
        case.last = case.op(kind, case.last, kernel_shape=[3, 2],
                            strides=[2, 2], auto_pad=mode)
        yield case.model()
    for shape in ([2, 5, 7, 3], [3, 4, 1, 1]):
        case = Case(f"GlobalAveragePool {text(shape)}", shape)
        case.last = case.op("GlobalAveragePool", case.last)
        yield case.model()


def softmaxes_and_losses():
    for kind, shape, axis in itertools.product(
            ("Softmax", "LogSoftmax"), ([4, 9], [3, 5, 7], [2, 5, 3, 4]),
            (-1, 1, 2)):
        if axis >= len(shape):
            continue
        case = Case(f"{kind} {text(shape)} axis{text(axis)}", shape)
        case.last = case.op(kind, case.last, axis=axis)
        yield case.model()
        case = Case(f"{kind} {text(shape)} axis{text(axis)} opset 11", shape, 11)
        case.last = case.op(kind, case.last, axis=axis)
        yield case.model()
    for kind in ("Softmax", "LogSoftmax"):
        yield Case(f"{kind} before the loss", [4, 9]).model(
            lambda case, logits: case.op(kind, logits, axis=-1))

    def own_loss(kind, weighted, options):
        def add(case, logits):
            case.labels = True
            x = logits
            if kind == "NegativeLogLikelihoodLoss":
                x = case.op("LogSoftmax", logits, axis=1)
            values = np.linspace(0.5, 1.5, CLASSES).astype(np.float32)
            extra = [case.stored(values)] if weighted else []
            return case.op(kind, x, "labels", *extra, **options)
        return add

    for kind, weighted, reduction, ignore in itertools.product(
            ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"),
            (False, True), ("mean", "sum"), (None, 2)):
        options = dict(reduction=reduction)
        if ignore is not None:
            options["ignore_index"] = ignore
        yield Case(f"{kind} weighted{int(weighted)} {reduction} "
                   f"ignore{text(ignore)}", [6, 9]).model(
            own_loss(kind, weighted, options))


def fused_activations():
    """Activations that the compiler fuses into the library call before them, or
    into one generated kernel."""
    for kind, options, bias in itertools.product(
            ("Relu", "LeakyRelu", "Clip", "HardSwish"),
            (dict(kernel_shape=[3, 3]), dict(kernel_shape=[1, 1], strides=[2, 2])),
            (True, False)):
        kernel = options["kernel_shape"]
        case = Case(f"Conv and {kind} k{text(kernel)} bias{int(bias)}", [3, 4, 7, 6])
        weights = [case.weight("w", [5, 4, *kernel])]
        if bias:
            weights.append(case.weight("b", [5]))
        y = case.op("Conv", case.last, *weights, **options)
        bounds = [case.scalar(0.0), case.scalar(0.75)] if kind == "Clip" else []
        case.last = case.op(kind, y, *bounds)
        yield case.model()
    for kind, turned, bias in itertools.product(
            ("Relu", "Sigmoid"), (0, 1), (True, False)):
        case = Case(f"Gemm and {kind} tb{turned} bias{int(bias)}", [5, 9])
        weights = [case.weight("w", [7, 9] if turned else [9, 7])]
        if bias:
            weights.append(case.weight("b", [7]))
        y = case.op("Gemm", case.last, *weights, transB=turned)
        case.last = case.op(kind, y)
        yield case.model()
    case = Case("MatMul, Add and Relu", [3, 5, 9])
    y = case.op("MatMul", case.last, case.weight("w", [9, 7]))
    case.last = case.op("Relu", case.op("Add", y, case.weight("b", [7])))
    yield case.model()
    case = Case("Conv, BatchNormalization, Add and Relu", [4, 3, 6, 5])
    y = case.op("Conv", case.last, case.weight("w", [3, 3, 3, 3]),
                pads=[1, 1, 1, 1])
    y = case.op("BatchNormalization", y, *(
        case.weight(n, [3], 0.5, 2.0) for n in ("scale", "bias", "mean", "var")))
    case.last = case.op("Relu", case.op("Add", y, case.last))
    yield case.model()


def initial_values():
    """Parameters whose initial values a random or constant node stands for; the
    trainer draws them."""
    def made(case):
        model = case.model()
        model.producer_name = ""  # PyTorch stores all of its parameters
        return model

    for kind, options in (("RandomNormal", dict(mean=0.25, scale=0.5)),
                          ("RandomUniform", dict(low=-0.5, high=0.75))):
        case = Case(f"{kind} as a weight", [4, 9])
        w = case.op(kind, dtype=FLOAT, shape=[9, 7], **options)
        case.last = case.op("Gemm", case.last, w)
        yield made(case)
        case = Case(f"{kind}Like as a weight", [4, 9])
        w = case.op(f"{kind}Like", case.weight("donor", [9, 7]), dtype=FLOAT,
                    **options)
        case.last = case.op("Gemm", case.last, w)
        yield made(case)
    case = Case("ConstantOfShape as a weight", [4, 9])
    case.initializers.append(numpy_helper.from_array(
        np.array([9, 7], np.int64), "sizes"))
    w = case.op("ConstantOfShape", "sizes",
                value=helper.make_tensor("value", FLOAT, [1], [0.02]))
    case.last = case.op("Gemm", case.last, w)
    yield case.model()


def shared_weights():
    case = Case("a weight used twice", [4, 9])
    w = case.weight("w", [9, 9])
    y = case.op("Relu", case.op("MatMul", case.last, w))
    case.last = case.op("MatMul", y, w)
    yield case.model()
    case = Case("a value used three times", [3, 4, 5, 7])
    y = case.op("Relu", case.last)
    z = case.op("Add", case.op("Sigmoid", case.last), y)
    case.last = case.op("Mul", z, case.last)
    yield case.model()
    case = Case("a parameter behind an Identity", [4, 9])
    w = case.op("Identity", case.weight("w", [9, 7]))
    case.last = case.op("Gemm", case.last, w)
    yield case.model()
