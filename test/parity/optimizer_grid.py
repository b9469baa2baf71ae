"""Every optimizer against torch.optim, on one device and on four, and continued.

  optimizer_grid.py MODEL.onnx --data=DIR [--steps=50] [--only=NAME] [--jobs=N]

A case is an optimizer with hyper-parameters that are not its defaults. It is trained on
one device, with the samples on four (each parameter has copies, whose update is shared),
and with the channels on four (each parameter is cut). Losses and weights are judged as
in parity.py: by their distance from PyTorch in double precision, which may be four times
that of PyTorch in single precision, plus 1e-6.

Why not a bound of 1e-6 alone: where a gradient is near zero, Adam and its kin divide
rounding by rounding. A difference in the last place becomes one of a whole step, in
PyTorch as here. Where that does not happen (a large eps, for instance) a case is
`steady`: its weights must be within 1e-6 of PyTorch's in single precision as well,
|w - w32| / |w32|, Euclidean over all parameters.

Then the training on four devices is done again in two halves, the second from a
checkpoint, on as many threads: every saved tensor has the same bits.
Prints a line per run and a last line `N passed, M failed`.
"""

import argparse
import functools
import os
import subprocess
import sys
import tempfile
from types import SimpleNamespace

from safetensors.numpy import load_file

from optimizers import trainer_flags
from parity import Reference, judge, vector_distance
from trainer import Settings, TrainerError, train
from workers import results

STEADY = 1e-6
RUNS = 8  # of PyTorch in single precision, at most
DATA = ["--gpus=4", "--strategy=data"]
PLANS = [[], DATA, ["--gpus=4", "--strategy=model"]]


class Case:
    def __init__(self, optimizer, lr, steady, compile_flags=(), groups=(),
                 clip_value=None, clip_norm=None, **options):
        self.optimizer, self.lr, self.steady = optimizer, lr, steady
        self.compile_flags, self.groups = list(compile_flags), tuple(groups)
        self.clip_value, self.clip_norm, self.options = clip_value, clip_norm, options
        if clip_norm is not None:
            self.compile_flags.append(f"--clip-norm={clip_norm}")

    def settings(self, steps):
        return Settings(16, steps, self.lr, optimizer=self.optimizer,
                        options=self.options, groups=self.groups,
                        clip_value=self.clip_value, clip_norm=self.clip_norm)

    def __str__(self):
        return " ".join([self.optimizer, *trainer_flags(self.options),
                         *self.compile_flags])


CASES = [
    Case("sgd", 1e-3, True, momentum=0.9, nesterov=True, weight_decay=1e-3),
    Case("sgd", 1e-3, True, clip_value=0.01, momentum=0.5, weight_decay=0.0),
    Case("sgd", 1e-2, True, clip_norm=0.5, momentum=0.9, weight_decay=1e-3),
    Case("adam", 1e-3, False, weight_decay=0.0),
    Case("adam", 1e-3, True, betas=(0.8, 0.99), eps=1e-2, weight_decay=0.01),
    Case("adamw", 1e-3, False, weight_decay=0.01),
    Case("adamw", 2e-3, True, betas=(0.95, 0.9), eps=1e-2, weight_decay=0.1),
    Case("rmsprop", 1e-3, False, alpha=0.99, weight_decay=0.01, momentum=0.0),
    Case("rmsprop", 1e-3, True, alpha=0.9, eps=1e-2, momentum=0.9, weight_decay=0.01),
    Case("adagrad", 1e-2, False, weight_decay=0.0),
    Case("adagrad", 1e-2, True, lr_decay=0.1, eps=1e-2, weight_decay=0.01),
    Case("lion", 1e-4, False, betas=(0.9, 0.99), weight_decay=0.0),
    Case("lion", 2e-4, False, betas=(0.95, 0.9), weight_decay=0.1),
    Case("lars", 0.03, True, momentum=0.9, nesterov=True, trust_coeff=0.02,
         weight_decay=0.01),
    Case("lars", 0.01, True, ["--no-decay=bias"], [("bias$", 1.0, 0.0)], momentum=0.5,
         weight_decay=0.01),
    Case("lamb", 1e-3, True, clip_norm=1.0, eps=1e-2, weight_decay=0.01),
    Case("lamb", 1e-3, False, weight_decay=0.01),
    Case("sgd", 1e-3, True, ["--freeze=conv1", "--no-decay=bias"],
         [("conv1", 0.0, 0.0), ("bias$", 1.0, 0.0)], momentum=0.9, weight_decay=0.1),
    Case("adamw", 1e-3, True, ["--group=fc.:lr-scale=0.1,weight-decay-scale=2",
                               "--group=fc1:lr-scale=9", "--no-decay=bias,norm"],
         [("fc.[.]bias", 0.1, 0.0), ("fc", 0.1, 2.0), ("bias$", 1.0, 0.0)],
         eps=1e-2, weight_decay=0.1),
]


def run(command):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    if result.returncode:
        raise TrainerError(f"{' '.join(command)}\n{result.stdout}")


def judged(args, case, reference, plan):
    """Whether a training under a plan is as PyTorch's, and the line that says so."""
    losses, state = train(
        [args.lwcc_run, args.model, "--batch=16", f"--optimizer={case.optimizer}",
         *case.compile_flags, *plan, "--"], args.data, reference.settings)
    singles, good = [], False
    while not good and len(singles) < RUNS:
        singles.append(reference.single(len(singles)))
        good, pairs = judge(losses, state, reference.losses, reference.parts, singles)
    own = singles[0][1]
    apart = vector_distance(state, {name: own[name] for name in reference.parts[0]})
    (loss, other_loss), (weights, other_weights) = pairs[:2]
    return good and (not case.steady or apart <= STEADY), (
        f"{' '.join([str(case), *plan])}: losses {loss:.1e}, weights {weights:.1e}; "
        f"PyTorch in single precision {other_loss:.1e}, {other_weights:.1e}; "
        f"apart {apart:.1e}{' (steady)' if case.steady else ''}")


def is_continued(args, case):
    """Whether two halves, of which the second is told nothing but its length, give the
    bits of the whole."""
    compiled = [args.lwcc_run, args.model, "--batch=16",
                f"--optimizer={case.optimizer}", *case.compile_flags, *DATA, "--",
                f"--data={args.data}"]
    told = ["--deterministic", "--threads=4",
            *trainer_flags(case.settings(args.steps).hyper_parameters())]
    if case.clip_value is not None:
        told.append(f"--clip-value={case.clip_value}")
    with tempfile.TemporaryDirectory(prefix="lwcc-optimizers-") as folder:
        whole, halves = os.path.join(folder, "whole"), os.path.join(folder, "halves")
        run([*compiled, *told, f"--steps={args.steps}", f"--checkpoint-dir={whole}"])
        run([*compiled, *told, f"--steps={args.steps // 2}",
             f"--checkpoint-dir={halves}"])
        run([*compiled, f"--steps={args.steps}", f"--checkpoint-dir={halves}",
             "--resume=auto"])
        for file in ("model.safetensors", "optim.safetensors"):
            one, other = (load_file(os.path.join(
                place, f"step-{args.steps:06}", file)) for place in (whole, halves))
            if set(one) != set(other) or not one or any(
                    one[name].tobytes() != other[name].tobytes() for name in one):
                return False
    return True


def lines_of(args, case):
    """Pairs (whether it is right, the line that says so) of the runs of a case."""
    reference = Reference(args.model, SimpleNamespace(bn_group=0),
                          case.settings(args.steps), args.data)
    lines = []
    for plan in PLANS:
        try:
            lines.append(judged(args, case, reference, plan))
        except TrainerError as error:
            lines.append((False, f"{case} {' '.join(plan)}: {error}"))
    try:
        lines.append((is_continued(args, case), f"{case}: continued, bit for bit"))
    except TrainerError as error:
        lines.append((False, f"{case}: continued: {error}"))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--data", required=True, help="folder of images.npy")
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--only", metavar="NAME", help="one optimizer")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    args = parser.parse_args()
    passed = failed = 0
    cases = [case for case in CASES if args.only in (None, case.optimizer)]
    for lines in results(functools.partial(lines_of, args), cases, args.jobs):
        for good, text in lines:
            passed, failed = passed + good, failed + (not good)
            print(f"{'pass' if good else 'FAIL'}  {text}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
