#!/usr/bin/env python3
"""Checks the names in the Python code: that each is defined, also in the module of ours
that it is taken from, that calls pass what functions take, and that nothing is imported
or unpacked for nothing.

  tools/style_python.py

A check is a folder: the modules that a script finds are those beside it and those of
SHARED, and some have the same name. How the code is laid out is not looked at. The last
line is `N passed, M failed`.
"""
import concurrent.futures
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = ("test/parity", "test/models", "tools/bench", "examples")
MESSAGES = ("undefined-variable", "used-before-assignment", "no-member", "no-name-in-module",
            "no-value-for-parameter", "unexpected-keyword-arg", "redundant-keyword-arg",
            "unused-import", "unused-variable", "syntax-error")
# What lit gives to its configuration, and libraries that define names when they run.
BUILTINS = "config,lit_config"
LIBRARIES = "torch,torchvision,onnx,onnxruntime,numpy,scipy"


def folders():
    """The files of each folder, as paths below the root."""
    found = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard",
                            "*.py"], stdout=subprocess.PIPE, text=True)
    paths = found.stdout.split("\n")[:-1] if found.returncode == 0 else []
    if not paths:  # an archive
        for folder, below, names in os.walk(ROOT):
            below[:] = [each for each in below if not each.startswith(("build", "."))]
            paths += [os.path.relpath(os.path.join(folder, name), ROOT)
                      for name in names if name.endswith(".py")]
    result = {}
    for path in sorted(set(paths)):
        if os.path.exists(os.path.join(ROOT, path)):
            result.setdefault(os.path.dirname(path), []).append(path)
    return result


def check(folder, paths):
    """What pylint says of a folder's files, "" if nothing."""
    places = [folder, *(each for each in SHARED if each != folder)]
    result = subprocess.run(
        ["pylint", "--rcfile=/dev/null", "--score=n", "--disable=all",
         "--enable=" + ",".join(MESSAGES), f"--additional-builtins={BUILTINS}",
         f"--ignored-modules={LIBRARIES}", "--msg-template={path}:{line}: {msg} ({symbol})",
         f"--init-hook=import sys; sys.path[:0] = {places}", *paths],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode == 0:
        return ""
    lines = [line for line in result.stdout.split("\n") if line and line[0] != "*"]
    return "\n".join(lines) or result.stderr.strip()


def main():
    jobs = folders()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = list(pool.map(check, jobs, jobs.values()))
    complaints = [each for each in found if each]
    print("\n".join(complaints), end="\n" if complaints else "")
    print(f"{len(found) - len(complaints)} passed, {len(complaints)} failed")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
