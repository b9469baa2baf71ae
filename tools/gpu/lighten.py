"""Writes an ONNX file again with its large weights drawn instead of stored.

  lighten.py IN.onnx OUT.onnx [--elements=N]

Every stored float tensor of at least N elements becomes a RandomNormal node
with the tensor's mean and standard deviation; the trainer draws it from --seed.
So a network of 100 MB fits in a bundle for a GPU machine (tools/gpu-test.sh).
"""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def lighten(model, elements):
    graph, nodes, kept = model.graph, [], []
    for tensor in graph.initializer:
        count = int(np.prod(tensor.dims))
        if tensor.data_type != TensorProto.FLOAT or count < elements:
            kept.append(tensor)
            continue
        values = numpy_helper.to_array(tensor)
        nodes.append(helper.make_node(
            "RandomNormal", [], [tensor.name], name=f"draw_{tensor.name}",
            dtype=TensorProto.FLOAT, mean=float(values.mean()),
            scale=float(values.std()), shape=list(tensor.dims)))
    drawn = {node.output[0] for node in nodes}
    inputs = [i for i in graph.input if i.name not in drawn]
    nodes += graph.node
    for field, content in (("initializer", kept), ("node", nodes),
                           ("input", inputs)):
        graph.ClearField(field)
        getattr(graph, field).extend(content)
    # PyTorch stores all parameters: in its files such nodes draw noise.
    model.producer_name = "lighten.py"
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--elements", type=int, default=1024)
    args = parser.parse_args()
    onnx.save(lighten(onnx.load(args.source), args.elements), args.target)


if __name__ == "__main__":
    main()
