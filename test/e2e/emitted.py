"""Compiles every model's emitted program, and compares it with lwcc-run.

  emitted.py MODEL.onnx ... --work=DIR --data=DIR      train a few steps on the
                                                       CPU, same losses?
  emitted.py MODEL.onnx ... --work=DIR --target=cuda   compile and link only
                            [--in-turn=FLAGS ...]      the models take turns with these

The losses must be those of lwcc-run to 1e-6: both make the same library calls, but
elementwise kernels are interpreted there and compiled here.
With --emit=source the program is built from the folder of sources, by the one
cmake command that the folder's CMakeLists.txt gives. Prints a line per model
and a last line `N passed, M failed`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor


class Failed(Exception):
    pass


def run(*command, cwd=None):
    result = subprocess.run(command, text=True, errors="replace", cwd=cwd,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise Failed(f"{' '.join(command)}\nexit code {result.returncode}\n"
                     + result.stdout[-4000:])
    return result.stdout


def losses(command, args, log):
    run(*command, f"--data={args.data}", f"--steps={args.steps}", "--no-shuffle",
        "--lr=0.001", "--seed=5", "--deterministic", f"--log={log}")
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    return [r["loss"] for r in records if "loss" in r]


def build(model, folder, args):
    """Compiles the model; returns the trainer's path."""
    flags = [model, f"--target={args.target}", f"--batch={args.batch}",
             *args.compile, *args.in_turn[args.models.index(model) % len(args.in_turn)]]
    if args.emit == "binary":
        run("lwcc", *flags, "-o", f"{folder}/trainer")
        return f"{folder}/trainer"
    run("lwcc", *flags, "--emit=source", "-o", f"{folder}/source")
    run("cmake", "--workflow", "--preset", "trainer", cwd=f"{folder}/source")
    programs = [entry.path for entry in os.scandir(f"{folder}/source/build")
                if entry.is_file() and os.access(entry.path, os.X_OK)]
    if len(programs) != 1:
        raise Failed(f"expected one program, found {programs}")
    return programs[0]


def check_cpu(model, folder, args):
    emitted = losses([build(model, folder, args)], args, f"{folder}/emitted.jsonl")
    direct = losses(["lwcc-run", model, f"--batch={args.batch}", *args.compile,
                     "--"], args, f"{folder}/direct.jsonl")
    if len(emitted) != args.steps or len(direct) != args.steps:
        raise Failed(f"{len(emitted)} and {len(direct)} losses, not {args.steps}")
    distance = max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(emitted, direct))
    if not distance <= 1e-6:
        raise Failed(f"losses differ by {distance:.1e}:\n"
                     f"  emitted  {emitted}\n  lwcc-run {direct}")
    return "bit-equal" if distance == 0 else f"within {distance:.0e}"


def check_cuda(model, folder, args):
    trainer = build(model, folder, args)
    size = os.path.getsize(trainer)
    run(trainer, "--info")
    return f"links ({size / 1e6:.0f} MB), describes itself"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--work", required=True, help="folder for what is built")
    parser.add_argument("--data", help="folder of images.npy")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--emit", choices=("binary", "source"),
                        default="binary")
    parser.add_argument("--compile", type=str.split, default=[],
                        help="more flags for the compiler: --gpus=4 ...")
    parser.add_argument("--in-turn", type=str.split, action="append", metavar="FLAGS",
                        help="more flags for the compiler, of every Nth model only, where "
                        "it is given N times: --in-turn= --in-turn=--arch=sm_90 ...")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="models at a time")
    args = parser.parse_args()
    args.in_turn = args.in_turn or [[]]
    if args.target == "cpu" and not args.data:
        parser.error("--target=cpu needs --data")
    check = check_cpu if args.target == "cpu" else check_cuda

    def judge(model):
        """Whether it passed, and a line that says so."""
        name = os.path.basename(model)[:-len(".onnx")]
        folder = os.path.join(args.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        start = time.time()
        try:
            verdict = check(model, folder, args)
        except Failed as error:
            return False, f"FAIL {name}: {error}"
        shutil.rmtree(folder)
        return True, f"ok   {name}: {verdict} ({time.time() - start:.0f} s)"

    failed = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for good, line in pool.map(judge, args.models):
            failed += not good
            print(line, flush=True)
    print(f"{len(args.models) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
