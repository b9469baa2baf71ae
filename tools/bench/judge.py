"""The simulator's steps against those of whole programs: judge.py.

  judge.py [MODEL:BATCH ...] [--gpus=4] [--machine=p100-4x4] [--plans] [--within=R]
  (default: alexnet:256 vgg16:128 resnet50:128 inception_v3:128 squeezenet1_1:256
  mobilenet_v2:256)

The planner's searches go by the simulator, and `auto` decides by the times of
programs (passes/plan/README.md). Plans of all kinds of cuts are made: the fixed
strategies, the layer-wise best of those that cut along some dimensions only,
pipelines of models that can be cut into micro-batches, which go by the turns of
their stages, and several lanes on one device, which have a clock of their own.
(The simulator knows nothing of layers in several tiles on a device, as `hypergraph`
has them.) For each model prints the ratio of the program's step to the simulated
one, and Kendall's tau of both orders; with --plans, each plan's. With --within it
exits with 1 if a ratio is above R or below 1/R. A program that is quicker than the
bound that --explain prints is an error. Nothing is run, so that any machine will do.
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

STRATEGIES = ["single", "data", "model", "owt", "owt-b", "owt-c"]
SCHEDULES = ["gpipe", "1f1b", "interleaved", "zb-h1"]
MICRO_BATCHES = [2, 4, 8]
LANES = [2, 3, 4]
# On some of the devices, or convolutions otherwise than the rest.
KEPT = [".*=n2", ".*=n3", "Conv=n2", "Conv=h2", "Conv=c2", "Conv=n2h2", "Conv=n2c2",
        "Conv=c2h2"]
CUTS = ["n", "c", "h", "w", "k", "nc", "nh", "nk", "hw", "ck", "nch", "nhw", "chw",
        "nchw", "nchwk"]


def steps_of(model, batch, args, folder, *how):
    """(program's ms, simulated ms) of a plan; None if a model has no such plan, or
    nothing but its program tells how long it takes."""
    plan = os.path.join(folder, "plan.json")
    ran = subprocess.run(
        ["lwcc", model, "--target=cuda", f"--batch={batch}", f"--gpus={args.gpus}",
         f"--machine={args.machine}", *how, "--explain", "--emit=plan", "-o", plan],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ran.returncode and re.search("micro-batch|no layer has such a name", ran.stderr):
        return None
    assert ran.returncode == 0, ran.stderr
    row = re.search(r"^  \S+ \* +([\d.]+) +([\d.]+|-) ", ran.stdout, re.M)
    bound = float(re.search(r"no plan takes less than ([\d.]+) ms", ran.stdout)[1])
    assert bound <= float(row[1]), f"{how}: {row[1]} ms are below the bound"
    if row[2] == "-":
        return None
    return float(row[1]), float(row[2])


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
            rows = {}  # by times: of plans that several ways come to, one
            ways = [(s, f"--strategy={s}") for s in STRATEGIES] + [
                (cut, "--strategy=layerwise", f"--search-dimensions={cut}")
                for cut in CUTS] + [
                (kept, "--strategy=data", f"--keep={kept}") for kept in KEPT] + [
                (f"{schedule}, {count}", "--strategy=pipeline",
                 f"--schedule={schedule}", f"--micro-batches={count}")
                for schedule in SCHEDULES for count in MICRO_BATCHES] + [
                (f"{lanes} lanes", "--strategy=single", f"--lanes={lanes}")
                for lanes in LANES]
            for what, *how in ways:
                if steps := steps_of(model, batch, args, folder, *how):
                    rows.setdefault(steps, (what, *steps))
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
