"""The programs of a bundle, on this machine: unpacked, or built.

Programs that were built elsewhere are taken if they start here (their cuDNN and
cuBLASLt must have the same major version) and have code for this GPU; else all
are built from source, with ninja or make. If one cannot be built,
the others are still run. Nothing is written into the bundle itself.
"""

import glob
import json
import os
import re
import shutil
import sys
import tarfile

import work

LIBRARIES = ("libcudnn.so", "libcublasLt.so", "libnvrtc.so")


class Programs:
    """Where programs lie, and what they need in their environment."""

    def __init__(self, folder, environment):
        self.folder = folder
        self.environment = environment

    def path(self, name):
        return os.path.join(self.folder, name)

    def has(self, name):
        return os.access(self.path(name), os.X_OK)

    def run(self, name, *flags, timeout, **environment):
        return work.run([self.path(name), *flags], timeout,
                        env=dict(self.environment, **environment))


def library_folders():
    """Those of cuDNN and of the CUDA libraries; PyTorch's own ones first, so
    that both sides of a comparison use the same."""
    candidates = []
    for place in sys.path:
        candidates += glob.glob(os.path.join(place, "nvidia", "*", "lib"))
        candidates.append(os.path.join(place, "torch", "lib"))
    compiler = shutil.which("nvcc")
    if compiler:
        toolkit = os.path.dirname(os.path.dirname(os.path.realpath(compiler)))
        candidates += [os.path.join(toolkit, "lib64")]
    candidates += ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"]
    found = []
    for folder in candidates:
        if folder not in found and any(
                glob.glob(os.path.join(folder, name + ".*")) for name in LIBRARIES):
            found.append(folder)
    return found


def environment(bundle):
    """Where programs find libraries; the bundle has those of UCX, for several ranks."""
    system = "/usr/lib/x86_64-linux-gnu"  # is looked at anyway, behind the rest
    folders = [f for f in library_folders() if f != system]
    given = os.environ.get("LD_LIBRARY_PATH")
    return dict(os.environ, LD_LIBRARY_PATH=":".join(
        folders + ([given] if given else []) + [os.path.join(bundle, "libraries")]))


def unpack(bundle, folder, capability, report, budget):
    """The carried programs, or None with the reason said."""
    archive = os.path.join(bundle, "binaries.tar.xz")
    if not os.path.exists(archive):
        return None
    with open(os.path.join(bundle, "binaries.json")) as file:
        architecture = json.load(file)["architecture"]
    if capability and capability < architecture:
        report.say(f"the carried programs are for sm_{architecture} and newer, "
                   f"this GPU is sm_{capability}: building from source")
        return None
    programs = Programs(os.path.join(folder, "bin"), environment(bundle))
    try:
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(programs.folder)
    except (OSError, EOFError, tarfile.TarError, ImportError) as error:
        report.say(f"binaries.tar.xz cannot be unpacked ({error}): building from "
                   "source")
        return None
    result = programs.run("ops-check-cuda", "--list",
                          timeout=min(60, budget.left()))
    if result.trouble():
        report.say("the carried programs do not start here "
                   f"({result.output.strip() or result.trouble()}): building from "
                   "source")
        return None
    report.say(f"unpacked {len(os.listdir(programs.folder))} programs")
    return programs


def build(bundle, folder, capability, report, budget, jobs):
    """All that can be built within the budget."""
    folder = os.path.join(folder, "build")
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    configure = ["cmake", "-S", bundle, "-B", folder,
                 f"-DLWCC_PYTHON={sys.executable}"]
    configure += (["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja
                  else ["-G", "Unix Makefiles"])
    if capability:
        configure.append(f"-DLWCC_CUDA_ARCHITECTURES={capability}")
    go_on = ["-k", "0"] if ninja else ["-k"]
    programs = Programs(os.path.join(folder, "bin"), environment(bundle))
    for command in (configure, ["cmake", "--build", folder, "-j", str(jobs),
                                "--", *go_on]):
        result = work.run(command, budget.left())
        report.record("build", command=command, seconds=result.seconds,
                      trouble=result.trouble(), output=result.output)
        report.say(f"{' '.join(command[:2])}: {result.seconds:.0f} s"
                   + (f", {result.trouble()}" if result.trouble() else ""))
        if result.trouble():
            errors = [line for line in result.output.splitlines()
                      if re.search(r"error|FAILED|\*\*\*", line, re.I)]
            report.say("\n".join("    " + line for line in
                                 errors[:20] or result.output.splitlines()[-20:]))
            if command is configure:
                break
    return programs


def prepare(bundle, folder, capability, report, budget, jobs):
    return (unpack(bundle, folder, capability, report, budget)
            or build(bundle, folder, capability, report, budget, jobs))
