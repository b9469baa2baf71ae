"""Tables, the same rows as arrays, and models of them: table.py FOLDER.

A price, which depends on two of three numbers, and a kind, which has names.
"""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def model(path, random, outputs):
    shapes = [(16, 3), (16,), (outputs, 16), (outputs,)]
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], "fc1", transB=1),
             helper.make_node("Tanh", ["h"], ["t"], "tanh"),
             helper.make_node("Gemm", ["t", "w2", "b2"], ["y"], "fc2", transB=1)]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", outputs])],
        [numpy_helper.from_array(random.uniform(-0.5, 0.5, shape).astype(np.float32), name)
         for shape, name in zip(shapes, ("w1", "b1", "w2", "b2"))])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), path)


def main():
    folder = sys.argv[1]
    random = np.random.RandomState(5)
    model(f"{folder}/price.onnx", random, 1)
    model(f"{folder}/kind.onnx", random, 3)
    kinds = ["flat", "house", "hut"]
    for name, rows in ("train", 64), ("val", 21):
        x = random.uniform(-1, 1, (rows, 3)).astype(np.float32)
        price = (2 * x[:, 0] - x[:, 2] + 0.5).astype(np.float32)
        kind = (x[:, 1] > -0.3).astype(np.int64) + (x[:, 1] > 0.3)
        with open(f"{folder}/{name}.csv", "w") as file:
            file.write("id,size,rooms,year,kind,price\n")
            for i in range(rows):
                cells = [repr(float(value)) for value in x[i]]
                file.write(f"{i},{cells[0]},{cells[1]},{cells[2]},"
                           f"{kinds[kind[i]]},{float(price[i])!r}\n")
        for place, labels in ("price", price[:, None]), ("kind", kind):
            os.makedirs(f"{folder}/{place}/{name}")
            np.save(f"{folder}/{place}/{name}/images.npy", x)
            np.save(f"{folder}/{place}/{name}/labels.npy", labels)
    # Columns in another order, and no answers.
    with open(f"{folder}/asked.csv", "w") as file:
        file.write("size\tyear\trooms\n0.5\t-1\t-0.9\n0\t0.25\t0.9\n")


if __name__ == "__main__":
    main()
