"""The operator grid: elements by indices, branches, loops and sequences."""

import itertools

import numpy as np
from onnx import TensorProto, helper

from exporter_note import note
from grid_case import FLOAT, INT64, Case, text


def elements():
    """Elements of one axis, by indices that the file or the data has."""
    random = np.random.RandomState(3)
    for shape, axis, picks in (([4, 6], 1, 3), ([4, 3, 5], 1, 4), ([4, 3, 5], -1, 2),
                               ([4, 5], 0, 4), ([3, 4, 5, 2], 2, 6)):
        size, extent = list(shape), shape[axis]
        size[axis] = picks
        at = random.randint(-extent, extent, size)
        case = Case(f"GatherElements {text(shape)} axis{text(axis)}", shape)
        case.last = case.op("GatherElements", case.last, case.stored(at), axis=axis)
        yield case.model()
        for how in ("none", "add"):
            case = Case(f"ScatterElements {text(shape)} axis{text(axis)} {how}", shape)
            case.last = case.op("ScatterElements", case.last, case.stored(at),
                                case.weight("w", size), axis=axis, reduction=how)
            yield case.model()
    case = Case("GatherElements alike in all lines", [4, 3, 5])
    at = np.broadcast_to(np.array([3, 0, 1]), (4, 3, 3))
    case.last = case.op("GatherElements", case.last, case.stored(at), axis=2)
    yield case.model()
    for shape, size, axis in (([4, 5, 6], [4, 2, 3], 1), ([4, 5, 6], [4, 3, 6], 2)):
        at = random.randint(0, shape[axis], size)
        case = Case(f"GatherElements of a block axis{axis}", shape)
        case.last = case.op("GatherElements", case.last, case.stored(at), axis=axis)
        yield case.model()
        case = Case(f"ScatterElements to a block axis{axis}", shape)
        case.last = case.op("ScatterElements", case.last, case.stored(at),
                            case.weight("w", size), axis=axis)
        yield case.model()
    case = Case("Scatter of opset 10", [4, 6], 10)
    case.last = case.op("Scatter", case.last, case.stored(np.array([[1], [0], [3], [5]])),
                        case.weight("w", [4, 1]), axis=1)
    yield case.model()
    # Where the largest element is, the data says.
    for axis in (1, 2):
        case = Case(f"GatherElements by data axis{axis}", [4, 3, 5])
        at = case.op("ArgMax", case.last, axis=axis)
        case.last = case.op("GatherElements", case.op("Tanh", case.last), at, axis=axis)
        yield case.model()
        case = Case(f"ScatterElements by data axis{axis}", [4, 3, 5])
        size = [4, 3, 5]
        size[axis] = 1
        at = case.op("ArgMin", case.last, axis=axis)
        case.last = case.op("ScatterElements", case.last, at, case.weight("w", size),
                            axis=axis)
        yield case.model()
    case = Case("GatherElements by negative data", [4, 6])
    at = case.op("Sub", case.op("ArgMax", case.last, axis=1), case.stored(np.array(6)))
    case.last = case.op("GatherElements", case.last, at, axis=1)
    yield case.model()


    for axis in (-1, 1, 0):
        case = Case(f"OneHot axis{text(axis)}", [4, 6])
        at = case.op("ArgMax", case.last, axis=1, keepdims=0)
        depth, values = case.stored(np.array(6)), case.stored(np.float32([-0.5, 2]))
        chosen = case.op("OneHot", at, depth, values, axis=axis)
        if axis == 0:
            chosen = case.op("Transpose", chosen, perm=[1, 0])
        case.last = case.op("Mul", case.last, chosen)
        yield case.model()
    case = Case("OneHot of what is known", [4, 6])
    chosen = case.op("OneHot", case.stored(np.array([0, -1, 7, 2])),
                     case.stored(np.array(6)), case.stored(np.array([0, 3])))
    case.last = case.op("Mul", case.last, case.op("Cast", chosen, to=FLOAT))
    yield case.model()


def largest():
    for axis, k, largest in ((-1, 1, 1), (1, 2, 1), (2, 3, 0), (0, 4, 1), (-1, 5, 1)):
        case = Case(f"TopK {k} axis{text(axis)} largest{largest}", [4, 3, 5])
        case.last, _ = case.op("TopK", case.last, case.ints(k), outputs=2, axis=axis,
                               largest=largest)
        yield case.model()
    case = Case("TopK of opset 9", [4, 7], 9)
    case.last, _ = case.op("TopK", case.last, outputs=2, k=3)
    yield case.model()
    case = Case("TopK and its indices", [4, 7], 18)
    values, at = case.op("TopK", case.last, case.ints(3), outputs=2)
    again = case.op("GatherElements", case.op("Neg", case.last), at, axis=1)
    whole = case.op("Cast", at, to=FLOAT)
    case.last = case.op("Concat", values, again, case.op("Mul", whole, values), axis=1)
    yield case.model()
    for kind, axis, keep, last in itertools.product(
            ("ArgMax", "ArgMin"), (1, -1), (0, 1), (0, 1)):
        case = Case(f"{kind} axis{text(axis)} keep{keep} last{last}", [4, 3, 5])
        twice = case.op("Concat", case.last, case.last, axis=axis)  # ties
        at = case.op(kind, twice, axis=axis, keepdims=keep, select_last_index=last)
        at = case.op("Cast", at, to=FLOAT)
        if not keep:
            at = case.op("Unsqueeze", at, case.ints(axis))
        case.last = case.op("Mul", case.last, at)
        yield case.model()


def graph(name, nodes, outputs, inputs=()):
    def infos(values):  # turns and conditions are scalars
        return [helper.make_tensor_value_info(value, kind, None if kind == FLOAT else [])
                for value, kind in values]
    return helper.make_graph(nodes, name, infos(inputs), infos(outputs))


def detached():
    """As PyTorch's exporter writes detach(): of data, and of a parameter."""
    def detach(case, name):
        case.nodes.append(helper.make_node("Identity", [name], [name + ".detached"]))
        note(case.nodes[-1], "detach", "%x")
        return name + ".detached"

    case = Case("Detach of data", [3, 4])  # a straight-through estimator
    soft = case.op("Sigmoid", case.last)
    hard = case.op("Round", soft)
    case.last = case.op("Add", soft, detach(case, case.op("Sub", hard, soft)))
    yield case.model()
    case = Case("Detach of a parameter", [3, 4])
    w = case.weight("w", [4])
    case.last = case.op("Add", case.op("Mul", case.last, detach(case, w)),
                        case.op("Mul", case.op("Tanh", case.last), w))
    yield case.model()


def branches():
    """What is known while compiling, and what only shapes make known."""
    for truth in (True, False):
        case = Case(f"If {truth}", [3, 4])
        weight = case.weight("w", [4])
        yes = graph("yes", [helper.make_node("Mul", [case.last, weight], ["a"])],
                    [("a", FLOAT)])
        no = graph("no", [helper.make_node("Sin", [case.last], ["b"]),
                          helper.make_node("Identity", ["b"], ["c"])], [("c", FLOAT)])
        case.last = case.op("If", case.stored(np.array(truth)), then_branch=yes,
                            else_branch=no)
        case.last = case.op("Add", case.last, weight)
        yield case.model()
    for extent in (1, 2):
        case = Case(f"If an extent is {extent}", [3, 4, extent])
        size = case.op("Gather", case.op("Shape", case.last), case.stored(np.array(2)))
        one = case.op("Equal", size, case.stored(np.array(1)))
        axes = case.ints(2)
        yes = graph("yes", [helper.make_node("ReduceMax", [case.last, axes], ["a"],
                                            keepdims=0)],
                    [("a", FLOAT)])
        no = graph("no", [helper.make_node("ReduceSum", [case.last, axes], ["b"],
                                           keepdims=0)], [("b", FLOAT)])
        case.last = case.op("If", one, then_branch=yes, else_branch=no)
        yield case.model()
    for turns in (0, 1, 3):
        case = Case(f"Loop {turns} times", [3, 4])
        weight = case.weight("w", [4])
        body = graph(
            "body", [helper.make_node("Identity", ["go"], ["on"]),
                     helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
                     helper.make_node("Mul", ["x", weight], ["scaled"]),
                     helper.make_node("Add", ["scaled", "number"], ["next"])],
            [("on", TensorProto.BOOL), ("next", FLOAT)],
            [("i", INT64), ("go", TensorProto.BOOL), ("x", FLOAT)])
        case.last = case.op("Loop", case.stored(np.array(turns)),
                            case.stored(np.array(True)), case.last, body=body)
        case.last = case.op("Mul", case.last, weight)
        yield case.model()
    case = Case("Loop over rows", [3, 4, 5])
    size = case.op("Gather", case.op("Shape", case.last), case.stored(np.array(1)))
    axis, start = case.stored(np.array(1)), case.op("Transpose", case.last, perm=[1, 0, 2])
    zero = case.op("Gather", start, case.stored(np.array(0)))
    yes = graph("first", [helper.make_node("Tanh", ["row"], ["a"])], [("a", FLOAT)])
    no = graph("later", [helper.make_node("Add", ["row", "before"], ["b"])], [("b", FLOAT)])
    body = graph(
        "body", [helper.make_node("Gather", [start, "i"], ["row"]),
                 helper.make_node("Less", ["i", axis], ["first"]),
                 helper.make_node("If", ["first"], ["next"], then_branch=yes,
                                  else_branch=no),
                 helper.make_node("Constant", [], ["on"], value=helper.make_tensor(
                     "value", TensorProto.BOOL, [], [True])),
                 helper.make_node("Sigmoid", ["next"], ["out"])],
        [("on", TensorProto.BOOL), ("next", FLOAT), ("out", FLOAT)],
        [("i", INT64), ("go", TensorProto.BOOL), ("before", FLOAT)])
    _, rows = case.op("Loop", size, "", zero, outputs=2, body=body)
    case.last = case.op("Transpose", rows, perm=[1, 0, 2])
    yield case.model()


def sequences():
    for axis, new in ((1, 0), (2, 1), (-1, 1)):
        case = Case(f"ConcatFromSequence axis{text(axis)} new{new}", [3, 4])
        x = case.last
        parts = case.op("SequenceConstruct", x, case.op("Sin", x), case.weight("w", [3, 4]))
        parts = case.op("SequenceInsert", parts, case.op("Tanh", x),
                        case.stored(np.array(-2)))
        parts = case.op("SequenceErase", parts, case.stored(np.array(0)))
        case.last = case.op("ConcatFromSequence", parts, axis=axis, new_axis=new)
        length = case.op("Cast", case.op("SequenceLength", parts), to=FLOAT)
        case.last = case.op("Mul", case.last, length)
        yield case.model()
    case = Case("Loop that fills a sequence", [3, 4])
    body = graph(
        "body", [helper.make_node("Identity", ["go"], ["on"]),
                 helper.make_node("Cast", ["i"], ["number"], to=FLOAT),
                 helper.make_node("Add", [case.last, "number"], ["x"]),
                 helper.make_node("Sin", ["x"], ["y"]),
                 helper.make_node("SequenceInsert", ["list", "y"], ["longer"])],
        [("on", TensorProto.BOOL)], [("i", INT64), ("go", TensorProto.BOOL)])
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    body.input.append(helper.make_value_info("list", kind))
    body.output.append(helper.make_value_info("longer", kind))
    full = case.op("Loop", case.stored(np.array(3)), case.stored(np.array(True)),
                   case.op("SequenceEmpty"), body=body)
    case.last = case.op("ConcatFromSequence", full, axis=1)
    yield case.model()
    kind = helper.make_tensor_type_proto(FLOAT, None)
    for wide in (0, 1):  # as torch.hstack is written
        case = Case(f"SequenceMap of rows wide{wide}", [3, 4])
        x, weight = case.last, case.weight("w", [4])
        yes = graph("yes", [helper.make_node("Unsqueeze", ["x", case.ints(1)], ["a"])],
                    [("a", FLOAT)])
        no = graph("no", [helper.make_node("Identity", ["x"], ["b"])], [("b", FLOAT)])
        body = graph(
            "body", [helper.make_node("Shape", ["x"], ["dims"]),
                     helper.make_node("Size", ["dims"], ["rank"]),
                     helper.make_node("Less", ["rank", case.stored(np.array(2))], ["thin"]),
                     helper.make_node("If", ["thin"], ["y"], then_branch=yes,
                                      else_branch=no),
                     helper.make_node("Mul", ["x", "factor"], ["scaled"])],
            [("y", FLOAT), ("scaled", FLOAT)])
        for name in ("x", "factor"):
            body.input.append(helper.make_value_info(name, kind))
        thin = case.op("ReduceSum", x, case.ints(1), keepdims=wide)
        parts = case.op("SequenceConstruct", thin, x)
        parts, scaled = case.op("SequenceMap", parts, case.op("ReduceMax", weight,
                                                              keepdims=0),
                                outputs=2, body=body)
        zero, one = case.stored(np.array(0)), case.stored(np.array(1))
        case.last = case.op("Concat", case.op("SequenceAt", parts, zero),
                            case.op("SequenceAt", scaled, one), axis=1)
        yield case.model()
