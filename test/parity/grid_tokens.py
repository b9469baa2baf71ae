"""The operator grid: tables whose rows the data names, and integers of the data.

The table is `p`: its update shows the gradient.
"""

import numpy as np
from onnx import TensorProto

from exporter_note import note
from grid_case import Case, text

FLOAT, INT32, INT64, BOOL = (TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64,
                             TensorProto.BOOL)


def take(case, at, table=(7, 3), name="p", **attributes):
    case.last = case.op("Gather", case.weight(name, list(table)), at, **attributes)
    return case.last


def embeddings():
    """Gather of rows, by numbers of any shape, from tables of any shape."""
    for shape in [4], [4, 1], [4, 5], [3, 2, 4], [2, 3, 2, 2]:
        for table in (7, 3), (7, 1), (7,), (7, 2, 3):
            if len(shape) + len(table) > 6:
                continue
            case = Case(f"Gather of rows {text(table)} by {text(shape)}", shape, tokens=7)
            take(case, "images", table, **({} if len(table) % 2 else {"axis": 0}))
            yield case.model()

    case = Case("Gather of more rows than are named", [5, 6], tokens=4)
    take(case, "images", (40, 9))
    yield case.model()

    case = Case("Gather with a row of padding", [4, 5], tokens=4)
    take(case, "images")
    note(case.nodes[-1], "embedding", "%p_table", "%tokens", 2)
    yield case.model()

    # As positions are counted, and taken, by Transformers.
    for exclusive, reverse in (0, 0), (1, 0), (0, 1), (1, 1):
        case = Case(f"Gather at sums of constants exclusive{exclusive} reverse{reverse}",
                    [3, 4])
        mask = case.stored(np.array([[0, 1, 1, 0, 1], [1, 1, 0, 0, 1]]))
        sums = case.op("CumSum", mask, case.ints(1), exclusive=exclusive, reverse=reverse)
        picked = case.op("GatherElements", sums,
                         case.stored(np.array([[0, -1, 2], [3, 3, 1]])), axis=1)
        case.last = case.op("Gather", case.last, picked, axis=1)
        yield case.model()

    for kind in INT32, INT64:
        case = Case(f"Gather by a cast to {kind}", [4, 5], tokens=7)
        take(case, case.op("Cast", "images", to=kind))
        yield case.model()

    case = Case("Gather by numbers from the end", [4, 5], tokens=7)
    take(case, case.op("Sub", "images", case.ints(7)))
    yield case.model()

    case = Case("Gather twice of one table", [4, 5], tokens=7)
    first = take(case, "images")
    second = case.op("Gather", "p", case.op("Neg", "images"))
    case.last = case.op("Sub", first, case.op("Mul", second, second))
    yield case.model()

    case = Case("Gather of a tied table", [4, 5], tokens=7)
    rows = take(case, "images")
    case.last = case.op("MatMul", rows, case.op("Transpose", "p", perm=[1, 0]))
    yield case.model()

    case = Case("Gather of a table that is computed", [4, 5], tokens=7)
    table = case.op("Tanh", case.weight("p", [7, 3]))
    case.last = case.op("Gather", table, "images")
    yield case.model()

    case = Case("Gather of a table with rows of the batch's number", [4, 4], tokens=4)
    take(case, "images", (4, 4))
    yield case.model()


def integers():
    """Ops between the integers of the data and the table that they name."""
    def by(name, make, shape=(4, 6), tokens=7, rows=14):
        case = Case(f"integers: {name}", list(shape), tokens=tokens)
        take(case, make(case), (rows, 3))
        return case.model()

    yield by("Add", lambda c: c.op("Add", "images", c.ints(0, 1, 2, 3, 4, 5)))
    yield by("Mul", lambda c: c.op("Mul", "images", c.ints(2)))
    yield by("Max", lambda c: c.op("Max", "images", c.ints(3)))
    yield by("Min", lambda c: c.op("Min", "images", c.ints(3), c.ints(4)))
    yield by("Abs", lambda c: c.op("Abs", c.op("Sub", "images", c.ints(3))))
    yield by("Clip", lambda c: c.op("Clip", "images", c.stored(np.int64(1)),
                                    c.stored(np.int64(4))))
    yield by("Slice", lambda c: c.op("Slice", "images", c.ints(1), c.ints(5), c.ints(1),
                                     c.ints(2)))
    yield by("Gather of a column", lambda c: c.op(
        "Gather", "images", c.stored(np.int64(2)), axis=1))
    yield by("Split", lambda c: c.op("Add", *c.op("Split", "images", c.ints(3, 3),
                                                  outputs=2, axis=1)))
    yield by("Transpose", lambda c: c.op("Transpose", c.op(
        "Reshape", "images", c.ints(4, 2, 3)), perm=[0, 2, 1]))
    yield by("Concat", lambda c: c.op("Concat", "images", "images", axis=1))
    yield by("Concat with constants", lambda c: c.op(
        "Concat", "images", c.stored(np.ones((4, 1), np.int64)), axis=1))
    yield by("Unsqueeze", lambda c: c.op("Unsqueeze", "images", c.ints(1)))
    yield by("Expand", lambda c: c.op("Expand", c.op("Unsqueeze", "images", c.ints(1)),
                                      c.ints(4, 2, 6)))
    yield by("Tile", lambda c: c.op("Tile", "images", c.ints(1, 2)))
    yield by("Flatten", lambda c: c.op("Flatten", c.op(
        "Reshape", "images", c.ints(4, 2, 3)), axis=1))
    yield by("ReduceMax", lambda c: c.op("ReduceMax", "images", c.ints(1)))
    yield by("ReduceMin", lambda c: c.op("ReduceMin", "images", c.ints(1), keepdims=0))
    yield by("ReduceSum", lambda c: c.op("ReduceSum", "images", c.ints(1)), rows=50)
    yield by("CumSum", lambda c: c.op("CumSum", "images", c.stored(np.int64(1))), rows=50)
    yield by("Pad", lambda c: c.op("Pad", "images", c.ints(0, 1, 0, 2),
                                   c.stored(np.int64(9))))
    yield by("Where", lambda c: c.op("Where", c.op("Greater", "images", c.ints(2)),
                                     "images", c.ints(5)))
    yield by("Where between constants", lambda c: c.op(
        "Where", c.op("Equal", "images", c.ints(2)), c.ints(5), c.ints(9)))
    yield by("Div", lambda c: c.op("Div", "images", c.ints(2)))
    yield by("Div of negative ones", lambda c: c.op("Neg", c.op(
        "Div", c.op("Neg", "images"), c.ints(3))))
    yield by("Div by them", lambda c: c.op("Div", c.ints(12), c.op(
        "Add", "images", c.ints(1))))
    yield by("Cast of a condition", lambda c: c.op(
        "Cast", c.op("Less", "images", c.ints(4)), to=INT64))

    case = Case("integers: rows that numbers name", [4, 6])
    number = case.op("Clip", case.op("Mul", case.last, case.scalar(4.0)), case.scalar(0.0),
                     case.scalar(6.0))
    rows = case.op("Gather", case.weight("table", [7, 3]), case.op("Cast", number, to=INT64))
    case.last = case.op("Mul", rows, case.op("Unsqueeze", case.last, case.ints(2)))
    yield case.model()
    for kind in INT32, INT64:
        case = Case(f"integers: what a cast to {kind} leaves", [4, 6])
        scaled = case.op("Mul", case.last, case.scalar(3.0))
        whole = case.op("Cast", case.op("Cast", scaled, to=kind), to=FLOAT)
        case.last = case.op("Mul", case.last, case.op("Sub", scaled, whole))
        yield case.model()

    case = Case("integers: a mask of what is not zero", [4, 6], tokens=3)
    rows = take(case, "images")
    given = case.op("Cast", case.op("Not", case.op("Equal", "images", case.ints(0))),
                    to=FLOAT)
    case.last = case.op("Mul", rows, case.op("Unsqueeze", given, case.ints(2)))
    yield case.model()

    case = Case("integers: a mean of what is given", [4, 6], tokens=3)
    rows = take(case, "images")
    given = case.op("Cast", case.op("Cast", "images", to=BOOL), to=FLOAT)
    total = case.op("ReduceSum", case.op("Mul", rows, case.op(
        "Unsqueeze", given, case.ints(2))), case.ints(1), keepdims=0)
    count = case.op("Max", case.op("ReduceSum", given, case.ints(1)), case.scalar(1.0))
    case.last = case.op("Div", total, count)
    yield case.model()

    case = Case("integers: as floats", [4, 6], tokens=5)
    case.last = case.op("MatMul", case.op("Cast", "images", to=FLOAT),
                        case.weight("p", [6, 3]))
    yield case.model()

    case = Case("integers: like one another", [4, 6], tokens=5)
    zeros = case.op("CastLike", case.scalar(0.0), "images")
    take(case, case.op("Add", "images", zeros))
    yield case.model()
