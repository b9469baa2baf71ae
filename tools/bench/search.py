"""Searches with more time against `auto`: search.py.

  search.py [MODEL:BATCH ...] [--on=MACHINE:GPUS ...] [--seconds=60] [--within=1.01]
  (default: alexnet:256 vgg16:128 resnet50:128 inception_v3:128 shufflenet:128
  densenet121:128 dag1:64 dag2:64, on h200x8:4 h200x8:7 p100-4x4:16 k80-16x4:64)

MODEL is a file, a name that test/models/make_models.py knows, or dagN, a random
network of convolutions. Plans each by `auto` with its ten seconds; then by two
searches that have no code in common, `descent` and `mcmc`, one seed after the other
until each has had --seconds. Prints the predicted steps of what they found, the
program's where `auto` decides by programs (docs/plans.md), and how many times as
fast as auto's the best of them is. With --within it exits with 1 if that is more.
Nothing is run, so that any machine will do. Needs lwcc on the PATH, and for models
by name a Python with PyTorch.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

from models import model_file

MODELS = ["alexnet:256", "vgg16:128", "resnet50:128", "inception_v3:128",
          "shufflenet:128", "densenet121:128", "dag1:64", "dag2:64"]
MACHINES = ["h200x8:4", "h200x8:7", "p100-4x4:16", "k80-16x4:64"]


def random_dag(seed, path):
    """Convolutions that read sums of some earlier results; images of 32x32."""
    rng = random.Random(seed)
    channels, nodes, weights = 64, [], []

    def weight(*shape):
        weights.append(onnx.numpy_helper.from_array(
            np.full(shape, 0.01, np.float32), f"w{len(weights)}"))
        return weights[-1].name

    def node(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, list(inputs), [f"t{len(nodes)}"],
                                      name=f"{op}{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def conv(x, size):
        return node("Relu", node("Conv", x, weight(channels, channels, size, size),
                                 kernel_shape=[size, size], pads=[size // 2] * 4))

    x = node("Conv", "x", weight(channels, 3, 3, 3), kernel_shape=[3, 3], pads=[1] * 4)
    made = [x]
    for _ in range(rng.randrange(16, 32)):
        read = rng.sample(made[-5:], min(len(made), rng.randrange(1, 4)))
        total = read[0]
        for other in read[1:]:
            total = node("Add", total, other)
        made.append(conv(total, rng.choice([1, 3, 5])))
    read = {name for each in nodes for name in each.input}
    total = made[-1]
    for other in made[:-1]:
        if other not in read:
            total = node("Add", total, other)
    pooled = node("Flatten", node("GlobalAveragePool", total))
    node("Gemm", pooled, weight(1000, channels), transB=1)
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes, "dag",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 1000])],
        weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)
    return path


def plan(model, batch, machine, gpus, strategy, seconds, seed=0):
    """(predicted step in ms, plan's name)"""
    text = subprocess.run(
        ["lwcc", "plan", model, "--target=cuda", f"--batch={batch}", f"--gpus={gpus}",
         f"--machine={machine}", f"--strategy={strategy}",
         f"--search-seconds={seconds}", f"--search-seed={seed}"],
        check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    row = re.search(r"^  \S+ \* +([\d.]+) ", text, re.M)
    return float(row[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", metavar="MODEL:BATCH", default=MODELS)
    parser.add_argument("--on", nargs="*", metavar="MACHINE:GPUS", default=MACHINES)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--within", type=float)
    args = parser.parse_args()
    print("| model | batch | machine | devices | auto, ms | descent | mcmc | best, "
          "times as fast |\n" + "|---" * 8 + "|")
    beyond = 0
    for item in args.what:
        name, batch = item.rsplit(":", 1)
        with tempfile.TemporaryDirectory() as folder:
            dag = re.fullmatch(r"dag(\d+)", name)
            model = (random_dag(int(dag[1]), os.path.join(folder, "dag.onnx")) if dag
                     else model_file(name, folder))
            for where in args.on:
                machine, gpus = where.rsplit(":", 1)
                setting = (model, batch, machine, gpus)
                auto = plan(*setting, "auto", 10)
                steps = []
                for strategy in ("descent", "mcmc"):
                    found, seed, until = [], 0, time.monotonic() + args.seconds
                    while not found or time.monotonic() < until:
                        found.append(plan(*setting, strategy,
                                          max(1, until - time.monotonic()), seed))
                        seed += 1
                    steps.append(min(found))
                ratio = auto / min(steps)
                beyond += args.within is not None and ratio > args.within
                print(f"| {name} | {batch} | {machine} | {gpus} | {auto:.3f} | "
                      f"{steps[0]:.3f} | {steps[1]:.3f} | {ratio:.3f} |", flush=True)
    if args.within:
        print(f"\n{beyond} beyond {args.within}")
    return beyond > 0


if __name__ == "__main__":
    sys.exit(main())
