"""The operator grid: elementwise operators, reductions and movements of elements."""

import itertools

from grid_case import Case, text


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
        # Wide enough that the hard functions (HardSigmoid, ...) saturate at both ends.
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
    case = Case("Pow of integers", shape)
    x = case.op("Add", case.last, case.scalar(3.0))
    case.last = case.op("Pow", x, case.ints(2, 3, 1))
    yield case.model()
    for kind in ("Sum", "Mean"):
        case = Case(f"{kind} of three", shape)
        case.last = case.op(kind, case.last, case.weight("a", [5, 1, 1]),
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
