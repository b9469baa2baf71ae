#!/usr/bin/env python3
"""Fault injection: what a trainer leaves behind when the world is unkind to it.

  tools/faults.py [--kills=N] [--only=PART,...] [--seed=S] [--trainer=PROGRAM]

Compiles LeNet-5 for the CPU (lwcc of $LWCC_BUILD, default build/) and runs it
on synthetic data, in a temporary folder:

  kills     SIGKILL at random times while checkpoints are written (N of them,
            20 by default; 200 take some minutes); --resume=auto goes on, and
            the final weights are those of a run that nobody killed, bit for bit
  signals   SIGINT, SIGTERM, SIGHUP, twice; standard output closed later or before
  trainers  several of them on one folder of checkpoints
  disk      a full one: a small tmpfs in a private mount, and a file that is
            mounted by itself (root only)
  limits    of file sizes, memory and threads (threads: root only, as nobody)
  nodes     devices (root only), pipes and links as outputs and inputs
  data      a data file that is cut short while it is read

Prints a line for each failure, one for each part, and `N passed, M failed`.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from fault_injection.files import data, nodes
from fault_injection.lab import Lab, Report
from fault_injection.processes import kills, signals, trainers
from fault_injection.system import disk, limits

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("LWCC_BUILD", os.path.join(ROOT, "build"))
PARTS = (kills, signals, trainers, disk, limits, nodes, data)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--trainer", help="instead of compiling one")
    args = parser.parse_args()
    names = [part.__name__ for part in PARTS]
    chosen = args.only.split(",") if args.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"no part {name}; there are {', '.join(names)}")
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup, for one
    random.seed(args.seed)
    print(f"seed {args.seed}", flush=True)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="lwcc-faults-") as folder:
        trainer = args.trainer and os.path.abspath(args.trainer)
        if not trainer:
            trainer = os.path.join(folder, "lenet5")
            subprocess.run([os.path.join(BUILD, "bin", "lwcc"),
                            os.path.join(ROOT, "examples", "lenet5.onnx"),
                            "--target=cpu", "--batch=32", "-o", trainer],
                           check=True)
        lab = Lab(trainer, folder, report)
        for part in PARTS:
            if part.__name__ not in chosen:
                continue
            before, started = report.passed + report.failed, time.monotonic()
            remark = part(lab, args)
            print(f"{part.__name__:9} {report.passed + report.failed - before:5} "
                  f"checks {time.monotonic() - started:6.0f} s"
                  + (f"  ({remark})" if remark else ""), flush=True)
    print(f"{report.passed} passed, {report.failed} failed")
    sys.exit(report.failed > 0)


if __name__ == "__main__":
    main()
