"""What was found, written down as soon as it is known.

results.txt is for people, results.jsonl has everything, one record a line. Both
are appended to and forced to the disk line by line, so that whatever ends the
run, all that was measured until then is there.
"""

import json
import math
import os
import threading
import time


def plain(value):
    """The same as JSON can hold it, which has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


class Report:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.passed = self.failed = 0
        self.left_out = []
        self._lock = threading.RLock()  # signals may come anywhere
        self._over = False
        self._began = time.monotonic()
        self._text = open(os.path.join(folder, "results.txt"), "a")
        self._records = open(os.path.join(folder, "results.jsonl"), "a")

    @staticmethod
    def _append(file, line):
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())

    def say(self, text):
        with self._lock:
            if self._over:
                return
            self._append(self._text, text)
            try:
                print(text, flush=True)
            except OSError:
                # Nobody reads it any more; the file has it. What is left in the
                # buffer must not fail again when Python ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def end(self, why):
        """The last line: what is still reported is the end's doing."""
        with self._lock:
            self.say(why)
            self._over = True

    def record(self, part, **fields):
        entry = dict(part=part, at_s=round(time.monotonic() - self._began, 1),
                     **fields)
        with self._lock:
            if not self._over:
                self._append(self._records, json.dumps(plain(entry)))

    def count(self, good, times=1):
        """Adds to the counts of the last line."""
        with self._lock:
            self.passed += times if good else 0
            self.failed += 0 if good else times

    def omit(self, what):
        """Says what there was no time for."""
        with self._lock:
            self.left_out.append(what)
        self.record("left out", name=what)

    def fail(self, part, name, why, output=""):
        """A check that could not be made."""
        self.count(False)
        self.record(part, name=name, good=False, error=why, output=output)
        self.say("\n".join([f"**FAIL** {name}: {why}"]
                           + ["    " + line for line in
                              output.strip().splitlines()[-12:]]))
