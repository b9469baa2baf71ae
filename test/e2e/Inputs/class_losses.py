"""Losses of class labels against PyTorch: class_losses.py FOLDER.

A small network is trained for some steps with smoothed labels, one for each sample or
for each pixel, with labels that do not count and weights of classes (of the file's loss,
or by a flag), on one device, on several, and in micro-batches. The losses and what was
learned are PyTorch's.
"""

import os
import sys

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save

from losses import BATCH, STEPS, check_plans, trained
from exporter_note import note

INPUTS, WIDTH, CLASSES, SIDE = 3, 8, 5, 4
WEIGHT = np.linspace(0.5, 2, CLASSES).astype(np.float32)


def weights(per_pixel):
    random = np.random.RandomState(4)
    kernel = (1, 1) if per_pixel else ()
    shapes = {"w1": (WIDTH, INPUTS, *kernel), "b1": (WIDTH,),
              "w2": (CLASSES, WIDTH, *kernel), "b2": (CLASSES,)}
    return {name: random.uniform(-0.7, 0.7, shape).astype(np.float32)
            for name, shape in shapes.items()}


def write_model(path, per_pixel, own_loss, noted=None):
    """`own_loss`: a weighted loss in the file, from which the exporter dropped the
    smoothing. `noted`: what it noted of it."""
    def layer(x, number, y):
        inputs = [x, f"w{number}", f"b{number}"]
        return (helper.make_node("Conv", inputs, [y], y) if per_pixel else
                helper.make_node("Gemm", inputs, [y], y, transB=1))
    nodes = [layer("x", 1, "a"), helper.make_node("Relu", ["a"], ["r"], "r"),
             layer("r", 2, "y")]
    place = [SIDE, SIDE] if per_pixel else []
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT,
                                            ["n", INPUTS, *place])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT,
                                             ["n", CLASSES, *place])]
    constants = [numpy_helper.from_array(w, name)
                 for name, w in weights(per_pixel).items()]
    if own_loss:
        nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", ["y", "t", "cw"],
                                      ["loss"], "loss", ignore_index=-100))
        if noted is not None:
            note(nodes[-1], "cross_entropy_loss", "%y", "%t", "%cw", 1, -100, noted)
        inputs.append(helper.make_tensor_value_info("t", TensorProto.INT64, ["n", *place]))
        outputs.insert(0, helper.make_tensor_value_info("loss", TensorProto.FLOAT, []))
        constants.append(numpy_helper.from_array(WEIGHT, "cw"))
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), path)


def write_data(folder, per_pixel):
    os.makedirs(folder, exist_ok=True)
    random = np.random.RandomState(7)
    place = (SIDE, SIDE) if per_pixel else ()
    x = random.normal(size=(BATCH * STEPS, INPUTS, *place)).astype(np.float32)
    labels = random.randint(0, CLASSES, (BATCH * STEPS, *place))
    if per_pixel:
        labels[random.uniform(size=labels.shape) < 0.2] = -100
    np.save(f"{folder}/images.npy", x)
    np.save(f"{folder}/labels.npy", labels)
    # The same with another number that does not count.
    os.makedirs(f"{folder}-void", exist_ok=True)
    np.save(f"{folder}-void/images.npy", x)
    void = labels.copy()
    void[labels == -100 if per_pixel else np.s_[::2]] = 255
    np.save(f"{folder}-void/labels.npy", void.astype(np.uint8))
    return torch.from_numpy(x).double(), torch.from_numpy(labels)


def expected(per_pixel, weighted, smoothing, x, labels):
    layer = torch.conv2d if per_pixel else torch.nn.functional.linear
    weight = torch.from_numpy(WEIGHT).double() if weighted else None

    def loss_of(w, part):
        out = layer(torch.relu(layer(x[part], w["w1"], w["b1"])), w["w2"], w["b2"])
        return torch.nn.functional.cross_entropy(out, labels[part], weight,
                                                 label_smoothing=smoothing)
    return trained(weights(per_pixel), loss_of)


def main():
    folder = sys.argv[1]
    write_model(f"{folder}/noted.onnx", False, True, noted=0.25)
    compared = 0
    for per_pixel in False, True:
        for own_loss in False, True:
            name = f"{'pixels' if per_pixel else 'samples'}{'-own' if own_loss else ''}"
            path, data = f"{folder}/{name}.onnx", f"{folder}/{name}"
            write_model(path, per_pixel, own_loss)
            x, labels = write_data(data, per_pixel)
            for smoothing in 0.1, 0.6:
                compared += check_plans(
                    f"{name} {smoothing}", path, [f"--label-smoothing={smoothing}"], data,
                    expected(per_pixel, own_loss, smoothing, x, labels))
            if own_loss:
                continue
            flag = "--class-weights=" + ",".join(map(repr, WEIGHT.tolist()))
            compared += check_plans(
                f"{name} weighted", path, [flag], data,
                expected(per_pixel, True, 0, x, labels))
            compared += check_plans(
                f"{name} weighted and smoothed", path, [flag, "--label-smoothing=0.1"], data,
                expected(per_pixel, True, 0.1, x, labels))
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
