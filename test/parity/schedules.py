"""Pipelines must not change what a program computes: the losses of every schedule.

  schedules.py [MODEL ...] [--quick] [--models=DIR] [--jobs=N]

Trains models (names that test/models/make_models.py knows; without any, twelve that
normalize nothing and four with --bn=group) under every schedule, and under One Weird
Trick (b) and (c), in 2, 4, 8 and 16 micro-batches. Schedules and numbers of
micro-batches meet 2 to 6 devices in turn, at another turn for each model, so that
five models in a row have all combinations; --quick takes one number of micro-batches
for each schedule. A model with too few layers for a schedule has fewer devices.

Each program trains for three steps. Its losses must be those of one device within
1e-6, relatively, and the bytes that the runtime counts between every two devices
those that the compiler predicts. Networks with batch normalization amplify rounding
by themselves: their losses after the first may also be as far from one device's as
two runs of PyTorch in single precision can be from each other, twice the column
"PyTorch". It is the largest distance from double precision, of runs from initial
weights that are each moved by one unit in the last place (parity.py). There are as
many runs as it takes to settle the row, 32 at most: about as many as programs, since
a few runs are much farther than most. Prints a row per model and a last line
`N passed, M failed`. lwcc-run must be on the PATH.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch

from onnx_torch import Oracle
from parity import image_shape, loss_distance, run_single
from plans import GOAL, check_traffic
from trainer import BenchmarkData, Settings, run_oracle

SCHEDULES = ["gpipe", "1f1b", "1f1b-eager", "interleaved", "zb-h1", "zb-h2", "zb-v",
             "v-half", "owt-b", "owt-c"]
BATCHES, DEVICES = [2, 4, 8, 16], [2, 3, 4, 5, 6]
MODELS = ["mlp", "mlp_softmax", "residual_mlp", "lenet5", "alexnet", "alexnet2012",
          "vgg11", "vgg16", "squeezenet1_0", "squeezenet1_1", "residual_conv",
          "inception_lrn"]
NORMALIZED = ["resnet_cifar", "resnet18", "googlenet", "mobilenet_v3_small"]
RATE, SEED = 0.005, 3
RUNS = 32  # of PyTorch, at most
TRAINER = [f"--lr={RATE}", f"--seed={SEED}", "--deterministic"]
MAKER = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "..", "models", "make_models.py")


def combinations(turn, quick):
    """Schedules, numbers of micro-batches and devices, of the model whose turn it is."""
    for i, schedule in enumerate(SCHEDULES):
        for j, batches in enumerate(BATCHES):
            if not quick or j == (i + turn) % len(BATCHES):
                yield schedule, batches, DEVICES[(i + j + turn) % len(DEVICES)]


def flags_of(schedule, batches, devices):
    strategy = ([f"--strategy={schedule}"] if schedule.startswith("owt") else
                ["--strategy=pipeline", f"--schedule={schedule}"])
    return [*strategy, f"--gpus={devices}", f"--micro-batches={batches}"]


def trained(flags, folder):
    with tempfile.TemporaryDirectory(dir=folder) as own:
        return check_traffic(flags, own, TRAINER)


def distance(model, whole, combination, folder):
    """How far a combination's losses are from those of one device, with how many
    devices; raises RuntimeError."""
    schedule, batches, devices = combination
    while True:
        text, losses = trained([*model, *flags_of(schedule, batches, devices)], folder)
        if "too few layers for schedule" not in text or devices == 2:
            break
        devices -= 1
    if re.search(r"another schedule is taken", text):
        raise RuntimeError("another schedule was taken")
    each = [abs(a - b) / abs(b) for a, b in zip(losses, whole, strict=True)]
    if not each[0] <= GOAL:
        raise RuntimeError(f"first loss {each[0]:.1e} from one device's")
    return max(each), devices


def rounding(path, batch, group, enough):
    """How far losses of PyTorch in single precision are from those in double, at most;
    or that some are as far as is enough."""
    data = BenchmarkData(image_shape(path), classes=10)
    settings = Settings(batch, 3, RATE, 0.9, 0.0, seed=SEED)
    truth = run_oracle(Oracle(path, torch.float64, SEED, bn_group=group), data, settings)
    most = 0.0
    for run in range(RUNS):
        losses, _ = run_single(path, data, settings, group, seed=run)
        most = max(most, loss_distance(losses, truth))
        if most >= enough:
            break
    return most


def row(name, turn, args, folder):
    """Trains a model under its combinations; prints its row. Returns how many there
    are, and what failed."""
    subprocess.run([sys.executable, MAKER, args.models, name, "--exporter=legacy"],
                   check=True, stderr=subprocess.DEVNULL)
    path, batch = f"{args.models}/{name}.legacy.onnx", 16
    if name in NORMALIZED:
        batch = 32

    def group(batches):
        """Samples that are normalized together: each micro-batch has whole groups."""
        return min(4, batch // batches) if name in NORMALIZED else 0

    def model(group):
        return [path, f"--batch={batch}", *([f"--bn=group:{group}"] if group else [])]

    def judge(combination):
        samples = group(combination[1])
        try:
            return distance(model(samples), wholes[samples], combination, folder)
        except RuntimeError as error:
            return str(error)

    groups = {group(batches) for batches in BATCHES}
    wholes = {each: trained(model(each), folder)[1] for each in groups}
    limits = dict.fromkeys(groups, GOAL)
    mine = list(combinations(turn, args.quick))
    failures, farthest, used, oracle = [], (0.0, ""), set(), 0.0
    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(zip(mine, pool.map(judge, mine)))
    for combination, result in results:
        schedule, batches, devices = combination
        what = f"{schedule}, {batches} micro-batches, {devices} devices"
        if isinstance(result, str):
            failures.append(f"{what}: {result}")
            continue
        used.add(result[1])
        farthest = max(farthest, (result[0], what))
        if args.verbose:
            print(f"{name}: {what}: {result[0]:.1e}, on {result[1]}", flush=True)
        samples = group(batches)
        if result[0] > limits[samples] and name in NORMALIZED:
            own = rounding(path, batch, samples, enough=result[0] / 2)
            oracle = max(oracle, own)
            limits[samples] = max(GOAL, 2 * own)
        if not result[0] <= limits[samples]:
            failures.append(f"{what}: losses {result[0]:.1e} from one device's")
    cells = [name, len(mine), f"{min(used, default=0)} to {max(used, default=0)}",
             f"{farthest[0]:.1e}", f"{oracle:.1e}" if oracle else "-", farthest[1],
             len(failures)]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    for failure in failures:
        print(f"FAIL {name}: {failure}", flush=True)
    return len(mine), failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="MODEL")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line per program")
    parser.add_argument("--models", default="build/models", help="where they lie")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    print("| model | programs | devices | losses | PyTorch | farthest | failed |\n"
          + "|---" * 7 + "|", flush=True)
    every = MODELS + NORMALIZED
    programs = failed = 0
    with tempfile.TemporaryDirectory(prefix="lwcc-schedules-") as folder:
        for name in args.names or every:
            turn = every.index(name) if name in every else 0
            count, failures = row(name, turn, args, folder)
            programs += count
            failed += len(failures)
    print(f"{programs - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
