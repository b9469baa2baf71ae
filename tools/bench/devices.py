"""What several devices cost on the CPU target, and how long their programs are.

  devices.py [MODEL:BATCH ...] [--gpus=2] [--rounds=5] [--steps=6]
  (default: alexnet:128 resnet18:32)

MODEL is a file, or a name that test/models/make_models.py knows (made at full
size, by the Python that runs this). Speed: one device with as many threads as
there are devices against that many virtual devices of one thread each, data
parallel, alternating; the least step of each round's runs, the ratio of their
medians (above 1: the devices are faster), those of the rounds, and that of the
least of all. Then, for the first model, the text that is printed for 4 and 64
devices under each strategy, and how long g++ takes for it. lwcc must be on the
PATH, the machine idle.
"""

import argparse
import glob
import json
import os
import statistics
import subprocess
import tempfile
import time

from models import model_file


def compiled(model, batch, gpus, folder, *more):
    out = os.path.join(folder, f"{gpus}-{'-'.join(more) or 'trainer'}")
    subprocess.run(["lwcc", model, "--target=cpu", f"--batch={batch}",
                    f"--gpus={gpus}", *more, "-o", out], check=True)
    return out


def least_step(trainer, threads, steps):
    log = trainer + ".log"
    subprocess.run([trainer, f"--benchmark={steps}", f"--threads={threads}",
                    f"--log={log}"], check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        return json.loads(lines.readlines()[-1])["min_s"]


def speed(model, batch, args, folder):
    programs = {g: compiled(model, batch, g, folder, "--strategy=data")
                for g in (1, args.gpus)}
    times = {g: [] for g in programs}
    for _ in range(args.rounds):
        for gpus, program in programs.items():
            times[gpus].append(least_step(program, args.gpus, args.steps))
    one, many = (statistics.median(times[g]) for g in (1, args.gpus))
    ratios = [a / b for a, b in zip(times[1], times[args.gpus])]
    print(f"| {os.path.basename(model)} | {batch} | {one * 1e3:.0f} "
          f"| {many * 1e3:.0f} | **{one / many:.2f}** "
          f"({min(ratios):.2f}..{max(ratios):.2f}) "
          f"| {min(times[1]) / min(times[args.gpus]):.2f} |", flush=True)


def text(model, batch, folder):
    for strategy in ("data", "model", "owt"):
        for gpus in (4, 64):
            start = time.perf_counter()
            source = compiled(model, batch, gpus, folder,
                              f"--strategy={strategy}", "--emit=source")
            lwcc = time.perf_counter() - start
            file, = glob.glob(os.path.join(source, "*.cpp"))
            start = time.perf_counter()
            subprocess.run(["g++", "-std=c++20", "-O2", "-fopenmp",
                            f"-I{source}", "-c", file, "-o", file + ".o"],
                           check=True)
            print(f"| {os.path.basename(model)} | {strategy} | {gpus} "
                  f"| {os.path.getsize(file) / 1e3:.0f} | {lwcc:.1f} "
                  f"| {time.perf_counter() - start:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", metavar="MODEL:BATCH",
                        default=["alexnet:128", "resnet18:32"])
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        what = [(model_file(model, folder), int(batch)) for model, batch in
                (item.rsplit(":", 1) for item in args.what)]
        print(f"| model | batch | 1 device, {args.gpus} threads, ms | "
              f"{args.gpus} devices, ms | ratio | of the least |\n"
              "|---|---|---|---|---|---|")
        for model, batch in what:
            speed(model, batch, args, folder)
        print("\n| model | strategy | devices | text, KB | lwcc, s | g++, s |"
              "\n|---|---|---|---|---|---|")
        text(*what[0], folder)


if __name__ == "__main__":
    main()
