"""narrow_lenet.py IN OUT: the same network with another hidden width."""

import sys

import onnx

model = onnx.load(sys.argv[1])
for node in model.graph.node:
    for attribute in node.attribute:
        if attribute.name == "shape":
            sizes = [80 if size == 84 else size for size in attribute.ints]
            del attribute.ints[:]
            attribute.ints.extend(sizes)
onnx.save(model, sys.argv[2])
