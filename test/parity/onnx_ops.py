"""What each ONNX operator means, in PyTorch: one function per operator.

Covers what the compiler trains and the shape plumbing that exporters write
around it, for opset 7 to the newest. A function takes the call (attributes,
opset, how to run) and the inputs (None where absent); autograd gives the
backward pass. State, parameters and the training loop are onnx_torch.py's.
"""

import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

import onnx_composed
import onnx_elements
import onnx_random
import onnx_recurrent
import onnx_spectra
import onnx_windows
from onnx_composed import ints, reduction


def number(tensor):
    return tensor.detach().item()


def to_torch(proto_or_array, dtype):
    """A tensor; floating point gets the precision of the run."""
    array = proto_or_array
    if isinstance(array, TensorProto):
        array = numpy_helper.to_array(array)
    tensor = torch.from_numpy(np.array(array))
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


# Windows ---------------------------------------------------------------------

def output_size(size, kernel, stride, dilation, before, after, ceil_mode):
    span = size + before + after - dilation * (kernel - 1) - 1
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    # A last window that would start in the trailing padding is dropped.
    if ceil_mode and (count - 1) * stride >= size + before:
        count -= 1
    return count


class Window:
    """Kernel, stride, dilation and explicit padding of a 2-D operator."""

    def __init__(self, call, x, kernel):
        self.kernel = kernel
        self.stride = call.get("strides", [1, 1])
        self.dilation = call.get("dilations", [1, 1])
        self.ceil_mode = bool(call.get("ceil_mode", 0))
        pads = call.get("pads", [0] * 4)
        mode = call.get("auto_pad", "NOTSET")
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            total = [max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
                     for size, s, d, k in zip(x.shape[2:], self.stride,
                                              self.dilation, kernel)]
            small = [t // 2 for t in total]
            large = [t - s for t, s in zip(total, small)]
            pads = small + large if mode == "SAME_UPPER" else large + small
        self.before, self.after = list(pads[:2]), list(pads[2:])
        self.size = [output_size(*v, self.ceil_mode) for v in zip(
            x.shape[2:], kernel, self.stride, self.dilation, self.before,
            self.after)]

    @property
    def symmetric(self):
        return self.before == self.after

    def pad(self, x, value, overhang=False):
        """x with its padding and, with `overhang`, what its last windows need beyond."""
        top, left = self.before
        bottom, right = self.after
        if overhang:
            need = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(
                self.size, self.stride, self.dilation, self.kernel)]
            bottom = max(bottom, need[0] - x.shape[2] - top)
            right = max(right, need[1] - x.shape[3] - left)
        return F.pad(x, (left, right, top, bottom), value=value)


def conv(call, x, w, bias=None):
    if x.dim() != 4:
        return onnx_windows.conv(call, x, w, bias)
    window = Window(call, x, list(w.shape[2:]))
    padding = window.before
    if not window.symmetric:
        x, padding = window.pad(x, 0.0), 0
    return F.conv2d(x, w, bias, window.stride, padding, window.dilation,
                    call.get("group", 1))


def max_pool(call, x):
    if x.dim() != 4:
        return onnx_windows.pool(call, x)
    window = Window(call, x, call.get("kernel_shape"))
    fits = all(2 * p <= k for p, k in zip(window.before, window.kernel))
    if window.symmetric and fits:
        return F.max_pool2d(x, window.kernel, window.stride, window.before,
                            window.dilation, window.ceil_mode)
    y = F.max_pool2d(window.pad(x, -math.inf, overhang=True), window.kernel,
                     window.stride, 0, window.dilation)
    return y[:, :, :window.size[0], :window.size[1]]


def average_pool(call, x):
    if call.divisor or x.dim() != 4:
        return onnx_windows.pool(call, x)
    window = Window(call, x, call.get("kernel_shape"))
    include = bool(call.get("count_include_pad", 0))
    fits = all(2 * p <= k for p, k in zip(window.before, window.kernel))
    if window.symmetric and fits and window.dilation == [1, 1]:
        return F.avg_pool2d(x, window.kernel, window.stride, window.before,
                            window.ceil_mode, include)
    return average_by_sums(window, x, include)


def average_by_sums(window, x, include):
    """Average pooling with what F.avg_pool2d lacks: uneven padding, dilation."""
    ones = x.new_ones(1, 1, *window.kernel)
    inside = x.new_ones(1, 1, *x.shape[2:])
    if include:
        inside = window.pad(inside, 1.0)
        counted = Window.__new__(Window)
        counted.__dict__.update(window.__dict__, before=[0, 0], after=[0, 0])
    else:
        counted = window

    def sums(w, t):
        t = w.pad(t, 0.0, overhang=True)
        t = F.conv2d(t.reshape(-1, 1, *t.shape[2:]), ones, None, w.stride, 0,
                     w.dilation)
        return t[:, :, :w.size[0], :w.size[1]]

    total = sums(window, x).reshape(*x.shape[:2], *window.size)
    return total / sums(counted, inside)


# Normalization and losses ----------------------------------------------------

def batch_normalization(call, x, scale, bias, mean, variance):
    if call.inputs[3] not in call.run.statistics:  # the graph computes them
        if call.get("training_mode", 0):
            return F.batch_norm(x, None, None, scale, bias, True, 0.0,
                                call.get("epsilon", 1e-5)), None, None
        mean, variance, scale, bias = (
            v.reshape(-1, *[1] * (x.dim() - 2)) for v in (mean, variance, scale, bias))
        y = (x - mean) / torch.sqrt(variance + call.get("epsilon", 1e-5))
        return y * scale + bias, None, None
    momentum = 1.0 - call.get("momentum", 0.9)
    # With --bn=group each group of samples has its own statistics; the running ones become the
    # mean of what each group would make of them.
    group = call.run.bn_group if call.run.training and call.run.bn_group else len(x)
    results, running = [], []
    for samples in torch.split(x, group):
        running.append((mean.clone(), variance.clone()))
        # PyTorch's gradient reads an expanded scale as if it were in one piece.
        results.append(F.batch_norm(samples, *running[-1], scale.contiguous(), bias,
                                    call.run.training, momentum,
                                    call.get("epsilon", 1e-5)))
    with torch.no_grad():
        for whole, own in zip((mean, variance), zip(*running)):
            whole.copy_(torch.stack(own).mean(0))
    return torch.cat(results), mean, variance


def lrn(call, x):
    size = call.get("size")
    before = (size - 1) // 2
    squares = F.pad(x * x, (0, 0, 0, 0, before, size - 1 - before))
    total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    scale = call.get("bias", 1.0) + call.get("alpha", 1e-4) / size * total
    return x * scale ** -call.get("beta", 0.75)


def softmax(call, x, function=torch.softmax):
    if call.opset >= 13:
        return function(x, call.get("axis", -1))
    axis = call.get("axis", 1) % x.dim()
    return function(x.flatten(axis), -1).reshape(x.shape)


def loss_of(function):
    def loss(call, x, labels, weight=None):
        return function(x, labels.long(), weight,
                        ignore_index=call.get("ignore_index", -100),
                        reduction=call.get("reduction", "mean"))
    return loss


# Linear algebra, reductions, movement ----------------------------------------

def gemm(call, a, b, c=None):
    a = a.T if call.get("transA", 0) else a
    b = b.T if call.get("transB", 0) else b
    y = call.get("alpha", 1.0) * (a @ b)
    return y if c is None else y + call.get("beta", 1.0) * c


def reshape(call, x, shape):
    sizes = ints(shape)
    if not call.get("allowzero", 0):
        sizes = [x.shape[i] if s == 0 else s for i, s in enumerate(sizes)]
    return x.reshape(sizes)


def flatten(call, x):
    axis = call.get("axis", 1)
    axis += x.dim() if axis < 0 else 0
    return x.reshape(math.prod(x.shape[:axis]), -1)


def split_sizes(call, x, sizes, axis):
    if sizes is not None and sizes.dim():
        return ints(sizes)
    extent = x.shape[axis]
    if sizes is not None:  # SplitToSequence: chunks of this size
        chunk = int(sizes)
    elif call.get("split"):
        return call.get("split")
    else:
        count = call.get("num_outputs", len(call.outputs))
        chunk = -(-extent // count)
    return [min(chunk, extent - i) for i in range(0, extent, chunk)]


def split(call, x, sizes=None):
    axis = call.get("axis", 0)
    return tuple(torch.split(x, split_sizes(call, x, sizes, axis), axis))


def pad(call, x, pads=None, value=None, axes=None):
    pads = call.get("pads") if pads is None else ints(pads)
    value = call.get("value", 0.0) if value is None else number(value)
    axes = list(range(x.dim())) if axes is None else ints(axes)
    if call.get("mode", "constant") != "constant":
        return onnx_composed.pad_by_elements(x, call.get("mode"), pads, axes)
    flat = [0] * (2 * x.dim())
    for i, axis in enumerate(axes):
        place = 2 * (x.dim() - 1 - axis % x.dim())
        flat[place:place + 2] = pads[i], pads[i + len(axes)]
    return F.pad(x, flat, value=value)


def slice_(call, x, starts=None, ends=None, axes=None, steps=None):
    starts = call.get("starts") if starts is None else ints(starts)
    ends = call.get("ends") if ends is None else ints(ends)
    axes = call.get("axes", range(len(starts))) if axes is None else ints(axes)
    steps = [1] * len(starts) if steps is None else ints(steps)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        index = range(x.shape[axis])[slice(start, None if end < -x.shape[axis]
                                           else end, step)]
        x = x.index_select(axis, torch.tensor(list(index), dtype=torch.int64))
    return x


def unsqueeze(call, x, axes=None):
    axes = call.get("axes") if axes is None else ints(axes)
    for axis in sorted(a % (x.dim() + len(axes)) for a in axes):
        x = x.unsqueeze(axis)
    return x


def squeeze(call, x, axes=None):
    axes = call.get("axes") if axes is None else ints(axes)
    if axes is None:
        return x.squeeze()
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = x.squeeze(axis)
    return x


def gather(call, x, index):
    axis = call.get("axis", 0) % x.dim()
    index = torch.where(index < 0, index + x.shape[axis], index)
    inside = (index >= 0) & (index < x.shape[axis])
    y = x.index_select(axis, torch.where(inside, index, 0).reshape(-1))
    if not inside.all():  # what a NaN is cast to; PyTorch would refuse it
        outside = ~inside.reshape(*[1] * axis, -1, *[1] * (x.dim() - axis - 1))
        y = torch.where(outside, torch.nan, y)
    if call.padding is not None:
        y = torch.where(index.reshape(-1, *[1] * (x.dim() - 1)) == call.padding, y.detach(), y)
    return y.reshape((*x.shape[:axis], *index.shape, *x.shape[axis + 1:]))


def shape(call, x):
    sizes = list(x.shape)[call.get("start", 0):call.get("end", x.dim())]
    return torch.tensor(sizes, dtype=torch.int64)


def clip(call, x, low=None, high=None):
    low = call.get("min") if low is None else number(low)
    high = call.get("max") if high is None else number(high)
    return x if low is None and high is None else torch.clamp(x, low, high)


def torch_type(call, onnx_type):
    array_type = helper.tensor_dtype_to_np_dtype(onnx_type)
    dtype = torch.from_numpy(np.zeros(1, array_type)).dtype
    return call.run.dtype if dtype.is_floating_point else dtype


def cast(call, x):
    return x.to(torch_type(call, call.get("to")))


def constant(call):
    value = next(v for k, v in call.attributes.items() if k.startswith("value"))
    if isinstance(value, TensorProto):
        return to_torch(value, call.run.dtype)
    value = torch.tensor(value)
    return value.to(call.run.dtype) if value.is_floating_point() else value


def constant_of_shape(call, sizes):
    value = call.get("value")
    value = torch.zeros(1) if value is None else to_torch(value, call.run.dtype)
    return value.expand(ints(sizes)).clone()


def expand(call, x, sizes):
    return x * 1 if not ints(sizes) else x.expand(
        torch.broadcast_shapes(tuple(x.shape), tuple(ints(sizes))))


def unary(function):
    return lambda call, x: function(x)


def binary(function):
    return lambda call, a, b: function(a, b)


def divide(call, a, b):
    if a.is_floating_point():
        return a / b
    return torch.div(a, b, rounding_mode="trunc")


OPS = {
    "Conv": conv, "Gemm": gemm, "MatMul": binary(torch.matmul),
    "BatchNormalization": batch_normalization, "LRN": lrn, "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": unary(
        lambda x: x.mean(list(range(2, x.dim())), keepdim=True)),
    "ReduceMean": reduction(torch.mean), "ReduceSum": reduction(torch.sum),
    "Relu": unary(torch.relu), "Sigmoid": unary(torch.sigmoid),
    "Tanh": unary(torch.tanh), "HardSwish": unary(F.hardswish),
    "HardSigmoid": lambda call, x: torch.clamp(
        call.get("alpha", 0.2) * x + call.get("beta", 0.5), 0.0, 1.0),
    "LeakyRelu": lambda call, x: F.leaky_relu(x, call.get("alpha", 0.01)),
    "Clip": clip, "Exp": unary(torch.exp), "Log": unary(torch.log),
    "Sqrt": unary(torch.sqrt), "Neg": unary(torch.neg), "Abs": unary(torch.abs),
    "Erf": unary(torch.erf), "Floor": unary(torch.floor),
    "Add": binary(torch.add), "Sub": binary(torch.sub),
    "Mul": binary(torch.mul), "Div": divide, "Pow": binary(torch.pow),
    "Max": lambda call, *xs: functools.reduce(torch.maximum, xs),
    "Min": lambda call, *xs: functools.reduce(torch.minimum, xs),
    "Reciprocal": unary(torch.reciprocal), "Softplus": unary(F.softplus),
    "Elu": lambda call, x: F.elu(x, call.get("alpha", 1.0)),
    "Gelu": lambda call, x: F.gelu(x, approximate=call.get(
        "approximate", "none")),
    "GlobalMaxPool": unary(
        lambda x: F.max_pool2d(x, x.shape[2:]) if x.dim() == 4
        else x.amax(list(range(2, x.dim())), True)),
    "Sum": lambda call, *xs: sum(xs[1:], xs[0]),
    "Mean": lambda call, *xs: sum(xs[1:], xs[0]) / len(xs),
    "Identity": lambda call, x: x.detach() if call.detaches else x,
    "Flatten": flatten, "Reshape": reshape, "Pad": pad, "Slice": slice_,
    "Transpose": lambda call, x: x.permute(
        call.get("perm", list(range(x.dim()))[::-1])),
    "Concat": lambda call, *xs: torch.cat(xs, call.get("axis")),
    "Split": split,
    "SplitToSequence": lambda call, x, sizes=None: (
        list(split(call, x, sizes)),),
    "SequenceAt": lambda call, xs, index: xs[int(index)],
    "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Gather": gather,
    "Expand": expand, "Shape": shape, "Cast": cast, "Constant": constant,
    "CastLike": lambda call, x, like: x.to(like.dtype),
    "ConstantOfShape": constant_of_shape, "Less": binary(torch.lt),
    "Greater": binary(torch.gt), "Equal": binary(torch.eq),
    "Where": lambda call, c, a, b: torch.where(c, a, b),
    "Range": lambda call, a, b, step: torch.arange(
        a.item(), b.item(), step.item()),
    "Softmax": softmax,
    "LogSoftmax": lambda call, x: softmax(call, x, torch.log_softmax),
    "SoftmaxCrossEntropyLoss": loss_of(F.cross_entropy),
    "NegativeLogLikelihoodLoss": loss_of(F.nll_loss),
    **onnx_composed.OPS, **onnx_elements.OPS, **onnx_random.OPS, **onnx_recurrent.OPS,
    **onnx_spectra.OPS, **onnx_windows.OPS,
}
