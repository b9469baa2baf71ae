"""Starts the ranks of a trainer as processes of their own, on networks of their own.

Decides how ranks are started, ended and waited for, and where the networks that they
are trained with come from. What is expected of them is decided in ranks.py,
rank_kills.py, rank_inputs.py and tools/bench/ranks.py.
"""

import functools
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "models")
LOST = 75  # the exit code of a rank that another one has left
# Found in the environment of all processes that a script has started.
MARK = "LWCC_RANK_TEST"
SECRET = "nobody guesses it"
TRANSPORTS = {"shm": "posix,sysv,cma,self", "tcp": "tcp,self", "net": "tcp,self"}


class RankError(Exception):
    """Something did not end as it should; the text is for people."""


def run(command, seconds=280, **variables):
    """What the command writes; RankError where it fails or takes too long."""
    try:
        result = subprocess.run(command, text=True, errors="replace", timeout=seconds,
                                env={**os.environ, **variables},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        raise RankError(f"{' '.join(command)}\nnot over after {seconds} s") from None
    if result.returncode:
        raise RankError(f"{' '.join(command)}\nexit code {result.returncode}\n"
                        f"{result.stdout[-3000:]}")
    return result.stdout


#  Networks to train

EXPORT = """
import sys
sys.path[:0] = sys.argv[1:3]
import zoo
zoo.export(*zoo.build_zoo(sys.argv[4]), sys.argv[3], "legacy")
"""


@functools.cache  # a Python with PyTorch starts for each
def model_file(name, folder, size="small"):
    """The file of a network: a path, a name of test/models/make_models.py, or
    zoo:NAME, one of test/parity/zoo.py's with its batch of 8. Made by the Python
    that runs this, in the folder."""
    if name.endswith(".onnx"):
        return os.path.abspath(name)
    if name.startswith("zoo:"):
        path = os.path.join(folder, f"{name[4:]}.zoo.onnx")
        if not os.path.exists(path):
            run([sys.executable, "-c", EXPORT, HERE, MODELS, path, name[4:]])
        return path
    run([sys.executable, os.path.join(MODELS, "make_models.py"), folder, name,
         f"--size={size}", "--exporter=legacy"])
    suffix = "-full" if size == "full" else ""
    return os.path.join(folder, f"{name}{suffix}.legacy.onnx")


def compiled(model, batch, out, *flags, gpus=4, emulation=None):
    """Compiles a trainer; returns its path, and what lwcc has said. With `emulation`
    (a folder where test/cuda-emulation was built) one for emulated GPUs."""
    command = ["lwcc", model, f"--batch={batch}", f"--gpus={gpus}", *flags]
    if not emulation:
        return out, run([*command, "--target=cpu", "-o", out])
    said = run([*command, "--target=cuda", "--emit=source", "-o", f"{out}.source"])
    run([f"{emulation}/bin/emulate", f"{out}.source", out])
    return out, said


#  Networks to speak over

def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Local:
    """All ranks in the network that this process is in."""
    def enter(self, _):
        return []

    def address(self, _=0):
        return f"127.0.0.1:{free_port()}"


class Namespaces:
    """A network namespace for each rank, joined by a bridge in one more; all are gone
    with the context."""
    def __init__(self, count):
        stem = f"lwcc{os.getpid()}"
        self.hub = f"{stem}-hub"
        self.names = [f"{stem}-{rank}" for rank in range(count)]
        self.ports = itertools.count(29500)

    @staticmethod
    def why_not():
        """Why this system makes none, or None."""
        name = f"lwcc{os.getpid()}-try"
        try:
            made = subprocess.run(["ip", "netns", "add", name], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            return f"ip: {error.strerror}"
        if made.returncode:
            return f"ip netns add: {made.stdout.strip()}"
        run(["ip", "netns", "delete", name])
        try:
            with Namespaces(2):
                return None
        except RankError as error:  # no bridge, or no veth
            return str(error)

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of __exit__
        try:
            run(["ip", "netns", "add", self.hub])
            run(["ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge"])
            run(["ip", "-n", self.hub, "link", "set", "bridge", "up"])
            for rank in range(len(self.names)):
                self.join(rank)
        except RankError:
            self.__exit__()
            raise
        return self

    def join(self, rank):
        name, port = self.names[rank], f"port{rank}"
        run(["ip", "netns", "add", name])
        run(["ip", "-n", self.hub, "link", "add", port, "type", "veth",
             "peer", "name", "eth0", "netns", name])
        run(["ip", "-n", self.hub, "link", "set", port, "master", "bridge", "up"])
        run(["ip", "-n", name, "address", "add", f"10.77.0.{rank + 1}/24",
             "dev", "eth0"])
        for device in ("lo", "eth0"):
            run(["ip", "-n", name, "link", "set", device, "up"])

    def __exit__(self, *_):
        for name in (self.hub, *self.names):
            subprocess.run(["ip", "netns", "delete", name],
                           stderr=subprocess.DEVNULL, check=False)

    def enter(self, rank):
        return ["ip", "netns", "exec", self.names[rank]]

    def address(self, rank=0):
        return f"10.77.0.{rank + 1}:{next(self.ports)}"

    def count(self, rank, what):
        """What the kernel has counted so far at the interface of a rank: tx_bytes .."""
        return int(run([*self.enter(rank), "cat",
                        f"/sys/class/net/eth0/statistics/{what}"]))

    def limit(self, rate):
        """Each rank sends through a token bucket of this rate, as "1gbit"."""
        for rank in range(len(self.names)):
            run([*self.enter(rank), "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf",
                 "rate", rate, "burst", "256kb", "latency", "100ms"])


#  Ranks

class Ranks:
    """The processes of one training. What each writes is kept; all are gone with the
    context, and those that stand still, too."""
    def __init__(self, command, count, network=None, transport=None, start=True,
                 **variables):
        """`command` is the program and its flags; rank 0 alone writes the files that
        they name. `variables` are for the environment of all ranks."""
        self.command, self.network = command, network or Local()
        self.mark = uuid.uuid4().hex
        self.folder = tempfile.mkdtemp(prefix="lwcc-ranks-")
        self.variables = {
            "LWCC_RANKS": str(count), "LWCC_ADDRESS": self.network.address(),
            "LWCC_SECRET": SECRET, MARK: self.mark, **variables}
        if transport:
            self.variables["UCX_TLS"] = TRANSPORTS[transport]
        self.processes = {}
        for rank in range(count if start else 0):
            self.start(rank)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder)

    def start(self, rank, name=None, command=None, **variables):
        """Starts a rank; a variable of None is taken out of its environment."""
        name = rank if name is None else name
        environment = {k: v for k, v in {
            **os.environ, **self.variables, "LWCC_RANK": str(rank), **variables}.items()
            if v is not None}
        with open(self.path(name, "out"), "w") as out, \
                open(self.path(name, "error"), "w") as error:
            self.processes[name] = subprocess.Popen(
                [*self.network.enter(rank), *(command or self.command)], env=environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=error)
        return self.processes[name]

    def path(self, name, what):
        return os.path.join(self.folder, f"{name}.{what}")

    def said(self, name, what="error"):
        with open(self.path(name, what), errors="replace") as file:
            return file.read()

    def wait(self, seconds, but=()):
        """The exit codes of the ranks, by name, without those in `but`; None for those
        that still run after so long."""
        until = time.monotonic() + seconds
        waited = {name: each for name, each in self.processes.items() if name not in but}
        while (time.monotonic() < until
               and any(each.poll() is None for each in waited.values())):
            time.sleep(0.005)
        return {name: each.poll() for name, each in waited.items()}

    def left(self):
        """Processes with this team's mark that still run, or stand still."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if self.mark.encode() in file.read():
                        found.append(int(pid))
            except OSError:
                continue  # gone meanwhile
        return found

    def everything(self):
        """What all have written, for people."""
        return "\n".join(f"--- {name}\n{self.said(name, 'out')[-1500:]}"
                         f"{self.said(name)[-1500:]}" for name in self.processes)

    def finish(self, seconds=200):
        """Waits until all have ended well; RankError otherwise."""
        codes = self.wait(seconds)
        if any(codes.values()) or None in codes.values():
            raise RankError(f"exit codes {codes}\n{' '.join(self.command)}\n"
                            f"{self.everything()}")


def train(command, ranks=1, network=None, transport=None, seconds=200, **variables):
    """Runs a training in so many ranks until it has ended well."""
    if ranks == 1:
        run(command, seconds, **variables)
        return
    with Ranks(command, ranks, network, transport, **variables) as team:
        team.finish(seconds)


def records_of(log):
    with open(log) as lines:
        return [json.loads(line) for line in lines]


def losses_of(log):
    """Losses of a log of steps, by step."""
    return {r["step"]: r["loss"] for r in records_of(log) if "loss" in r and "lr" in r}


def table(columns, rows):
    """As Markdown."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (columns, *rows)]
    return "\n".join([lines[0], "|---" * len(columns) + "|", *lines[1:]])
