"""Writes models whose tensors have very many dimensions: stored, as a constant, computed, reshaped
and given."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

RANK, USES = 100_000, 2_000
GEMM = [helper.make_node("Mul", ["x", "r"], ["z"]), helper.make_node("Gemm", ["z", "w"], ["y"])]


def write(name, nodes, tensors=(), inputs=()):
    weight = numpy_helper.from_array(np.ones((4, 3), "f"), "w")
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [*nodes, *GEMM], "g", [info("x", TensorProto.FLOAT, [2, 4]), *inputs],
        [info("y", TensorProto.FLOAT, [2, 3])], [*tensors, weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    save(model, f"{sys.argv[1]}/{name}.onnx")


joined = [helper.make_node("Concat", ["c"] * USES, ["k"], axis=0),
          helper.make_node("ReduceSum", ["k"], ["r0"], keepdims=0),
          helper.make_node("Cast", ["r0"], ["r"], to=TensorProto.FLOAT)]
tensor = TensorProto(name="c", data_type=TensorProto.INT64, dims=[1] * RANK, int64_data=[1])
shape = numpy_helper.from_array(np.ones(RANK, np.int64), "s")
total = helper.make_node("ReduceSum", ["x"], ["a"], keepdims=0)
write("stored", joined, [tensor])
write("constant", [helper.make_node("Constant", [], ["c"], value=tensor), *joined])
write("computed", [helper.make_node("ConstantOfShape", ["s"], ["c"]), *joined], [shape])
write("reshaped", [total, helper.make_node("Reshape", ["a", "s"], ["c"]), *joined], [shape])
write("given", [], inputs=[helper.make_tensor_value_info("r", TensorProto.FLOAT, [2] + [1] * RANK)])
