"""Bubbles of pipelines against the published formulas: bubbles.py [--quick].

Sixteen equal layers (products of W x W matrices) on S = 2 to 8 devices, in
M = 1 to 32 micro-batches of W samples, so that F = B = W: a stage's forward,
backward and weight turns take equally long. The machine has no latencies, and
its links and memories take no time; what is left is computing. A row has how much
longer the program's predicted step is than M (F + B + W) of a device, in turns
of a device, beside the formula, and by how much of the step they differ. Minus:
the program waits less. It does where gradients of parameters are no turns of
their own: formulas hand gradients on when such a turn is over, a program as soon as
they are there. So (S-1) of the first layer's W of a stage are won, and more where
the compiler orders a turn so. Plus would be a fault of the order of transfers.

Formulas are of equal stages. Where S does not divide 16, or 8 for two stages a
device, the step of stages as they are stands for the formula: what a micro-batch
takes through all stages, and M - 1 times the slowest one. It is exact for gpipe
and 1f1b; other schedules have no row then. The bubble of zb-h2 is published as
(S-1)(F + B - 2W) of each device; the last one begins (S-1) F later.

Needs lwcc on the PATH, no GPU, and some minutes.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

# By schedule: stages a device, the step beyond M turns of forward + backward +
# weight in forward turns of a device, and from how many micro-batches on.
SCHEDULES = {"gpipe": (1, lambda s: 3 * (s - 1), lambda s: 1),
             "1f1b": (1, lambda s: 3 * (s - 1), lambda s: 1),
             "1f1b-eager": (1, lambda s: 3 * (s - 1), lambda s: 1),
             "interleaved": (2, lambda s: 3 * (s - 1) / 2, lambda s: s),
             "zb-h1": (1, lambda s: s - 1, lambda s: s),
             "zb-h2": (1, lambda s: s - 1, lambda s: s)}
LAYERS, WIDTH = 16, 2048


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def write_model(path, batch):
    # A slice, which only moves data, makes fewer numbers than the input has: what
    # gives as many is taken for an autoencoder.
    lines = [f"{name} = Constant <value_ints = [{value}]> ()" for name, value in
             (("begin", 0), ("end", WIDTH), ("axis", 1))]
    # A parameter in front, so that the first product has a gradient of its input.
    lines += ["part = Slice (x, begin, end, axis)",
              f"scale = RandomNormal <shape = [{WIDTH}]> ()", "in = Mul (part, scale)"]
    last = "in"
    for i in range(LAYERS):
        lines += [f"w{i} = RandomNormal <shape = [{WIDTH}, {WIDTH}], scale = 0.02> ()",
                  f"fc{i} = MatMul ({last}, w{i})"]
        last = f"fc{i}"
    with open(path, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 20]>\n'
                   f"mlp (float[{batch},{WIDTH + 1}] x) => (float[{batch},{WIDTH}] {last})\n"
                   "{\n  " + "\n  ".join(lines) + "\n}\n")


def write_machine(path):
    fast = 1e30
    with open(path, "w") as file:
        json.dump({"version": 1, "name": "free", "nodes": 1, "gpus": 8,
                   "device": {"fp32": 1e11, "tf32": 1e11, "bandwidth": fast,
                              "memory": 1e15, "launch": 0},
                   "link": {"bandwidth": fast, "latency": 0},
                   "network": {"bandwidth": fast, "latency": 0}}, file)


def predicted(model, machine, stages, schedule, batches):
    """The step of a program and the turns of its stages, in milliseconds."""
    text = run("lwcc", model, f"--batch={batches * WIDTH}", f"--gpus={stages}",
               f"--machine={machine}", "--strategy=pipeline",
               f"--schedule={schedule}", f"--stages={stages}", f"--micro-batches={batches}",
               "--search-seconds=0", "--explain", "--emit=plan", "-o", "/dev/null")
    step = re.search(r"^  pipeline \* +(\d+\.\d+) ", text, re.M)
    turns = re.findall(r"^  stage\d+ +[\d.]+ +\d+ +([\d.]+) +([\d.]+) +([\d.]+) ", text, re.M)
    return float(step[1]), [[float(time) for time in row] for row in turns]


def main():
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory(prefix="bubbles-") as folder:
        model, machine = f"{folder}/mlp.onnxtext", f"{folder}/machine.json"
        write_machine(machine)
        print("| schedule | S | M | bubble, turns | formula | of the step |\n"
              "|---|---|---|---|---|---|")
        worst = 0
        for batches in (8, 16) if quick else range(1, 33):
            write_model(model, batches * WIDTH)
            for schedule, (chunks, formula, least) in SCHEDULES.items():
                for stages in (2, 4, 8) if quick else range(2, 9):
                    equal = LAYERS % (stages * chunks) == 0
                    if batches < least(stages) or chunks > 1 and batches % stages:
                        continue
                    if not equal and schedule not in ("gpipe", "1f1b", "1f1b-eager"):
                        continue
                    step, turns = predicted(model, machine, stages, schedule, batches)
                    sums = [sum(row) for row in turns]
                    device = max(sums) * chunks
                    bubble = (step - batches * device) / (device / 3)
                    known = (formula(stages) if equal else
                             (sum(sums) - device) / (device / 3))
                    off = (bubble - known) * (device / 3) / step
                    worst = max(worst, off)
                    print(f"| {schedule} | {stages} | {batches} | {bubble:.3f} | "
                          f"{known:.3f} | {100 * off:+.3f} % |", flush=True)
        print(f"\nat most {100 * worst:.3f} % longer than by formula")


if __name__ == "__main__":
    main()
