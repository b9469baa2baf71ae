"""Trains programs of four devices in one process and in several: bitwise the same.

  ranks.py [--models=NAME:BATCH,..] [--plans=data,owt,layerwise,pipeline,random]
           [--transports=shm,tcp,net] [--steps=100] [--quick] [--jobs=2]
           [--emulation=DIR] [--only=grid|besides]

NAME is a network of test/models/make_models.py at its small size, or zoo:NAME, one of
zoo.py's with its batch of 8. Each is compiled for four devices under each plan, and
trains with --deterministic --threads=4: once in one process, then in four for each
transport, by UCX's shared memory, by its TCP, and by TCP between four network
namespaces (needs root; else they are left out, with a note). What is exported and the
tensors of the checkpoint must be equal to the last bit, and the losses in the log, too.

Then, of a few: two ranks, which have two devices each, and three; validations and
epochs whose last batch is not whole; Adam; trainings that go on from a checkpoint in
another number of ranks; and ranks that --ranks starts. --only leaves out one of both.

--quick takes three networks and 20 steps. With --emulation the programs are CUDA ones
whose ranks share an emulated GPU each (test/cuda-emulation, built in DIR), in seven
steps. Prints a table, and `N of N equal`.
"""

import argparse
import filecmp
import json
import os
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from rank_team import (Namespaces, RankError, compiled, losses_of, model_file, run,
                       table, train)

MODELS = ("lenet5:64,mlp:32,mlp_softmax:30,residual_mlp:32,residual_conv:16,"
          "resnet_cifar:8,inception_lrn:8,alexnet:8,vit_s16:8,gpt:16,zoo:lstm_text:8,"
          "zoo:bert:8")
QUICK = "lenet5:64,resnet_cifar:8,gpt:16"
EMULATED = "lenet5:12,mlp:12,resnet_cifar:4"
PLANS = ("data", "owt", "layerwise", "pipeline", "random")
GPUS = 4
ALIKE = ["--deterministic", "--threads=4"]


#  Plans

def slow_machine(path):
    """Writes a machine on which it pays to spread the smallest network."""
    machine = json.loads(run(["lwcc", "machine", "cpu"]))
    machine.update(name="slow", gpus=GPUS, one_processor=False)
    machine["device"].update(fp32=1e7, tf32=1e7, launch=1e-9)
    with open(path, "w") as file:
        json.dump(machine, file)
    return path


def random_plan(model, batch, seed, path):
    """Writes a plan whose layers are cut along what owt cuts them along, into random
    parts, on random devices and lanes."""
    rng = random.Random(seed)
    run(["lwcc", "plan", model, f"--batch={batch}", f"--gpus={GPUS}", "--strategy=owt",
         "-o", path])
    with open(path) as file:
        owt = json.load(file)
    used = set()
    while used != set(range(GPUS)):
        used, layers = set(), {}
        for name, cuts in owt["layers"].items():
            keys = [key for key in cuts if key in "cn"]
            if not keys or rng.random() < 0.1:
                continue  # takes over another's
            key = rng.choice(keys)
            count = rng.randint(1, cuts[key])
            places = [rng.randrange(GPUS) for _ in range(count)]
            used.update(places)
            layers[name] = {key: count, "places": [f"0.{device}.{rng.randrange(2)}"
                                                   for device in places]}
    with open(path, "w") as file:
        json.dump({"version": 2, "layers": layers}, file, indent=1)
    return path


def compile_plan(model, batch, plan, folder, *flags, emulation=None):
    """The program of a plan; a pipeline's batch normalization counts half a batch."""
    stem = f"{folder}/{os.path.basename(model)}-{plan}{''.join(flags)}"
    if plan == "random":
        flags = (*flags, f"--plan={random_plan(model, batch, stem, stem + '.json')}")
    else:
        flags = (*flags, f"--strategy={plan}",
                 f"--machine={slow_machine(stem + '.machine')}")
    if plan == "pipeline":
        flags = (*flags, f"--bn=group:{batch // 2}", "--micro-batches=2")
    return compiled(model, batch, stem, *flags, gpus=GPUS, emulation=emulation)[0]


#  Comparing

def tensors_of(folder):
    """The files that must be equal, by their path in the folder of a training."""
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names
                  if name.endswith((".safetensors", ".onnx")))


def differences(one, other):
    """What is different between the folders of two trainings, "" if nothing."""
    files, found = tensors_of(one), []
    if not files or files != tensors_of(other):
        found.append("other files")
    else:
        found += [name for name in files
                  if not filecmp.cmp(f"{one}/{name}", f"{other}/{name}", shallow=False)]
    losses, others = losses_of(f"{one}/log"), losses_of(f"{other}/log")
    if losses != others:
        first = min((step for step in others if losses.get(step) != others[step]),
                    default=0)
        found.append(f"losses from step {first} on")
    return ", ".join(found)


def training(program, out, steps, *flags):
    """The command of a training that leaves all it has learnt in the folder `out`."""
    os.makedirs(out, exist_ok=True)
    data = [] if any(flag.startswith("--data=") for flag in flags) else ["--data=synthetic"]
    return [program, *data, f"--steps={steps}", "--seed=7", *ALIKE, *flags,
            f"--log={out}/log", f"--export-onnx={out}/trained.onnx",
            f"--checkpoint-dir={out}/checkpoints", f"--checkpoint-every={steps}"]


def compare(program, steps, ranks, transport, network, flags=()):
    """"" if so many ranks train as one process does, which does it once."""
    whole = f"{program}{''.join(flags)}.whole"
    if not os.path.exists(whole):
        train(training(program, whole, steps, *flags))
    with tempfile.TemporaryDirectory(prefix="lwcc-ranks-") as out:
        train(training(program, out, steps, *flags), ranks,
              network if transport == "net" else None, transport)
        return differences(whole, out)


#  Cases

class Grid:
    """Every network under every plan, by every transport."""
    def __init__(self, args, network, folder):
        self.args, self.network, self.folder = args, network, folder
        self.rows, self.equal, self.count = [], 0, 0

    def check(self, what):
        """The cells of a network and a plan, and how many runs are equal."""
        name, batch, plan = what
        cells, count = [], len(self.args.transports)
        try:
            model = model_file(name, self.folder)
            program = compile_plan(model, batch, plan, self.folder,
                                   emulation=self.args.emulation)
        except RankError as error:
            return [name, plan, f"not compiled: {error}", *["-"] * (count - 1)]
        for transport in self.args.transports:
            try:
                found = compare(program, self.args.steps, GPUS, transport, self.network)
            except RankError as error:
                found = str(error)
            cells.append("DIFFERENT " + found if found else "equal")
        return [name, plan, *cells]

    def run(self):
        cases = [(name, int(batch), plan) for name, batch in
                 (model.rsplit(":", 1) for model in self.args.models.split(","))
                 for plan in self.args.plans.split(",")]
        for name in {case[0]: None for case in cases}:  # not two at once
            model_file(name, self.folder)
        with ThreadPoolExecutor(self.args.jobs) as pool:
            for row in pool.map(self.check, cases):
                self.rows.append([cell.splitlines()[0] for cell in row])
                print(" ".join(row), file=sys.stderr, flush=True)
                self.equal += row[2:].count("equal")
                self.count += len(row) - 2
        print(table(["network", "plan", *self.args.transports], self.rows), flush=True)


class Special:
    """What only a few programs are tried with."""
    def __init__(self, args, network, folder):
        self.args, self.network, self.folder = args, network, folder
        self.equal = self.count = 0

    def program(self, name, batch, plan, *flags):
        folder = tempfile.mkdtemp(dir=self.folder)
        return compile_plan(model_file(name, self.folder), batch, plan, folder, *flags,
                            emulation=self.args.emulation)

    def tried(self, title, check, *what):
        """The title, and what is different."""
        try:
            return title, check(*what)
        except RankError as error:
            return title, str(error)

    def compared(self, title, program, ranks, transport, flags=()):
        return self.tried(title, compare, program, self.args.steps, ranks, transport,
                          self.network, flags)

    # Each compiles a program, and yields what is tried with it.

    def other_counts(self, name, batch, plan):
        program = self.program(name, batch, plan)
        for ranks, transport in ((2, "shm"), (3, "tcp"), (2, "net")):
            if transport in self.args.transports:
                yield self.compared(f"{name}, {plan}: {ranks} ranks, {transport}", program,
                                    ranks, transport)

    def validations(self):
        """Batches of 64, of 1024 samples of which 133 are held back."""
        program = self.program("lenet5", 60, "layerwise")
        for flags in (["--val-split=0.13"], ["--val-split=0.13", "--last-batch=keep"],
                      ["--val-data=synthetic"], ["--no-shuffle", "--last-batch=keep"]):
            for transport in self.args.transports:
                yield self.compared(f"lenet5, layerwise: {' '.join(flags)}, {transport}",
                                    program, GPUS, transport, flags)

    def optimizer(self, *compile_flags):
        program = self.program("resnet_cifar", 8, "data", *compile_flags)
        for transport in self.args.transports:
            yield self.compared(f"resnet_cifar, data: {' '.join(compile_flags)}, {transport}",
                                program, GPUS, transport, ["--lr=0.001"])

    def resume(self):
        """Half of the steps in some ranks, the others in more or fewer of them."""
        program = self.program("lenet5", 64, "data", "--optimizer=adam")
        whole, steps = f"{program}.whole", self.args.steps
        flags = ["--lr=0.001", "--val-split=0.13"]
        train(training(program, whole, steps, *flags))
        for before, after in ((4, 2), (2, 1), (1, 4), (3, 4), (4, 3)):
            yield self.tried(f"lenet5, data, Adam: resumed from {before} ranks in {after}",
                             self.resumed, program, whole, before, after, flags)

    def resumed(self, program, whole, before, after, flags):
        half = self.args.steps // 2
        with tempfile.TemporaryDirectory(prefix="lwcc-ranks-") as out:
            train(training(program, f"{out}/half", half, *flags), before, transport="shm")
            train(training(program, f"{out}/rest", self.args.steps, *flags,
                           f"--resume={out}/half/checkpoints/step-{half:06}"),
                  after, transport="tcp")
            losses = losses_of(f"{out}/half/log") | losses_of(f"{out}/rest/log")
            wrong = [name for name in tensors_of(f"{out}/rest") if not filecmp.cmp(
                f"{whole}/{name}", f"{out}/rest/{name}", shallow=False)]
            if losses != losses_of(f"{whole}/log"):
                wrong.append("losses")
            return ", ".join(wrong)

    def started(self):
        """By --ranks."""
        program = self.program("mlp", 32, "owt")
        train(training(program, f"{program}.whole", self.args.steps))
        for ranks in (2, 4):
            yield self.tried(f"mlp, owt: --ranks={ranks}", self.started_by, program, ranks)

    def started_by(self, program, ranks):
        with tempfile.TemporaryDirectory(prefix="lwcc-ranks-") as out:
            run(training(program, out, self.args.steps, f"--ranks={ranks}"))
            return differences(f"{program}.whole", out)

    def run(self):
        print("\n| besides | |\n|---|---|")
        for name in ("resnet_cifar", "gpt", "lenet5", "mlp"):  # not two at once
            model_file(name, self.folder)
        cases = [self.other_counts("resnet_cifar", 8, "random"),
                 self.other_counts("gpt", 16, "pipeline"),
                 self.other_counts("lenet5", 64, "data"), self.validations(),
                 self.optimizer("--optimizer=adam"),
                 self.optimizer("--optimizer=adamw", "--ema=0.9"),
                 self.optimizer("--optimizer=lamb", "--clip-norm=0.3"),
                 self.resume(), self.started()]
        with ThreadPoolExecutor(self.args.jobs) as pool:
            for rows in pool.map(list, cases):
                for title, found in rows:
                    self.count += 1
                    self.equal += not found
                    print(f"| {title} | {'DIFFERENT ' + found if found else 'equal'} |",
                          flush=True)


def compare_all(args, network):
    with tempfile.TemporaryDirectory(prefix="lwcc-ranks-") as folder:
        parts = [part(args, network, folder) for name, part in
                 (("grid", Grid), ("besides", Special)) if args.only in (None, name)]
        for part in parts:
            part.run()
    equal, count = (sum(getattr(part, what) for part in parts)
                    for what in ("equal", "count"))
    print(f"{equal} of {count} equal")
    return equal != count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", help="NAME:BATCH,..")
    parser.add_argument("--plans", default=",".join(PLANS))
    parser.add_argument("--transports", default="shm,tcp,net")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--emulation", metavar="DIR", type=os.path.abspath)
    parser.add_argument("--only", choices=["grid", "besides"])
    args = parser.parse_args()
    models, steps = ((EMULATED, 7) if args.emulation else
                     (QUICK, 20) if args.quick else (MODELS, 100))
    args.models, args.steps = args.models or models, args.steps or steps
    if args.emulation:
        os.environ.setdefault("LWCC_DEVICES", ",".join("0" * GPUS))
    args.transports = args.transports.split(",")
    if "net" in args.transports and (why := Namespaces.why_not()):
        print(f"net is left out: {why}")
        args.transports.remove("net")
    if "net" not in args.transports:
        return compare_all(args, None)
    with Namespaces(GPUS) as network:
        return compare_all(args, network)


if __name__ == "__main__":
    sys.exit(main())
