"""The operator grid: recurrent layers."""

import itertools

import numpy as np
from onnx import TensorProto

from grid_case import Case, text

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def recurrent_layers():
    samples, steps, inputs, hidden = 3, 4, 5, 2
    for kind, way, biased, read in itertools.product(
            GATES, ("forward", "reverse", "bidirectional"), (0, 1), ("all", "last")):
        dirs, rows = 1 + (way == "bidirectional"), GATES[kind] * hidden
        turn = len(way) + biased
        case = Case(f"{kind} {way} bias{biased} {read}", [samples, steps, inputs],
                    opset=14)
        x = case.op("Transpose", case.last, perm=[1, 0, 2])
        operands = [case.weight("w", [dirs, rows, inputs]),
                    case.weight("r", [dirs, rows, hidden])]
        if biased:
            operands.append(case.weight("b", [dirs, 2 * rows]))
        options = dict(direction=way, hidden_size=hidden)
        if kind == "GRU":
            options["linear_before_reset"] = turn % 2
        results = case.op(kind, x, *operands, outputs=3 if kind == "LSTM" else 2,
                          **options)
        if read == "all":
            case.last = case.op("Transpose", results[0], perm=[2, 0, 1, 3])
        else:
            last = results[1]
            if kind == "LSTM":
                last = case.op("Add", last, results[2])
            case.last = case.op("Transpose", last, perm=[1, 0, 2])
        yield case.model()
    for kind, activations in (("RNN", ["Relu"]), ("GRU", ["Sigmoid", "Relu"]),
                              ("LSTM", ["Sigmoid", "Relu", "Tanh"])):
        rows = GATES[kind] * hidden
        case = Case(f"{kind} of {text(activations)} with initial states",
                    [samples, steps, inputs], opset=14)
        x = case.op("Transpose", case.last, perm=[1, 0, 2])
        states = [case.weight("h0", [1, samples, hidden])]
        if kind == "LSTM":
            states.append(case.weight("c0", [1, samples, hidden]))
        results = case.op(kind, x, case.weight("w", [1, rows, inputs]),
                          case.weight("r", [1, rows, hidden]), "", "", *states,
                          outputs=2, hidden_size=hidden, activations=activations)
        case.last = case.op("Transpose", results[0], perm=[2, 0, 1, 3])
        yield case.model()
    for kind, way, lengths in itertools.product(
            GATES, ("forward", "reverse", "bidirectional"), ("known", "of data")):
        dirs, rows = 1 + (way == "bidirectional"), GATES[kind] * hidden
        case = Case(f"{kind} {way} of lengths {lengths}", [samples, steps, inputs],
                    opset=14)
        if lengths == "known":
            ends = case.stored(np.array([2, 4, 1], np.int32))
        else:
            place = case.op("ArgMax", case.op("ReduceSum", "images", case.ints(2),
                                              keepdims=0), axis=1, keepdims=0)
            ends = case.op("Cast", case.op("Add", place, case.ints(1)),
                           to=TensorProto.INT32)
        x = case.op("Transpose", case.last, perm=[1, 0, 2])
        results = case.op(kind, x, case.weight("w", [dirs, rows, inputs]),
                          case.weight("r", [dirs, rows, hidden]), "", ends,
                          case.weight("h0", [dirs, samples, hidden]),
                          outputs=3 if kind == "LSTM" else 2, direction=way,
                          hidden_size=hidden)
        last = results[1]
        if kind == "LSTM":
            last = case.op("Add", last, results[2])
        case.last = case.op("Concat", case.op("Transpose", results[0], perm=[2, 0, 1, 3]),
                            case.op("Unsqueeze", case.op("Transpose", last, perm=[1, 0, 2]),
                                    case.ints(1)), axis=1)
        yield case.model()
