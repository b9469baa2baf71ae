"""What ONNX operators mean, in PyTorch, that name elements along an axis, and those of
branches, loops and sequences (onnx_ops.py has the rest).
"""

import torch
from onnx import numpy_helper

# Elements ---------------------------------------------------------------------


def named(x, axis, indices):
    """Indices counted from the front."""
    return torch.where(indices < 0, indices + x.shape[axis], indices).long()


def gather_elements(call, x, indices):
    axis = call.get("axis", 0) % x.dim()
    return x.gather(axis, named(x, axis, indices))


def scatter_elements(call, x, indices, updates):
    """One update of each line after the other: the last one counts, or all do."""
    axis = call.get("axis", 0) % x.dim()
    indices = named(x, axis, indices)
    add = call.get("reduction", "none") == "add"
    for i in range(indices.shape[axis]):
        at, update = indices.narrow(axis, i, 1), updates.narrow(axis, i, 1)
        x = x.scatter_add(axis, at, update) if add else x.scatter(axis, at, update)
    return x


def top_k(call, x, k=None):
    k = call.get("k") if k is None else int(k)
    return tuple(torch.topk(x, k, call.get("axis", -1), bool(call.get("largest", 1))))


def arg_max(call, x):
    axis = call.get("axis", 0) % x.dim()
    function = torch.argmax if call.op == "ArgMax" else torch.argmin
    last = call.get("select_last_index", 0)
    at = function(x.flip(axis) if last else x, axis, bool(call.get("keepdims", 1)))
    return x.shape[axis] - 1 - at if last else at


def one_hot(call, indices, depth, values):
    axis, depth = call.get("axis", -1), int(depth)
    hit = named_places(indices, depth).unsqueeze(-1) == torch.arange(depth)
    return torch.where(hit, values[1], values[0]).movedim(-1, axis)


def named_places(indices, depth):
    return torch.where(indices < 0, indices + depth, indices)


# Branches and loops -----------------------------------------------------------


def run_graph(call, graph, given):
    """The outputs of a graph inside of a node; it may read what is outside."""
    values = {**call.scope, **given}
    for tensor in graph.initializer:
        values[tensor.name] = torch.from_numpy(numpy_helper.to_array(tensor).copy())
    for node in graph.node:
        call.run.evaluate(type(call)(node, call.run), values)
    return [values[output.name] for output in graph.output]


def branch(call, condition):
    return tuple(run_graph(call, call.get("then_branch" if bool(condition) else
                                          "else_branch"), {}))


def loop(call, most, go=None, *carried):
    body, carried, stacks = call.get("body"), list(carried), []
    names = [i.name for i in body.input]
    go, turn = go is None or bool(go), 0
    while go and (most is None or turn < int(most)):
        go, *results = run_graph(call, body, dict(zip(names, [
            torch.tensor(turn), torch.tensor(go), *carried])))
        stacks.append(results[len(carried):])
        carried = results[:len(carried)]
        go, turn = bool(go), turn + 1
    return (*carried, *(torch.stack(rows) for rows in zip(*stacks)))


def map_sequence(call, sequence, *others):
    body = call.get("body")
    names = [i.name for i in body.input]
    results = [run_graph(call, body, dict(zip(names, [value, *others])))
               for value in sequence]
    return tuple(list(parts) for parts in zip(*results))


# Sequences --------------------------------------------------------------------


def insert(call, sequence, value, at=None):
    at = len(sequence) if at is None else int(at)
    at += len(sequence) if at < 0 else 0
    return ([*sequence[:at], value, *sequence[at:]],)


def erase(call, sequence, at=None):
    at = (len(sequence) - 1 if at is None else int(at)) % len(sequence)
    return (sequence[:at] + sequence[at + 1:],)


def join(call, sequence):
    joined = torch.stack if call.get("new_axis", 0) else torch.cat
    return joined(sequence, call.get("axis"))


OPS = {
    "GatherElements": gather_elements, "ScatterElements": scatter_elements,
    "Scatter": scatter_elements, "OneHot": one_hot, "TopK": top_k, "ArgMax": arg_max, "ArgMin": arg_max,
    "If": branch, "Loop": loop, "SequenceMap": map_sequence,
    "Size": lambda call, x: torch.tensor(x.numel()),
    "SequenceEmpty": lambda call: ([],),
    "SequenceConstruct": lambda call, *values: (list(values),),
    "SequenceInsert": insert, "SequenceErase": erase,
    "SequenceLength": lambda call, sequence: torch.tensor(len(sequence)),
    "ConcatFromSequence": join,
}
