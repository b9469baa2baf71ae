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
import glob
import json
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("LWCC_BUILD", os.path.join(ROOT, "build"))
HANGS = 120  # seconds after which a run of a fraction of a second hangs


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, holds, details=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}\n  " + str(details)[-2000:].replace("\n", "\n  "),
                  flush=True)
        return holds


class Run:
    """A finished trainer."""

    def __init__(self, process, started):
        try:
            self.out, self.err = process.communicate(timeout=HANGS)
            self.hangs = False
        except subprocess.TimeoutExpired:
            process.kill()
            self.out, self.err = process.communicate()
            self.hangs = True
        self.code = process.returncode
        self.seconds = time.monotonic() - started

    def __str__(self):
        return (f"code {self.code}{', hangs' if self.hangs else ''}\n"
                f"{self.out or ''}{self.err or ''}")


class Lab:
    """The trainer, a folder to work in, and how to run the one in the other."""

    def __init__(self, trainer, folder, report):
        self.trainer, self.folder, self.report = trainer, folder, report
        os.chmod(folder, 0o755)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def fresh(self, name):
        shutil.rmtree(self.path(name), ignore_errors=True)
        os.mkdir(self.path(name))
        return self.path(name)

    def command(self, *flags):
        return [self.trainer, "--deterministic", "--threads=1",
                *([] if any(f.startswith("--data") for f in flags)
                  else ["--data=synthetic"]), *flags]

    def start(self, *flags, before=(), **options):
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen([*before, *self.command(*flags)], text=True,
                                errors="replace", stderr=subprocess.PIPE,
                                **options)

    def run(self, *flags, **options):
        started = time.monotonic()
        return Run(self.start(*flags, **options), started)

    def check(self, name, holds, details=""):
        return self.report.check(name, holds, details)

    def is_error(self, name, run, text=""):
        """Exit code 1 and one message; no crash, no hang."""
        return self.check(name, run.code == 1 and not run.hangs and
                          "error: " in run.err and text in run.err, run)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def records(path):
    """How many lines a log has, or -1 if one of them is not whole."""
    try:
        with open(path) as log:
            return len([json.loads(line) for line in log])
    except (OSError, ValueError):
        return -1


def checkpoints(folder):
    """(save, step, path) of the whole ones, in the order of their saves."""
    found = []
    for state in glob.glob(os.path.join(folder, "step-*", "state.json")):
        try:
            with open(state) as file:
                record = json.load(file)
        except FileNotFoundError:  # is being removed
            continue
        found.append((record["save"], record["step"], os.path.dirname(state)))
    return sorted(found)


def wait_for(condition, process):
    end = time.monotonic() + HANGS
    while time.monotonic() < end and process.poll() is None:
        if condition():
            return True
        time.sleep(0.002)
    return bool(condition())


def leftovers(folder, *expected):
    """What lies in a folder besides checkpoints, their lock and `expected`."""
    return [name for name in os.listdir(folder)
            if name not in expected and name != ".lock" and
            not name.startswith("step-")]


# ------------------------------------------------------------------------------


def kills(lab, args):
    flags = ["--steps=60", "--checkpoint-every=1", "--checkpoint-keep=2"]
    reference = lab.run(*flags, f"--checkpoint-dir={lab.fresh('reference')}",
                        f"--export-onnx={lab.path('reference.onnx')}")
    if not lab.check("the run that nobody kills", reference.code == 0, reference):
        return ""
    final = os.path.join("step-000060", "model.safetensors")
    done = chains = 0
    while done < args.kills:
        folder, out = lab.fresh("killed"), lab.path("killed.onnx")
        chains += 1
        while True:
            before = checkpoints(folder)
            process = lab.start(*flags, f"--checkpoint-dir={folder}",
                                "--resume=auto", f"--export-onnx={out}")
            # Mostly while it saves; some while it starts or ends. A third of a
            # run at most, so that most of them are killed.
            timer = threading.Timer(
                random.uniform(0, reference.seconds / 3) if done < args.kills
                else HANGS, process.kill)
            timer.start()
            run = Run(process, time.monotonic())
            timer.cancel()
            after = checkpoints(folder)
            lab.check(f"kill {done}: the latest checkpoint is not lost",
                      not before or after and after[-1] >= before[-1],
                      f"{before}\n{after}")
            if run.code == -signal.SIGKILL:
                done += 1
                continue
            lab.check(f"kill {done}: what is left can be continued",
                      run.code == 0, run)
            break
        lab.check(f"chain {chains}: the weights are those of a run in one piece",
                  os.path.exists(os.path.join(folder, final)) and
                  read(os.path.join(folder, final)) ==
                  read(lab.path("reference", final)))
        lab.check(f"chain {chains}: so is the exported model",
                  os.path.exists(out) and
                  read(out) == read(lab.path("reference.onnx")))
        lab.check(f"chain {chains}: nothing half is left", not leftovers(folder),
                  os.listdir(folder))
    return f"{done} kills in {chains} trainings"


def signals(lab, args):
    size = None
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        for keeps in ((), ("checkpoint",), ("export",), ("checkpoint", "export")):
            folder = lab.fresh("signals")
            flags = [f"--log={folder}/log"]
            if "checkpoint" in keeps:
                flags.append(f"--checkpoint-dir={folder}/ckpt")
            if "export" in keeps:
                flags.append(f"--export-onnx={folder}/out.onnx")
            process = lab.start("--steps=1000000", *flags)
            wait_for(lambda: os.path.exists(f"{folder}/log") and
                     os.path.getsize(f"{folder}/log"), process)
            process.send_signal(number)
            run = Run(process, time.monotonic())
            what = f"{name} with {' and '.join(keeps) or 'nothing'}"
            lab.check(what, run.code == 128 + number and
                      f"stopped by {name} after step" in run.out, run)
            lab.check(f"{what}: said so at the start",
                      ("will not be kept" in run.out) == (not keeps), run)
            if "checkpoint" in keeps:
                found = checkpoints(f"{folder}/ckpt")
                lab.check(f"{what}: can be continued", len(found) == 1 and
                          lab.run(f"--resume={folder}/ckpt",
                                  f"--steps={found[0][1] + 1}").code == 0, found)
            if "export" in keeps:
                exported = os.path.getsize(f"{folder}/out.onnx") if os.path.exists(
                    f"{folder}/out.onnx") else 0
                size = size or exported
                lab.check(f"{what}: the model is whole",
                          exported and exported == size, exported)
            lab.check(f"{what}: the log is whole", records(f"{folder}/log") > 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        for _ in range(5):
            folder = lab.fresh("signals")
            process = lab.start("--steps=1000000", "--checkpoint-every=1",
                                f"--checkpoint-dir={folder}/ckpt",
                                f"--export-onnx={folder}/out.onnx")
            wait_for(lambda: checkpoints(f"{folder}/ckpt"), process)
            for _ in range(200):
                if process.poll() is not None:
                    break
                process.send_signal(number)
                time.sleep(random.uniform(0.055, 0.06))
            run = Run(process, time.monotonic())
            lab.check(f"signal {number} twice",
                      run.code in (-number, 128 + number), run)
            lab.check(f"signal {number} twice leaves no half files",
                      not leftovers(folder, "ckpt", "out.onnx") and
                      not leftovers(f"{folder}/ckpt"), os.listdir(folder))
    folder = lab.fresh("signals")
    run = lab.run("--steps=20", f"--log={folder}/log",
                  f"--checkpoint-dir={folder}/ckpt",
                  before=["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh"])
    lab.check("without standard streams", run.code == 0, run)
    lab.check("without standard streams no other file is one",
              records(f"{folder}/log") == 20 and
              read(f"{folder}/ckpt/.lock").isdigit(), os.listdir(folder))
    for lines in (0, 1, 12):
        folder = lab.fresh("signals")
        process = lab.start("--steps=1000000", "--log-interval=1",
                            f"--checkpoint-dir={folder}/ckpt",
                            f"--export-onnx={folder}/out.onnx")
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        run = Run(process, time.monotonic())
        what = f"standard output closed after {lines} lines"
        lab.check(what, run.code == 141 and
                  "stopped by a closed standard output" in run.err, run)
        lab.check(f"{what}: checkpoint and model", checkpoints(f"{folder}/ckpt")
                  and os.path.exists(f"{folder}/out.onnx"), os.listdir(folder))
    return ""


def trainers(lab, args):
    folder = lab.fresh("shared")
    first = lab.start("--steps=1000000", f"--checkpoint-dir={folder}",
                      "--checkpoint-every=5", stdout=subprocess.DEVNULL)
    wait_for(lambda: len(checkpoints(folder)) >= 2, first)
    for flags in ([], ["--resume=auto"]):
        run = lab.run("--steps=5", f"--checkpoint-dir={folder}", *flags)
        lab.is_error(f"a second trainer {flags}", run, f"(process {first.pid})")
        lab.check("the message names the folder", folder in run.err, run)
    other = lab.fresh("other")
    run = lab.run("--steps=1", f"--checkpoint-dir={other}",
                  f"--resume={checkpoints(folder)[-1][2]}")
    # The checkpoint may be gone before it is read: then that is said.
    lab.check("a reader of a live folder", run.code == 0 or
              run.code == 1 and "error: " in run.err, run)
    first.send_signal(signal.SIGTERM)
    lab.check("the first one goes on to its end",
              Run(first, time.monotonic()).code == 143)
    for round in range(3):
        folder = lab.fresh("shared")
        crowd = [lab.start("--steps=40", f"--checkpoint-dir={folder}",
                           "--checkpoint-every=1") for _ in range(5)]
        runs = [Run(process, time.monotonic()) for process in crowd]
        lab.check(f"one of five, round {round}",
                  sorted(run.code for run in runs) == [0, 1, 1, 1, 1],
                  "\n".join(map(str, runs)))
        lab.check(f"one line of checkpoints, round {round}",
                  [c[:2] for c in checkpoints(folder)] ==
                  [(38, 38), (39, 39), (40, 40)], checkpoints(folder))
    return ""


def disk(lab, args):
    inside = lab.fresh("disk")
    keeper = subprocess.Popen(
        ["unshare", "-m", "--propagation=private", "sh", "-c",
         'mount -t tmpfs -o size="$2" tmpfs "$1" && echo ready && read line',
         "sh", inside, "1300k"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    if keeper.stdout.readline() != "ready\n":
        keeper.communicate()
        return "skipped: no private mounts here"
    try:
        enter = ["nsenter", f"--mount=/proc/{keeper.pid}/ns/mnt"]
        # The same folder, seen from out here.
        seen = f"/proc/{keeper.pid}/root{inside}"

        def run(*flags):
            return lab.run(*flags, before=enter)

        result = run("--steps=5", "--checkpoint-every=1", "--checkpoint-keep=0",
                     f"--checkpoint-dir={inside}/ckpt")
        lab.is_error("a checkpoint", result, "No space left on device")
        lab.check("a checkpoint: the earlier ones are named",
                  "the latest checkpoint is intact: " in result.err, result)
        lab.check("a checkpoint: nothing half is left",
                  not leftovers(f"{seen}/ckpt"), os.listdir(f"{seen}/ckpt"))
        found = checkpoints(f"{seen}/ckpt")
        lab.check("a checkpoint: two fit", [c[1] for c in found] == [1, 2], found)
        result = run("--steps=3", f"--resume={inside}/ckpt")
        lab.check("a checkpoint: can be continued", result.code == 0, result)

        # A single file that is mounted cannot be replaced, only written to.
        for name in ("volume", "mounted"):
            with open(f"{seen}/{name}", "w") as file:
                file.write("old")
        subprocess.run([*enter, "mount", "--bind", f"{inside}/volume",
                        f"{inside}/mounted"], check=True)
        shutil.rmtree(f"{seen}/ckpt")
        result = run("--steps=1", f"--export-onnx={inside}/mounted")
        lab.check("a mounted file", result.code == 0 and
                  os.path.getsize(f"{seen}/volume") > 100_000, result)
        subprocess.run([*enter, "umount", f"{inside}/mounted"], check=True)
        os.unlink(f"{seen}/volume")
        os.unlink(f"{seen}/mounted")

        free = os.statvfs(seen)
        with open(f"{seen}/ballast", "wb") as file:
            file.write(b"x" * (free.f_bavail * free.f_frsize - 4096))
        for flag in ("export-onnx", "trace", "log"):
            for old in (None, b"what was there"):
                path = f"{seen}/{flag}"
                if old:
                    with open(path, "wb") as file:
                        file.write(old)
                result = run("--steps=2000", f"--{flag}={inside}/{flag}")
                what = f"--{flag}{' over a file' if old else ''}"
                lab.is_error(what, result, "No space left on device")
                lab.check(f"{what}: nothing else",
                          not leftovers(seen, "ballast", flag),
                          os.listdir(seen))
                if flag == "log":
                    lab.check(f"{what}: lines are whole", records(path) >= 0)
                else:
                    lab.check(f"{what}: the old file stays, no new one comes",
                              read(path) == old if old
                              else not os.path.exists(path))
                if os.path.exists(path):
                    os.unlink(path)
    finally:
        keeper.communicate("\n")
    return ""


def limits(lab, args):
    def limited(kind, value, *flags, before=()):
        def set_limit():
            resource.setrlimit(kind, (value, value))
        return lab.run(*flags, before=before, preexec_fn=set_limit)

    for value in (0, 100, 4096, 100_000, 300_000):
        folder = lab.fresh("limits")
        for flag in (f"--export-onnx={folder}/model", f"--trace={folder}/trace",
                     f"--log={folder}/log", f"--checkpoint-dir={folder}/ckpt"):
            run = limited(resource.RLIMIT_FSIZE, value, "--steps=2000", flag)
            what = f"files of {value} bytes, {flag.split('=')[0]}"
            if run.code != 0:
                lab.is_error(what, run, "File too large")
        lab.check(f"files of {value} bytes: nothing half is left",
                  not leftovers(folder, "model", "trace", "log", "ckpt") and
                  not (os.path.isdir(f"{folder}/ckpt") and
                       leftovers(f"{folder}/ckpt")), os.listdir(folder))
    outcomes = []
    for megabytes in (*range(20, 200, 20), *range(200, 1000, 100)):
        run = limited(resource.RLIMIT_AS, megabytes << 20, "--steps=2",
                      "--val-data=synthetic")
        outcomes.append(run.code)
        # Below some size not even the loader of libraries starts (127). Where
        # oneDNN has no room for its code it throws through pthread_once, and
        # glibc aborts for want of memory to unwind with.
        lab.check(f"{megabytes} MB of memory", not run.hangs and
                  (run.code in (0, 127) or run.code == 1 and run.err or
                   run.code == -signal.SIGABRT and "libgcc_s" in run.err), run)
    if os.getuid() == 0:
        # Root has no limit of threads; somebody else may not read root's home.
        nobody = ["setpriv", "--reuid=54321", "--clear-groups"]
        program, lab.trainer = lab.trainer, lab.path("trainer")
        libraries = subprocess.run(["ldd", program], stdout=subprocess.PIPE,
                                   text=True).stdout.split()
        for file in [program, *(x for x in libraries if "/libdnnl" in x)]:
            name = os.path.basename(file) if file != program else "trainer"
            shutil.copy(file, lab.path(name))
            os.chmod(lab.path(name), 0o755)
        for threads in range(1, 9):
            run = limited(resource.RLIMIT_NPROC, threads, "--steps=2",
                          "--threads=2", "--workers=3", before=nobody)
            lab.check(f"{threads} threads", not run.hangs and
                      (run.code == 0 or run.code == 1 and run.err), run)
            outcomes.append(run.code)
        lab.trainer = program
    return "exit codes by memory and threads: " + " ".join(map(str, outcomes))


def nodes(lab, args):
    folder = lab.fresh("nodes")
    model = lab.path("plain.onnx")
    lab.check("a plain file", lab.run("--steps=1", f"--export-onnx={model}").code
              == 0)
    flags = ("export-onnx", "trace", "log")
    if os.getuid() == 0:
        null = os.path.join(folder, "null")
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        try:
            os.close(os.open(null, os.O_WRONLY))
        except OSError:
            os.unlink(null)  # mounted without devices
        for flag in flags if os.path.exists(null) else ():
            run = lab.run("--steps=20", f"--{flag}={null}")
            lab.check(f"--{flag} onto a device", run.code == 0, run)
            lab.check(f"--{flag} leaves the device",
                      stat.S_ISCHR(os.lstat(null).st_mode) and
                      os.listdir(folder) == ["null"], os.listdir(folder))
    for flag in flags:
        folder = lab.fresh("nodes")
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        with open(lab.path("read"), "wb") as file:
            reader = subprocess.Popen(["cat", pipe], stdout=file)
        run = lab.run("--steps=20", f"--{flag}={pipe}")
        lab.check(f"--{flag} into a pipe", run.code == 0, run)
        if run.code != 0:
            reader.kill()
        reader.wait()
        text = read(lab.path("read"))
        lab.check(f"--{flag} comes out of the pipe", len(text) > 500 and
                  (flag != "export-onnx" or len(text) == os.path.getsize(model)),
                  text[:100])
        lab.check(f"--{flag} leaves the pipe",
                  stat.S_ISFIFO(os.lstat(pipe).st_mode) and
                  os.listdir(folder) == ["pipe"], os.listdir(folder))
        link, target = os.path.join(folder, "link"), os.path.join(folder, "target")
        for exists in (True, False):
            if os.path.lexists(link):
                os.unlink(link)
            if exists:
                with open(target, "w") as file:
                    file.write("old")
            elif os.path.exists(target):
                os.unlink(target)
            os.symlink("target", link)
            run = lab.run("--steps=20", f"--{flag}={link}")
            lab.check(f"--{flag} through a link", run.code == 0, run)
            lab.check(f"--{flag} keeps the link", os.path.islink(link) and
                      os.path.getsize(target) > 500 and
                      sorted(os.listdir(folder)) == ["link", "pipe", "target"],
                      os.listdir(folder))
    folder = lab.fresh("nodes")
    os.mkdir(f"{folder}/step-000001")
    os.mkfifo(f"{folder}/step-000001/state.json")
    lab.is_error("a pipe as a state file", lab.run(f"--resume={folder}"),
                 "not a regular file")
    for name in ("images.npy", "labels.npy"):
        os.mkfifo(f"{folder}/{name}")
    lab.is_error("pipes as data", lab.run(f"--data={folder}"),
                 "not a regular file")
    return ""


def npy(path, kind, dims, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {dims}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + data)


def data(lab, args):
    folder = lab.fresh("data")
    count = 60_000
    npy(f"{folder}/images.npy", "|u1", (count, 28, 28),
        random.randbytes(28 * 28) * count)
    npy(f"{folder}/labels.npy", "|u1", (count,), bytes(range(10)) * (count // 10))
    process = lab.start("--steps=100000", f"--data={folder}",
                        f"--log={folder}/log")
    wait_for(lambda: os.path.exists(f"{folder}/log") and
             os.path.getsize(f"{folder}/log"), process)
    os.truncate(f"{folder}/images.npy", 5000)
    lab.is_error("images cut short while they are read",
                 Run(process, time.monotonic()), "images.npy: was cut short")
    lab.is_error("images cut short before", lab.run(f"--data={folder}"),
                 "images.npy: cut short")
    return ""


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
