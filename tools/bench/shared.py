"""What a step costs on a machine that is shared, and what the remedy costs.

  shared.py [MODEL:BATCH] [--rounds=5] [--seconds=2]   (default: lenet5:64)

MODEL is a file, or a name that test/models/make_models.py knows. Runs a trainer
for the CPU as it chooses its threads and lets them wait (runtime/cpu/Threads.cpp),
and with all cores and libgomp's own default, alternating: first on the machine as
it is, then beside one busy process per core. Prints the mean step of each in
milliseconds (the least of the rounds) and two ratios: quiet, its step to libgomp's (1: nothing is lost), and shared,
its step beside the busy processes to its quiet one. lwcc must be on the PATH,
the machine idle.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

from models import model_file

# What libgomp does where nothing is said: 300,000 turns.
WAITING = {"lwcc": {},
           "libgomp": {"GOMP_SPINCOUNT": "300000",
                       "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}}
STEPS = 500


def mean_step(trainer, waiting, seconds):
    """Seconds per step. A run of STEPS steps, less one of none, as often as
    fits; the first may take longer."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY",
                                "OMP_NUM_THREADS")}
    environment.update(waiting)

    def run(steps):
        begin = time.monotonic()
        subprocess.run([trainer, "--data=synthetic", f"--steps={steps}"], check=True,
                       env=environment, stdout=subprocess.DEVNULL)
        return time.monotonic() - begin

    begin, times = time.monotonic(), []
    while not times or time.monotonic() - begin < seconds:
        short = run(1)
        times.append((run(1 + STEPS) - short) / STEPS)
    return sum(times) / len(times)


def least_steps(trainer, args):
    least = {}
    for _ in range(args.rounds):
        for name, waiting in WAITING.items():
            step = mean_step(trainer, waiting, args.seconds)
            least[name] = min(step, least.get(name, step))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?", default="lenet5:64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    args = parser.parse_args()
    name, _, batch = args.model.rpartition(":")
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="lwcc-shared-") as folder:
        trainer = os.path.join(folder, "trainer")
        subprocess.run(["lwcc", model_file(name, folder), "--target=cpu",
                        f"--batch={batch}", "-o", trainer], check=True)
        quiet = least_steps(trainer, args)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(cores)]
        try:
            shared = least_steps(trainer, args)
        finally:
            for process in busy:
                process.kill()
                process.wait()
    print(f"| {args.model}, {cores} cores | quiet | beside {cores} busy |")
    print("|---|---|---|")
    for name in WAITING:
        print(f"| {name} | {quiet[name] * 1e3:.2f} ms "
              f"| {shared[name] * 1e3:.2f} ms |")
    print(f"quiet: {quiet['lwcc'] / quiet['libgomp']:.2f} of libgomp's default")
    print(f"shared: {shared['lwcc'] / quiet['lwcc']:.2f} times its quiet step "
          f"(libgomp: {shared['libgomp'] / quiet['libgomp']:.2f})")


if __name__ == "__main__":
    sys.exit(main())
