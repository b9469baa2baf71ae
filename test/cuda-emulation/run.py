"""The CUDA target on emulated GPUs: operators, the machine, emitted programs.

  run.py --build=DIR [--models MODEL.onnx ...] [--data=DIR] [--bundle=DIR]
         [--seeds=1,2,3] [--rounds=40] [--batch=8] [--steps=10] [--jobs=N]

DIR is where this folder was built (CMakeLists.txt). Operators are compared with
plain loops in chosen cases and in rounds of random ones, once for each seed: a
seed chooses the shapes, the order of blocks, threads, streams and nodes of graphs,
the number of processors, how tensors are aligned, and what the libraries are free
to choose. Each model's program is trained for some steps on one GPU, with devices
that share one, and on several; its losses and weights are compared with lwcc-run's.
With --data (images) its checkpoints, validation, traces, benchmark and search for
what is not finite are tried as well. --bundle is what tools/gpu-test.sh carries to
a GPU machine: its programs are built here, and run as they are there. Every kernel
must have run at least once.
Prints a line for each and a last line `N passed, M failed`.
"""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor

from safetensors.numpy import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../parity"))
from mixed_plan import mixed_plan  # noqa: E402
from plans import distance  # noqa: E402

# What a program is compiled for, and what its GPUs are.
PLACES = [("one device", [], {}),
          ("4 devices on one GPU", ["--gpus=4", "--strategy=owt"],
           {"LWCC_DEVICES": "0,0,0,0"}),
          ("4 GPUs", ["--gpus=4", "--strategy=owt"],
           {"LWCC_EMULATED_GPUS": "4"}),
          ("4 GPUs, no graphs", ["--gpus=4", "--strategy=owt"],
           {"LWCC_EMULATED_GPUS": "4", "LWCC_GRAPH": "0"}),
          ("2 GPUs, data", ["--gpus=2", "--strategy=data"],
           {"LWCC_EMULATED_GPUS": "2"}),
          ("3 GPUs, model", ["--gpus=3", "--strategy=model"],
           {"LWCC_EMULATED_GPUS": "3"}),
          # Written by mixed_plan.py: every layer is cut in another way.
          ("4 GPUs, mixed", ["--gpus=4", "--plan=mixed"],
           {"LWCC_EMULATED_GPUS": "4"})]


class Failed(Exception):
    pass


def run(*command, **variables):
    result = subprocess.run(command, text=True, errors="replace",
                            env={**os.environ, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise Failed(f"{' '.join(command)}\nexit code {result.returncode}\n"
                     + result.stdout[-3000:])
    return result.stdout


def weights(folder, step):
    return load_file(f"{folder}/step-{step:06d}/model.safetensors")


class Features:
    """What a trainer does beside its steps, by an emitted program and lwcc-run."""

    def __init__(self, program, direct, folder, data, variables):
        self.program, self.direct = [program], direct
        self.folder, self.data, self.variables = folder, data, variables
        os.makedirs(folder, exist_ok=True)

    def emulated(self, *flags):
        return run(*self.program, *flags, **self.variables)

    def steps(self, count, folder, *flags):
        return self.emulated(f"--data={self.data}/train", f"--steps={count}",
                             "--deterministic", f"--checkpoint-dir={folder}",
                             "--checkpoint-every=3", *flags)

    def resume(self):
        """Bit for bit what a run makes that was not interrupted."""
        whole, parts = f"{self.folder}/whole", f"{self.folder}/parts"
        for folder in (whole, parts):
            shutil.rmtree(folder, ignore_errors=True)
        self.steps(6, whole)
        self.steps(3, parts)
        self.steps(6, parts, "--resume=auto")
        there, resumed = weights(whole, 6), weights(parts, 6)
        wrong = [key for key, value in there.items()
                 if value.tobytes() != resumed[key].tobytes()]
        if wrong or set(there) != set(resumed):
            raise Failed("other bits after resuming: " + ", ".join(wrong))
        return f"{len(there)} tensors bit-equal"

    def validate(self):
        pattern = r"validation: loss ([\d.]+)"
        flags = [f"--data={self.data}/train", f"--val-data={self.data}/val",
                 "--steps=2", "--deterministic"]
        got, expected = (re.search(pattern, text).group(1) for text in (
            self.emulated(*flags), run(*self.direct, *flags)))
        if abs(float(got) - float(expected)) > 2e-4:
            raise Failed(f"validation loss {got}, lwcc-run's is {expected}")
        return f"loss {got}"

    def trace(self):
        path = f"{self.folder}/trace.json"
        self.emulated("--benchmark=2", f"--trace={path}")
        with open(path) as file:
            calls = [event for event in json.load(file)["traceEvents"]
                     if event["ph"] == "X"]
        if not calls or any(call["dur"] < 0 for call in calls):
            raise Failed(f"{len(calls)} calls, some without a time")
        return f"{len(calls)} calls"

    def benchmark(self):
        text = self.emulated("--benchmark=3")
        if not re.search(r"images/s", text):
            raise Failed("no speed:\n" + text)
        return "says a speed"

    def diverge(self):
        """The first result that is not finite is the same one as lwcc-run's;
        whether it is infinite or no number depends on the order of sums."""
        flags = [f"--data={self.data}/train", "--steps=9", "--lr=1e30",
                 "--deterministic"]
        lines = []
        for command, variables in ((self.program, self.variables),
                                   (self.direct, {})):
            result = subprocess.run(
                [*command, *flags], text=True, stderr=subprocess.STDOUT,
                stdout=subprocess.PIPE, env={**os.environ, **variables})
            lines.append("".join(line for line in result.stdout.split("\n")
                                 if line.startswith("error:")))
            if result.returncode != 1 or not lines[-1]:
                raise Failed(f"exit code {result.returncode}\n{result.stdout}")
        one, other = (re.sub(r"\b-?(nan|inf)\b", "not finite", line)
                      for line in lines)
        if one != other:
            raise Failed("\n  CUDA " + "\n  CPU  ".join(lines))
        return lines[0]


FEATURES = (Features.resume, Features.validate, Features.trace, Features.benchmark,
            Features.diverge)


class Checks:
    def __init__(self, args):
        self.args = args
        self.bin = os.path.join(args.build, "bin")
        self.work = os.path.join(args.build, "programs")
        # Each process adds the kernels that it has run, a line at a time.
        self.kernels = os.path.join(args.build, "kernels.txt")
        open(self.kernels, "w").close()
        self.passed = self.failed = 0

    def side_by_side(self, *given):
        """As map(): what it calls waits for processes."""
        with ThreadPoolExecutor(self.args.jobs) as pool:
            yield from pool.map(*given)

    def run(self, checks):
        """Counts what the bodies of pairs (name, body) return, (number of checks, what
        to print)."""
        def judge(check):
            name, body = check
            start = time.time()
            try:
                count, text = body()
                good, line = True, f"ok   {name}: {text}"
            except Failed as error:
                count, good, line = 1, False, f"FAIL {name}: {error}"
            return count, good, f"{line} ({time.time() - start:.0f} s)"
        for count, good, line in self.side_by_side(judge, checks):
            self.passed += count * good
            self.failed += not good
            print(line, flush=True)

    def tests(self, program):
        text = run(os.path.join(self.bin, program))
        count = int(re.search(r"PASSED  \] (\d+) test", text).group(1))
        return count, f"{count} tests"

    def emulated(self, *command, **variables):
        """Runs a program on emulated GPUs."""
        return run(*command, LWCC_EMULATION_KERNELS=self.kernels, **variables)

    def operators(self, seed):
        text = self.emulated(os.path.join(self.bin, "ops-check-emulated"),
                             f"--rounds={self.args.rounds}", f"--seed={seed}",
                             LWCC_EMULATION_SEED=str(seed), LWCC_OWN_WORKSPACES="1")
        count = int(re.search(r"^(\d+) checks, 0 failed$", text, re.M).group(1))
        return count, f"{count} checks"

    def train(self, trainer, folder, *command, **variables):
        """Losses of the steps and the trained weights; `trainer` runs the command."""
        shutil.rmtree(folder, ignore_errors=True)
        trainer(*command, "--data=synthetic", f"--steps={self.args.steps}",
                "--lr=0.01", "--seed=5", "--deterministic",
                f"--log={folder}.jsonl", f"--checkpoint-dir={folder}",
                f"--checkpoint-every={self.args.steps}", **variables)
        with open(f"{folder}.jsonl") as lines:
            records = [json.loads(line) for line in lines]
        return ([r["loss"] for r in records if "loss" in r and "lr" in r],
                weights(folder, self.args.steps))

    def program(self, path, flags, at):
        """The emulated program of a model; builds it."""
        with open(f"{at}.json", "w") as file:
            json.dump(mixed_plan(path, 4), file)
        run("lwcc", path, f"--batch={self.args.batch}",
            *(flag.replace("=mixed", f"={at}.json") for flag in flags),
            "--target=cuda", "--emit=source", "-o", at)
        run(os.path.join(self.bin, "emulate"), at, f"{at}.run")
        return f"{at}.run"

    def model(self, path):
        """The checks of a model, whose programs are built."""
        name = os.path.basename(path).split(".")[0]
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        batch = f"--batch={self.args.batch}"
        direct = ["lwcc-run", path, batch, "--"]
        expected = self.train(run, f"{folder}/cpu", *direct)
        # Batch normalization of few samples makes much of other roundings: what
        # two devices of the CPU target differ by says how much.
        limit = max(1e-6, 4 * max(distance(self.train(
            run, f"{folder}/cpu", "lwcc-run", path, batch, "--gpus=2", "--strategy=data",
            "--"), expected)))
        with ThreadPoolExecutor(self.args.jobs) as pool:
            # By their flags. Who asks for one is told why it could not be built.
            programs = {key: pool.submit(self.program, path, key, f"{folder}/{number}")
                        for number, key in enumerate(dict.fromkeys(
                            tuple(flags) for _, flags, _ in PLACES))}

        def trained(program, variables, at):
            worst = 0.0
            for seed in self.args.seeds.split(","):
                got = self.train(self.emulated, at, program.result(),
                                 LWCC_EMULATION_SEED=seed, **variables)
                if len(got[0]) != len(expected[0]):
                    raise Failed(f"{len(got[0])} losses")
                worst = max(worst, *distance(got, expected))
                if not worst <= limit:
                    raise Failed(f"seed {seed}: losses or weights differ by "
                                 f"{worst:.1e}, not {limit:.1e}\n"
                                 f"  CUDA {got[0]}\n  CPU  {expected[0]}")
            return (len(self.args.seeds.split(",")),
                    f"within {worst:.0e} of {limit:.0e}")
        checks = [(f"{name}, {place}", functools.partial(
            trained, programs[tuple(flags)], variables, f"{folder}/cuda-{number}"))
            for number, (place, flags, variables) in enumerate(PLACES)]
        for number in (0, 2) if self.args.data else ():
            place, flags, variables = PLACES[number]
            for feature in FEATURES:
                checks.append((f"{name}, {place}, {feature.__name__}", functools.partial(
                    self.feature, feature, programs[tuple(flags)], direct,
                    f"{folder}/{feature.__name__}-{number}", variables)))
        return checks

    def feature(self, feature, program, direct, folder, variables):
        return 1, feature(Features(program.result(), direct, folder, self.args.data,
                                   variables))

    def bundle(self, path):
        """Puts programs into the bundle as gpu-test.sh --binaries does."""
        folder = os.path.join(self.work, "binaries")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        sources = os.path.join(path, "programs")
        names = sorted(os.listdir(sources))
        list(self.side_by_side(lambda name: run(
            os.path.join(self.bin, "emulate"), os.path.join(sources, name),
            os.path.join(folder, name)), names))
        shutil.copy(os.path.join(self.bin, "ops-check-emulated"),
                    os.path.join(folder, "ops-check-cuda"))
        with tarfile.open(f"{path}/binaries.tar.xz", "w:xz", preset=0) as tar:
            for name in [*names, "ops-check-cuda"]:
                tar.add(os.path.join(folder, name), name)
        with open(f"{path}/binaries.json", "w") as file:
            json.dump({"architecture": 90}, file)
        text = run(sys.executable, f"{path}/run.py", "--only=checks",
                   "--seconds=600", f"--out={folder}/results")
        count = int(re.search(r"^(\d+) passed, 0 failed$", text, re.M).group(1))
        if "no time was left" in text or "unpacked" not in text:
            raise Failed(text)
        return count, f"{count} checks"

    def coverage(self):
        """That every kernel of the runtime has run; some only where cuDNN has no
        engine with a bias, which other seeds choose."""
        program = os.path.join(self.bin, "ops-check-emulated")
        list(self.side_by_side(lambda seed: self.emulated(
            program, "convolutions", LWCC_EMULATION_SEED=str(seed)), range(6, 31, 3)))
        with open(self.kernels) as lines:
            seen = {line.strip() for line in lines}
        listed = run(program, "--list", LWCC_EMULATION_KERNELS="-").split("\n")
        missing = sorted({line[len("kernel "):] for line in listed
                          if line.startswith("kernel ")} - seen - {"probe"})
        if missing:
            raise Failed("never run: " + ", ".join(missing))
        return 1, f"{len(seen)} kernels have run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--data", help="folder of images.npy for the models")
    parser.add_argument("--bundle", help="folder of tools/gpu-test.sh")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="checks at a time")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    checks = Checks(args)
    programs = [program for program in ("machine-tests", "emulation-tests", "libraries-tests")
                if os.path.exists(os.path.join(checks.bin, program))]
    checks.run([*((f"operators, seed {seed}", functools.partial(checks.operators, seed))
                  for seed in args.seeds.split(",")),
                *((program, functools.partial(checks.tests, program))
                  for program in programs)])
    checks.run([("kernels", checks.coverage)])
    for path in args.models:
        checks.run(checks.model(path))
    if args.bundle:
        checks.run([("bundle", functools.partial(checks.bundle,
                                                 os.path.abspath(args.bundle)))])
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
