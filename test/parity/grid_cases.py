"""The operator grid: which attributes and shapes are tried for each operator.

Shapes are small and mostly odd, so that no size divides a vector or a tile.
How a case is built is grid_case.py's, running it op_grid.py's.
"""

import itertools

import numpy as np
from onnx import helper, numpy_helper

from grid_case import CLASSES, FLOAT, Case


def text(value):
    if isinstance(value, (list, tuple)):
        return "x".join(text(v) for v in value)
    return str(value).replace("-", "m")


def convolutions():
    kernels = [(1, 1), (2, 2), (3, 3), (5, 5), (1, 3), (3, 1), (1, 7), (11, 11)]
    strides = [(1, 1), (2, 2), (3, 1), (4, 4)]
    pads = [(0, 0, 0, 0), (1, 1, 1, 1), (2, 0, 1, 3), (0, 0, 1, 1)]
    # groups and channels: dense, two groups, depthwise, depthwise times two
    widths = [(1, 3, 8), (1, 5, 7), (2, 6, 4), (5, 5, 5), (3, 3, 6), (4, 16, 8)]
    rotate = itertools.count()
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
    """Whether the last window would start in the trailing padding: PyTorch
    drops such a window, ONNX's shape inference keeps it."""
    last = -(-(size + before + after - kernel) // stride) * stride
    return ceil and last >= size + before


def poolings():
    size = [(9, 7), (8, 10), (11, 6)]
    for turn, (kernel, stride, pad, ceil, dilation) in enumerate(windows()):
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


def reductions():
    for shape, axes, keep, opset in itertools.product(
            ([3, 4, 5, 7],), ([2, 3], [-1, -2], [1], [3], [1, 2, 3], [2]), (0, 1),
            (13, 18)):
        case = Case(f"ReduceMean {text(axes)} keep{keep} opset{opset}", shape,
                    opset)
        if opset == 13:
            case.last = case.op("ReduceMean", case.last, axes=axes, keepdims=keep)
        else:
            case.last = case.op("ReduceMean", case.last, case.ints(*axes),
                                keepdims=keep)
        yield case.model()
    case = Case("ReduceMean rank 3", [3, 5, 7])
    case.last = case.op("ReduceMean", case.last, case.ints(1), keepdims=0)
    yield case.model()


def elementwise():
    shapes = ([3, 5, 7, 3], [4, 9])
    simple = [("Relu", {}), ("Sigmoid", {}), ("HardSwish", {}),
              ("HardSigmoid", {}), ("HardSigmoid", dict(alpha=1 / 6, beta=0.5)),
              ("HardSigmoid", dict(alpha=0.7, beta=0.2)), ("Identity", {})]
    for shape, (kind, options) in itertools.product(shapes, simple):
        label = " ".join(f"{k}{v:.2f}" for k, v in options.items())
        case = Case(f"{kind} {text(shape)} {label}".strip(), shape)
        # Wide enough to reach both ends of the hard functions.
        wide = case.op("Mul", case.last, case.weight("wide", shape, 1.0, 5.0))
        case.last = case.op(kind, wide, **options)
        yield case.model()
    for shape, low, high in itertools.product(shapes, (None, -0.5), (None, 0.75)):
        case = Case(f"Clip {text(shape)} {text(low)} {text(high)}", shape)
        bounds = [case.scalar(v) if v is not None else "" for v in (low, high)]
        while bounds and not bounds[-1]:
            bounds.pop()
        case.last = case.op("Clip", case.last, *bounds)
        yield case.model()
    case = Case("Clip opset 10", [3, 5, 7, 3], opset=10)
    case.last = case.op("Clip", case.last, min=-0.25, max=0.5)
    yield case.model()

    full = [3, 5, 7, 4]
    for kind, other in itertools.product(
            ("Add", "Mul"), (full, [5, 1, 1], [1, 5, 1, 1], [4], [7, 1], [1], [],
                             [3, 1, 1, 1], [3, 5, 1, 1])):
        case = Case(f"{kind} {text(full)} {text(other)}", full)
        case.last = case.op(kind, case.last, case.weight("w", other))
        yield case.model()
        case = Case(f"{kind} {text(other)} {text(full)}", full)
        case.last = case.op(kind, case.weight("w", other), case.last)
        yield case.model()
    for kind in ("Add", "Mul"):
        case = Case(f"{kind} with itself", full)
        case.last = case.op(kind, case.last, case.last)
        yield case.model()
        case = Case(f"{kind} by a constant", full)
        case.last = case.op(kind, case.last, case.scalar(1.75))
        yield case.model()
        case = Case(f"{kind} growing the input", [4, 9])
        column = case.op("Reshape", case.last, case.ints(4, 9, 1))
        case.last = case.op(kind, column, case.weight("w", [3]))
        yield case.model()
    case = Case("chain of elementwise operators", full)
    y = case.op("Relu", case.op("Mul", case.last, case.weight("a", [5, 1, 1])))
    y = case.op("Sigmoid", case.op("Add", y, case.weight("b", [4])))
    y = case.op("HardSwish", case.op("Add", y, case.last))
    case.last = case.op("Mul", y, case.last)
    yield case.model()

    for shape, ratio in itertools.product(shapes, (0.1, 0.5, 0.9)):
        case = Case(f"Dropout {text(shape)} {ratio}", shape)
        case.last = case.op("Dropout", case.last, case.scalar(ratio),
                            case.stored(np.array(True)))
        yield case.model()
    case = Case("Dropout that the file switched off", [4, 9])
    case.last = case.op("Dropout", case.last, case.scalar(0.3))
    yield case.model()
    case = Case("Dropout opset 10", [4, 9], opset=10)
    case.last = case.op("Dropout", case.last, ratio=0.25)
    yield case.model()


def further_elementwise():
    shape = [3, 5, 7, 3]
    whole = [("Abs", {}), ("Elu", dict(alpha=0.7)), ("Erf", {}), ("Exp", {}),
             ("LeakyRelu", dict(alpha=0.1)), ("Neg", {}), ("Softplus", {}),
             ("Tanh", {}), ("Gelu", {}), ("Gelu", dict(approximate="tanh"))]
    positive = [("Log", {}), ("Sqrt", {}), ("Reciprocal", {})]
    for kind, options in whole + positive:
        label = " ".join(f"{k} {v}" for k, v in options.items())
        case = Case(f"{kind} {label}".strip(), shape, 20)
        if (kind, options) in positive:
            case.last = case.op("Add", case.last, case.scalar(3.0))
        case.last = case.op(kind, case.last, **options)
        yield case.model()
    for kind, other in itertools.product(("Sub", "Div", "Max", "Min"),
                                         (shape, [5, 1, 1], [3], [])):
        for swapped in (False, True):
            case = Case(f"{kind} {text(other)} swapped{int(swapped)}", shape)
            w = case.weight("w", other, 0.5, 1.5)
            x = case.last
            if kind == "Div" and swapped:
                x = case.op("Add", x, case.scalar(3.0))
            case.last = case.op(kind, *((w, x) if swapped else (x, w)))
            yield case.model()
    for exponent in (2.0, 3.0, 0.5, -1.0):
        case = Case(f"Pow {text(exponent)}", shape)
        x = case.op("Add", case.last, case.scalar(3.0))
        case.last = case.op("Pow", x, case.scalar(exponent))
        yield case.model()
    case = Case("Sum of three", shape)
    case.last = case.op("Sum", case.last, case.weight("a", [5, 1, 1]),
                        case.weight("b", [3]))
    yield case.model()


def further_movements():
    shape = [4, 3, 5, 6]
    for starts, ends, axes, steps in (
            ([1], [4], [2], [1]), ([0, 1], [3, 6], [1, 3], [2, 2]),
            ([-1], [-6], [3], [-2]), ([1], [100], [-1], [1])):
        case = Case(f"Slice {text(starts)} {text(ends)} {text(axes)} "
                    f"{text(steps)}", shape)
        case.last = case.op("Slice", case.last, *(
            case.ints(*v) for v in (starts, ends, axes, steps)))
        yield case.model()
    for axes in ([1], [0, 4], [-1]):
        case = Case(f"Unsqueeze and Squeeze {text(axes)}", shape)
        wide = case.op("Relu", case.op("Unsqueeze", case.last, case.ints(*axes)))
        case.last = case.op("Squeeze", wide, case.ints(*axes))
        yield case.model()
    for given, sizes in (([4, 3, 1, 6], [4, 3, 5, 6]), ([4, 9], [3, 4, 9]),
                         ([4, 3, 5, 1], [1, 1, 1, 2])):
        case = Case(f"Expand {text(given)} {text(sizes)}", given)
        case.last = case.op("Expand", case.last, case.ints(*sizes))
        yield case.model()
    for axis, index in ((1, [2]), (2, [0, 3]), (3, [-1, -3])):
        case = Case(f"Gather axis{axis} {text(index)}", shape)
        case.last = case.op("Gather", case.last, case.ints(*index), axis=axis)
        yield case.model()
    for axes in ([2, 3], [1]):
        case = Case(f"ReduceSum {text(axes)}", shape)
        case.last = case.op("ReduceSum", case.last, case.ints(*axes))
        yield case.model()
    case = Case("GlobalMaxPool", shape)
    case.last = case.op("GlobalMaxPool", case.last)
    yield case.model()


def movements():
    shape = [4, 3, 5, 6]
    for axis in (1, 2, 3, -1, 0, 4):
        case = Case(f"Flatten {text(axis)}", shape)
        case.last = case.op("Flatten", case.last, axis=axis)
        yield case.model()
    for sizes in ([4, -1], [0, 15, 6], [4, 5, 3, 6], [-1, 0, 10, 3], [2, 2, 90],
                  [0, 0, -1, 1]):
        case = Case(f"Reshape {text(sizes)}", shape)
        y = case.op("Reshape", case.last, case.ints(*sizes))
        case.last = case.op("Relu", y)
        yield case.model()
    for perm in ([0, 2, 3, 1], [0, 3, 1, 2], [3, 2, 1, 0], [1, 0, 2, 3],
                 [0, 1, 3, 2]):
        case = Case(f"Transpose {text(perm)}", shape)
        case.last = case.op("Transpose", case.last, perm=perm)
        yield case.model()
    for shape3, perm in (([3, 5, 7], [0, 2, 1]), ([3, 5, 7], [2, 0, 1]),
                         ([4, 7], [1, 0])):
        case = Case(f"Transpose {text(shape3)} {text(perm)}", shape3)
        case.last = case.op("Transpose", case.last, perm=perm)
        yield case.model()
    for axis, parts in itertools.product((1, 2, 3, -1, 0), (2, 3)):
        case = Case(f"Concat {text(axis)} of {parts}", shape)
        values = [case.last]
        for part in range(1, parts):
            other = list(shape)
            other[axis] = part + 1 if axis else shape[0]
            values.append(case.weight(f"w{part}", other))
        values.append(case.op("Relu", case.last))
        case.last = case.op("Concat", *values, axis=axis)
        yield case.model()
    case = Case("Concat of one value twice", shape)
    case.last = case.op("Concat", case.last, case.last, axis=1)
    yield case.model()
    for rank, axis, sizes in ((4, 1, [1, 2, 4]), (4, 2, [3, 3]), (4, -1, [5, 1]),
                              (2, 1, [2, 5]), (3, 1, [1, 1, 3]), (4, 1, [7])):
        dims = {2: [4, 7], 3: [4, 5, 3], 4: [4, 7, 6, 6]}[rank]
        case = Case(f"Split rank{rank} axis{text(axis)} {text(sizes)}", dims)
        parts = case.op("Split", case.last, case.ints(*sizes), axis=axis,
                        outputs=max(len(sizes), 2)) if len(sizes) > 1 else [
            case.op("Split", case.last, case.ints(*sizes), axis=axis)]
        # Read in another order than written; the last of three is not read.
        read = parts[:2] if len(parts) > 2 else parts
        squeezed = [case.op("Relu", part) for part in reversed(read)]
        case.last = (case.op("Concat", *squeezed, axis=axis)
                     if len(squeezed) > 1 else squeezed[0])
        yield case.model()
    for opset, options in ((18, dict(num_outputs=3)), (11, dict(split=[2, 5])),
                           (11, {})):
        outputs = options.get("num_outputs", 2)
        extent = 8 if not options or "num_outputs" in options else 7
        case = Case(f"Split opset{opset} {sorted(options)}", [4, extent, 3, 5],
                    opset)
        parts = case.op("Split", case.last, outputs=outputs, axis=1, **options)
        case.last = case.op("Concat", *reversed(parts), axis=1)
        yield case.model()
    for pads, value in itertools.product(
            ([0, 0, 1, 2, 0, 0, 3, 0], [0, 1, 0, 0, 0, 2, 0, 0],
             [0, 0, -1, 0, 0, 0, 1, -2]), (None, 1.5)):
        case = Case(f"Pad {text(pads)} {text(value)}", shape)
        extra = [] if value is None else [case.scalar(value)]
        case.last = case.op("Pad", case.last, case.ints(*pads), *extra)
        yield case.model()
    case = Case("Pad of two axes", shape)
    case.last = case.op("Pad", case.last, case.ints(1, 2, 0, 1), "",
                        case.ints(2, 3))
    yield case.model()
    case = Case("Pad opset 10", shape, opset=10)
    case.last = case.op("Pad", case.last, pads=[0, 0, 1, 1, 0, 0, 1, 1],
                        value=0.5)
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
    """What the compiler makes one call of, or one generated kernel."""
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
    """Parameters that a node stands for: drawn by the trainer."""
    for kind, options in (("RandomNormal", dict(mean=0.25, scale=0.5)),
                          ("RandomUniform", dict(low=-0.5, high=0.75))):
        case = Case(f"{kind} as a weight", [4, 9])
        w = case.op(kind, dtype=FLOAT, shape=[9, 7], **options)
        case.last = case.op("Gemm", case.last, w)
        yield case.model()
        case = Case(f"{kind}Like as a weight", [4, 9])
        w = case.op(f"{kind}Like", case.weight("donor", [9, 7]), dtype=FLOAT,
                    **options)
        case.last = case.op("Gemm", case.last, w)
        yield case.model()
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


GROUPS = (convolutions, products, normalizations, poolings, reductions,
          elementwise, further_elementwise, movements, further_movements,
          softmaxes_and_losses,
          fused_activations, initial_values, shared_weights)


def all_cases():
    """(group name, ModelProto) of every case; the model's name is its own."""
    for group in GROUPS:
        for model in group():
            yield group.__name__, model
