"""Faults of files: outputs that are devices, pipes or links, and a data file
that is cut short while a trainer reads it.
"""

import os
import random
import stat
import struct
import subprocess
import time

from fault_injection.lab import Run, read, wait_for


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
