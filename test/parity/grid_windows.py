"""The operator grid: windows in one and three dimensions, transposed convolutions,
resizes, and sums of products by letters.
"""

import itertools

import numpy as np

from exporter_note import note
from grid_case import Case, text
from grid_layers import starts_outside


def further_convolutions(first=0):
    rotate = itertools.count(first)
    widths = [(1, 3, 4), (2, 4, 6), (3, 3, 3)]
    for kernel, stride, pad in itertools.product((1, 3, 4), (1, 2), (0, 1, 2)):
        turn = next(rotate)
        group, inputs, outputs = widths[turn % 3]
        dilation = [1, 2][turn % 2]
        case = Case(f"Conv 1-D k{kernel} s{stride} p{pad} d{dilation} g{group}",
                    [3, inputs, 13])
        weights = [case.weight("w", [outputs, inputs // group, kernel])]
        if turn % 4 != 1:
            weights.append(case.weight("b", [outputs]))
        case.last = case.op("Conv", case.last, *weights, group=group,
                            strides=[stride], pads=[pad, pad // 2],
                            dilations=[dilation])
        yield case.model()
    for kernel, stride, pad in itertools.product(
            ((1, 1, 1), (3, 3, 3), (2, 1, 3), (3, 2, 1)), ((1, 1, 1), (2, 1, 2)),
            ((0, 0, 0, 0, 0, 0), (1, 0, 1, 1, 0, 0))):
        turn = next(rotate)
        group, inputs, outputs = widths[turn % 3]
        dilation = [(1, 1, 1), (2, 1, 1)][turn // 3 % 2]
        case = Case(f"Conv 3-D k{text(kernel)} s{text(stride)} p{text(pad)} "
                    f"d{text(dilation)} g{group}", [2, inputs, 5, 4, 6])
        weights = [case.weight("w", [outputs, inputs // group, *kernel])]
        if turn % 4 != 1:
            weights.append(case.weight("b", [outputs]))
        case.last = case.op("Conv", case.last, *weights, group=group,
                            strides=stride, pads=pad, dilations=dilation)
        yield case.model()


def transposed_convolutions(first=0):
    rotate = itertools.count(first)
    widths = [(1, 3, 4), (2, 4, 3), (3, 3, 2)]  # groups, inputs, outputs of each
    for kernel, stride, pad, extra in itertools.product(
            ((1, 1), (2, 2), (3, 3), (4, 3)), ((1, 1), (2, 2), (3, 1)),
            ((0, 0, 0, 0), (1, 0, 0, 1)), (0, 1)):
        if extra and min(stride) == 1 or any(
                p >= k for p, k in zip(pad, kernel * 2)):
            continue
        turn = next(rotate)
        group, inputs, outputs = widths[turn % 3]
        dilation = [(1, 1), (1, 1), (2, 1)][turn // 2 % 3]
        case = Case(f"ConvTranspose k{text(kernel)} s{text(stride)} p{text(pad)} "
                    f"extra{extra} d{text(dilation)} g{group}", [2, inputs, 5, 4])
        weights = [case.weight("w", [inputs, outputs, *kernel])]
        if turn % 3 != 1:
            weights.append(case.weight("b", [outputs * group]))
        case.last = case.op("ConvTranspose", case.last, *weights, group=group,
                            strides=stride, pads=pad, dilations=dilation,
                            output_padding=[extra] * 2)
        yield case.model()
    for stride, options in ((2, dict(auto_pad="SAME_UPPER")),
                            (2, dict(auto_pad="SAME_LOWER")),
                            (2, dict(output_shape=[10, 8])),
                            (2, dict(output_shape=[9, 9]))):
        case = Case(f"ConvTranspose {text(list(options.values()))} s{stride}",
                    [2, 3, 5, 4])
        case.last = case.op("ConvTranspose", case.last,
                            case.weight("w", [3, 4, 3, 3]),
                            strides=[stride] * 2, **options)
        yield case.model()
    for stride, pad in itertools.product((1, 2, 3), (0, 1)):
        case = Case(f"ConvTranspose 1-D s{stride} p{pad}", [2, 3, 7])
        case.last = case.op("ConvTranspose", case.last,
                            case.weight("w", [3, 4, 3]), case.weight("b", [4]),
                            strides=[stride], pads=[pad, pad])
        yield case.model()
    for stride, kernel, pad, extra, dilation, group in (
            ((1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0), (1, 1, 1), 1),
            ((2, 2, 2), (2, 2, 2), (0, 0, 0), (0, 0, 0), (1, 1, 1), 2),
            ((2, 1, 2), (3, 2, 3), (1, 0, 1), (1, 0, 1), (1, 1, 1), 1),
            ((3, 2, 1), (2, 3, 3), (0, 1, 1), (2, 0, 0), (2, 1, 2), 3),
            ((1, 2, 3), (3, 3, 1), (2, 1, 0), (0, 1, 0), (2, 2, 1), 1)):
        case = Case(f"ConvTranspose 3-D k{text(kernel)} s{text(stride)} p{text(pad)} "
                    f"extra{text(extra)} d{text(dilation)} g{group}",
                    [2, 2 * group, 3, 4, 3])
        case.last = case.op("ConvTranspose", case.last,
                            case.weight("w", [2 * group, 2, *kernel]),
                            case.weight("b", [2 * group]), strides=stride,
                            pads=[*pad, *pad], output_padding=extra,
                            dilations=dilation, group=group)
        yield case.model()


def grid_samples():
    for mode, padding, corners, rank in itertools.product(
            ("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1),
            (2, 3)):
        if mode == "cubic" and rank == 3:
            continue
        size = [5, 4, 3][:rank]
        to = [3, 2, 5][:rank]
        case = Case(f"GridSample {mode} {padding} corners{corners} {rank}-D", [2, 3, *size],
                    opset=20)
        grid = case.random.uniform(-1.6, 1.6, [2, *to, rank]).astype(np.float32)
        # The nearest pixel's number has no gradient.
        grid = case.stored(grid) if mode == "nearest" else case.weight(
            "grid", [2, *to, rank], -1.6, 1.6)
        case.last = case.op("GridSample", case.last, grid, mode=mode, padding_mode=padding,
                            align_corners=corners)
        yield case.model()
    for corners in (0, 1):
        case = Case(f"GridSample of places from data corners{corners}", [3, 4, 5, 2],
                    opset=16)
        image = case.weight("image", [3, 2, 6, 5])
        case.last = case.op("GridSample", image, case.last, align_corners=corners)
        yield case.model()


def folds():
    for image, block, stride, pad, dilation in (
            ((6, 5), (2, 2), (1, 1), (0, 0, 0, 0), (1, 1)),
            ((6, 6), (3, 2), (3, 2), (0, 0, 0, 0), (1, 1)),
            ((7, 5), (3, 3), (2, 1), (1, 1, 1, 1), (1, 1)),
            ((8, 9), (2, 3), (2, 2), (0, 1, 2, 0), (2, 3))):
        blocks = [(image[d] + pad[d] + pad[d + 2] - dilation[d] * (block[d] - 1) - 1)
                  // stride[d] + 1 for d in (0, 1)]
        case = Case(f"Col2Im {text(image)} b{text(block)} s{text(stride)} p{text(pad)} "
                    f"d{text(dilation)}",
                    [2, 3 * block[0] * block[1], blocks[0] * blocks[1]], opset=18)
        case.last = case.op("Col2Im", case.last, case.ints(*image), case.ints(*block),
                            strides=stride, pads=pad, dilations=dilation)
        yield case.model()


def further_poolings():
    for kind, (kernel, stride, pad), ceil in itertools.product(
            ("MaxPool", "AveragePool"),
            (([3], [2], [0]), ([3], [1], [1]), ([2], [3], [1]),
             ([2, 3, 2], [2, 1, 2], [0, 0, 0]), ([3, 3, 3], [1, 2, 2], [1, 1, 1]),
             ([3, 1, 2], [2, 2, 1], [1, 0, 0])), (0, 1)):
        sizes = {1: [11], 3: [5, 6, 7]}[len(kernel)]
        if any(starts_outside(*v, ceil) for v in zip(
                sizes, kernel, stride, pad, pad)):
            continue
        for include in (0, 1) if kind == "AveragePool" and any(pad) else (0,):
            case = Case(f"{kind} k{text(kernel)} s{text(stride)} p{text(pad)} "
                        f"ceil{ceil} include{include}", [2, 3, *sizes], 19)
            options = dict(count_include_pad=include) if include else {}
            case.last = case.op(kind, case.last, kernel_shape=kernel,
                                strides=stride, pads=pad * 2, ceil_mode=ceil,
                                **options)
            yield case.model()
    for size, include, divisor in itertools.product(([7, 6], [4, 5, 6]), (0, 1), (3, 20, -2)):
        d = len(size)
        case = Case(f"AveragePool {d}-D with divisor {divisor} include{include}",
                    [2, 3, *size], 19)
        case.last = case.op("AveragePool", case.last, kernel_shape=[3] * d, strides=[2] * d,
                            pads=[1] * 2 * d, count_include_pad=include)
        note(case.nodes[-1], f"avg_pool{d}d", "%x", [3] * d, [2] * d, [1] * d, False,
             bool(include), divisor)
        yield case.model()
    for kind, shape in itertools.product(
            ("GlobalAveragePool", "GlobalMaxPool"),
            ([2, 3, 7], [2, 3, 4, 3, 2])):
        case = Case(f"{kind} {text(shape)}", shape)
        case.last = case.op(kind, case.last)
        yield case.model()


COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
               "half_pixel_symmetric")


def resizes():
    shape = [2, 3, 5, 6]
    for mode, coordinates, scale in itertools.product(
            ("nearest", "linear", "cubic"), COORDINATES,
            ((2.0, 3.0), (0.6, 0.5), (1.5, 1.0))):
        case = Case(f"Resize {mode} {coordinates} {text(scale)}", shape)
        scales = case.stored(np.array([1, 1, *scale], np.float32))
        case.last = case.op("Resize", case.last, "", scales, mode=mode,
                            coordinate_transformation_mode=coordinates)
        yield case.model()
    for how, coordinates, sizes in itertools.product(
            ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
            ("half_pixel", "asymmetric"), ([10, 12], [7, 4])):
        case = Case(f"Resize {how} {coordinates} to {text(sizes)}", shape)
        case.last = case.op("Resize", case.last, "", "",
                            case.ints(2, 3, *sizes), mode="nearest",
                            nearest_mode=how,
                            coordinate_transformation_mode=coordinates)
        yield case.model()
    for mode, options, sizes in itertools.product(
            ("linear", "cubic"),
            (dict(antialias=1), dict(exclude_outside=1),
             dict(antialias=1, exclude_outside=1)), ([3, 4], [8, 9])):
        if mode == "linear" and list(options) == ["exclude_outside"]:
            continue
        case = Case(f"Resize {mode} {text(list(options))} to {text(sizes)}", shape)
        case.last = case.op("Resize", case.last, "", "", case.ints(*sizes),
                            axes=[2, 3], mode=mode, **options)
        yield case.model()
    case = Case("Resize cubic with coefficient", shape)
    scales = case.stored(np.array([1, 1, 2, 2], np.float32))
    case.last = case.op("Resize", case.last, "", scales, mode="cubic",
                        cubic_coeff_a=-0.5)
    yield case.model()
    for mode in ("nearest", "linear"):
        for kind, opset in (("Upsample", 9), ("Resize", 10)):
            case = Case(f"{kind} {mode} opset{opset}", shape, opset)
            scales = case.stored(np.array([1, 1, 2, 3], np.float32))
            case.last = case.op(kind, case.last, scales, mode=mode)
            yield case.model()
    for mode, policy in itertools.product(
            ("nearest", "linear"), ("stretch", "not_larger", "not_smaller")):
        case = Case(f"Resize {mode} columns first {policy}", shape)
        case.last = case.op("Resize", case.last, "", "", case.ints(9, 11), axes=[3, 2],
                            mode=mode, keep_aspect_ratio_policy=policy)
        yield case.model()
    # All samples, and a part of each channel, row and column that reaches beyond them.
    for mode, value, sizes in itertools.product(
            ("nearest", "linear", "cubic"), (0.0, 2.5), ([3, 4, 7], [3, 8, 5], [3, 1, 1])):
        case = Case(f"Resize {mode} crops to {text(sizes)} value{value}", shape)
        box = case.stored(np.array([0, 0, 0.2, -0.1, 1, 1, 0.9, 1.3], np.float32))
        case.last = case.op("Resize", case.last, box, "", case.ints(2, *sizes), mode=mode,
                            coordinate_transformation_mode="tf_crop_and_resize",
                            extrapolation_value=value)
        yield case.model()
    case = Case("Resize of rank 3", [3, 4, 7])
    scales = case.stored(np.array([1, 1, 2], np.float32))
    case.last = case.op("Resize", case.last, "", scales, mode="linear")
    yield case.model()


def sums_of_products():
    for equation, shape, others in (
            ("bij,bjk->bik", [3, 4, 5], [[3, 5, 2]]),
            ("bij,kj->bik", [3, 4, 5], [[6, 5]]),
            ("bhqd,bhkd->bhqk", [2, 3, 4, 5], [[2, 3, 6, 5]]),
            ("bhqk,bkhd->bqhd", [2, 3, 4, 5], [[2, 5, 3, 2]]),
            ("bi,bj->bij", [3, 4], [[3, 5]]), ("bi,i->b", [3, 4], [[4]]),
            ("bij,bij->b", [3, 4, 5], [[3, 4, 5]]),
            ("bij->bji", [3, 4, 5], []), ("bij->bi", [3, 4, 5], []),
            ("bij,jk,kl->bil", [3, 4, 5], [[5, 6], [6, 2]]),
            ("b...i,ij->b...j", [2, 3, 4, 5], [[5, 3]]),
            ("bi...,bj...->bij...", [2, 3, 4, 5], [[2, 2, 1, 5]]),
            ("bij,jk", [3, 4, 5], [[5, 6]]),
            ("bchw,oc->bohw", [2, 3, 4, 5], [[4, 3]]),
            # Diagonals, of the data and of a weight.
            ("bii->bi", [3, 4, 4], []), ("bii->b", [3, 4, 4], []), ("bii", [3, 4, 4], []),
            ("bihi->bhi", [2, 4, 3, 4], []), ("bhici->bchi", [2, 3, 4, 5, 4], []),
            ("biii->bi", [3, 4, 4, 4], []), ("bijij->bji", [2, 3, 4, 3, 4], []),
            ("bi,ii->bi", [3, 4], [[4, 4]]), ("b...ii->b...i", [2, 3, 4, 4], [])):
        case = Case(f"Einsum {equation}", shape)
        case.last = case.op(
            "Einsum", case.last,
            *(case.weight(f"w{i}", o) for i, o in enumerate(others)),
            equation=equation)
        yield case.model()
