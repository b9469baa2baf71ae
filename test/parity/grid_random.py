"""Cases of op_grid.py: random numbers in the forward pass, and dropout."""

import itertools

import numpy as np

from grid_case import Case, text


def dropouts():
    shapes = ([4, 9], [3, 5, 7, 3], [2, 3, 4, 3, 2])
    for shape, ratio in itertools.product(shapes, (0.1, 0.5, 0.9)):
        case = Case(f"Dropout {text(shape)} {ratio}", shape)
        case.last = case.op("Dropout", case.last, case.scalar(ratio),
                            case.stored(np.array(True)))
        yield case.model()
    case = Case("Dropout that the file switched off", [4, 9])
    case.last = case.op("Dropout", case.last, case.scalar(0.3))
    yield case.model()
    case = Case("Dropout of a Bernoulli", [4, 9])
    keep = case.scalar(0.75)
    drawn = case.op("Bernoulli", case.op("Expand", keep, case.ints(4, 9)))
    case.last = case.op("Mul", case.last, case.op("Div", drawn, keep))
    yield case.model()
    case = Case("Dropout of what was divided ahead", [4, 9])
    keep = case.scalar(0.75)
    kept = case.op("Floor", case.op("Add", case.op("RandomUniformLike", case.last), keep))
    case.last = case.op("Mul", case.op("Div", case.last, keep), kept)
    yield case.model()
    case = Case("Dropout opset 10", [4, 9], opset=10)
    case.last = case.op("Dropout", case.last, ratio=0.25)
    yield case.model()


def noise():
    for kind, options in (("RandomNormalLike", {}), ("RandomUniformLike", {}),
                          ("RandomNormalLike", dict(mean=0.5, scale=2.0)),
                          ("RandomUniformLike", dict(low=-1.0, high=3.0))):
        for shape in [3, 5], [3, 4, 5], [3, 5, 7, 3]:
            label = " ".join(f"{k} {v}" for k, v in options.items())
            case = Case(f"{kind} {text(shape)} {label}".strip(), shape)
            drawn = case.op(kind, case.last, **options)
            scaled = case.op("Mul", drawn, case.weight("w", shape[1:]))
            case.last = case.op("Add", case.last, scaled)
            yield case.model()

    case = Case("RandomNormalLike one number for each image", [3, 5, 7, 3])
    mean = case.op("GlobalAveragePool", case.last)
    case.last = case.op("Add", case.last, case.op("RandomNormalLike", mean))
    yield case.model()
    case = Case("RandomNormalLike multiplied by a matrix", [3, 6])
    drawn = case.op("RandomNormalLike", case.last)
    case.last = case.op("Add", case.last, case.op("MatMul", drawn, case.weight("w", [6, 6])))
    yield case.model()
    case = Case("RandomUniformLike as Gumbel's noise", [3, 6])
    drawn = case.op("RandomUniformLike", case.last, low=0.01, high=0.99)
    gumbel = case.op("Neg", case.op("Log", case.op("Neg", case.op("Log", drawn))))
    case.last = case.op("Softmax", case.op("Add", case.last, gumbel))
    yield case.model()
    case = Case("RandomNormalLike of a variational autoencoder", [3, 6])
    mean, deviation = case.op("Split", case.last, case.ints(3, 3), axis=1, outputs=2)
    deviation = case.op("Exp", deviation)
    drawn = case.op("RandomNormalLike", deviation)
    case.last = case.op("Add", mean, case.op("Mul", drawn, deviation))
    yield case.model()

    # A mask that is no dropout, since several nodes read it.
    case = Case("RandomUniformLike as a mask and what it leaves", [3, 6])
    uniform = case.op("RandomUniformLike", case.last)
    mask = case.op("Cast", case.op("Greater", uniform, case.scalar(0.3)), to=1)
    rest = case.op("Sub", case.scalar(1.0), mask)
    case.last = case.op("Add", case.op("Mul", case.last, mask),
                        case.op("Mul", case.op("Tanh", case.last), rest))
    yield case.model()
    case = Case("RandomUniformLike as two masks", [3, 6])
    uniform = case.op("RandomUniformLike", case.last)
    upper = case.op("Cast", case.op("Greater", uniform, case.scalar(0.3)), to=1)
    lower = case.op("Cast", case.op("LessOrEqual", uniform, case.scalar(0.3)), to=1)
    case.last = case.op("Add", case.op("Mul", case.last, upper),
                        case.op("Mul", case.op("Tanh", case.last), lower))
    yield case.model()
    case = Case("Bernoulli of data", [3, 6])
    drawn = case.op("Bernoulli", case.op("Sigmoid", case.last))
    case.last = case.op("Mul", case.last, drawn)
    yield case.model()
