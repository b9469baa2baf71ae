"""The simulator's steps against those of whole programs: judge.py.

  judge.py [MODEL:BATCH ...] [--gpus=4] [--machine=p100-4x4] [--plans] [--within=R]
  (default: alexnet:256 vgg16:128 resnet50:128 inception_v3:128 squeezenet1_1:256
  mobilenet_v2:256)

The planner's searches go by the simulator, and `auto` decides by the times of
programs (passes/plan/README.md). Plans of all kinds of cuts are made: the fixed
strategies, and the layer-wise best of those that cut along some dimensions only.
For each model prints the ratio of the program's step to the simulated one, and
Kendall's tau of both orders; with --plans, each plan's. With --within it exits with
1 if a ratio is above R or below 1/R. A program that is quicker than the bound that
--explain prints is an error. Nothing is run, so that any machine will do.
Needs lwcc on the PATH, and for models by name a Python with PyTorch.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from models import model_file
from rank import tau

STRATEGIES = ["single", "data", "model", "owt"]
CUTS = ["n", "c", "h", "w", "k", "nc", "nh", "nk", "hw", "ck", "nch", "nhw", "chw",
        "nchw", "nchwk"]


def steps_of(model, batch, args, folder, *how):
    """(layers' tilings, program's ms, simulated ms) of a plan."""
    plan = os.path.join(folder, "plan.json")
    text = subprocess.run(
        ["lwcc", model, "--target=cuda", f"--batch={batch}", f"--gpus={args.gpus}",
         f"--machine={args.machine}", *how, "--explain", "--emit=plan", "-o", plan],
        check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    row = re.search(r"^  \S+ \* +([\d.]+) +([\d.]+) ", text, re.M)
    bound = float(re.search(r"no plan takes less than ([\d.]+) ms", text)[1])
    assert bound <= float(row[1]), f"{how}: {row[1]} ms are below the bound"
    with open(plan) as made:
        layers = made.read().split('"layers"')[1]
    return layers, float(row[1]), float(row[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", metavar="MODEL:BATCH",
                        default=["alexnet:256", "vgg16:128", "resnet50:128",
                                 "inception_v3:128", "squeezenet1_1:256",
                                 "mobilenet_v2:256"])
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--machine", default="p100-4x4")
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--within", type=float)
    args = parser.parse_args()
    print("| model | batch | plans | program / simulated | at most with | tau |\n"
          + "|---" * 6 + "|")
    plans, beyond = 0, 0
    for item in args.what:
        name, batch = item.rsplit(":", 1)
        with tempfile.TemporaryDirectory() as folder:
            model = model_file(name, folder)
            rows = {}  # by layers: of plans that several ways come to, one
            ways = [(s, f"--strategy={s}") for s in STRATEGIES] + [
                (cut, "--strategy=layerwise", f"--search-dimensions={cut}")
                for cut in CUTS]
            for what, *how in ways:
                layers, program, simulated = steps_of(model, batch, args, folder, *how)
                rows.setdefault(layers, (what, program, simulated))
        rows = list(rows.values())
        plans += len(rows)
        if args.plans:
            for what, program, simulated in sorted(rows, key=lambda row: row[2]):
                print(f"{what:>12}: {simulated:9.3f} ms simulated, {program:9.3f} ms, "
                      f"ratio {program / simulated:.3f}")
        ratios = [(program / simulated, what) for what, program, simulated in rows]
        if args.within:
            beyond += sum(not 1 / args.within <= ratio <= args.within
                          for ratio, what in ratios)
        print(f"| {name} | {batch} | {len(rows)} | {min(ratios)[0]:.3f} to "
              f"{max(ratios)[0]:.3f} | {max(ratios)[1]} | {tau(rows):.3f} |", flush=True)
    print(f"\n{plans} plans" + (f", {beyond} beyond {args.within}" if args.within else ""))
    return beyond > 0


if __name__ == "__main__":
    sys.exit(main())
