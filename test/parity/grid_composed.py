"""The operator grid: operators that lwcc composes of others."""

import itertools

import numpy as np

from grid_case import Case, text


def sample_normalizations():
    for shape, axis, kind, biased in itertools.product(
            ([4, 9], [3, 5, 7], [2, 5, 3, 4]), (-1, 1),
            ("LayerNormalization", "RMSNormalization"), (True, False)):
        if kind == "RMSNormalization" and biased:
            continue
        case = Case(f"{kind} {text(shape)} axis{text(axis)} bias{int(biased)}",
                    shape, 23)
        weights = [case.weight("scale", shape[axis:])]
        if biased:
            weights.append(case.weight("bias", shape[axis:]))
        case.last = case.op(kind, case.last, *weights, axis=axis, epsilon=1e-3)
        yield case.model()
    case = Case("LayerNormalization and its statistics", [3, 5, 7])
    parts = case.op("LayerNormalization", case.last, case.weight("scale", [7]),
                    outputs=3)
    case.last = case.op("Add", case.op("Mul", parts[0], parts[1]), parts[2])
    yield case.model()
    for shape in ([3, 4, 7], [3, 4, 5, 3], [2, 4, 3, 2, 3]):
        case = Case(f"InstanceNormalization {text(shape)}", shape)
        case.last = case.op("InstanceNormalization", case.last,
                            case.weight("scale", [4]), case.weight("bias", [4]),
                            epsilon=1e-2)
        yield case.model()
    for shape, groups, opset in itertools.product(
            ([3, 6, 7], [3, 6, 5, 3], [5, 6]), (1, 2, 3, 6), (18, 21)):
        if len(shape) == 2 and groups == 6:
            continue  # of one element each, which PyTorch refuses
        case = Case(f"GroupNormalization {text(shape)} in {groups} opset{opset}",
                    shape, opset)
        count = groups if opset < 21 else 6
        case.last = case.op("GroupNormalization", case.last,
                            case.weight("scale", [count]),
                            case.weight("bias", [count]), num_groups=groups,
                            epsilon=1e-2)
        yield case.model()
    for axes in (None, [2, 3], [1], [0, 1, 2, 3]):
        case = Case(f"MeanVarianceNormalization {text(axes)}", [4, 3, 5, 6])
        case.last = case.op("MeanVarianceNormalization", case.last,
                            **(dict(axes=axes) if axes else {}))
        yield case.model()
    for axis, p in itertools.product((-1, 1, 2), (1, 2)):
        case = Case(f"LpNormalization axis{text(axis)} p{p}", [4, 3, 5, 6])
        case.last = case.op("LpNormalization", case.last, axis=axis, p=p)
        yield case.model()


def further_reductions():
    kinds = ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
             "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare")
    for kind, (shape, axes), keep in itertools.product(
            kinds, (([3, 4, 5, 3], [2, 3]), ([3, 4, 5, 3], [1]),
                    ([3, 4, 5, 3], [1, 3]), ([3, 5, 7], [-1]), ([4, 9], [1])),
            (0, 1)):
        case = Case(f"{kind} {text(shape)} over {text(axes)} keep{keep}", shape)
        if kind == "ReduceLogSum":
            case.last = case.op("Abs", case.last)
        case.last = case.op(kind, case.last, case.ints(*axes), keepdims=keep)
        yield case.model()
    for kind in ("ReduceMax", "ReduceMin"):
        case = Case(f"{kind} of ties", [3, 4, 5, 3])
        twice = case.op("Concat", case.last, case.last, axis=1)
        case.last = case.op(kind, twice, case.ints(1, 3), keepdims=1)
        yield case.model()
    for axis, exclusive, reverse in itertools.product((1, -1), (0, 1), (0, 1)):
        case = Case(f"CumSum axis{text(axis)} exclusive{exclusive} "
                    f"reverse{reverse}", [3, 5, 7])
        case.last = case.op("CumSum", case.last, case.stored(np.array(axis)),
                            exclusive=exclusive, reverse=reverse)
        yield case.model()


def attentions():
    def parts(case, heads, groups, sizes=(6, 6), tokens=None):
        """Queries, keys and values of what the case has, [n, tokens, features]."""
        _, own, features = case.shape
        made = []
        for name, count, size in (("q", heads, sizes[0]), ("k", groups, sizes[0]),
                                  ("v", groups, sizes[1])):
            x = case.op("MatMul", case.last, case.weight(name, [features, count * size]))
            if tokens and name != "q":
                x = case.op("MatMul", case.weight(f"{name}.t", [tokens, own]), x)
            made.append(x)
        return made

    for heads, groups, causal, cap in itertools.product((1, 4), (1, 2), (0, 1), (0.0, 2.0)):
        if groups > heads:
            continue
        case = Case(f"Attention {heads} heads {groups} groups causal{causal} "
                    f"cap{text(cap)}", [2, 5, 7], 23)
        case.last = case.op("Attention", *parts(case, heads, groups), q_num_heads=heads,
                            kv_num_heads=groups, is_causal=causal, softcap=cap)
        yield case.model()
    case = Case("Attention of other tokens and sizes", [2, 5, 7], 23)
    case.last = case.op("Attention", *parts(case, 2, 2, (3, 4), tokens=6), q_num_heads=2,
                        kv_num_heads=2, scale=0.7)
    yield case.model()
    case = Case("Attention with heads of their own", [2, 3, 5, 4], 24)
    case.last = case.op("Attention", case.last, case.last, case.weight("v", [2, 3, 5, 6]))
    yield case.model()
    random = np.random.RandomState(2)
    nothing = random.rand(2, 1, 5, 5) < 0.6
    nothing[1, 0, 2] = False  # a query that sees nothing
    for name, mask in (("of numbers", random.rand(5, 5).astype(np.float32)),
                       ("of truths", random.rand(5, 5) < 0.7), ("of nothing", nothing)):
        case = Case(f"Attention with a mask {name}", [2, 5, 7], 23)
        case.last = case.op("Attention", *parts(case, 2, 2), case.stored(mask),
                            q_num_heads=2, kv_num_heads=2)
        yield case.model()
    case = Case("Attention with a mask of data", [2, 5, 7], 23)
    row = case.op("ReduceSum", case.last, case.ints(2), keepdims=0)
    seen = case.op("Unsqueeze", case.op("Greater", row, case.scalar(0.0)), case.ints(1, 2))
    seen = case.op("Expand", seen, case.ints(2, 1, 5, 5))
    case.last = case.op("Attention", *parts(case, 2, 2), seen, q_num_heads=2,
                        kv_num_heads=2)
    yield case.model()
    for causal in (0, 1):
        case = Case(f"Attention to what was before causal{causal}", [2, 5, 8], 24)
        past = [case.weight(name, [2, 2, 3, 6]) for name in ("past.k", "past.v")]
        y, keys, _ = case.op("Attention", *parts(case, 4, 2), "", *past, outputs=3,
                             q_num_heads=4, kv_num_heads=2, is_causal=causal)
        flat = [case.op("Reshape", x, case.ints(2, -1)) for x in (y, keys)]
        case.last = case.op("Concat", *flat, axis=1)
        yield case.model()


def rearrangements():
    shape = [4, 3, 5, 6]
    for axis, index in ((1, [2, 0, 1]), (2, [0, 3, 1, 1, 4, 0]), (3, [5, 5, 5]),
                        (2, [0, 2, 1, 4, 3, 0, 2, 2, 4, 1, 0, 3]),
                        (3, [[0, 1], [3, 2]]), (0, [0, 1, 2, 3]), (1, 1)):
        index = np.array(index)
        case = Case(f"Gather {text(index.reshape(-1).tolist())} of axis{axis} "
                    f"rank {index.ndim}", shape)
        case.last = case.op("Gather", case.last, case.stored(index), axis=axis)
        yield case.model()
    random = np.random.RandomState(1)
    for size, count in ((2, 8), (3, 8), (4, 20)):
        at = np.stack([random.randint(0, e, count) for e in shape[:size]], 1)
        case = Case(f"GatherND by {size} of {count}", shape)
        case.last = case.op("GatherND", case.last, case.stored(at))
        yield case.model()
    for batch_dims, size, count in ((1, 1, 2), (1, 2, 3), (2, 1, 4)):
        front, rest = shape[:batch_dims], shape[batch_dims:batch_dims + size]
        at = np.stack([random.randint(0, e, [*front, count]) for e in rest], -1)
        case = Case(f"GatherND of {batch_dims} batch dimensions by {size}", shape)
        case.last = case.op("GatherND", case.last, case.stored(at), batch_dims=batch_dims)
        yield case.model()
    case = Case("GatherND of windows", [4, 3, 4])
    at = np.array([[b, c] for b in range(4) for c in (2, 0, 1, 1)]).reshape(4, 4, 2)
    case.last = case.op("GatherND", case.last, case.stored(at))
    yield case.model()
    for count in (2, 5):
        case = Case(f"ScatterND of {count} rows", shape)
        at = np.stack([random.permutation(12)[:count] // 3,
                       random.permutation(3)[np.arange(count) % 3]], 1)
        at = np.unique(at, axis=0)
        case.last = case.op("ScatterND", case.last, case.stored(at),
                            case.weight("w", [len(at), 5, 6]))
        yield case.model()
    for count in (1, 9):  # some of them more than once
        at = np.stack([random.randint(0, e, count) for e in shape[:2]], 1)
        case = Case(f"ScatterND adds {count} rows", shape)
        case.last = case.op("ScatterND", case.last, case.stored(at),
                            case.weight("w", [count, 5, 6]), reduction="add")
        yield case.model()
    for repeats in ([1, 2, 1, 3], [1, 1, 2, 1], [1, 3, 2, 2]):
        case = Case(f"Tile {text(repeats)}", shape)
        case.last = case.op("Tile", case.last, case.ints(*repeats))
        yield case.model()
    for mode, block in itertools.product(("DCR", "CRD"), (2, 3)):
        case = Case(f"DepthToSpace {mode} {block}", [2, 2 * block * block, 3, 4])
        case.last = case.op("DepthToSpace", case.last, mode=mode, blocksize=block)
        yield case.model()
    for block in (2, 3):
        case = Case(f"SpaceToDepth {block}", [2, 3, 2 * block, block])
        case.last = case.op("SpaceToDepth", case.last, blocksize=block)
        yield case.model()
    case = Case("SpaceToDepth CRD", [2, 3, 4, 6], 27)
    case.last = case.op("SpaceToDepth", case.last, blocksize=2, mode="CRD")
    yield case.model()
    for upper, k in itertools.product((0, 1), (None, -1, 2)):
        case = Case(f"Trilu upper{upper} {text(k)}", [3, 4, 5])
        extra = [] if k is None else [case.stored(np.array(k))]
        case.last = case.op("Trilu", case.last, *extra, upper=upper)
        yield case.model()
    for mode, pads in itertools.product(
            ("reflect", "edge", "wrap"),
            ([0, 0, 1, 2, 0, 0, 3, 0], [0, 1, 0, 0, 0, 2, 0, 0],
             [0, 0, -1, 0, 0, 0, 1, -2])):
        case = Case(f"Pad {mode} {text(pads)}", shape, opset=19)
        case.last = case.op("Pad", case.last, case.ints(*pads), mode=mode)
        yield case.model()


def conditions():
    shape = [3, 5, 7, 3]
    activations = [("Selu", {}), ("Selu", dict(alpha=1.5, gamma=0.8)),
                   ("Celu", dict(alpha=0.7)), ("Mish", {}), ("Swish", {}),
                   ("Swish", dict(alpha=1.7)), ("ThresholdedRelu", dict(alpha=0.3)),
                   ("Shrink", {}), ("Shrink", dict(bias=0.2, lambd=0.4)),
                   ("Softsign", {}), ("Sin", {}), ("Cos", {})]
    for kind, options in activations:
        label = " ".join(f"{k} {v}" for k, v in options.items())
        case = Case(f"{kind} {label}".strip(), shape, 24)
        wide = case.op("Mul", case.last, case.weight("wide", shape, 1.0, 5.0))
        case.last = case.op(kind, wide, **options)
        yield case.model()
    for kind in ("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"):
        case = Case(f"{kind} of data", shape)
        x = case.last
        if kind == "Acosh":  # from 1
            x = case.op("Add", x, case.scalar(4.0))
        elif kind.startswith("A"):  # up to 1, and where it is steep
            x = case.op("Mul", case.op("Sigmoid", x), case.scalar(0.9))
        elif kind == "Tan":  # away from its poles
            x = case.op("Tanh", x)
        case.last = case.op(kind, x)
        yield case.model()
    for fmod, other in itertools.product((0, 1), ([], [5, 1, 1])):
        case = Case(f"Mod fmod{fmod} {text(other)}", shape)
        by = case.weight("by", other, 0.3, 0.7)
        case.last = case.op("Mod", case.last, by, fmod=fmod)
        yield case.model()
    case = Case("EyeLike of data", [3, 5])
    eye = case.op("EyeLike", case.last, k=1)
    case.last = case.op("Add", case.op("Mul", case.last, eye), case.last)
    yield case.model()
    for slope in ([5, 1, 1], [1], [3]):
        case = Case(f"PRelu {text(slope)}", shape)
        case.last = case.op("PRelu", case.last, case.weight("slope", slope))
        yield case.model()
    for kind in ("Floor", "Ceil", "Round", "Sign"):
        case = Case(f"{kind} of data", shape)
        wide = case.op("Mul", case.last, case.scalar(3.0))
        case.last = case.op("Add", case.op(kind, wide), wide)
        yield case.model()
    for kind in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"):
        case = Case(f"Where {kind}", shape)
        x = case.last
        if kind == "Equal":
            x = case.op("Clip", x, case.scalar(-0.2), case.scalar(0.2))
        condition = case.op(kind, x, case.scalar(0.2))
        choices = [x, case.weight("w", [5, 1, 1])]
        if kind == "Equal":  # where Clip lets a gradient through
            choices.reverse()
        case.last = case.op("Where", condition, *choices)
        yield case.model()
    for kind in ("And", "Or", "Xor"):
        case = Case(f"Where {kind} Not", shape)
        x = case.last
        low = case.op("Less", x, case.scalar(0.3))
        high = case.op("Not", case.op("Less", x, case.scalar(-0.1)))
        case.last = case.op("Where", case.op(kind, low, high), x,
                            case.op("Mul", x, case.scalar(0.25)))
        yield case.model()
    for kind in ("IsNaN", "IsInf"):
        case = Case(f"Where {kind}", shape)
        x = case.op("Log", case.last) if kind == "IsNaN" else case.op(
            "Reciprocal", case.op("Floor", case.last))
        case.last = case.op("Where", case.op(kind, x), case.op("Mul", case.last, case.last),
                            case.last)
        yield case.model()
    case = Case("Where of a stored mask", shape)
    mask = np.random.RandomState(2).rand(5, 1, 3) < 0.5
    case.last = case.op("Where", case.stored(mask), case.last, case.scalar(-2.0))
    yield case.model()
    case = Case("Cast of a truth", shape)
    truth = case.op("Cast", case.op("Greater", case.last, case.scalar(0.1)), to=1)
    case.last = case.op("Mul", truth, case.last)
    yield case.model()
