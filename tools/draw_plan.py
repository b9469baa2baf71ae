#!/usr/bin/env python3
"""Draws a plan: which part of every layer's work each device does.

  draw_plan.py MODEL.onnx --gpus=N [LWCC OPTION ...] -o FILE.svg

Asks lwcc (on the PATH) for the plan, `lwcc --emit=plan`, with the given options.
A row is a layer, a column a device. A layer that is cut along one dimension is
drawn in that dimension's colour; one that is not cut, only on its device.
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

DIMENSIONS = {"n": ("samples", "#4477aa"), "c": ("channels", "#ee6677"),
              "h": ("height", "#228833"), "w": ("width", "#ccbb44"),
              "k": ("reduction", "#aa3377")}
MIXED, WHOLE = ("several dimensions", "#66ccee"), ("not cut", "#777777")
LEFT, TOP, COLUMN, ROW = 130, 56, 92, 17
FONT = 'font-family="sans-serif" font-size="12"'


def ask(options):
    done = subprocess.run(["lwcc", *options, "--emit=plan", "-o", "-"], text=True,
                          stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit("draw_plan.py: lwcc made no plan")
    return json.loads(done.stdout)


def share(layer):
    """What a layer is cut along, as (words, colour), and its number of tiles."""
    cuts = {name: value if isinstance(value, int) else len(value)
            for name, value in layer.items() if name in DIMENSIONS}
    cuts = {name: parts for name, parts in cuts.items() if parts > 1}
    tiles = 1
    for parts in cuts.values():
        tiles *= parts
    if not cuts:
        return WHOLE, 1
    return DIMENSIONS[next(iter(cuts))] if len(cuts) == 1 else MIXED, tiles


def devices(layer, tiles, gpus):
    """The devices that work on a layer; without places, the first ones."""
    if "places" in layer:
        return sorted({int(place.split(".")[1]) for place in layer["places"]})
    return range(min(tiles, gpus))


def draw(plan, gpus, title):
    # The file names fused layers last: `a.2` is drawn behind `a.1` all the same.
    first = list(dict.fromkeys(name.split(".")[0] for name in plan["layers"]))
    rows = sorted(plan["layers"].items(), key=lambda item: (
        first.index(item[0].split(".")[0]),
        [int(word) for word in re.findall(r"\d+", item[0])]))
    width = LEFT + gpus * COLUMN + 10
    height = TOP + len(rows) * ROW + 34
    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="10" y="20" {FONT} font-weight="bold">{escape(title)}</text>']
    for gpu in range(gpus):
        text.append(f'<text x="{LEFT + gpu * COLUMN + COLUMN // 2}" y="{TOP - 10}" '
                    f'{FONT} text-anchor="middle">device {gpu}</text>')
    legend = {}
    for index, (name, layer) in enumerate(rows):
        (words, colour), tiles = share(layer)
        legend[words] = colour
        y = TOP + index * ROW
        text.append(f'<text x="{LEFT - 8}" y="{y + 11}" {FONT} '
                    f'text-anchor="end">{escape(name)}</text>')
        for gpu in devices(layer, tiles, gpus):
            text.append(f'<rect x="{LEFT + gpu * COLUMN + 3}" y="{y}" '
                        f'width="{COLUMN - 6}" height="{ROW - 3}" rx="2" '
                        f'fill="{colour}"/>')
    x = LEFT
    for words, colour in legend.items():
        text.append(f'<rect x="{x}" y="{height - 22}" width="12" height="12" '
                    f'fill="{colour}"/>')
        text.append(f'<text x="{x + 18}" y="{height - 12}" {FONT}>a part of the '
                    f'{words}</text>' if words != WHOLE[0] else
                    f'<text x="{x + 18}" y="{height - 12}" {FONT}>{words}</text>')
        x += 45 + 8 * len("a part of the " + words)
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
        file.write(draw(plan, args.gpus, args.title))


if __name__ == "__main__":
    main()
