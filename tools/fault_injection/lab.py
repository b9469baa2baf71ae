"""Runs trainers that are to be disturbed, and reports how they took it.
"""

import glob
import json
import os
import shutil
import subprocess
import time

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
