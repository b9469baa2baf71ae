"""Epochs whose last batch is not full against PyTorch: last_batch.py FOLDER.

Three epochs of 22 samples in batches of 6, of class labels and of numbers, on one
device, on several, in micro-batches, and continued from a checkpoint within an epoch.
Losses and weights are those of a DataLoader that drops nothing.
"""

import json
import os
import subprocess
import sys

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save
from safetensors.numpy import load_file

INPUTS, WIDTH, OUTPUTS, BATCH, SAMPLES, EPOCHS = 5, 8, 3, 6, 22, 3
PLANS = [[], ["--gpus=3", "--strategy=data"], ["--gpus=2", "--strategy=model"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=2", "--stages=2"]]


def weights():
    random = np.random.RandomState(2)
    shapes = {"w1": (WIDTH, INPUTS), "b1": (WIDTH,), "w2": (OUTPUTS, WIDTH),
              "b2": (OUTPUTS,)}
    return {name: random.uniform(-0.7, 0.7, shape).astype(np.float32)
            for name, shape in shapes.items()}


def write_model(path):
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], "a", transB=1),
             helper.make_node("Relu", ["a"], ["r"], "r"),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], "y", transB=1)]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", OUTPUTS])],
        [numpy_helper.from_array(w, name) for name, w in weights().items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), path)


def expected(loss, x, y):
    w = {name: torch.from_numpy(a).double().requires_grad_()
         for name, a in weights().items()}
    optimizer = torch.optim.SGD(w.values(), 0.05, 0.9, weight_decay=1e-3)
    losses = []
    for _ in range(EPOCHS):
        for part in torch.arange(SAMPLES).split(BATCH):
            out = torch.relu(x[part] @ w["w1"].T + w["b1"]) @ w["w2"].T + w["b2"]
            value = loss(out, y[part])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            losses.append(value.item())
    return losses, {name: a.detach().numpy() for name, a in w.items()}


def train(command, folder, *more):
    subprocess.run([*command, f"--epochs={EPOCHS}", "--last-batch=keep", "--no-shuffle",
                    "--lr=0.05", "--momentum=0.9", "--weight-decay=0.001",
                    f"--checkpoint-dir={folder}", *more],
                   check=True, stdout=subprocess.DEVNULL)


def main():
    folder = sys.argv[1]
    path = f"{folder}/net.onnx"
    write_model(path)
    random = np.random.RandomState(7)
    x = random.normal(size=(SAMPLES, INPUTS)).astype(np.float32)
    labels = {"classes": ([], torch.nn.functional.cross_entropy,
                          random.randint(0, OUTPUTS, SAMPLES)),
              "numbers": (["--loss=mse"], torch.nn.functional.mse_loss,
                          random.normal(size=(SAMPLES, OUTPUTS)).astype(np.float32))}
    compared = 0
    for kind, (flags, loss, y) in labels.items():
        data = f"{folder}/{kind}"
        os.makedirs(data)
        np.save(f"{data}/images.npy", x)
        np.save(f"{data}/{'labels' if kind == 'classes' else 'targets'}.npy", y)
        targets = torch.from_numpy(y)
        wanted, learnt = expected(loss, torch.from_numpy(x).double(),
                                  targets.double() if kind == "numbers" else targets)
        for number, plan in enumerate(PLANS):
            for parts in 1, 2:
                command = ["lwcc-run", path, f"--batch={BATCH}", *flags, *plan, "--",
                           f"--data={data}"]
                kept = f"{folder}/{kind}-{number}-{parts}"
                log = f"{kept}.jsonl"
                if parts == 2:
                    # Steps 4 and 8 are the smaller ones; the first part ends before
                    # one.
                    train(command, kept, f"--log={log}", "--steps=7")
                train(command, kept, f"--log={log}", "--resume=auto")
                with open(log) as file:
                    found = [json.loads(line) for line in file]
                found = [each["loss"] for each in found if "loss" in each]
                latest = max(name for name in os.listdir(kept) if name.startswith("step"))
                state = load_file(f"{kept}/{latest}/model.safetensors")
                worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True))
                for name, w in learnt.items():
                    worst = max(worst, np.abs(state[name].reshape(w.shape) - w).max())
                if not worst < 1e-5:
                    sys.exit(f"{kind} {plan} {parts}: off by {worst}\n"
                             + json.dumps([found, wanted]))
                compared += 1
    os.makedirs(f"{folder}/one")
    np.save(f"{folder}/one/images.npy", x[:1])
    np.save(f"{folder}/one/labels.npy", np.zeros(1, int))
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
