"""check_export.py LOG MODEL DATA: the trained file in ONNX Runtime."""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F

log, path, data = sys.argv[1:]
with open(log) as lines:
    reached = [r["val_top1"] for r in map(json.loads, lines) if "val_top1" in r][-1]
images = torch.from_numpy(np.load(os.path.join(data, "images.npy"))) / 255
labels = np.load(os.path.join(data, "labels.npy"))
images = F.interpolate(images[:, None], (28, 28), mode="bilinear")
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
# An exported file may have a fixed batch: then the rows are filled up to it.
batch = session.get_inputs()[0].shape[0]
batch = batch if isinstance(batch, int) else len(labels)
correct = 0
for first in range(0, len(labels), batch):
    rows = images[first:first + batch].numpy()
    wanted = labels[first:first + batch]
    full = np.zeros((batch, *rows.shape[1:]), np.float32)
    full[:len(rows)] = rows
    logits = session.run(None, {session.get_inputs()[0].name: full})[0]
    correct += int((logits[:len(rows)].argmax(1) == wanted).sum())
accuracy = correct / len(labels)
names = {i.name for i in onnx.load(path).graph.initializer}


def say(what, good, detail):
    print(f"{what}: {'yes' if good else f'no ({detail})'}")


say("held-out accuracy above 97 %", reached >= 0.97, reached)
say("ONNX Runtime agrees", abs(accuracy - reached) < 1e-6, f"{accuracy}, {reached}")
say("the names of the input model are kept",
    {"conv1.weight", "fc3.bias"} <= names, sorted(names))
