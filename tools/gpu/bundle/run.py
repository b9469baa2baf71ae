#!/usr/bin/env python3
"""Runs a bundle of tools/gpu-test.sh on a GPU machine.

  python3 run.py [--only=ops|losses|speed] [--jobs=N]

Needs nvcc 13.0, CMake 3.24 or newer, make or ninja, and a Python with PyTorch (whose nvidia
wheels hold cuDNN and cuBLAS). Builds everything, then
  ops     every runtime operator against plain loops (ops-check-cuda)
  losses  every program's losses against the recorded ones of the CPU target and
          of PyTorch; twice with --deterministic, which must give the same bits.
          Programs for several devices take the GPUs in turn (LWCC_DEVICES)
  speed   images per second and device memory against PyTorch on this GPU
          (NCHW and channels-last, the better one counts)
Prints tables and a last line `N passed, M failed`; everything also goes to
results.txt. Speed is reported, not judged.
"""

import argparse
import glob
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(ROOT, "build")
FIRST_LOSS, FACTOR, SLACK = 1e-5, 4.0, 1e-6
report = []


def say(text):
    print(text, flush=True)
    report.append(text)


def run(command, **options):
    return subprocess.run(command, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)


def build(jobs):
    start = time.time()
    for command in (["cmake", "-S", ROOT, "-B", BUILD,
                     f"-DLWCC_PYTHON={sys.executable}"],
                    ["cmake", "--build", BUILD, "-j", str(jobs)]):
        result = run(command)
        if result.returncode:
            sys.exit(result.stdout + f"\n{' '.join(command)} failed")
    say(f"built in {time.time() - start:.0f} s")


def ops():
    result = run([os.path.join(BUILD, "bin", "ops-check-cuda")])
    say(result.stdout.rstrip())
    counts = re.search(r"^(\d+) checks, (\d+) failed$", result.stdout, re.M)
    if not counts:
        return 0, 1
    total, failed = map(int, counts.groups())
    return total - failed, failed + (result.returncode != 0 and failed == 0)


def gpu_count():
    listed = run(["nvidia-smi", "-L"]).stdout
    return max(1, len(re.findall(r"^GPU \d+", listed, re.M)))


def losses_of(name, expected, flags=()):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        devices = expected.get("devices", 1)
        environment = dict(os.environ, LWCC_DEVICES=",".join(
            str(d % gpu_count()) for d in range(devices)))
        result = run([os.path.join(BUILD, "bin", name),
                      f"--data={ROOT}/data", f"--steps={expected['steps']}",
                      "--no-shuffle", f"--lr={expected['lr']}",
                      f"--momentum={expected['momentum']}",
                      f"--weight-decay={expected['weight_decay']}",
                      f"--seed={expected['seed']}", f"--log={log}", *flags],
                     env=environment)
        if result.returncode:
            say(f"{name}: exit code {result.returncode}\n{result.stdout}")
            return None
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
    return [r["loss"] for r in records if "loss" in r and "lr" in r]


def distance(losses, reference):
    return max((abs(a - b) / max(abs(b), 1e-30) if math.isfinite(a) else math.inf)
               for a, b in zip(losses, reference))


def losses():
    passed = failed = 0
    say("\n| model | first loss | losses | CPU target | PyTorch f32 | same bits | result |")
    say("|---|---|---|---|---|---|---|")
    for path in sorted(glob.glob(os.path.join(ROOT, "expected", "*.json"))):
        name = os.path.basename(path)[:-len(".json")]
        with open(path) as file:
            expected = json.load(file)
        got = losses_of(name, expected)
        bits = [losses_of(name, expected, ["--deterministic"]) for _ in range(2)]
        if not got or len(got) != expected["steps"] or not bits[0]:
            failed += 1
            say(f"| {name} | - | - | - | - | - | **FAIL** |")
            continue
        first = abs(got[0] / expected["double"][0] - 1)
        far = distance(got, expected["double"])
        single = distance(expected["single"], expected["double"])
        cpu = distance(expected["cpu"], expected["double"])
        good = (first <= FIRST_LOSS and far <= FACTOR * single + SLACK
                and bits[0] == bits[1])
        passed, failed = passed + good, failed + (not good)
        say(f"| {name} | {first:.1e} | {far:.1e} | {cpu:.1e} | {single:.1e} | "
            f"{'yes' if bits[0] == bits[1] else 'NO'} | "
            f"{'pass' if good else '**FAIL**'} |")
    return passed, failed


def pytorch_speed(network, shape, batch, channels_last, tf32, steps=30):
    import torch
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    layout = torch.channels_last if channels_last else torch.contiguous_format
    network = network.cuda().to(memory_format=layout)
    images = torch.randn(batch, *shape, device="cuda").to(memory_format=layout)
    labels = torch.zeros(batch, dtype=torch.int64, device="cuda")
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-4, momentum=0.9,
                                weight_decay=5e-4, fused=True)
    torch.cuda.reset_peak_memory_stats()

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(network(images), labels).backward()
        optimizer.step()

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    start = time.time()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    rate = batch * steps / (time.time() - start)
    return rate, torch.cuda.max_memory_reserved() / 1e9


def speed():
    sys.path.insert(0, os.path.join(ROOT, "models"))
    with open(os.path.join(ROOT, "speed.json")) as file:
        entries = json.load(file)
    passed = failed = 0
    say("\n| model | batch | precision | images/s | PyTorch | ratio | PyTorch's memory |")
    say("|---|---|---|---|---|---|---|")
    details = []
    for entry in entries:
        name, batch = entry["program"], entry["batch"]
        result = run([os.path.join(BUILD, "bin", name), "--benchmark=50"])
        details.append(f"{name}\n{result.stdout}")
        rate = re.search(r"([\d.,]+) images/s", result.stdout)
        if result.returncode or not rate:
            failed += 1
            say(f"| {name} | {batch} | - | **FAIL** |\n{result.stdout}")
            continue
        passed += 1
        own = float(rate.group(1).replace(",", ""))
        best, memory = 0.0, 0.0
        try:
            from networks import build as make
            for channels_last in (False, True):
                network, shape = make(entry["network"], "full")
                found = pytorch_speed(network, shape, batch, channels_last,
                                      entry["precision"] == "tf32")
                best, memory = max((best, memory), found)
        except Exception as error:  # no torchvision, too little memory, ...
            say(f"PyTorch cannot run {entry['network']}: {error}")
        say(f"| {name} | {batch} | {entry['precision']} | {own:,.0f} | "
            f"{best:,.0f} | {own / best if best else float('nan'):.2f} | "
            f"{memory:.2f} GB |")
    say("\n" + "\n".join(details))
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=("ops", "losses", "speed"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    build(args.jobs)
    passed = failed = 0
    for name, part in (("ops", ops), ("losses", losses), ("speed", speed)):
        if args.only in (None, name):
            good, bad = part()
            passed, failed = passed + good, failed + bad
    say(f"{passed} passed, {failed} failed")
    with open(os.path.join(ROOT, "results.txt"), "w") as file:
        file.write("\n".join(report) + "\n")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
