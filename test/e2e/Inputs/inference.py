"""What evaluate and predict say, against PyTorch and ONNX Runtime.

  inference.py make FOLDER
      writes net.onnx, with batch normalization and dropout, and arrays to train on
      (train), to evaluate (val) and to predict (new: val's images without labels)
  inference.py torch FOLDER CHECKPOINT RESULT...
      compares with the same network in PyTorch, in evaluation's mode
  inference.py onnx MODEL DATA RESULT...
      compares with an exported model in ONNX Runtime, on images of uint8

A RESULT is a log of evaluate (.jsonl) or predictions with scores (.csv).
"""

import csv
import glob
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.Flatten(),
        nn.Dropout(0.4), nn.Linear(12 * 6 * 6, 24), nn.ReLU(), nn.Linear(24, 10))


def make(folder):
    torch.manual_seed(5)
    torch.onnx.export(network().train(), (torch.randn(4, 3, 12, 12),),
                      f"{folder}/net.onnx", optimize=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))
    patterns = torch.randn(10, 3, 12, 12)
    for name, count in (("train", 96), ("val", 37)):
        labels = torch.randint(10, (count,))
        images = patterns[labels] + torch.randn(count, 3, 12, 12)
        os.makedirs(f"{folder}/{name}")
        np.save(f"{folder}/{name}/images.npy", images.numpy())
        np.save(f"{folder}/{name}/labels.npy", labels.numpy())
    os.makedirs(f"{folder}/new")
    os.link(f"{folder}/val/images.npy", f"{folder}/new/images.npy")


def torch_scores(folder, checkpoint):
    from safetensors.torch import load_file
    net = network()
    file, = glob.glob(f"{checkpoint}/step-*/model.safetensors")
    missing, extra = net.load_state_dict(load_file(file), strict=False)
    assert not extra and {*missing} <= {"1.num_batches_tracked"}, (missing, extra)
    images = torch.from_numpy(np.load(f"{folder}/val/images.npy"))
    with torch.no_grad():
        return net.eval()(images), np.load(f"{folder}/val/labels.npy")


def onnx_scores(path, data):
    import onnxruntime
    images = torch.from_numpy(np.load(f"{data}/images.npy")) / 255
    images = F.interpolate(images[:, None], (28, 28), mode="bilinear").numpy()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name, batch = session.get_inputs()[0].name, session.get_inputs()[0].shape[0]
    batch = batch if isinstance(batch, int) else len(images)
    rows = []
    for first in range(0, len(images), batch):
        part = images[first:first + batch]
        full = np.zeros((batch, *part.shape[1:]), np.float32)
        full[:len(part)] = part
        rows.append(session.run(None, {name: full})[0][:len(part)])
    return torch.from_numpy(np.concatenate(rows)), np.load(f"{data}/labels.npy")


def check(result, scores, labels):
    labels = torch.from_numpy(labels).long()
    if result.endswith(".jsonl"):
        with open(result) as lines:
            said, = map(json.loads, lines)
        top = scores.topk(5).indices == labels[:, None]
        wanted = {"val_loss": F.cross_entropy(scores, labels).item(),
                  "val_top1": top[:, :1].any(1).float().mean().item(),
                  "val_top5": top.any(1).float().mean().item(),
                  "val_images": len(labels)}
        assert said.keys() == wanted.keys(), said
        for key, value in wanted.items():
            assert abs(said[key] - value) <= 1e-5 * max(1, abs(value)), (key, said, wanted)
        return
    with open(result, newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:3] == ["image", "class", "probability"], header
    assert [row[0] for row in rows] == [str(i) for i in range(len(labels))]
    said = torch.tensor([[float(x) for x in row[3:]] for row in rows])
    assert (said - scores).abs().max() <= 1e-4 * scores.abs().max(), (said, scores)
    probability, top = scores.softmax(1).max(1)
    assert [int(row[1]) for row in rows] == top.tolist()
    assert np.allclose([float(row[2]) for row in rows], probability, atol=1e-4)


def main():
    mode, *arguments = sys.argv[1:]
    if mode == "make":
        return make(*arguments)
    one, other, *results = arguments
    scores = torch_scores if mode == "torch" else onnx_scores
    scores, labels = scores(one, other)
    for result in results:
        check(result, scores, labels)
    print(f"{len(results)} results agree")


main()
