"""A model of three inputs, and data for it: several_inputs.py FOLDER."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def model(path):
    random = np.random.RandomState(3)
    stored = {"table": (9, 4), "w": (4, 3 * 6 * 6), "head.w": (3, 4), "head.b": (3,)}
    weights = [numpy_helper.from_array(random.uniform(-0.3, 0.3, shape).astype(np.float32), name)
               for name, shape in stored.items()]
    weights.append(numpy_helper.from_array(np.array([1]), "one"))
    nodes = [helper.make_node("Flatten", ["photo"], ["pixels"], "flatten"),
             helper.make_node("Gemm", ["pixels", "w"], ["seen"], "see", transB=1),
             helper.make_node("Gather", ["table", "word"], ["said"], "say"),
             helper.make_node("Unsqueeze", ["weight", "one"], ["column"], "column"),
             helper.make_node("Mul", ["said", "column"], ["heard"], "weigh"),
             helper.make_node("Add", ["seen", "heard"], ["both"], "add"),
             helper.make_node("Relu", ["both"], ["r"], "relu"),
             helper.make_node("Gemm", ["r", "head.w", "head.b"], ["y"], "head", transB=1)]
    inputs = [helper.make_tensor_value_info("photo", TensorProto.FLOAT, ["n", 3, 6, 6]),
              helper.make_tensor_value_info("word", TensorProto.INT64, ["n"]),
              helper.make_tensor_value_info("weight", TensorProto.FLOAT, ["n"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
         path)


def main():
    folder = sys.argv[1]
    model(f"{folder}/three.onnx")
    random = np.random.RandomState(4)
    count = 40
    word = random.randint(0, 9, count)
    arrays = {"photo": random.randint(0, 256, (count, 8, 8, 3)).astype(np.uint8),
              "word": word, "weight": random.uniform(0, 2, count)}
    labels = word % 3
    np.savez(f"{folder}/all.npz", labels=labels, **arrays)
    np.savez(f"{folder}/asked.npz", **arrays)
    changes = {"all": {}, "lacking": {"word": None, "labels": None},
               "wrong": {"word": word + 1, "weight": arrays["weight"][:30],
                         "photo": arrays["photo"].astype(np.int16)}}
    for name, change in changes.items():
        os.makedirs(f"{folder}/{name}")
        for key, array in {**arrays, "labels": labels, **change}.items():
            if array is not None:
                np.save(f"{folder}/{name}/{key}.npy", array)


if __name__ == "__main__":
    main()
