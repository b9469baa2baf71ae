"""What ONNX's recurrent operators mean, in PyTorch, step by step (onnx_ops.py has the
rest). Gates stand in ONNX's order: of an LSTM input, output, forget, cell; of a GRU
update, reset, hidden.
"""

import torch

FUNCTIONS = {"Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Relu": torch.relu}


def direction(call, x, w, r, bias, h, c, names):
    """One direction over x [steps, samples, inputs]; all states, and the last ones."""
    curves = [FUNCTIONS[name] for name in names]
    hidden = r.shape[1]
    if bias is None:
        bias = w.new_zeros(2 * w.shape[0])
    own, of_state = bias.split(w.shape[0])
    states = []
    for step in x:
        a, b = step @ w.T + own, h @ r.T + of_state
        if call.op == "RNN":
            h = curves[0](a + b)
        elif call.op == "LSTM":
            i, o, f, g = (a + b).split(hidden, 1)
            c = curves[0](f) * c + curves[0](i) * curves[1](g)
            h = curves[0](o) * curves[2](c)
        else:
            a, b = a.split(hidden, 1), b.split(hidden, 1)
            z, reset = curves[0](a[0] + b[0]), curves[0](a[1] + b[1])
            if call.get("linear_before_reset", 0):
                state = reset * b[2]
            else:
                state = (reset * h) @ r[2 * hidden:].T + of_state[2 * hidden:]
            h = (1 - z) * curves[1](a[2] + state) + z * h
        states.append(h)
    return torch.stack(states), h, c


def by_length(lengths, x, backwards, run):
    """`direction` of each sample alone, over the steps it has."""
    made = []
    for i, count in enumerate(lengths.tolist()):
        own = x[:count, i:i + 1]
        states, *last = run(own.flip(0) if backwards else own, slice(i, i + 1))
        states = states.flip(0) if backwards else states
        rest = states.new_zeros(len(x) - count, *states.shape[1:])
        made.append([torch.cat((states, rest)), *last])
    return [torch.cat(parts, axis) for parts, axis in zip(zip(*made), (1, 0, 0))]


def recurrent(call, x, w, r, bias=None, lengths=None, h0=None, c0=None):
    layout = call.get("layout", 0)
    x = x.transpose(0, 1) if layout else x
    if layout:
        h0, c0 = (v if v is None else v.transpose(0, 1) for v in (h0, c0))
    way, dirs = call.get("direction", "forward"), w.shape[0]
    usual = {"RNN": ["Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"],
             "GRU": ["Sigmoid", "Tanh"]}[call.op] * dirs
    names = [n.decode() if isinstance(n, bytes) else n
             for n in call.get("activations", usual)]
    every, zero = len(names) // dirs, x.new_zeros(x.shape[1], r.shape[2])
    results = []
    for d in range(dirs):
        backwards = way == "reverse" or d == 1
        h, c = (zero if v is None else v[d] for v in (h0, c0))

        def run(x, some=slice(None), d=d, h=h, c=c):
            return direction(call, x, w[d], r[d], None if bias is None else bias[d],
                             h[some], c[some], names[d * every:(d + 1) * every])

        if lengths is None:
            states, h, c = run(x.flip(0) if backwards else x)
            results.append((states.flip(0) if backwards else states, h, c))
        else:
            results.append(by_length(lengths, x, backwards, run))
    y, h, c = (torch.stack(v, i) for v, i in zip(zip(*results), (1, 0, 0)))
    if layout:
        return y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
    return y, h, c


OPS = {"RNN": recurrent, "LSTM": recurrent, "GRU": recurrent}
