"""How quick the programs are beside PyTorch, and the traces for lwcc profile.

Speed is reported, not judged: a program that runs has passed. Both sides are
timed in turns, twice, each for SECONDS behind a second of warm-up, as the median
time from the end of one step to the end of the next.
"""

import json
import math
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

import work

SECONDS = 1.0  # that a side is timed for at a time
ROUNDS = 2
LONGEST = 60.0  # seconds of one run of a program, or for an answer
TRACED_STEPS = 20


class PyTorch:
    """pytorch.py, which loads PyTorch while other things are done."""

    def __init__(self, bundle):
        self.command = [sys.executable, os.path.join(bundle, "pytorch.py")]
        self.process = None
        self.versions = None
        self._start()

    def _start(self):
        self.errors = tempfile.TemporaryFile()
        self.process = work.start(self.command, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.errors)
        self._rest = b""

    def _answer(self, timeout):
        """The next line, or {"error": why there is none}."""
        end = time.monotonic() + timeout
        pipe = self.process.stdout.fileno()
        while b"\n" not in self._rest:
            left = max(0.0, end - time.monotonic())
            if not select.select([pipe], [], [], left)[0]:
                return {"error": f"no answer within {timeout:.0f} s"}
            data = os.read(pipe, 65536)
            if not data:
                self.errors.seek(0)
                lines = self.errors.read().decode(errors="replace").splitlines()
                return {"error": "PyTorch's process ended: " +
                        " ".join(lines[-1:])}
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def hello(self, timeout):
        """Versions, or an error; waits until PyTorch is loaded."""
        if self.versions is None:
            self.versions = self._answer(timeout)
        return self.versions

    def ask(self, timeout, **request):
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except OSError as error:
            return {"error": str(error)}
        return self._answer(timeout)

    def close(self):
        """Ends the network's process."""
        try:
            self.process.stdin.write(b'{"close": true}\n')
            self.process.stdin.flush()
        except OSError:
            pass

    def restart(self):
        """After an error: whatever state it is in, it is over."""
        work.stop(self.process)
        self.versions = None
        self._start()

    def end(self):
        work.stop(self.process)


class Failed(Exception):
    pass


def time_program(name, steps, programs, gpu, budget):
    """The benchmark's record; more steps where these take too little time."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log.jsonl")
            result = programs.run(name, f"--benchmark={steps}", f"--log={log}",
                                  timeout=min(LONGEST, budget.left()),
                                  LWCC_DEVICES=gpu).within(LONGEST)
            if result.trouble():
                raise Failed(result.trouble(), result.output)
            with open(log) as lines:
                record = dict([json.loads(line) for line in lines][-1],
                              notes=result.notes())
        if steps * record["median_s"] >= SECONDS or steps >= 1000000:
            return record
        steps = min(1000000, math.ceil(1.15 * SECONDS / record["median_s"]))


def compare(entry, programs, gpu, pytorch, report, budget):
    name, batch = entry["program"], entry["batch"]
    hello = pytorch.hello(min(LONGEST, budget.left()))
    peer = hello if "error" in hello else pytorch.ask(
        min(LONGEST, budget.left()), network=entry["network"], batch=batch,
        precision=entry["precision"])
    steps = 50
    if "error" not in peer:
        steps = max(steps, math.ceil(1.5 * SECONDS / peer["step_s"]))
    own, others, memory = [], [], 0
    for _ in range(ROUNDS):
        record = time_program(name, steps, programs, gpu, budget)
        own.append(record["median_s"])
        memory = record["held_bytes"]
        steps = math.ceil(1.15 * SECONDS / record["median_s"])
        report.record("speed", name=name, side="lwcc", **record)
        if "error" not in peer:
            measured = pytorch.ask(min(LONGEST, budget.left()), measure=SECONDS)
            report.record("speed", name=name, side="PyTorch",
                          layout=peer["layout"], bytes=peer["bytes"], **measured)
            if "error" in measured:
                peer = measured
            else:
                others.append(measured["step_s"])
    speeds = [batch / s for s in own], [batch / s for s in others]
    cells = [" ".join(f"{x:,.0f}" for x in side) or "-" for side in speeds]
    ratio = (f"{statistics.mean(speeds[0]) / statistics.mean(speeds[1]):.2f}"
             if others else "-")
    peer_memory = f"{peer['bytes'] / 1e9:.2f}" if "bytes" in peer else "-"
    report.say(f"| {name} | {cells[0]} | {cells[1]} | {peer.get('layout', '-')} | "
               f"{ratio} | {memory / 1e9:.2f} | {peer_memory} |")
    for note in record["notes"]:
        report.say("    " + note.strip())
    if "error" in peer:
        report.say(f"    PyTorch: {peer['error']}")
        report.record("speed", name=name, side="PyTorch", **peer)
        pytorch.restart()
    else:
        pytorch.close()


def entries_of(bundle):
    with open(os.path.join(bundle, "speed.json")) as file:
        return json.load(file)


def run_speeds(bundle, programs, gpu, pytorch, report, budget):
    report.say("\n| program | images/s | PyTorch | its layout | ratio | GB | "
               "PyTorch's |\n|---|---|---|---|---|---|---|")
    spent = 5 * SECONDS  # that the last one took
    for entry in entries_of(bundle):
        name = entry["program"]
        if not programs.has(name):
            report.fail("speed", name, "was not built")
            continue
        if budget.left() < spent:
            report.omit(f"speed {name}")
            continue
        start = time.monotonic()
        try:
            compare(entry, programs, gpu, pytorch, report, budget)
            report.count(True)
        except Failed as failure:
            report.fail("speed", name, *failure.args)
            pytorch.restart()
        except work.OutOfTime:
            report.omit(f"speed {name}")
            pytorch.restart()
        except Exception as error:  # an answer or a log of another form
            report.fail("speed", name, f"{type(error).__name__}: {error}")
            pytorch.restart()
        spent = time.monotonic() - start


def run_traces(bundle, programs, gpu, report, budget):
    for entry in entries_of(bundle):
        name = entry["program"]
        if not entry.get("trace") or not programs.has(name):
            continue  # that it was not built is said where it is timed
        if budget.left() < 5:
            report.omit(f"trace {name}")
            continue
        path = os.path.join(report.folder, f"{name}.trace.json")
        result = programs.run(name, f"--benchmark={TRACED_STEPS}",
                              f"--trace={path}", LWCC_DEVICES=gpu,
                              timeout=min(LONGEST, budget.left()))
        try:
            result.within(LONGEST)
        except work.OutOfTime:
            report.omit(f"trace {name}")
            continue
        if result.trouble() or not os.path.exists(path):
            report.fail("trace", name, result.trouble() or "wrote no trace",
                        result.output)
            continue
        report.count(True)
        report.record("trace", name=name, file=os.path.basename(path),
                      seconds=result.seconds, output=result.output)
        median = re.search(r"median ([\d.]+) ms", result.output)
        report.say(f"trace {os.path.basename(path)}"
                   + (f", a step {median.group(1)} ms" if median else "")
                   + f": lwcc profile models/{entry['model']} --target=cuda "
                   f"--batch={entry['batch']} --precision={entry['precision']} "
                   f"--trace={os.path.basename(path)} -o costs.json")
