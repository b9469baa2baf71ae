"""A trained body for --init-from, and what a model with another head takes of it.

  init_from.py make FOLDER      writes net.onnx, a model with random weights and 7
                                classes, and a body of 10 classes as a state dict
                                of several types and as ONNX, with its weights in
                                another file
  init_from.py check FOLDER     compares FOLDER/NAME-out.onnx with what PyTorch's
                                load_state_dict makes of each
"""
import sys

import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from torch import nn

TYPES = {"half": torch.float16, "bfloat": torch.bfloat16, "double": torch.float64,
         "onnx": torch.float32}


def network(classes):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 12, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 6 * 6, classes))


def export(net, path):
    torch.onnx.export(net.train(), (torch.randn(4, 3, 8, 8),), path, optimize=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))


def make(folder):
    torch.manual_seed(3)
    body = network(10)
    with torch.no_grad():
        body[1].running_mean.uniform_()
        body[1].running_var.uniform_(1, 2)
    export(body, f"{folder}/onnx.onnx")
    export(network(7), f"{folder}/net.onnx")
    for name in ("half", "bfloat", "double"):
        state = {key: value.to(TYPES[name]) if value.is_floating_point() else value
                 for key, value in body.state_dict().items()}
        save_file(state, f"{folder}/{name}.safetensors")
    torch.save(body.state_dict(), f"{folder}/body.pth")


def weights(path):
    return {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy())
            for tensor in onnx.load(path).graph.initializer}


def check(folder):
    given, body = weights(f"{folder}/net.onnx"), weights(f"{folder}/onnx.onnx")
    for name, kind in TYPES.items():
        net = network(7)
        net.load_state_dict({key: given[key] for key in net.state_dict() if key in given},
                            strict=False)
        net.load_state_dict({key: value.to(kind) for key, value in body.items()
                             if key in net.state_dict() and not key.startswith("6.")},
                            strict=False)
        wanted = net.state_dict()
        got = weights(f"{folder}/{name}-out.onnx")
        names = [key for key in wanted if not key.endswith("num_batches_tracked")]
        assert len(names) == 9 and not got["1.running_var"].eq(1).any()
        for key in names:
            assert torch.equal(got[key], wanted[key]), (name, key)
    print(f"{len(TYPES)} files give what load_state_dict gives")


{"make": make, "check": check}[sys.argv[1]](sys.argv[2])
