"""nan_data.py FOLDER: float images with one NaN (one/) or with nothing but NaN (all/),
and a network of matrix products for them (mlp.onnx)."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

folder = sys.argv[1]
random = np.random.RandomState(0)
for name, poison in (("one", (3, 5, 5)), ("all", ...)):
    images = random.uniform(0, 1, (64, 28, 28)).astype(np.float32)
    images[poison] = np.nan
    os.makedirs(os.path.join(folder, name))
    np.save(os.path.join(folder, name, "images.npy"), images)
    np.save(os.path.join(folder, name, "labels.npy"), np.arange(64) % 10)


def weight(name, *shape):
    return numpy_helper.from_array(
        random.uniform(-0.1, 0.1, shape).astype(np.float32), name)


save(helper.make_model(helper.make_graph(
    [helper.make_node("Flatten", ["images"], ["rows"]),
     helper.make_node("Gemm", ["rows", "w1", "b1"], ["sums"], transB=1),
     helper.make_node("Relu", ["sums"], ["hidden"]),
     helper.make_node("Gemm", ["hidden", "w2", "b2"], ["logits"], transB=1)],
    "mlp",
    [helper.make_tensor_value_info("images", TensorProto.FLOAT, [16, 1, 28, 28])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [16, 10])],
    [weight("w1", 64, 784), weight("b1", 64), weight("w2", 10, 64),
     weight("b2", 10)]),
    opset_imports=[helper.make_opsetid("", 18)], ir_version=8),
    os.path.join(folder, "mlp.onnx"))
