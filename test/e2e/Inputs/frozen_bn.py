"""Batch normalization with frozen statistics against PyTorch: frozen_bn.py FOLDER.

A small network whose normalizations have statistics of their own is trained for some
steps, on one device, on several, and in micro-batches. Losses and weights are those of
PyTorch's modules in evaluation mode, and the statistics stay as they were.
"""

import json
import os
import sys

import numpy as np
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../parity"))
from trainer import Settings, train  # noqa: E402

BATCH, STEPS = 6, 8
SETTINGS = Settings(BATCH, STEPS, 0.02, 0.9, 1e-3)
PLANS = [[], ["--gpus=3", "--strategy=data"], ["--gpus=2", "--strategy=model"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=3", "--stages=2"]]


def make_model():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.ReLU(),
                          nn.Conv2d(6, 4, 3), nn.BatchNorm2d(4), nn.Flatten(),
                          nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 5))
    for module in model:
        if hasattr(module, "running_mean"):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    return model


def main():
    folder = sys.argv[1]
    path, data = f"{folder}/net.onnx", f"{folder}/data"
    os.makedirs(data)
    random = np.random.RandomState(7)
    x = random.normal(size=(BATCH * STEPS, 2, 6, 6)).astype(np.float32)
    labels = random.randint(0, 5, BATCH * STEPS)
    np.save(f"{data}/images.npy", x)
    np.save(f"{data}/labels.npy", labels)
    model = make_model()
    torch.onnx.export(model, (torch.from_numpy(x[:BATCH]),), path, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False)

    model = model.double().eval()
    optimizer = torch.optim.SGD(model.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    wanted = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        loss = nn.functional.cross_entropy(model(torch.from_numpy(x[part]).double()),
                                           torch.from_numpy(labels[part]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        wanted.append(loss.item())
    for plan in PLANS:
        found, state = train(["lwcc-run", path, f"--batch={BATCH}", "--frozen-bn", *plan,
                              "--"], data, SETTINGS)
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
        for name, tensor in model.state_dict().items():
            if name.endswith("num_batches_tracked"):
                continue
            difference = np.abs(state[name].reshape(tensor.shape) - tensor.numpy()).max()
            if "running" in name and difference > 1e-7:
                sys.exit(f"{plan}: {name} was changed by {difference}")
            worst = max(worst, difference)
        if not worst < 1e-5:
            sys.exit(f"{plan}: off by {worst}\n" + json.dumps([found, wanted]))
    print(len(PLANS), "trainings as PyTorch's")


if __name__ == "__main__":
    main()
