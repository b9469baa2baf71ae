"""What the GPU machine is: driver, GPU, clocks, and versions of libraries."""

import os
import re
import shutil
import sys

import work

QUERY = ("name,driver_version,compute_cap,memory.total,memory.free,pstate,"
         "clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,"
         "temperature.gpu")
# In a process of its own: the libraries of a broken installation may crash.
VERSIONS = """
import ctypes
for name, function in (("libcudnn.so.9", "cudnnGetVersion"),
                       ("libcublasLt.so.13", "cublasLtGetVersion")):
    try:
        call = getattr(ctypes.CDLL(name), function)
        call.restype = ctypes.c_size_t
        print(f"{name} {call()}", flush=True)
    except Exception as error:
        print(f"{name}: {error}", flush=True)
"""


class Machine:
    def __init__(self, gpus, capability):
        self.gpus = gpus  # rows of nvidia-smi; it may be absent where a GPU is
        self.capability = capability  # 90 for an H100; None if not known


def look(environment, report):
    """One look at everything; says and records it."""
    rows, capability = [], None
    if shutil.which("nvidia-smi"):
        result = work.run(["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv"],
                          20)
        lines = result.output.strip().splitlines()
        if not result.trouble():
            rows = lines[1:]
            cells = rows[0].split(", ") if rows else []
            found = re.fullmatch(r"(\d+)\.(\d)", "".join(cells[2:3]))
            capability = int("".join(found.groups())) if found else None
        report.say("\n".join(lines))
        report.record("nvidia-smi", output=result.output, trouble=result.trouble())
    else:
        report.say("nvidia-smi was not found")
    for command in (["nvcc", "--version"], [sys.executable, "-c", VERSIONS]):
        if not shutil.which(command[0]):
            report.say(f"{command[0]} was not found")
            continue
        result = work.run(command, 20, env=environment)
        lines = result.output.strip().splitlines()
        report.record("versions", command=command[0], output=result.output)
        report.say("\n".join(line for line in lines
                             if command[0] != "nvcc" or "release" in line))
    report.say(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPU cores")
    return Machine(rows, capability)
