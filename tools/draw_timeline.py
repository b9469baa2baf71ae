#!/usr/bin/env python3
"""Draws the predicted step of a pipeline: what each device computes when.

  draw_timeline.py MODEL.onnx --gpus=N [LWCC OPTION ...] -o FILE.svg

Asks lwcc (on the PATH) for the plan and for the trace of its program, `lwcc
--emit=plan` and `--emit=trace`, with the given options. A row is a device. A bar is
a turn: its calls of one phase on one micro-batch, whose number stands in it where
there is room. Calls of a layer on a device come in the order of micro-batches.
docs/pipeline-*.svg are made by

  tools/draw_timeline.py examples/alexnet.onnx --gpus=4 --batch=256 --machine=h200x4 \\
    --strategy=pipeline --stages=4 --micro-batches=8 --schedule=1f1b \\
    --title="AlexNet on four devices" -o docs/pipeline-1f1b.svg

and with the schedules gpipe and zb-h2.
"""

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

PHASES = {"forward": ("forward", "#4477aa"), "backward": ("backward", "#ee6677"),
          "weight": ("gradients of parameters", "#ccbb44"),
          "update": ("update of parameters", "#777777")}
LEFT, TOP, ROW, WIDTH = 84, 62, 30, 900
FONT = 'font-family="sans-serif" font-size="12"'


def emit(what, options):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run(["lwcc", *options, f"--emit={what}", "-o", file.name],
                              stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"draw_timeline.py: lwcc made no {what}")
        return json.load(open(file.name))


def turns_of(trace):
    """For each compute lane its bars: [phase, micro-batch, begin, end]."""
    lanes = {event["tid"]: event["args"]["name"] for event in trace
             if event["name"] == "thread_name"}
    counts, rows = collections.Counter(), collections.defaultdict(list)
    for event in sorted((e for e in trace if e["ph"] == "X"), key=lambda e: e["ts"]):
        lane = lanes[event["tid"]]
        if not lane.endswith("compute") or event["dur"] <= 0:
            continue
        phase = event["cat"]
        key = lane, event["args"]["layer"], phase, event["name"]
        batch, end = counts[key], event["ts"] + event["dur"]
        counts[key] += 1
        row = rows[lane]
        if phase == "update":
            batch = 0
        if row and row[-1][:2] == [phase, batch] and event["ts"] - row[-1][3] < 1:
            row[-1][3] = end
        else:
            row.append([phase, batch, event["ts"], end])
    return rows


def draw(plan, trace, title):
    rows = turns_of(trace)
    step = max(bar[3] for row in rows.values() for bar in row)
    height = TOP + ROW * len(rows) + 46

    def line(x, y, words, more=""):
        return f'<text x="{x}" y="{y}" {FONT}{more}>{escape(words)}</text>'

    text = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 20}" '
            f'height="{height}" viewBox="0 0 {LEFT + WIDTH + 20} {height}">',
            f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="white"/>',
            line(10, 20, title, ' font-weight="bold"'),
            line(10, 40, f"{plan['strategy']}; batch {plan['batch']}; a step of "
                         f"{step / 1e3:.1f} ms, as predicted")]
    for index, (lane, row) in enumerate(sorted(rows.items())):
        y = TOP + index * ROW
        text.append(line(LEFT - 8, y + 17, lane.split(".")[0], ' text-anchor="end"'))
        for phase, batch, begin, end in row:
            x = LEFT + round(begin / step * WIDTH)
            width = LEFT + round(end / step * WIDTH) - x
            if width == 0:
                continue
            text.append(f'<rect x="{x}" y="{y}" width="{width}" '
                        f'height="{ROW - 6}" fill="{PHASES[phase][1]}" '
                        'stroke="white" stroke-width="0.6"/>')
            if width > 9 and phase != "update":
                text.append(line(x + width // 2, y + 16, str(batch),
                                 ' text-anchor="middle" fill="white"'))
    x, y = LEFT, TOP + ROW * len(rows) + 10
    for words, colour in PHASES.values():
        text.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        text.append(line(x + 18, y + 10, words))
        x += 60 + 7 * len(words)
    return "\n".join(text + ["</svg>", ""])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--title", default="")
    parser.add_argument("-o", dest="output", required=True)
    args, options = parser.parse_known_args()
    options = [args.model, *options]
    with open(args.output, "w") as file:
        file.write(draw(emit("plan", options), emit("trace", options)["traceEvents"],
                        args.title))


if __name__ == "__main__":
    main()
