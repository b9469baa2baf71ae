"""external_data.py OUT: models with weights in other files, well-formed and not."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper


def write(folder, location, size=4 * 64 * 10):
    """A network of two layers whose weights are declared to be in `location`."""
    os.makedirs(folder, exist_ok=True)
    tensors, nodes, last = [], [], "images"
    for index, (rows, columns) in enumerate(((64, 10), (10, 10)), 1):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT,
                             dims=[rows, columns],
                             data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location), ("offset", "0"),
                           ("length", str(4 * rows * columns))):
            tensor.external_data.add(key=key, value=value)
        tensors.append(tensor)
        nodes.append(helper.make_node("MatMul", [last, tensor.name], [f"y{index}"]))
        last = f"y{index}"
    graph = helper.make_graph(
        nodes, "external",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, [4, 10])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    return np.random.RandomState(0).bytes(size)


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


out = os.path.abspath(sys.argv[1])
put(f"{out}/outside.bin", write(f"{out}/good", "weights.bin"))
put(f"{out}/good/weights.bin", np.zeros(640, np.float32).tobytes())
write(f"{out}/missing", "weights.bin")
write(f"{out}/short", "weights.bin")
put(f"{out}/short/weights.bin", b"\0" * 100)
write(f"{out}/parent", "../outside.bin")
write(f"{out}/absolute", f"{out}/outside.bin")
write(f"{out}/symlink", "link.bin")
os.symlink(f"{out}/outside.bin", f"{out}/symlink/link.bin")
