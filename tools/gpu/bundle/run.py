#!/usr/bin/env python3
"""Runs a bundle of tools/gpu-test.sh on a GPU machine.

  python3 run.py [--seconds=350] [--out=DIR] [--build=DIR] [--only=PART,...]

Takes the programs that came along, or builds them (nvcc 13.0, CMake 3.24, make
or ninja, cuDNN and cuBLAS: of the toolkit or of PyTorch's wheels). Then, in this
order, as far as the time goes:
  checks  every runtime operator against plain loops (ops-check-cuda); every
          program's losses, in fp32 and tf32, against recorded ones of PyTorch,
          twice with --deterministic. Programs for several devices share the GPUs
  traces  of some networks, for lwcc profile --trace
  speed   images per second and memory beside PyTorch's on this GPU, in turns
Results are appended to results.txt and results.jsonl in --out ($OUT, or
gpu-results) as they come, beside the traces; nothing is written into the bundle.
The last line is `N passed, M failed`; exit code 1 if any failed or none passed,
77 without a GPU. Speed is reported, not judged.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import build  # noqa: E402
import checks  # noqa: E402
import machine  # noqa: E402
import speed  # noqa: E402
import work  # noqa: E402
from report import Report  # noqa: E402

ROOT = os.path.dirname(os.path.abspath(__file__))
PARTS = ("checks", "traces", "speed")
# Of the time that is left when a part begins: what comes behind it, and is
# worth less, still gets some.
SHARES = {"build": 0.5, "checks": 0.5, "traces": 0.4, "speed": 1.0}
NO_GPU = 77


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=350,
                        help="for everything together")
    parser.add_argument("--out", default=os.environ.get("OUT") or "gpu-results",
                        help="folder for results")
    parser.add_argument("--build", help="folder to unpack and build in, and to "
                        "keep (default: a temporary one)")
    parser.add_argument("--only", type=lambda text: text.split(","),
                        default=PARTS, metavar="PART,...",
                        help=f"of {', '.join(PARTS)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="compilers at a time (default: cores)")
    args = parser.parse_args()
    unknown = [part for part in args.only if part not in PARTS]
    if unknown:
        parser.error(f"--only: there is no part {', '.join(unknown)}")
    return args


def why_no_gpu(programs, seen, budget):
    """"" if there is one: the runtime knows best."""
    if programs.has("ops-check-cuda"):
        result = programs.run("ops-check-cuda", "machine",
                              timeout=min(60, budget.left()))
        if result.code == NO_GPU:
            return result.output.strip().splitlines()[-1]
        return ""
    return "" if seen.gpus else "nvidia-smi shows none"


def processes_at_a_time(seen):
    """Of small networks, each of which may take two gigabytes of a GPU."""
    free = [int(cell.split()[0]) for row in seen.gpus[:1]
            for cell in row.split(", ")[4:5] if cell.split()[0].isdigit()]
    return max(1, min([8, os.cpu_count()] + [mib // 2048 for mib in free]))


def perform(args, report, folder):
    budget = work.Budget(args.seconds)
    report.say(f"== {time.strftime('%Y-%m-%d %H:%M:%S')}, {args.seconds:.0f} s for "
               "all")
    environment = build.environment(ROOT)
    pytorch = speed.PyTorch(ROOT) if "speed" in args.only else None
    seen = machine.look(environment, report)
    programs = build.prepare(ROOT, folder, seen.capability, report,
                             budget.share(SHARES["build"]), args.jobs)
    reason = why_no_gpu(programs, seen, budget)
    if reason:
        report.record("no GPU", reason=reason)
        report.say(f"run.py: no GPU here, nothing was tested: {reason}")
        return NO_GPU
    gpus = max(1, len(seen.gpus))
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        gpus = min(gpus, len(os.environ["CUDA_VISIBLE_DEVICES"].split(",")))
    jobs = processes_at_a_time(seen)

    def begin(part):
        share = budget.share(SHARES[part])
        report.say(f"\n== {part}: {share.left():.0f} of {budget.left():.0f} s")
        return share

    if "checks" in args.only:
        checks.run_checks(ROOT, programs, gpus, report, begin("checks"), jobs)
    if "traces" in args.only:
        speed.run_traces(ROOT, programs, "0", report, begin("traces"))
    if "speed" in args.only:
        share = begin("speed")
        hello = pytorch.hello(min(60, budget.left()))
        report.record("PyTorch", **hello)
        report.say(" ".join(f"{key} {value}" for key, value in hello.items()))
        speed.run_speeds(ROOT, programs, "0", pytorch, report, share)
    report.record("end", passed=report.passed, failed=report.failed,
                  left_out=report.left_out, seconds=args.seconds - budget.left())
    report.say("")
    if report.left_out:
        report.say(f"no time was left for: {', '.join(report.left_out)}")
    report.say(f"{args.seconds - budget.left():.0f} s")
    report.say(f"{report.passed} passed, {report.failed} failed")
    return 1 if report.failed or not report.passed else 0


def main():
    args = parse()

    try:
        report = Report(args.out)
        own = tempfile.tempdir = tempfile.mkdtemp(prefix="lwcc-gpu-")
        folder = args.build or own
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        sys.exit(f"run.py: {error}")

    def clean():
        work.stop_all()
        shutil.rmtree(own, ignore_errors=True)

    def end(number, _):
        report.end(f"run.py: ended by signal {number}; what is above was measured")
        clean()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    try:
        return perform(args, report, folder)
    finally:
        clean()


if __name__ == "__main__":
    sys.exit(main())
