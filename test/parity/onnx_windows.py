"""What ONNX's windows mean, in PyTorch, in other than two dimensions, and what
resizes: Conv, ConvTranspose, pools, Resize, Einsum (onnx_ops.py has the rest).
"""

import numpy as np
import torch
import torch.nn.functional as F

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAX_POOL = {1: F.max_pool1d, 3: F.max_pool3d}
AVERAGE_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def steps(call, rank):
    return (call.get("strides", [1] * rank), call.get("dilations", [1] * rank),
            call.get("pads", [0] * (2 * rank)))


def conv(call, x, w, bias=None):
    rank = x.dim() - 2
    stride, dilation, pads = steps(call, rank)
    flat = [p for d in reversed(range(rank)) for p in (pads[d], pads[d + rank])]
    return CONV[rank](F.pad(x, flat), w, bias, stride, 0, dilation,
                      call.get("group", 1))


def conv_transpose(call, x, w, bias=None):
    """Without padding, and cropped to where the padding would have been."""
    rank = x.dim() - 2
    stride, dilation, pads = steps(call, rank)
    extra = call.get("output_padding", [0] * rank)
    whole = TRANSPOSED[rank](x, w, bias, stride, 0, extra, call.get("group", 1),
                             dilation)
    wanted, mode = call.get("output_shape"), call.get("auto_pad", "NOTSET")
    for d in range(rank):
        extent = whole.shape[2 + d]
        before, after = pads[d], pads[d + rank]
        if wanted or mode.startswith("SAME"):
            output = wanted[d] if wanted else x.shape[2 + d] * stride[d]
            total = max(extent - output, 0)
            before = total // 2 if mode == "SAME_UPPER" else total - total // 2
            after = total - before
        whole = whole.narrow(2 + d, before, extent - before - after)
    return whole


def col2im(call, x, image, block):
    """Without padding, and cropped."""
    stride, dilation, pads = steps(call, 2)
    image, block = image.tolist(), block.tolist()
    whole = F.fold(x, [image[d] + pads[d] + pads[d + 2] for d in (0, 1)], block, dilation,
                   0, stride)
    for d in (0, 1):
        whole = whole.narrow(2 + d, pads[d], image[d])
    return whole


def pool(call, x):
    """Of equal pads before and behind."""
    rank = x.dim() - 2
    stride, dilation, pads = steps(call, rank)
    kernel, ceil = call.get("kernel_shape"), bool(call.get("ceil_mode", 0))
    assert pads[:rank] == pads[rank:]
    if call.op == "MaxPool":
        return MAX_POOL[rank](x, kernel, stride, pads[:rank], dilation, ceil)
    divisor = {"divisor_override": call.divisor} if call.divisor else {}
    return AVERAGE_POOL[rank](x, kernel, stride, pads[:rank], ceil,
                              bool(call.get("count_include_pad", 0)), **divisor)


# Resize ----------------------------------------------------------------------

def place(mode, i, size, new, scale, box):
    """Where element i of `new` ones is among `size` (ONNX's Resize)."""
    if mode == "tf_crop_and_resize":
        first, last = box[0] * (size - 1), box[1] * (size - 1)
        return (first + last) / 2 if new == 1 else first + i * (last - first) / (new - 1)
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        return 0.0 if new == 1 else i * (size - 1) / (new - 1)
    if mode == "pytorch_half_pixel" and new == 1:
        return 0.0
    if mode == "half_pixel_symmetric":
        center = size / 2
        return center * (1 - new / (scale * size)) + (i + 0.5) / scale - 0.5
    return (i + 0.5) / scale - 0.5


def nearest(how, at):
    return int({"floor": np.floor(at), "ceil": np.ceil(at),
                "round_prefer_floor": np.ceil(at - 0.5),
                "round_prefer_ceil": np.floor(at + 0.5)}[how])


def cubic(x, a):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x ** 3 - (a + 3) * x ** 2 + 1
    return a * x ** 3 - 5 * a * x ** 2 + 8 * a * x - 4 * a if x < 2 else 0.0


def weights(call, mode, coordinates, how, size, new, scale, box):
    """The matrix [new, size] of one dimension; of nearest elements, which they are."""
    matrix, a = np.zeros((new, size)), call.get("cubic_coeff_a", -0.75)
    antialias = call.get("antialias", 0)
    squeeze = min(scale, 1.0) if antialias else 1.0
    for i in range(new):
        at = place(coordinates, i, size, new, scale, box)
        if mode == "nearest":
            matrix[i, 0] = min(max(nearest(how, at), 0), size - 1)
            continue
        reach = 2 / squeeze + 1
        for j in range(int(np.floor(at - reach)), int(np.ceil(at + reach)) + 1):
            distance = (j - at) * squeeze
            weight = (max(0.0, 1 - abs(distance)) if mode == "linear"
                      else cubic(distance, a))
            if not 0 <= j < size and call.get("exclude_outside", 0):
                continue
            matrix[i, min(max(j, 0), size - 1)] += weight
        matrix[i] /= matrix[i].sum()
    return matrix


def resize(call, x, roi=None, scales=None, sizes=None):
    old = call.op == "Upsample" or call.opset < 11
    if old:
        roi, scales = None, roi
    mode = call.get("mode", "nearest")
    coordinates = "asymmetric" if old else call.get(
        "coordinate_transformation_mode", "half_pixel")
    how = "floor" if old else call.get("nearest_mode", "round_prefer_floor")
    axes = call.get("axes", list(range(x.dim())))
    policy, common = call.get("keep_aspect_ratio_policy", "stretch"), None
    if policy != "stretch" and sizes is not None and sizes.numel():
        choose = min if policy == "not_larger" else max
        common = choose(int(s) / x.shape[axis] for s, axis in zip(sizes, axes))
    crops = coordinates == "tf_crop_and_resize"
    outside = torch.zeros([1] * x.dim(), dtype=torch.bool)
    for i, axis in enumerate(axes):
        size, box = x.shape[axis], (0.0, 1.0)
        if common:
            scale, new = common, int(np.floor(common * size + 0.5))
        elif sizes is not None and sizes.numel():
            new = int(sizes[i])
            scale = new / size
        else:
            scale = float(scales[i])
            new = int(np.floor(np.float32(scale) * np.float32(size)))
        if crops:
            box = float(roi[i]), float(roi[i + len(axes)])
            out = [not 0 <= place(coordinates, j, size, new, scale, box) <= size - 1
                   for j in range(new)]
            outside = outside | torch.tensor(out).view(
                [-1 if d == axis % x.dim() else 1 for d in range(x.dim())])
        if new == size and scale == 1 and box == (0.0, 1.0):
            continue
        matrix = torch.from_numpy(
            weights(call, mode, coordinates, how, size, new, scale, box)).to(x.dtype)
        if mode == "nearest":
            x = x.index_select(axis, matrix[:, 0].long())
            continue
        x = torch.tensordot(x, matrix, ([axis], [1])).movedim(-1, axis)
    return torch.where(outside, call.get("extrapolation_value", 0.0), x)


def grid_sample(call, x, grid):
    mode = call.get("mode", "linear")
    return F.grid_sample(x, grid, {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode),
                         call.get("padding_mode", "zeros"),
                         bool(call.get("align_corners", 0)))


def einsum(call, *xs):
    return torch.einsum(call.get("equation"), *xs)


OPS = {"ConvTranspose": conv_transpose, "Col2Im": col2im, "Resize": resize, "Upsample": resize,
       "GridSample": grid_sample, "Einsum": einsum}
