"""The CUDA target on emulated GPUs: operators, the machine, emitted programs.

  run.py --build=DIR [--models MODEL.onnx ...] [--seeds=1,2,3]

DIR is where this folder was built (CMakeLists.txt). Operators are compared with
plain loops, once for each seed: a seed chooses the order of blocks, threads,
streams and nodes of graphs, the number of processors, how tensors are aligned,
and what the libraries are free to choose. Each model's program is trained for
some steps on one GPU, with devices that share one, and on several, and its
losses are compared with lwcc-run's. Every kernel must have run at least once.
Prints a line for each and a last line `N passed, M failed`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

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
           {"LWCC_EMULATED_GPUS": "3"})]


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


class Checks:
    def __init__(self, args):
        self.args = args
        self.bin = os.path.join(args.build, "bin")
        self.work = os.path.join(args.build, "programs")
        self.kernels = os.path.join(args.build, "kernels.txt")
        self.passed = self.failed = 0

    def check(self, name, body):
        """Counts what `body` returns, (number of checks, what to print)."""
        start = time.time()
        try:
            count, text = body()
            self.passed += count
            line = f"ok   {name}: {text}"
        except Failed as error:
            self.failed += 1
            line = f"FAIL {name}: {error}"
        print(f"{line} ({time.time() - start:.0f} s)", flush=True)

    def tests(self, program):
        text = run(os.path.join(self.bin, program))
        count = int(re.search(r"PASSED  \] (\d+) test", text).group(1))
        return count, f"{count} tests"

    def operators(self, seed):
        text = run(os.path.join(self.bin, "ops-check-emulated"),
                   LWCC_EMULATION_SEED=str(seed), LWCC_OWN_WORKSPACES="1",
                   LWCC_EMULATION_KERNELS=self.kernels)
        count = int(re.search(r"^(\d+) checks, 0 failed$", text, re.M).group(1))
        return count, f"{count} checks"

    def losses(self, command, log, **variables):
        if os.path.exists(log):
            os.remove(log)
        run(*command, "--data=synthetic", f"--steps={self.args.steps}",
            "--lr=0.01", "--seed=5", "--deterministic", f"--log={log}",
            **variables)
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
        return [r["loss"] for r in records if "loss" in r]

    def model(self, path):
        name = os.path.basename(path).split(".")[0]
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        batch = f"--batch={self.args.batch}"
        expected = self.losses(["lwcc-run", path, batch, "--"],
                               f"{folder}/cpu.jsonl")
        programs = {}
        for place, flags, variables in PLACES:
            def body():
                key = " ".join(flags)
                if key not in programs:
                    at = f"{folder}/{len(programs)}"
                    run("lwcc", path, batch, *flags, "--target=cuda",
                        "--emit=source", "-o", at)
                    run(os.path.join(self.bin, "emulate"), at, f"{at}.run")
                    programs[key] = f"{at}.run"
                worst = 0.0
                for seed in self.args.seeds.split(","):
                    got = self.losses([programs[key]], f"{folder}/cuda.jsonl",
                                      LWCC_EMULATION_SEED=seed,
                                      LWCC_EMULATION_KERNELS=self.kernels,
                                      **variables)
                    if len(got) != len(expected):
                        raise Failed(f"{len(got)} losses")
                    worst = max([worst] + [abs(a - b) / max(1.0, abs(b))
                                           for a, b in zip(got, expected)])
                    if not worst <= 1e-6:
                        raise Failed(f"seed {seed}: losses differ by {worst:.1e}"
                                     f"\n  CUDA {got}\n  CPU  {expected}")
                return len(self.args.seeds.split(",")), f"within {worst:.0e}"
            self.check(f"{name}, {place}", body)

    def coverage(self):
        """That every kernel of the runtime has run."""
        with open(self.kernels) as lines:
            seen = {line.strip() for line in lines}
        listed = run(os.path.join(self.bin, "ops-check-emulated"), "--list",
                     LWCC_EMULATION_KERNELS="-").split("\n")
        missing = sorted({line[len("kernel "):] for line in listed
                          if line.startswith("kernel ")} - seen - {"probe"})
        if missing:
            raise Failed("never run: " + ", ".join(missing))
        return 1, f"{len(seen)} kernels have run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    checks = Checks(args)
    open(checks.kernels, "w").close()
    for program in ("emulation-tests", "libraries-tests", "machine-tests"):
        if os.path.exists(os.path.join(checks.bin, program)):
            checks.check(program, lambda: checks.tests(program))
    for seed in args.seeds.split(","):
        checks.check(f"operators, seed {seed}", lambda: checks.operators(seed))
    checks.check("kernels", checks.coverage)
    for path in args.models:
        checks.model(path)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
