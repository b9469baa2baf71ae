"""What ONNX operators mean, in PyTorch, that lwcc composes of others (onnx_ops.py has
the rest): normalization of samples, reductions, rearrangements, conditions.

Gradients are those of PyTorch's own functions wherever there is one.
"""


import numpy as np
import torch
import torch.nn.functional as F


def ints(tensor):
    return [int(v) for v in tensor.reshape(-1).tolist()]


# Normalization ---------------------------------------------------------------

def layer_norm(call, x, scale, bias=None):
    axis = call.get("axis", -1) % x.dim()
    epsilon, dims = call.get("epsilon", 1e-5), list(range(axis, x.dim()))
    if call.op == "RMSNormalization":
        return x * torch.rsqrt((x * x).mean(dims, keepdim=True) + epsilon) * scale
    y = F.layer_norm(x, x.shape[axis:], None, None, epsilon) * scale
    y = y if bias is None else y + bias
    mean = x.mean(dims, keepdim=True)
    inverse = torch.rsqrt(x.var(dims, correction=0, keepdim=True) + epsilon)
    return y, mean, inverse


def instance_norm(call, x, scale, bias):
    return F.instance_norm(x, None, None, scale, bias, True, 0.0,
                           call.get("epsilon", 1e-5))


def group_norm(call, x, scale, bias):
    groups = call.get("num_groups")
    if call.opset < 21:  # one number for each group
        scale, bias = (v.repeat_interleave(x.shape[1] // groups)
                       for v in (scale, bias))
    return F.group_norm(x, groups, scale, bias, call.get("epsilon", 1e-5))


def mean_variance_norm(call, x):
    axes = call.get("axes", [0, 2, 3])
    centered = x - x.mean(axes, keepdim=True)
    return centered / (centered.square().mean(axes, keepdim=True).sqrt() + 1e-9)


def lp_norm(call, x):
    axis, p = call.get("axis", -1), call.get("p", 2)
    norm = torch.linalg.vector_norm(x, p, axis, keepdim=True)
    return x / torch.where(norm == 0, 1.0, norm)


# Attention -------------------------------------------------------------------

def attention(call, q, k, v, mask=None, past_key=None, past_value=None):
    joined = q.dim() == 3

    def with_heads(x, name):
        return (x.unflatten(2, (call.get(name), -1)).transpose(1, 2) if joined else x)

    q = with_heads(q, "q_num_heads")
    k, v = (with_heads(x, "kv_num_heads") for x in (k, v))
    before = 0
    if past_key is not None:
        before = past_key.shape[2]
        k, v = torch.cat((past_key, k), 2), torch.cat((past_value, v), 2)
    keys, values = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ keys.mT * call.get("scale", q.shape[3] ** -0.5)
    if cap := call.get("softcap", 0.0):
        scores = cap * torch.tanh(scores / cap)
    if call.get("is_causal", 0):
        seen = torch.ones(scores.shape[2:], dtype=torch.bool).tril(before)
        scores = scores.masked_fill(~seen, -torch.inf)
    if mask is not None:
        scores = (scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool
                  else scores + mask)
    # Who sees nothing gets zeros.
    nothing = (scores == -torch.inf).all(3, keepdim=True)
    parts = torch.softmax(scores.masked_fill(nothing, 0.0), 3).masked_fill(nothing, 0.0)
    y = parts @ values
    return (y.transpose(1, 2).flatten(2) if joined else y), k, v


# Reductions ------------------------------------------------------------------

def reduction(function):
    def reduce(call, x, axes=None):
        axes = call.get("axes", []) if axes is None else ints(axes)
        if not axes and call.get("noop_with_empty_axes", 0):
            return x
        axes = [axis % x.dim() for axis in axes] or list(range(x.dim()))
        return function(x, axes, bool(call.get("keepdims", 1)))
    return reduce


def product(x, axes, keep):
    for axis in sorted(axes, reverse=True):
        x = x.prod(axis, keep)
    return x


def cumulative_sum(call, x, axis):
    axis = int(axis)
    reverse, exclusive = call.get("reverse", 0), call.get("exclusive", 0)
    y = x.flip(axis) if reverse else x
    total = y.cumsum(axis)
    total = total - y if exclusive else total
    return total.flip(axis) if reverse else total


# Rearrangements --------------------------------------------------------------

def gather_nd(call, x, indices):
    def each(x, indices, dims):
        if dims:
            return torch.stack([each(a, b, dims - 1) for a, b in zip(x, indices)])
        return rows_at(x, indices)
    return each(x, indices, call.get("batch_dims", 0))


def rows_at(x, indices):
    places = indices.reshape(-1, indices.shape[-1]).unbind(1)
    return x[places].reshape(*indices.shape[:-1], *x.shape[indices.shape[-1]:])


def scatter_nd(call, x, indices, updates):
    places = indices.reshape(-1, indices.shape[-1]).unbind(1)
    rows = updates.reshape(-1, *x.shape[indices.shape[-1]:])
    return x.index_put(places, rows, call.get("reduction", "none") == "add")


def depth_to_space(call, x):
    b, (n, c, h, w) = call.get("blocksize"), x.shape
    if call.op == "SpaceToDepth":
        if call.get("mode", "DCR") == "CRD":
            return F.pixel_unshuffle(x, b)
        x = x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4)
        return x.reshape(n, c * b * b, h // b, w // b)
    if call.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, b)
    x = x.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // (b * b), h * b, w * b)


def pad_by_elements(x, mode, pads, axes):
    """Pads that may be wider than the extent, or negative: then they crop first."""
    for i, axis in enumerate(axes):
        before, after = pads[i], pads[i + len(axes)]
        first, extent = max(-before, 0), x.shape[axis]
        extent += min(before, 0) + min(after, 0)
        x = x.narrow(axis, first, extent)
        before, after = max(before, 0), max(after, 0)
        at = np.arange(-before, extent + after)
        if mode == "edge":
            at = at.clip(0, extent - 1)
        elif mode == "wrap":
            at = at % extent
        else:
            at = at % max(2 * (extent - 1), 1)
            at = np.where(at < extent, at, 2 * (extent - 1) - at)
        x = x.index_select(axis, torch.from_numpy(at))
    return x


def trilu(call, x, k=None):
    k = 0 if k is None else int(k)
    return torch.triu(x, k) if call.get("upper", 1) else torch.tril(x, k)


# Elementwise -----------------------------------------------------------------

def truth(function):
    return lambda call, *xs: function(*xs)


def shrink(call, x):
    bias, lambd = call.get("bias", 0.0), call.get("lambd", 0.5)
    return torch.where(x < -lambd, x + bias,
                       torch.where(x > lambd, x - bias,
                                   torch.where(x.isnan(), x, 0.0 * x.detach())))


OPS = {
    "Attention": attention,
    "LayerNormalization": layer_norm, "RMSNormalization": layer_norm,
    "InstanceNormalization": instance_norm, "GroupNormalization": group_norm,
    "MeanVarianceNormalization": mean_variance_norm, "LpNormalization": lp_norm,
    "ReduceMax": reduction(torch.amax), "ReduceMin": reduction(torch.amin),
    "ReduceProd": reduction(product),
    "ReduceL1": reduction(lambda x, a, k: x.abs().sum(a, k)),
    "ReduceL2": reduction(lambda x, a, k: torch.linalg.vector_norm(x, 2, a, k)),
    "ReduceLogSum": reduction(lambda x, a, k: x.sum(a, k).log()),
    "ReduceLogSumExp": reduction(torch.logsumexp),
    "ReduceSumSquare": reduction(lambda x, a, k: x.square().sum(a, k)),
    "CumSum": cumulative_sum, "GatherND": gather_nd, "ScatterND": scatter_nd,
    "Tile": lambda call, x, repeats: x.repeat(ints(repeats)),
    "DepthToSpace": depth_to_space, "SpaceToDepth": depth_to_space,
    "Trilu": trilu, "Shrink": shrink,
    "PRelu": lambda call, x, slope: torch.where(x > 0, x, slope * x),
    "Selu": lambda call, x: call.get("gamma", 1.0507009) * F.elu(
        x, call.get("alpha", 1.6732632)),
    "Celu": lambda call, x: F.celu(x, call.get("alpha", 1.0)),
    "Mish": lambda call, x: F.mish(x),
    "Swish": lambda call, x: x * torch.sigmoid(call.get("alpha", 1.0) * x),
    "ThresholdedRelu": lambda call, x: F.threshold(
        x, call.get("alpha", 1.0), 0.0),
    "Softsign": lambda call, x: F.softsign(x),
    "Sin": lambda call, x: torch.sin(x), "Cos": lambda call, x: torch.cos(x),
    **{kind: (lambda call, x, f=getattr(torch, kind.lower()): f(x)) for kind in (
        "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh")},
    "Mod": lambda call, x, y: (torch.fmod if call.get("fmod", 0) else torch.remainder)(x, y),
    "EyeLike": lambda call, x: torch.ones_like(x).tril(call.get("k", 0)).triu(
        call.get("k", 0)),
    "Ceil": lambda call, x: torch.ceil(x),
    "Round": lambda call, x: torch.round(x),
    "Sign": lambda call, x: torch.sign(x),
    "LessOrEqual": truth(torch.le), "GreaterOrEqual": truth(torch.ge),
    "And": truth(torch.logical_and), "Or": truth(torch.logical_or),
    "Not": truth(torch.logical_not), "Xor": truth(torch.logical_xor),
    "IsNaN": truth(torch.isnan), "IsInf": truth(torch.isinf),
}

