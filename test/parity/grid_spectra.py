"""The operator grid: discrete Fourier transforms."""

import itertools

import numpy as np

from grid_case import Case

# Data, axis, and options; complex numbers are the last two.
WHOLE = [([3, 5, 1], 1), ([3, 4, 5, 2], 2), ([3, 4, 5, 2], -2), ([3, 6, 4, 1], 1),
         ([3, 8, 2], 1), ([3, 2, 3, 4, 2], 3)]
# How many points: as many as there are, fewer, more.
LENGTHS = (0, -2, 3)


def spectra():
    for (shape, axis), inverse, more, opset in itertools.product(
            WHOLE, (0, 1), LENGTHS, (17, 20)):
        yield transform(shape, axis, opset, more, inverse=inverse)
    for (shape, axis), more, opset in itertools.product(WHOLE, LENGTHS, (17, 20)):
        yield transform(shape, axis, opset, more, inverse=int(shape[-1] == 2), onesided=1)
    for frame, step, windowed, onesided, single in itertools.product(
            (4, 7), (1, 3), (0, 1), (0, 1), (0, 1)):
        case = Case(f"STFT of {frame} every {step} window{windowed} side{onesided} "
                    f"{'3-d' if single else '2-d'}", [3, 17], opset=20)
        signal = (case.op("Unsqueeze", case.last, case.ints(2)) if single else case.last)
        inputs = [case.stored(np.array(step, np.int64))]
        if windowed:
            inputs.append(case.stored(np.hanning(frame + 2)[1:-1].astype(np.float32)))
        else:
            inputs += ["", case.stored(np.array(frame, np.int64))]
        case.last = case.op("STFT", signal, *inputs, onesided=onesided)
        yield case.model()


def transform(shape, axis, opset, more, **options):
    text = " ".join(f"{key}{value}" for key, value in options.items())
    points = shape[axis] + more
    if options.get("onesided") and options["inverse"]:
        points = 2 * (shape[axis] - 1) + more
    case = Case(f"DFT of {'x'.join(map(str, shape))} axis{axis} length{more} {text} "
                f"opset{opset}", shape, opset=opset)
    length = case.stored(np.array(points, np.int64)) if more else ""
    if opset < 20:
        inputs, options = [length] if more else [], {"axis": axis, **options}
    else:
        inputs = [length, case.stored(np.array(axis, np.int64))]
    case.last = case.op("DFT", case.last, *inputs, **options)
    return case.model()
