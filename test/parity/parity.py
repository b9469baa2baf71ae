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
weights: the largest |w - w64| / |w64| (Euclidean) over the tensors. Prints a
markdown table and a last line `N passed, M failed`.
"""

import argparse
import os
import sys

import numpy as np
import onnx
import torch

from onnx_torch import Oracle
from trainer import Data, Settings, TrainerError, run_oracle, train

FIRST_LOSS = 1e-5
FACTOR, SLACK = 4.0, 1e-6
COLUMNS = ("model", "exporter", "first loss", "losses", "PyTorch f32", "ratio",
           "weights", "PyTorch f32", "ratio", "worst tensor", "result")


def loss_distance(losses, reference):
    return max((abs(a - b) / max(abs(b), 1e-30) if np.isfinite(a) else np.inf)
               for a, b in zip(losses, reference))


def weight_distance(state, reference):
    """Largest relative distance over tensors, and the tensor's name."""
    worst, where = 0.0, ""
    for name, wanted in reference.items():
        actual = state[name].astype(np.float64).reshape(wanted.shape)
        norm = np.linalg.norm(wanted)
        distance = np.linalg.norm(actual - wanted) / max(norm, 1e-30)
        if not distance <= worst:
            worst, where = distance, name
    return worst, where


def image_shape(path):
    graph = onnx.load(path, load_external_data=False).graph
    stored = {i.name for i in graph.initializer}
    image = next(i for i in graph.input if i.name not in stored)
    return [d.dim_value for d in image.type.tensor_type.shape.dim[1:]]


def compare(path, args, settings):
    """One row of the table, without the model's name."""
    data = Data(args.data, image_shape(path))
    if args.against_itself:
        candidate = Oracle(path, torch.float32, settings.seed)
        with torch.backends.mkldnn.flags(enabled=False):
            losses = run_oracle(candidate, data, settings)
        state = candidate.state()
    else:
        command = ([args.trainer] if args.trainer else
                   [args.lwcc_run, path, f"--batch={settings.batch}", "--"])
        losses, state = train(command + args.flags, args.data, settings)

    double = Oracle(path, torch.float64, settings.seed)
    truth = run_oracle(double, data, settings)
    single = Oracle(path, torch.float32, settings.seed)
    single_losses = run_oracle(single, data, settings)
    missing = sorted(set(double.state()) - set(state))
    if missing:
        raise TrainerError(f"not in the checkpoint: {', '.join(missing)}")

    first = abs(losses[0] - truth[0]) / abs(truth[0])
    loss, loss32 = (loss_distance(v, truth) for v in (losses, single_losses))
    weight, where = weight_distance(state, double.state())
    weight32, _ = weight_distance(single.state(), double.state())
    good = (first <= FIRST_LOSS and loss <= FACTOR * loss32 + SLACK
            and weight <= FACTOR * weight32 + SLACK)
    if args.verbose:
        for step, row in enumerate(zip(losses, truth, single_losses)):
            print(f"  step {step + 1}: {row[0]:.7f}, double {row[1]:.7f}, "
                  f"single {row[2]:.7f}", file=sys.stderr)
    return good, [f"{first:.1e}", f"{loss:.1e}", f"{loss32:.1e}",
                  f"{loss / max(loss32, 1e-30):.2f}", f"{weight:.1e}",
                  f"{weight32:.1e}", f"{weight / max(weight32, 1e-30):.2f}",
                  where]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", required=True, help="folder of images.npy")
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--trainer", help="an emitted trainer, for one model")
    parser.add_argument("--against-itself", action="store_true",
                        help="PyTorch without oneDNN instead of a trainer: "
                        "shows how far rounding alone moves each figure")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flags", type=str.split, default=[],
                        help="more flags for the trainer")
    parser.add_argument("--table", help="also write the table to this file")
    parser.add_argument("--verbose", action="store_true", help="losses per step")
    args = parser.parse_args()
    settings = Settings(args.batch, args.steps, args.lr, args.momentum,
                        args.weight_decay, args.nesterov, args.seed)

    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    print("\n".join(lines), flush=True)
    failed = 0
    for path in args.models:
        name, _, exporter = os.path.basename(path)[:-len(".onnx")].rpartition(".")
        row = [name or exporter, exporter if name else ""]
        try:
            good, figures = compare(path, args, settings)
        except TrainerError as error:
            print(error, file=sys.stderr)
            good, figures = False, ["-"] * (len(COLUMNS) - 3)
        failed += not good
        row += figures + ["pass" if good else "**FAIL**"]
        lines.append("| " + " | ".join(row) + " |")
        print(lines[-1], flush=True)
    if args.table:
        with open(args.table, "w") as file:
            file.write("\n".join(lines) + "\n")
    print(f"{len(args.models) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
