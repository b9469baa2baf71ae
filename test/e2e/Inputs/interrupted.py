"""Ends lwcc, or the compiler that it runs, during compilation; checks what is left.

  interrupted.py FOLDER lwcc ...    FOLDER must be empty: it is TMPDIR

Nothing may stay in TMPDIR, no compiler may go on, and the output must not be
there. A signal that ends lwcc is what lwcc's parent sees; if the compiler is
killed, lwcc says so in a few lines and its exit status is 1.
"""

import os
import signal
import subprocess
import sys
import time


def children(parent):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                name, rest = stat.read().rsplit(")", 1)
        except OSError:
            continue
        if rest.split()[1] == str(parent) and rest.split()[0] != "Z":
            found.append((int(pid), name.split("(", 1)[1]))
    return found


def descendants(parent):
    for child in children(parent):
        yield child
        yield from descendants(child[0])


def during_compilation(command, folder, act):
    """Starts the command, calls act(process, compiler's pid) once there is a
    cc1plus; returns the exit status and what was said."""
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": folder},
                               stderr=subprocess.PIPE, text=True)
    compiler = None
    while compiler is None:
        assert process.poll() is None, process.stderr.read()
        compiler = next((pid for pid, name in descendants(process.pid)
                         if name == "cc1plus"), None)
        time.sleep(0.002)
    act(process, compiler)
    text = process.communicate()[1]
    for _ in range(500):  # it may be about to exit
        if not os.path.exists(f"/proc/{compiler}/fd/0"):
            break
        time.sleep(0.01)
    else:
        raise AssertionError("the compiler goes on")
    assert not os.listdir(folder), f"left: {os.listdir(folder)}"
    return process.returncode, text


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # children inherit ignored signals
        status, _ = during_compilation(
            command, folder, lambda process, _: process.send_signal(number))
        assert status == -number, status
    status, text = during_compilation(
        command, folder, lambda _, compiler: os.kill(compiler, signal.SIGKILL))
    errors = text[text.index("lwcc: error"):]
    assert status == 1 and "failed" in errors, (status, text)
    assert len(errors.splitlines()) <= 3, errors
    print(errors)


if __name__ == "__main__":
    main()
