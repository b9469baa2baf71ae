"""CIFAR's binary files, and the same images as arrays: cifar.py FOLDER."""

import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def main():
    folder = sys.argv[1]
    random = np.random.RandomState(3)
    names = [f"class{i}" for i in range(10)]
    for place in "cifar", "train", "val":
        os.makedirs(f"{folder}/{place}")
    images, labels = [], []
    for part in range(1, 3):
        label = random.randint(0, 10, 12).astype(np.uint8)
        image = random.randint(0, 256, (12, 3, 32, 32)).astype(np.uint8)
        rows = np.concatenate([label[:, None], image.reshape(12, -1)], axis=1)
        rows.tofile(f"{folder}/cifar/data_batch_{part}.bin")
        images.append(image)
        labels.append(label)
    np.save(f"{folder}/train/images.npy", np.concatenate(images))
    np.save(f"{folder}/train/labels.npy", np.concatenate(labels))
    rows[:5].tofile(f"{folder}/cifar/test_batch.bin")
    np.save(f"{folder}/val/images.npy", image[:5])
    np.save(f"{folder}/val/labels.npy", label[:5])
    with open(f"{folder}/cifar/batches.meta.txt", "w") as file:
        file.write("\n".join(names) + "\n\n")

    w = random.uniform(-0.02, 0.02, (10, 3072)).astype(np.float32)
    nodes = [helper.make_node("Flatten", ["x"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "w"], ["y"], "fc", transB=1)]
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(w, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), f"{folder}/net.onnx")


if __name__ == "__main__":
    main()
