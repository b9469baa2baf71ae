"""Programs with a time limit, and the time that is left for all of them.

Decides how a program is started and stopped, and how much of its output is kept.
run.py decides what is worth its time; the callers judge the output.
"""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time

KEPT = 6000  # characters of a program's output


class Budget:
    """Time until a moment; a share of it ends no later."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def share(self, part):
        return Budget(part * self.left())


class OutOfTime(Exception):
    """The time for all was over before a program had had its own."""


class Result:
    def __init__(self, code, output, seconds, timed_out):
        self.code = code  # below 0: the signal that ended it
        self.output = output
        self.seconds = seconds
        self.timed_out = timed_out

    def notes(self):
        """What a program that succeeds has to say, such as that it runs without
        a graph."""
        return [line for line in self.output.splitlines()
                if re.search(r"\b(note|warning)\b", line)]

    def within(self, longest):
        """Itself. A program that was stopped though it had a right to more time
        is not to blame: nothing is known of it."""
        if self.timed_out and self.seconds < longest:
            raise OutOfTime
        return self

    def trouble(self):
        """Why it is no success, "" if it is one."""
        if self.timed_out:
            return f"still running after {self.seconds:.0f} s, stopped"
        if self.code < 0:
            return f"ended by signal {-self.code}"
        return f"exit code {self.code}" if self.code else ""


_running = set()
_lock = threading.RLock()  # signals may come anywhere
_over = False


def start(command, **options):
    """A process that stop() ends together with those that it starts."""
    with _lock:
        if _over:
            raise RuntimeError("everything has been stopped")
        process = subprocess.Popen(command, start_new_session=True, **options)
        _running.add(process)
    return process


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    with _lock:
        _running.discard(process)


def stop_all():
    """Nothing can be started any more."""
    global _over
    with _lock:
        _over = True
    for process in list(_running):
        stop(process)


def run(command, timeout, env=None, cwd=None):
    """Runs a program to its end or for so many seconds. Its output goes to a
    file: a pipe would be kept open by what outlives the program."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            process = start(command, stdin=subprocess.DEVNULL, stdout=log,
                            stderr=subprocess.STDOUT, env=env, cwd=cwd)
        except OSError as error:
            return Result(127, str(error), 0.0, False)
        timed_out = False
        try:
            process.wait(max(timeout, 0.1))
        except subprocess.TimeoutExpired:
            timed_out = True
        stop(process)
        seconds = time.monotonic() - began
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - KEPT))
        text = log.read().decode(errors="replace")
    return Result(process.returncode, text, seconds, timed_out)
