"""A model of letters and texts for tokens.test: tokens.py FOLDER.

An embedding, a layer over the letters so far, and scores of the next one. Without
PyTorch, so that it takes no time.
"""

import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

COUNT, LENGTH, WIDTH = 100, 12, 8


def model(path):
    random = np.random.RandomState(1)

    def weight(name, *shape):
        values = random.uniform(-0.3, 0.3, shape).astype(np.float32)
        return numpy_helper.from_array(values, name)

    nodes = [
        helper.make_node("Gather", ["table", "text"], ["letters"], "letters"),
        helper.make_node("MatMul", ["letters", "mix"], ["mixed"], "mixed"),
        helper.make_node("Tanh", ["mixed"], ["bent"], "bent"),
        helper.make_node("MatMul", ["bent", "head"], ["scores"], "scores"),
    ]
    graph = helper.make_graph(
        nodes, "letters",
        [helper.make_tensor_value_info("text", TensorProto.INT64, ["batch", LENGTH])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT,
                                       ["batch", LENGTH, COUNT])],
        [weight("table", COUNT, WIDTH), weight("mix", WIDTH, WIDTH),
         weight("head", WIDTH, COUNT)])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), path)


def main():
    folder = sys.argv[1]
    model(f"{folder}/gpt.onnx")
    with open(f"{folder}/plan.json", "w") as file:
        json.dump({"version": 2, "layers": {
            "letters": {"c": 2, "places": ["0.0.0", "0.1.0"]},
            "mixed": {"n": 2, "places": ["0.0.0", "0.1.0"]},
            "loss": {"c": 2, "places": ["0.0.0", "0.1.0"]}}}, file)
    with open(f"{folder}/text/ab.txt", "w") as file:
        file.write("AB" * 400)
    with open(f"{folder}/other/zeta.txt", "w") as file:
        file.write("z" * 100)
    rows = np.array([[65, 66] * (LENGTH // 2)] * 7)
    labels = 131 - rows
    labels[2, :5] = -100  # which do not count
    np.save(f"{folder}/arrays/tokens.npy", rows.astype(np.uint8))
    np.save(f"{folder}/arrays/labels.npy", labels)


if __name__ == "__main__":
    main()
