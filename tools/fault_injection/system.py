"""Faults of the system: a full disk, limits of sizes, memory and threads.
"""

import os
import resource
import shutil
import signal
import subprocess

from fault_injection.lab import checkpoints, leftovers, read, records


def disk(lab, args):
    inside = lab.fresh("disk")
    keeper = subprocess.Popen(
        ["unshare", "-m", "--propagation=private", "sh", "-c",
         'mount -t tmpfs -o size="$2" tmpfs "$1" && echo ready && read line',
         "sh", inside, "1300k"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    if keeper.stdout.readline() != "ready\n":
        keeper.communicate()
        return "skipped: no private mounts here"
    try:
        enter = ["nsenter", f"--mount=/proc/{keeper.pid}/ns/mnt"]
        # The same folder, seen from out here.
        seen = f"/proc/{keeper.pid}/root{inside}"

        def run(*flags):
            return lab.run(*flags, before=enter)

        result = run("--steps=5", "--checkpoint-every=1", "--checkpoint-keep=0",
                     f"--checkpoint-dir={inside}/ckpt")
        lab.is_error("a checkpoint", result, "No space left on device")
        lab.check("a checkpoint: the earlier ones are named",
                  "the latest checkpoint is intact: " in result.err, result)
        lab.check("a checkpoint: nothing half is left",
                  not leftovers(f"{seen}/ckpt"), os.listdir(f"{seen}/ckpt"))
        found = checkpoints(f"{seen}/ckpt")
        lab.check("a checkpoint: two fit", [c[1] for c in found] == [1, 2], found)
        result = run("--steps=3", f"--resume={inside}/ckpt")
        lab.check("a checkpoint: can be continued", result.code == 0, result)

        # A single file that is mounted cannot be replaced, only written to.
        for name in ("volume", "mounted"):
            with open(f"{seen}/{name}", "w") as file:
                file.write("old")
        subprocess.run([*enter, "mount", "--bind", f"{inside}/volume",
                        f"{inside}/mounted"], check=True)
        shutil.rmtree(f"{seen}/ckpt")
        result = run("--steps=1", f"--export-onnx={inside}/mounted")
        lab.check("a mounted file", result.code == 0 and
                  os.path.getsize(f"{seen}/volume") > 100_000, result)
        subprocess.run([*enter, "umount", f"{inside}/mounted"], check=True)
        os.unlink(f"{seen}/volume")
        os.unlink(f"{seen}/mounted")

        free = os.statvfs(seen)
        with open(f"{seen}/ballast", "wb") as file:
            file.write(b"x" * (free.f_bavail * free.f_frsize - 4096))
        for flag in ("export-onnx", "trace", "log"):
            for old in (None, b"what was there"):
                path = f"{seen}/{flag}"
                if old:
                    with open(path, "wb") as file:
                        file.write(old)
                result = run("--steps=2000", f"--{flag}={inside}/{flag}")
                what = f"--{flag}{' over a file' if old else ''}"
                lab.is_error(what, result, "No space left on device")
                lab.check(f"{what}: nothing else",
                          not leftovers(seen, "ballast", flag),
                          os.listdir(seen))
                if flag == "log":
                    lab.check(f"{what}: lines are whole", records(path) >= 0)
                else:
                    lab.check(f"{what}: the old file stays, no new one comes",
                              read(path) == old if old
                              else not os.path.exists(path))
                if os.path.exists(path):
                    os.unlink(path)
    finally:
        keeper.communicate("\n")
    return ""


def limits(lab, args):
    def limited(kind, value, *flags, before=()):
        def set_limit():
            resource.setrlimit(kind, (value, value))
        return lab.run(*flags, before=before, preexec_fn=set_limit)

    for value in (0, 100, 4096, 100_000, 300_000):
        folder = lab.fresh("limits")
        for flag in (f"--export-onnx={folder}/model", f"--trace={folder}/trace",
                     f"--log={folder}/log", f"--checkpoint-dir={folder}/ckpt"):
            run = limited(resource.RLIMIT_FSIZE, value, "--steps=2000", flag)
            what = f"files of {value} bytes, {flag.split('=')[0]}"
            if run.code != 0:
                lab.is_error(what, run, "File too large")
        lab.check(f"files of {value} bytes: nothing half is left",
                  not leftovers(folder, "model", "trace", "log", "ckpt") and
                  not (os.path.isdir(f"{folder}/ckpt") and
                       leftovers(f"{folder}/ckpt")), os.listdir(folder))
    outcomes = []
    for megabytes in (*range(20, 200, 20), *range(200, 1000, 100)):
        run = limited(resource.RLIMIT_AS, megabytes << 20, "--steps=2",
                      "--val-data=synthetic")
        outcomes.append(run.code)
        # Below some size not even the loader of libraries starts (127). Where
        # oneDNN has no room for its code it throws through pthread_once, and
        # glibc aborts for want of memory to unwind with.
        lab.check(f"{megabytes} MB of memory", not run.hangs and
                  (run.code in (0, 127) or run.code == 1 and run.err or
                   run.code == -signal.SIGABRT and "libgcc_s" in run.err), run)
    if os.getuid() == 0:
        # Root has no limit of threads; somebody else may not read root's home.
        nobody = ["setpriv", "--reuid=54321", "--clear-groups"]
        program, lab.trainer = lab.trainer, lab.path("trainer")
        libraries = subprocess.run(["ldd", program], stdout=subprocess.PIPE,
                                   text=True).stdout.split()
        for file in [program, *(x for x in libraries if "/libdnnl" in x)]:
            name = os.path.basename(file) if file != program else "trainer"
            shutil.copy(file, lab.path(name))
            os.chmod(lab.path(name), 0o755)
        for threads in range(1, 9):
            run = limited(resource.RLIMIT_NPROC, threads, "--steps=2",
                          "--threads=2", "--workers=3", before=nobody)
            lab.check(f"{threads} threads", not run.hangs and
                      (run.code == 0 or run.code == 1 and run.err), run)
            outcomes.append(run.code)
        lab.trainer = program
    return "exit codes by memory and threads: " + " ".join(map(str, outcomes))
