"""Trains the zoo: many published networks, in small, as three calls of torch.onnx.export
write them. Each is compared with the module that it came from, in double precision.

  zoo.py [NAME ...] [--quick] [--plans] [--docs] [--models=DIR] [--jobs=N]

The exports:

  dynamo   torch.onnx.export(model.train(), ..., optimize=False)
  legacy   ... dynamo=False, training=TRAINING, do_constant_folding=False
  plain    torch.onnx.export(model.eval(), ...), which folds parameters

The results, after three steps of SGD on random images:

  equal      losses are the module's within 1e-5, relatively, and each parameter within
             1e-4 of its change (plus rounding). Where rounding is amplified, as by batch
             normalization of few values, four times PyTorch's own distance in single
             precision is allowed, as in parity.py. Where a result is wrong nevertheless,
             it must be so with other images, too: in one of ten of these networks a ReLU
             whose input is within rounding of zero turns the other way.
  as file    lwcc has trained what the file says, and that is not the module: the same
             comparison, with the oracle of the file. Whether lwcc warned is said; of
             other exports than plain it must have.
  refused    lwcc gave a reason
  no export  PyTorch's exporter did
  WRONG      other numbers, or a crash; only these count as failed

Where lwcc trains what the module does not, it gets --freeze for it, and the line says so:
no file tells that requires_grad is false, and the older exporter's no buffers.

With --plans each also runs data parallel on three devices, and under a random plan on
2 to 6 (grid_plans.py; lwcc must be on the PATH). The last line is `N passed, M failed`;
a refusal and a failed export are neither.
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter

import numpy as np
import torch

from grid_plans import random_plan
from onnx_torch import Oracle, class_axis, cross_entropy
from trainer import Data, Settings, TrainerError, run_oracle, train
from workers import results

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "models"))
from zoo_networks import QUICK, ZOO, build_zoo, draw_samples  # noqa: E402

EXPORTS = ("dynamo", "legacy", "plain")
BATCH = 8
SETTINGS = Settings(BATCH, 3, 0.01, 0.9, 5e-4, seed=3)
ONE, THREE, RANDOM = "one device", "3 devices", "a random plan"
THREE_DEVICES = ["--gpus=3", "--strategy=data"]
FACTOR, SAMPLES, DRAWS = 4.0, 3, 3  # of images
EQUAL, AS_FILE, REFUSED, WRONG = "equal", "as file", "refused", "WRONG"
NO_EXPORT, CRASHED = "no export", "crash: "


def export(network, shape, path, kind):
    """Writes a file as one of the three calls does; what the exporters print is not
    shown."""
    with quiet():
        export_loudly(network, shape, path, kind)


@contextlib.contextmanager
def quiet():
    """Standard output and errors go nowhere, those of C++, too."""
    sys.stdout.flush()
    kept = [os.dup(number) for number in (1, 2)]
    with open(os.devnull, "w") as nowhere:
        try:
            for number in (1, 2):
                os.dup2(nowhere.fileno(), number)
            yield
        finally:
            for number, old in zip((1, 2), kept):
                os.dup2(old, number)
                os.close(old)


def export_loudly(network, shape, path, kind):
    arguments = (torch.from_numpy(draw_samples(shape, BATCH, np.random.RandomState(1))),)
    if kind == "dynamo":
        torch.onnx.export(network.train(), arguments, path, optimize=False, verbose=False)
    elif kind == "legacy":
        torch.onnx.export(network.train(), arguments, path, dynamo=False,
                          training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)
    elif hasattr(network, "export_plainly"):
        network.export_plainly(path)
    else:
        torch.onnx.export(network.eval(), arguments, path, verbose=False)


def write_data(folder, shape, scores, seed):
    """Three batches of random images; the rows of what is no image. `scores` is the
    shape of what the network makes of a batch."""
    random = np.random.RandomState(sum(shape) + 1000 * seed)
    count = BATCH * SETTINGS.steps
    images = draw_samples(shape, count, random)
    if len(shape) != 3 and images.dtype == np.float32:
        images = images.reshape(count, -1)
    axis = class_axis(scores)
    labels = [count, *(extent for d, extent in enumerate(scores) if d not in (0, axis))]
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), random.randint(0, scores[axis], labels))


def moved(parameters, seed):
    """Moves each number by one unit in the last place, up or down: another run in
    single precision. Does nothing without a seed."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for w in parameters if seed else ():
            up = torch.rand(w.shape, generator=random) < 0.5
            w.copy_(torch.nextafter(w, torch.where(up, torch.inf, -torch.inf)))


def train_module(name, data, dtype, seed=0):
    """The module's losses and what it has learnt, by name; and what it began with."""
    network, _ = build_zoo(name)
    network = network.to(dtype)
    moved(network.parameters(), seed)
    for module in network.modules():
        if getattr(module, "eps", None):  # ONNX stores a float
            module.eps = float(np.float32(module.eps))
    start = {k: v.detach().double().numpy().copy()
             for k, v in network.named_parameters()}
    optimizer = torch.optim.SGD(network.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    losses = []
    for step in range(SETTINGS.steps):
        images, labels = data.batch(step, BATCH)
        optimizer.zero_grad()
        images = images.to(dtype) if images.is_floating_point() else images
        loss = cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {k: v.detach().double().numpy() for k, v in network.named_parameters()
                    if v.grad is not None}, start


def train_file(path, data, dtype, state, seed=0):
    """The same of a file, by the oracle. A lone number of PyTorch's files that is not in
    `state` is a constant of an expression (frontend/Parameters.cpp)."""
    oracle = Oracle(path, dtype, SETTINGS.seed)
    for name in [k for k, v in oracle.parameters.items()
                 if v.numel() == 1 and k not in state]:
        oracle.constants[name] = oracle.parameters.pop(name).detach()
    moved(oracle.parameters.values(), seed)
    start = {k: v.detach().double().numpy().copy() for k, v in oracle.parameters.items()}
    losses = run_oracle(oracle, data, SETTINGS)
    learnt = {k: v.detach().double().numpy() for k, v in oracle.parameters.items()}
    return losses, learnt, start


def distances(losses, state, truth):
    """The worst relative distance of the losses, and of a parameter relative to its
    change, what rounding of its magnitude explains being subtracted; with its name."""
    true_losses, learnt, start = truth
    loss = max(abs(a - b) / max(abs(b), 1e-30) if np.isfinite(a) else np.inf
               for a, b in zip(losses, true_losses))
    worst, name = 0.0, ""
    for key, wanted in learnt.items():
        if state[key].size != wanted.size:
            return np.inf, np.inf, key
        actual = state[key].astype(np.float64).reshape(wanted.shape)
        error = np.abs(actual - wanted).max() - 5e-7 * np.abs(wanted).max()
        change = max(np.abs(wanted - start[key]).max(), 1e-30)
        if not error / change <= worst:
            worst, name = error / change, key
    return loss, worst, name


def judge(losses, state, truth, single):
    """None if the numbers are right, else a phrase. `single` gives runs in single
    precision, by number; they are made only where the plain bounds are not kept."""
    missing = sorted(set(truth[1]) - set(state))
    if missing:
        return f"not trained: {', '.join(missing[:3])} ({len(missing)})"
    loss, weight, name = distances(losses, state, truth)
    if loss <= 1e-5 and weight <= 1e-4:
        return None
    if abs(losses[0] - truth[0][0]) <= 1e-5 * max(1.0, abs(truth[0][0])):
        limits = [1e-5, 1e-4]
        for number in range(SAMPLES):
            own_losses, own, _ = single(number)
            own = distances(own_losses, own, truth)
            limits = [max(limit, FACTOR * d) for limit, d in zip(limits, own)]
            if loss <= limits[0] and weight <= limits[1]:
                return None
    return f"losses off by {loss:.1e}, {name} by {weight:.1e} of its change"


def reason(text):
    """The first thing that lwcc says is wrong, in short."""
    for line in text.splitlines():
        if "error: " in line:
            return re.sub(r"\s+", " ", line.split("error: ", 1)[1])
    return ""


class Draw:
    """Random images, and what the module learns of them."""

    def __init__(self, name, shape, folder, number):
        self.name = name
        self.folder = os.path.join(folder, f"{name}.data{number}")
        os.makedirs(self.folder, exist_ok=True)
        network, _ = build_zoo(name)
        sample = torch.from_numpy(draw_samples(shape, BATCH, np.random.RandomState(1)))
        write_data(self.folder, shape, network(sample).shape, number)
        self.data = Data(self.folder, shape)
        self.truth = train_module(name, self.data, torch.float64)
        self.singles = []

    def single(self, number):
        while number >= len(self.singles):
            self.singles.append(train_module(self.name, self.data, torch.float32,
                                             len(self.singles)))
        return self.singles[number]


class Model:
    """One network of the zoo, its files, and draws of images."""

    def __init__(self, name, args):
        self.name, self.args = name, args
        network, self.shape = build_zoo(name)
        self.renamed = hasattr(network, "export_plainly")  # all parameters
        # A tied parameter has several names, of which a file has one.
        first = {id(p): name for name, p in network.named_parameters()}
        self.aliases = {name: first[id(p)] for name, p in
                        network.named_parameters(remove_duplicate=False)}
        # Not those that the module itself changes in a step.
        before = {name: buffer.clone() for name, buffer in network.named_buffers()}
        network(torch.from_numpy(draw_samples(self.shape, BATCH, np.random.RandomState(1))))
        self.frozen = {name for name, buffer in network.named_buffers()
                        if torch.equal(buffer, before[name])}
        self.frozen |= {n for n, p in network.named_parameters() if not p.requires_grad}
        self.draws, self.refusals, self.unlearnt = [], {}, set(before)

    def draw(self, number):
        if number == len(self.draws):
            self.draws.append(Draw(self.name, self.shape, self.args.models, number))
        return self.draws[number]

    def path(self, kind):
        path = os.path.join(self.args.models, f"{self.name}.{kind}.onnx")
        if not os.path.exists(path):
            with tempfile.TemporaryDirectory(dir=self.args.models) as folder:
                part = os.path.join(folder, os.path.basename(path))
                export(build_zoo(self.name)[0], self.shape, part, kind)
                for file in sorted(os.listdir(folder), reverse=True):
                    os.replace(os.path.join(folder, file),
                               os.path.join(self.args.models, file))
        return path

    def flags_of(self, path, where):
        return ([] if where == ONE else THREE_DEVICES if where == THREE
                else random_plan(path, [], BATCH, self.name, f"{path}.plan.json"))

    def result(self, kind, where):
        """A class of results, and what there is to say about it."""
        try:
            path = None if kind in self.refusals else self.path(kind)
        except Exception as error:  # the exporter's
            self.refusals[kind] = str(error).strip().splitlines()[0][:90]
        if kind in self.refusals:
            return NO_EXPORT, self.refusals[kind]
        try:
            flags = self.flags_of(path, where)
        except subprocess.CalledProcessError as error:
            return REFUSED, reason(error.stderr)
        found = WRONG, ""
        for number in range(DRAWS):
            found = self.compare(path, kind, flags, self.draw(number))
            if found[0] != WRONG or found[1].startswith(CRASHED):
                break
        return found

    def compare(self, path, kind, flags, draw):
        command = [self.args.lwcc_run, path, f"--batch={BATCH}", *flags, "--"]
        said = []
        try:
            losses, state = train(command, draw.folder, SETTINGS, said)
        except TrainerError as error:
            why = reason(str(error))
            return (REFUSED, why) if why else (WRONG, CRASHED + str(error)[-300:])
        state.update({self.aliases[name]: tensor for name, tensor in state.items()
                      if name in self.aliases})
        freeze = "--freeze=" + "|".join(sorted(self.frozen & set(state)))
        if freeze != "--freeze=" and freeze not in flags:
            # No file says that these are not trained.
            verdict, detail = self.compare(path, kind, [*flags, freeze], draw)
            return verdict, f"with {freeze} {detail}"
        by_losses = kind == "plain" and self.renamed
        truth = (draw.truth[0], {}, {}) if by_losses else draw.truth
        wrong = judge(losses, state, truth, draw.single)
        if wrong is None:
            extra = sorted(set(state) - set(self.aliases) - self.unlearnt)
            return EQUAL, f"trains {', '.join(extra)}, too" if extra else ""
        warned = re.search(r"warning: (.*)", said[0])
        if kind != "plain" and not warned:
            return WRONG, wrong
        other = judge(
            losses, state, train_file(path, draw.data, torch.float64, state),
            lambda number: train_file(path, draw.data, torch.float32, state, number))
        if other:
            return WRONG, f"as the file: {other}; as the module: {wrong}"
        return AS_FILE, "warned" if warned else f"NOT WARNED: {wrong}"


def run_model(job):
    name, args = job
    warnings.filterwarnings("ignore")
    os.environ["OMP_NUM_THREADS"] = "1"
    rows = []
    try:
        model = Model(name, args)
        for kind in args.exports:
            for where in [ONE, THREE, RANDOM] if args.plans else [ONE]:
                rows.append((name, kind, where, *model.result(kind, where)))
    except Exception as error:  # a network must not end the others
        rows.append((name, "-", ONE, WRONG, f"{type(error).__name__}: {error}"))
    return rows


def table(rows):
    """As markdown: a line for each network. A cell is the result on one device, and
    where plans have another."""
    kinds = dict.fromkeys(row[1] for row in rows if row[1] in EXPORTS)
    lines = ["| network | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    found = {(name, kind, where): verdict + (
        ", frozen" if detail.startswith("with --freeze") else "")
        for name, kind, where, verdict, detail in rows}
    for name in dict.fromkeys(row[0] for row in rows):
        cells = []
        for kind in kinds:
            one = found.get((name, kind, ONE), "-")
            others = [(where, found.get((name, kind, where), one))
                      for where in (THREE, RANDOM)]
            cells.append("; ".join([one] + [f"{where}: {other}" for where, other in others
                                            if other != one]))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--quick", action="store_true",
                        help="a few networks, of every kind of operators")
    parser.add_argument("--plans", action="store_true",
                        help="each file also on three devices and by a random plan")
    parser.add_argument("--exports", type=lambda text: text.split(","), default=EXPORTS)
    parser.add_argument("--models", help="keep the files in this folder, and use them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--docs", action="store_true", help="print a table in markdown")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in ZOO]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are: {', '.join(ZOO)}")
    names = args.names or (QUICK if args.quick else list(ZOO))

    rows = []
    with tempfile.TemporaryDirectory(prefix="lwcc-zoo-") as folder:
        args.models = args.models or folder
        os.makedirs(args.models, exist_ok=True)
        for found in results(run_model, [(name, args) for name in names], args.jobs,
                             renewed_after=4):
            rows += found
            for name, kind, where, verdict, detail in found:
                print(f"{verdict:9} {name} {kind}, {where}"
                      + (f": {detail}" if detail else ""), flush=True)
    if args.docs:
        print(table(rows))
    for column in dict.fromkeys((row[1], row[2]) for row in rows):
        counts = Counter(row[3] for row in rows if row[1:3] == column)
        print(f"{', '.join(column)}: "
              + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    failed = sum(row[3] == WRONG for row in rows)
    passed = sum(row[3] in (EQUAL, AS_FILE) for row in rows)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
