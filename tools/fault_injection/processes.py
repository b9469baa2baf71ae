"""Faults of processes: kills, signals, several trainers on one folder.
"""

import glob
import os
import random
import signal
import subprocess
import threading
import time

from fault_injection.lab import (HANGS, Run, checkpoints, leftovers, read, records,
                                 wait_for)


def kills(lab, args):
    flags = ["--steps=60", "--checkpoint-every=1", "--checkpoint-keep=2"]
    reference = lab.run(*flags, f"--checkpoint-dir={lab.fresh('reference')}",
                        f"--export-onnx={lab.path('reference.onnx')}")
    if not lab.check("the run that nobody kills", reference.code == 0, reference):
        return ""
    final = os.path.join("step-000060", "model.safetensors")
    done = chains = 0
    while done < args.kills:
        folder, out = lab.fresh("killed"), lab.path("killed.onnx")
        chains += 1
        while True:
            before = checkpoints(folder)
            process = lab.start(*flags, f"--checkpoint-dir={folder}",
                                "--resume=auto", f"--export-onnx={out}")
            # Mostly while it saves; some while it starts or ends. A third of a
            # run at most, so that most of them are killed.
            timer = threading.Timer(
                random.uniform(0, reference.seconds / 3) if done < args.kills
                else HANGS, process.kill)
            timer.start()
            run = Run(process, time.monotonic())
            timer.cancel()
            after = checkpoints(folder)
            lab.check(f"kill {done}: the latest checkpoint is not lost",
                      not before or after and after[-1] >= before[-1],
                      f"{before}\n{after}")
            if run.code == -signal.SIGKILL:
                done += 1
                continue
            lab.check(f"kill {done}: what is left can be continued",
                      run.code == 0, run)
            break
        lab.check(f"chain {chains}: the weights are those of a run in one piece",
                  os.path.exists(os.path.join(folder, final)) and
                  read(os.path.join(folder, final)) ==
                  read(lab.path("reference", final)))
        lab.check(f"chain {chains}: so is the exported model",
                  os.path.exists(out) and
                  read(out) == read(lab.path("reference.onnx")))
        lab.check(f"chain {chains}: nothing half is left", not leftovers(folder)
                  and not glob.glob(glob.escape(out) + ".*"),
                  os.listdir(folder) + os.listdir(lab.folder))
    return f"{done} kills in {chains} trainings"


def signals(lab, args):
    size = None
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        for keeps in ((), ("checkpoint",), ("export",), ("checkpoint", "export")):
            folder = lab.fresh("signals")
            flags = [f"--log={folder}/log"]
            if "checkpoint" in keeps:
                flags.append(f"--checkpoint-dir={folder}/ckpt")
            if "export" in keeps:
                flags.append(f"--export-onnx={folder}/out.onnx")
            process = lab.start("--steps=1000000", *flags)
            wait_for(lambda: os.path.exists(f"{folder}/log") and
                     os.path.getsize(f"{folder}/log"), process)
            process.send_signal(number)
            run = Run(process, time.monotonic())
            what = f"{name} with {' and '.join(keeps) or 'nothing'}"
            lab.check(what, run.code == 128 + number and
                      f"stopped by {name} after step" in run.out, run)
            lab.check(f"{what}: said so at the start",
                      ("will not be kept" in run.out) == (not keeps), run)
            if keeps:
                kept = folder + ("/ckpt" if "checkpoint" in keeps
                                 else "/out.onnx.checkpoints")
                found = checkpoints(kept)
                lab.check(f"{what}: can be continued", len(found) == 1 and
                          lab.run(f"--resume={kept}",
                                  f"--steps={found[0][1] + 1}").code == 0, found)
            if "export" in keeps:
                exported = os.path.getsize(f"{folder}/out.onnx") if os.path.exists(
                    f"{folder}/out.onnx") else 0
                size = size or exported
                lab.check(f"{what}: the model is whole",
                          exported and exported == size, exported)
            lab.check(f"{what}: the log is whole", records(f"{folder}/log") > 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        for _ in range(5):
            folder = lab.fresh("signals")
            process = lab.start("--steps=1000000", "--checkpoint-every=1",
                                f"--checkpoint-dir={folder}/ckpt",
                                f"--export-onnx={folder}/out.onnx")
            wait_for(lambda: checkpoints(f"{folder}/ckpt"), process)
            for _ in range(200):
                if process.poll() is not None:
                    break
                process.send_signal(number)
                time.sleep(random.uniform(0.055, 0.06))
            run = Run(process, time.monotonic())
            lab.check(f"signal {number} twice",
                      run.code in (-number, 128 + number), run)
            lab.check(f"signal {number} twice leaves no half files",
                      not leftovers(folder, "ckpt", "out.onnx") and
                      not leftovers(f"{folder}/ckpt"), os.listdir(folder))
    folder = lab.fresh("signals")
    run = lab.run("--steps=20", f"--log={folder}/log",
                  f"--checkpoint-dir={folder}/ckpt",
                  before=["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh"])
    lab.check("without standard streams", run.code == 0, run)
    lab.check("without standard streams no other file is one",
              records(f"{folder}/log") == 20 and
              read(f"{folder}/ckpt/.lock").isdigit(), os.listdir(folder))
    for lines in (0, 1, 12):
        folder = lab.fresh("signals")
        process = lab.start("--steps=1000000", "--log-interval=1",
                            f"--checkpoint-dir={folder}/ckpt",
                            f"--export-onnx={folder}/out.onnx")
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        run = Run(process, time.monotonic())
        what = f"standard output closed after {lines} lines"
        lab.check(what, run.code == 141 and
                  "stopped by a closed standard output" in run.err, run)
        lab.check(f"{what}: checkpoint and model", checkpoints(f"{folder}/ckpt")
                  and os.path.exists(f"{folder}/out.onnx"), os.listdir(folder))
    return ""


def trainers(lab, args):
    folder = lab.fresh("shared")
    first = lab.start("--steps=1000000", f"--checkpoint-dir={folder}",
                      "--checkpoint-every=5", stdout=subprocess.DEVNULL)
    wait_for(lambda: len(checkpoints(folder)) >= 2, first)
    for flags in ([], ["--resume=auto"]):
        run = lab.run("--steps=5", f"--checkpoint-dir={folder}", *flags)
        lab.is_error(f"a second trainer {flags}", run, f"(process {first.pid})")
        lab.check("the message names the folder", folder in run.err, run)
    other = lab.fresh("other")
    run = lab.run("--steps=1", f"--checkpoint-dir={other}",
                  f"--resume={checkpoints(folder)[-1][2]}")
    # The checkpoint may be gone before it is read: then that is said.
    lab.check("a reader of a live folder", run.code == 0 or
              run.code == 1 and "error: " in run.err, run)
    first.send_signal(signal.SIGTERM)
    lab.check("the first one goes on to its end",
              Run(first, time.monotonic()).code == 143)
    for round in range(3):
        folder = lab.fresh("shared")
        crowd = [lab.start("--steps=40", f"--checkpoint-dir={folder}",
                           "--checkpoint-every=1") for _ in range(5)]
        runs = [Run(process, time.monotonic()) for process in crowd]
        lab.check(f"one of five, round {round}",
                  sorted(run.code for run in runs) == [0, 1, 1, 1, 1],
                  "\n".join(map(str, runs)))
        lab.check(f"one line of checkpoints, round {round}",
                  [c[:2] for c in checkpoints(folder)] ==
                  [(38, 38), (39, 39), (40, 40)], checkpoints(folder))
    return ""
