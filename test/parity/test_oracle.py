"""Checks the oracle itself: against ONNX Runtime, and against the PyTorch
modules that the model files were exported from.

  test_oracle.py MODELS [NAME ...]

For each file the logits in single precision must be those of ONNX Runtime with
batch normalization in training mode, and the losses of five training steps in
double precision must be the source module's. Ends with a line
`N passed, M failed`.
"""

import argparse
import math
import os
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import helper

import onnx_ops
import onnx_windows
import philox
from onnx_torch import Oracle

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "models"))
from networks import NETWORKS, build  # noqa: E402


def runtime_logits(model, images):
    """The logits of ONNX Runtime, with batch statistics and without dropout."""
    for node in model.graph.node:
        if node.op_type == "BatchNormalization":
            kept = [a for a in node.attribute if a.name != "training_mode"]
            del node.attribute[:]
            node.attribute.extend(
                kept + [helper.make_attribute("training_mode", 1)])
            for suffix in ("mean", "variance")[len(node.output) - 1:]:
                node.output.append(f"{node.output[0]}.{suffix}")
        if node.op_type == "Dropout":
            del node.input[1:]
        if node.op_type == "RandomUniformLike":
            return None  # dropout as single operators: it cannot be switched off
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return session.run(None, {name: images.numpy()})[0]


def forward_distance(path, images):
    model = onnx.load(path)
    actual = Oracle(model, torch.float32, dropout=False).run(images).detach()
    if model.graph.node[-1].op_type == "Softmax":  # the oracle's loss contains it
        actual = torch.softmax(actual, 1)
    expected = runtime_logits(model, images)
    if expected is None:
        return None
    scale = max(np.abs(expected).max(), 1.0)
    return float(np.abs(actual.numpy() - expected).max() / scale)


def training_distance(path, name, batches):
    """The largest relative difference of five losses from the module's."""
    network = build(name)[0].double()
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(module, torch.nn.BatchNorm2d):  # ONNX stores a float
            module.eps = float(np.float32(module.eps))
        if isinstance(module, torch.nn.Softmax):
            module.forward = lambda x: x

    def make(parameters):
        return torch.optim.SGD(parameters, 0.01, 0.9, weight_decay=5e-4,
                               nesterov=True)

    optimizer = make(network.parameters())
    oracle = Oracle(path, torch.float64, dropout=False)
    worst = 0.0
    for images, labels in batches:
        images = images.double()
        optimizer.zero_grad()
        if getattr(network, "loss", False):
            loss = network(images, labels)
        else:
            loss = F.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        mine = oracle.train_step(images, labels,
                                 lambda p: make(p.values()))
        worst = max(worst, abs(mine - loss.item()) / max(1.0, abs(loss.item())))
    trained = {name for name, _ in network.named_parameters()}
    if trained != set(oracle.parameters):
        return math.inf
    return worst


def check_units():
    """Checks parts of the oracle that no exported model uses."""
    yield "philox known answer", np.array_equal(
        philox.philox(0, np.zeros(1, np.uint64), 0, 0)[0],
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
    normal = philox.normal((200000,), 1.0, 2.0, 7, "w")
    yield "normal moments", (abs(normal.mean() - 1) < 0.02
                             and abs(normal.std() - 2) < 0.02)
    yield "fnv-1a", philox.stream_of("a") == 0xE40C292C

    x = torch.randn(2, 3, 9, 7, dtype=torch.float64)
    for kernel, stride, pad, ceil in [(3, 2, 1, 1), (2, 3, 1, 0), (3, 1, 0, 1)]:
        for include in (False, True):
            call = dict(strides=[stride] * 2, pads=[pad] * 4,
                               ceil_mode=ceil, kernel_shape=[kernel] * 2)
            window = onnx_ops.Window(call, x, [kernel] * 2)
            expected = F.avg_pool2d(x, kernel, stride, pad, bool(ceil), include)
            actual = onnx_ops.average_by_sums(window, x, include)
            yield (f"average pool k{kernel} s{stride} p{pad} include={include}",
                   torch.allclose(actual, expected, atol=1e-12))

    class Resize(dict):  # as PyTorch's exporter writes it
        op, opset = "Resize", 19

    for mode, name, coefficient in (("linear", "bilinear", -0.75),
                                    ("cubic", "bicubic", -0.5)):
        for size in ([4, 3], [11, 12]):
            call = Resize(mode=mode, antialias=1, exclude_outside=1,
                          cubic_coeff_a=coefficient)
            actual = onnx_windows.resize(call, x, sizes=torch.tensor([2, 3, *size]))
            expected = F.interpolate(x, size=size, mode=name, antialias=True)
            yield (f"resize {name} antialiased to {size}",
                   torch.allclose(actual, expected, atol=1e-12))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    passed = failed = 0

    def report(what, good, detail=""):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {what} {detail}", flush=True)

    for what, good in check_units():
        report(what, good)
    for name in args.names or NETWORKS:
        for exporter in ("dynamo", "legacy"):
            path = os.path.join(args.models, f"{name}.{exporter}.onnx")
            if not os.path.exists(path):
                continue
            _, shape = build(name)
            torch.manual_seed(1)
            batches = [(torch.rand(4, *shape), torch.randint(0, 10, (4,)))
                       for _ in range(5)]
            if name != "lenet5_loss":
                distance = forward_distance(path, batches[0][0])
                if distance is not None:
                    report(f"{name} {exporter}: logits of ONNX Runtime",
                           distance < 2e-3, f"({distance:.1e})")
            distance = training_distance(path, name, batches)
            report(f"{name} {exporter}: losses of the module",
                   distance < 1e-9, f"({distance:.1e})")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
