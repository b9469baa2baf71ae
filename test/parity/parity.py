"""Compares a trainer with PyTorch: losses and weights after some steps.

  parity.py MODEL.onnx ... --data=DIR [options]

Each model is trained by `lwcc-run MODEL --batch=B -- FLAGS` (or by the program
that --trainer names) on the images of DIR in their order, and by the oracle in
double and in single precision. A row passes if

  - the first loss is within 1e-5 of PyTorch's in double, relatively;
  - the distance of the losses from PyTorch's in double is at most four times
    that of PyTorch in single precision, plus 1e-6; and
  - so is the distance of the weights and running statistics.

Distance of losses: the largest relative difference over the steps. Distance of
weights: |w - w64| / |w64|, Euclidean over all parameters; running statistics
are a vector of their own.

The distance of single precision is a random quantity: a ReLU whose input is
within rounding of zero turns the other way in one run and not in the next, and
moves the result by more than all other rounding together. So where one run of
PyTorch does not settle the row, more are made, from initial weights that are
each moved by one unit in their last place, and the largest distance counts
(--samples at most; the column "runs" says how many were needed). It may also be
the trainer alone whose ReLU turns: what fails must do so with other images, too
(zoo.py; a second and a third time the images of DIR begin further on). An error of
arithmetic is not hidden by this: it is in every step of the trainer and in no
run of PyTorch. Prints a markdown table and a last line `N passed, M failed`.
"""

import argparse
import functools
import json
import os
import sys
import tempfile
import warnings

import numpy as np
import onnx
import torch

from mixed_plan import mixed_plan
from onnx_torch import Oracle
from optimizers import OPTIMIZERS, parse_options
from trainer import Data, Settings, TrainerError, run_oracle, train
from workers import results

FIRST_LOSS = 1e-5
FACTOR, SLACK = 4.0, 1e-6
DRAWS = 3  # of images
COLUMNS = ("model", "exporter", "first loss", "losses", "PyTorch f32", "ratio",
           "weights", "PyTorch f32", "ratio", "running statistics",
           "PyTorch f32", "ratio", "runs", "result")


def loss_distance(losses, reference):
    return max((abs(a - b) / max(abs(b), 1e-30) if np.isfinite(a) else np.inf)
               for a, b in zip(losses, reference))


def vector_distance(state, reference):
    """Relative Euclidean distance of all tensors of `reference` together."""
    difference = norm = 0.0
    for name, wanted in reference.items():
        actual = state[name].astype(np.float64).reshape(wanted.shape)
        difference += np.sum((actual - wanted) ** 2)
        norm += np.sum(wanted ** 2)
    return float(np.sqrt(difference / norm)) if norm else 0.0


def worst_tensors(state, reference, count=3):
    """The tensors with the largest relative distances, for people."""
    distances = {name: vector_distance(state, {name: wanted})
                 for name, wanted in reference.items()}
    worst = sorted(distances, key=distances.get, reverse=True)[:count]
    return ", ".join(f"{name} {distances[name]:.1e}" for name in worst)


def run_single(path, data, settings, bn_group, seed):
    """Losses and state of PyTorch in single precision. With a seed above 0 it starts
    from weights that are each moved by one unit in the last place, up or down."""
    oracle = Oracle(path, torch.float32, settings.seed, bn_group=bn_group)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for w in oracle.parameters.values() if seed else ():
            up = torch.rand(w.shape, generator=random) < 0.5
            limit = torch.where(up, torch.inf, -torch.inf)
            w.copy_(torch.nextafter(w, limit))
    return run_oracle(oracle, data, settings), oracle.state()


def image_shape(path):
    graph = onnx.load(path, load_external_data=False).graph
    stored = {i.name for i in graph.initializer}
    image = next(i for i in graph.input if i.name not in stored)
    return [d.dim_value for d in image.type.tensor_type.shape.dim[1:]]


def judge(losses, state, truth, parts, singles):
    """Whether a trainer is as close to double precision as `singles`, runs of PyTorch
    in single precision; and pairs (its distance, the largest of theirs) for losses,
    weights and running statistics."""
    pairs = [(loss_distance(losses, truth),
              max(loss_distance(single, truth) for single, _ in singles))]
    for part in parts:
        pairs.append((vector_distance(state, part),
                      max(vector_distance(other, part) for _, other in singles)))
    return all(actual <= FACTOR * own + SLACK for actual, own in pairs), pairs


class Reference:
    """PyTorch's results on one model: in double precision, and in single precision for
    as many runs as are asked for."""

    def __init__(self, path, args, settings, folder):
        self.path, self.settings, self.bn_group = path, settings, args.bn_group
        self.folder, self.data = folder, Data(folder, image_shape(path))
        double = Oracle(path, torch.float64, settings.seed,
                        bn_group=args.bn_group)
        self.losses = run_oracle(double, self.data, settings)
        self.state = double.state()
        self.parts = [{name: self.state[name] for name in names}
                      for names in (double.parameters, double.statistics)]
        self.known = []

    def single(self, number):
        while number >= len(self.known):
            self.known.append(run_single(self.path, self.data, self.settings,
                                         self.bn_group, seed=len(self.known)))
        return self.known[number]


def plan_flags(path, flags, folder):
    """The compiler's flags, with --plan=mixed made into a file."""
    if "--plan=mixed" not in flags:
        return flags
    gpus = next(int(f.split("=")[1]) for f in flags if f.startswith("--gpus="))
    file = os.path.join(folder, "mixed.json")
    with open(file, "w") as out:
        json.dump(mixed_plan(path, gpus), out)
    return [f"--plan={file}" if f == "--plan=mixed" else f for f in flags]


def compare(reference, flags, args):
    """Whether it passes, and the figures of the row."""
    path, settings = reference.path, reference.settings
    if args.against_itself:
        losses, state = run_single(path, reference.data, settings,
                                   args.bn_group, seed=99)
    else:
        with tempfile.TemporaryDirectory(prefix="lwcc-plan-") as folder:
            command = ([args.trainer] if args.trainer else
                       [args.lwcc_run, path, f"--batch={settings.batch}",
                        f"--optimizer={settings.optimizer}",
                        *plan_flags(path, flags, folder), "--"])
            losses, state = train(command + args.flags, reference.folder, settings)

    truth, whole = reference.losses, reference.state
    missing = sorted(set(whole) - set(state))
    if missing:
        raise TrainerError(f"not in the checkpoint: {', '.join(missing)}")

    first = abs(losses[0] - truth[0]) / abs(truth[0])
    singles = []
    good = False
    while not good and len(singles) < args.samples:
        singles.append(reference.single(len(singles)))
        good, pairs = judge(losses, state, truth, reference.parts, singles)
    good = good and first <= FIRST_LOSS

    if args.verbose:
        for step, row in enumerate(zip(losses, truth, singles[-1][0])):
            print(f"  step {step + 1}: {row[0]:.7f}, double {row[1]:.7f}, "
                  f"single {row[2]:.7f}", file=sys.stderr)
    if args.verbose or not good:
        print(f"  worst tensors: {worst_tensors(state, whole)}; of PyTorch in "
              f"single precision: {worst_tensors(singles[-1][1], whole)}",
              file=sys.stderr)
    figures = [f"{first:.1e}"]
    for actual, own in pairs:
        figures += ([f"{actual:.1e}", f"{own:.1e}", f"{actual / own:.2f}"]
                    if own else ["-"] * 3)
    return good, figures + [str(len(singles))]


class Draws:
    """The results of PyTorch on a model, with the images that the data begins with, and
    with those behind them."""

    def __init__(self, path, args, settings, folder):
        self.path, self.args, self.settings, self.folder = path, args, settings, folder
        self.known = [Reference(path, args, settings, args.data)]

    def reference(self, number):
        if number == len(self.known):
            folder = os.path.join(self.folder, str(number))
            os.mkdir(folder)
            begin = number * self.settings.steps * self.settings.batch
            for name in ("images.npy", "labels.npy"):
                rows = np.load(os.path.join(self.args.data, name))
                np.save(os.path.join(folder, name), np.roll(rows, -begin, axis=0))
            self.known.append(Reference(self.path, self.args, self.settings, folder))
        return self.known[number]


def rows_of(args, settings, path):
    """The rows of a model, a list of cells each: one for each of --compile."""
    name, _, exporter = os.path.basename(path)[:-len(".onnx")].rpartition(".")
    rows = []
    with tempfile.TemporaryDirectory(prefix="lwcc-draws-") as folder:
        draws = Draws(path, args, settings, folder)
        for flags in args.compile or [[]]:
            verdict, figures = "**FAIL**", ["-"] * (len(COLUMNS) - 3)
            try:
                for number in range(DRAWS):
                    good, figures = compare(draws.reference(number), flags, args)
                    if good:
                        verdict = "pass" + f", {number + 1} draws" * (number > 0)
                        break
            except TrainerError as error:
                print(error, file=sys.stderr)
            rows.append([" ".join([name or exporter, *flags]), exporter if name else "",
                         *figures, verdict])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", required=True, help="folder of images.npy")
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--trainer", help="an emitted trainer, for one model")
    parser.add_argument("--against-itself", action="store_true",
                        help="one more run of PyTorch in single precision "
                        "instead of a trainer: shows how far rounding alone "
                        "moves each figure")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--optimizer", default="sgd", choices=OPTIMIZERS)
    parser.add_argument("--options", type=str.split, default=[], metavar="NAME=VALUE",
                        help="of another optimizer than SGD, by PyTorch's names: "
                        "'betas=0.9,0.99 weight_decay=0.1'")
    parser.add_argument("--clip-value", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=8,
                        help="runs of PyTorch in single precision, at most")
    parser.add_argument("--compile", type=str.split, action="append",
                        metavar="FLAGS", help="more flags for the compiler "
                        "(--gpus=4 ..., --plan=mixed for a plan of its own per "
                        "model); several: a row for each")
    parser.add_argument("--bn-group", type=int, default=0, metavar="G",
                        help="PyTorch normalizes each G samples by themselves, as "
                        "--bn=group:G does")
    parser.add_argument("--flags", type=str.split, default=[],
                        help="more flags for the trainer")
    parser.add_argument("--table", help="also write the table to this file")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--verbose", action="store_true", help="losses per step")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", message="TF32 acceleration")
    settings = Settings(args.batch, args.steps, args.lr, args.momentum,
                        args.weight_decay, args.nesterov, args.seed,
                        args.optimizer,
                        parse_options(args.options) if args.optimizer != "sgd" else None,
                        clip_value=args.clip_value)

    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    print("\n".join(lines), flush=True)
    failed = 0
    for rows in results(functools.partial(rows_of, args, settings), args.models, args.jobs):
        for row in rows:
            failed += not row[-1].startswith("pass")
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if args.table:
        with open(args.table, "w") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{len(lines) - 2 - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
