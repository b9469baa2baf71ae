#!/usr/bin/env python3
"""Draws a plan: which part of every layer's work each device does.

  draw_plan.py MODEL.onnx --gpus=N [LWCC OPTION ...] -o FILE.svg

Asks lwcc (on the PATH) for the plan, `lwcc --emit=plan`, with the given options.
A row is a layer, a column a device; behind the row stands how the plan cuts the
layer, as in plan files (docs/plans.md). A layer that is cut along one dimension
is drawn in that dimension's colour; one that is not cut, only on its device.
docs/alexnet-4-devices.svg is made by

  tools/draw_plan.py examples/alexnet.onnx --gpus=4 --batch=128 --machine=h200x4 \\
    --strategy=owt --title="AlexNet, --strategy=owt" -o docs/alexnet-4-devices.svg
"""

import argparse
import json
import re
import subprocess
import sys
from xml.sax.saxutils import escape

DIMENSIONS = {"n": ("n: a part of the samples", "#4477aa"),
              "c": ("c: a part of the channels", "#ee6677"),
              "h": ("h: a part of the height", "#228833"),
              "w": ("w: a part of the width", "#ccbb44"),
              "k": ("k: a part of what its sums run over", "#aa3377")}
MIXED = ("a part of several dimensions", "#66ccee")
WHOLE = ("all of it", "#777777")
TOP, ROW, LETTER = 76, 17, 7.4  # LETTER: what one of sans-serif takes at most
FONT = 'font-family="sans-serif" font-size="12"'


def ask(options):
    done = subprocess.run(["lwcc", *options, "--emit=plan", "-o", "-"], text=True,
                          stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit("draw_plan.py: lwcc made no plan")
    return json.loads(done.stdout)


def share(layer):
    """How a layer is cut: the words of the plan file, (meaning, colour), and the
    number of tiles."""
    words, cut, tiles = [], [], 1
    for name, value in layer.items():
        parts = value if isinstance(value, int) else len(value)
        if name not in DIMENSIONS or parts == 1:
            continue
        sizes = str(value) if parts is value else ",".join(map(str, value))
        words.append(f"{name}={sizes}")
        cut.append(name)
        tiles *= parts
    meaning = WHOLE if not cut else MIXED if len(cut) > 1 else DIMENSIONS[cut[0]]
    return " ".join(words), meaning, tiles


def devices(layer, tiles, machine):
    """The devices that work on a layer; without places, the first ones."""
    if "places" not in layer:
        return range(min(tiles, machine["nodes"] * machine["gpus"]))
    numbers = [place.split(".") for place in layer["places"]]
    return sorted({int(node) * machine["gpus"] + int(gpu)
                   for node, gpu, _ in numbers})


def draw(plan, title):
    # The file names fused layers last: `a.2` is drawn behind `a.1` all the same.
    first = list(dict.fromkeys(name.split(".")[0] for name in plan["layers"]))
    rows = sorted(plan["layers"].items(), key=lambda item: (
        first.index(item[0].split(".")[0]),
        [int(word) for word in re.findall(r"\d+", item[0])]))
    machine = plan["machine"]
    gpus = machine["nodes"] * machine["gpus"]
    shares = [share(layer) for _, layer in rows]
    legend = dict(meaning for _, meaning, _ in shares)
    column = 92 if gpus <= 8 else 76
    left = 24 + round(LETTER * max(len(name) for name, _ in rows))
    right = left + gpus * column
    bottom = TOP + len(rows) * ROW
    height = bottom + 14 + 18 * len(legend)
    heading = "cut into"
    subtitle = (f"batch {plan['batch']}; a row is a layer, a bar what a device "
                "computes of it")
    letters = max(len(words) for words in [heading] + [words for words, _, _ in shares])
    width = max(right + 24 + round(LETTER * letters),
                20 + round(LETTER * max(len(subtitle), 1.15 * len(title))))

    def line(x, y, words, more=""):
        return f'<text x="{x}" y="{y}" {FONT}{more}>{escape(words)}</text>'

    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            line(10, 20, title, ' font-weight="bold"'), line(10, 38, subtitle)]
    for gpu in range(gpus):
        text.append(line(left + gpu * column + column // 2, TOP - 10,
                         f"device {gpu}", ' text-anchor="middle"'))
    text.append(line(right + 8, TOP - 10, heading))
    for index, ((name, layer), (words, (_, colour), tiles)) in enumerate(
            zip(rows, shares)):
        y = TOP + index * ROW
        text.append(line(left - 8, y + 11, name, ' text-anchor="end"'))
        for gpu in devices(layer, tiles, machine):
            text.append(f'<rect x="{left + gpu * column + 3}" y="{y}" '
                        f'width="{column - 6}" height="{ROW - 3}" rx="2" '
                        f'fill="{colour}"/>')
        if words:
            text.append(line(right + 8, y + 11, words))
    for index, (words, colour) in enumerate(legend.items()):
        y = bottom + 10 + 18 * index
        text.append(f'<rect x="{left + 3}" y="{y}" width="12" height="12" '
                    f'fill="{colour}"/>')
        text.append(line(left + 21, y + 10, words))
    return "\n".join(text + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("-o", dest="output", required=True)
    args, options = parser.parse_known_args()
    plan = ask([args.model, f"--gpus={args.gpus}", *options])
    with open(args.output, "w") as file:
        file.write(draw(plan, args.title))


if __name__ == "__main__":
    main()
