"""Writes models that end in a LogSoftmax, in one along the batch, in a Softmax and in scores, one
with two of them, and data: nll.py FOLDER."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

random = np.random.RandomState(0)
TENSORS = {name: random.uniform(-1, 1, (5, 4)).astype("f") for name in ("w", "v")}


def write(name, ends):
    """`ends`: of each output the operator behind its scores, and that one's axis."""
    nodes, outputs = [], []
    for output, weight, (operator, axis) in zip("yz", "wv", ends):
        nodes.append(helper.make_node("MatMul", ["x", weight], [f"{output}s"]))
        nodes.append(helper.make_node(operator, [f"{output}s"], [output],
                                      **({} if axis is None else {"axis": axis})))
        outputs.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, ["n", 4]))
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5])], outputs,
        [numpy_helper.from_array(TENSORS[weight], weight) for weight in "wv"[:len(ends)]])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
         f"{sys.argv[1]}/{name}.onnx")


LOG, SCORES = ("LogSoftmax", -1), ("Identity", None)
write("log", [LOG])
write("batch", [("LogSoftmax", 0)])
write("softmax", [("Softmax", -1)])
write("scores", [SCORES])
write("two", [LOG, LOG])
write("half", [LOG, SCORES])
np.save(f"{sys.argv[1]}/images.npy", random.normal(size=(48, 5)).astype("f"))
for labels in ("labels", "z"):
    np.save(f"{sys.argv[1]}/{labels}.npy", random.randint(0, 4, 48))
