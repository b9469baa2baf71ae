"""Models with two outputs, and with the first alone: two_heads.py FOLDER."""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def main():
    random = np.random.RandomState(2)
    constants = {"w": (6, 4), "main.w": (3, 6), "aux.w": (5, 6)}
    stored = [numpy_helper.from_array(random.uniform(-1, 1, shape).astype(np.float32), name)
              for name, shape in constants.items()]
    body = [helper.make_node("Gemm", ["x", "w"], ["h"], "body", transB=1),
            helper.make_node("Relu", ["h"], ["r"], "relu")]
    heads = [helper.make_node("Gemm", ["r", f"{name}.w"], [name], name, transB=1)
             for name in ("main", "aux")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", classes])
               for name, classes in (("main", 3), ("aux", 5))]
    for file, count in ("both", 2), ("main", 1):
        graph = helper.make_graph(
            body + heads[:count], "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])],
            outputs[:count], stored[:1 + count])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                               ir_version=8), f"{sys.argv[1]}/{file}.onnx")


if __name__ == "__main__":
    main()
