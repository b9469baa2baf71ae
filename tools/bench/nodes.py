"""What crosses the network between nodes, as lwcc predicts, and programs for many.

  nodes.py [--many]

Two tables, of Inception-v3 under data parallelism:
- on 4 nodes of 4 P100s, batch 1024: the bytes of a step that enter each node,
  and those of the parameters by the formula 2P(N-1)/N; what more there is are
  batch statistics;
- on 16 nodes of 4: seconds of each stage of the lowering, and of the checks
  behind it, of which the last is the proof of the whole program.

--many: LeNet-5 on 8 to 1,024 nodes of a device each, 8 samples a node, under data
parallelism and as a pipeline of four replicated stages: the text of the program, how
much of it are tables, how long lwcc takes, and the predicted step.

Needs lwcc on the PATH and a Python with PyTorch; no GPU.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from models import model_file

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../test/passes/shard"))
from node_bytes import entering  # noqa: E402


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def parameter_bytes(text):
    """The bytes of what is trained, by an imported module's text."""
    total = 0
    for extents in re.findall(r"train\.parameter trainable @\S+ : tensor<([\dx]*)xf32>", text):
        count = 4
        for extent in extents.split("x"):
            count *= int(extent)
        total += count
    return total


LENET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/lenet5.onnx")
PLANS = {"data": ["--strategy=data"],
         "pipeline": ["--strategy=pipeline", "--stages=4", "--micro-batches=4",
                      "--schedule=1f1b"]}


def bytes_of_tables(program):
    """Numbers by device, and the rows that tell the trainer where tensors lie."""
    tables = re.findall(r"^(?:constexpr|const) (?:int64_t|RunTable<\d+>|ShardRow|StateRow|"
                        r"ExportPiece) \w+.*?};\n", program, re.M | re.S)
    return sum(map(len, tables))


def many():
    print("| plan | nodes | text, KB | of it tables | lwcc takes, s | predicted step, ms |\n"
          "|---|---|---|---|---|---|")
    for plan, flags in PLANS.items():
        for nodes in 8, 64, 256, 1024:
            with tempfile.TemporaryDirectory(prefix="nodes-") as folder:
                begin = time.monotonic()
                run("lwcc", LENET, "--target=cpu", f"--batch={8 * nodes}", f"--gpus={nodes}",
                    f"--nodes={nodes}", *flags, "--emit=source", "-o", f"{folder}/out")
                seconds = time.monotonic() - begin
                with open(f"{folder}/out/lenet5.cpp", encoding="utf-8") as file:
                    program = file.read()
            step = re.search(r"predicted +([\d.]+) ms a step", program)[1]
            print(f"| {plan} | {nodes} | {len(program) / 1e3:.0f} "
                  f"| {bytes_of_tables(program) / 1e3:.0f} | {seconds:.1f} | {step} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--many", action="store_true")
    if parser.parse_args().many:
        return many()
    with tempfile.TemporaryDirectory(prefix="nodes-") as folder:
        model = model_file("inception_v3", folder)
        data = ("lwcc", model, "--strategy=data", "--target=cpu", "--stop-after=exec",
                "-o", "/dev/null")
        text = run(*data, "--gpus=16", "--machine=p100-4x4", "--batch=1024", "--explain")
        size = parameter_bytes(run("lwcc", model, "--stop-after=imported", "-o", "-"))
        step = re.search(r"predicted step of this program: ([\d.]+) ms", text)[1]
        print(f"Inception-v3, 4 nodes of 4 P100s, batch 1024: a step of {step} ms\n\n"
              "| node | MB in | 2P(N-1)/N | ratio |\n|---|---|---|---|")
        for node, count in sorted(entering(text).items()):
            least = 2 * size * 3 / 4
            print(f"| {node} | {count / 1e6:.2f} | {least / 1e6:.2f} | {count / least:.4f} |")

        described = json.loads(run("lwcc", "machine", "p100-4x4"))
        described.update(name="p100-16x4", nodes=16)
        with open(f"{folder}/machine.json", "w") as file:
            json.dump(described, file)
        text = run(*data, "--gpus=64", f"--machine={folder}/machine.json", "--batch=4096", "-v")
        print("\nInception-v3, 16 nodes of 4 P100s, batch 4096\n\n"
              "| stage | s | checked in, s |\n|---|---|---|")
        lowered = 0.0
        for stage, seconds, checked in re.findall(
                r"^(\w+) +([\d.]+) s\n  checked +([\d.]+) s$", text, re.M):
            if stage in ("sharded", "scheduled", "exec"):
                print(f"| {stage} | {seconds} | {checked} |")
                lowered += float(seconds)
        print(f"\nlowered in {lowered:.1f} s")


if __name__ == "__main__":
    main()
