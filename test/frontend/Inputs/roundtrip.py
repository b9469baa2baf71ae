"""Writes models, and compares what lwcc exports of them with ONNX Runtime.

  roundtrip.py make FOLDER     writes the models, one per *.onnx
  roundtrip.py compare A B     B must compute what A computes
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime

RANDOM = np.random.default_rng(0)


def weight(name, *shape, dtype=np.float32):
    value = RANDOM.uniform(0.1, 1, shape).astype(dtype)
    return numpy_helper.from_array(value, name)


def model(name, nodes, weights, shape, output, opset=20, dtype=TensorProto.FLOAT):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", dtype, shape)],
        [helper.make_tensor_value_info("y", dtype, output)], weights)
    return helper.make_model(graph, ir_version=10,
                             opset_imports=[helper.make_opsetid("", opset)])


def models():
    node = helper.make_node
    batch_norm = [weight(f"bn.{part}", 4) for part in
                  ("weight", "bias", "running_mean", "running_var")]
    yield model("cnn", [
        node("Conv", ["x", "conv.weight"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c"] + [t.name for t in batch_norm], ["b"]),
        node("Relu", ["b"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Dropout", ["f", "ratio"], ["d"]),
        node("Gemm", ["d", "fc.weight", "fc.bias"], ["y"], transB=1),
    ], batch_norm + [weight("conv.weight", 4, 3, 3, 3), weight("fc.weight", 5, 64),
                     weight("fc.bias", 5), numpy_helper.from_array(
                         np.array(0.5, np.float32), "ratio")],
        ["batch", 3, 8, 8], ["batch", 5])
    # Weights made by nodes, and equal weights under two names.
    yield model("made", [
        node("ConstantOfShape", ["shape"], ["w"],
             value=helper.make_tensor("value", TensorProto.FLOAT, [1], [0.25])),
        node("Identity", ["w"], ["same"]),
        node("MatMul", ["x", "w"], ["a"]),
        node("MatMul", ["a", "same"], ["b"]),
        node("LogSoftmax", ["b"], ["y"], axis=-1),
    ], [numpy_helper.from_array(np.array([6, 6], np.int64), "shape")],
        [2, 6], [2, 6])


def main():
    command, first, second = sys.argv[1], sys.argv[2], sys.argv[-1]
    if command == "make":
        for proto in models():
            external = proto.graph.name == "cnn"
            onnx.save(proto, os.path.join(first, proto.graph.name + ".onnx"),
                      save_as_external_data=external, location="cnn.bin",
                      size_threshold=0)
        return
    onnx.checker.check_model(onnx.load(second), full_check=True)
    sessions = [onnxruntime.InferenceSession(path) for path in (first, second)]
    info = sessions[0].get_inputs()[0]
    shape = [3 if isinstance(extent, str) else extent for extent in info.shape]
    x = RANDOM.standard_normal(shape).astype(np.float32)
    before, after = (session.run(None, {info.name: x})[0] for session in sessions)
    np.testing.assert_array_equal(before, after)
    print("equal")


if __name__ == "__main__":
    main()
