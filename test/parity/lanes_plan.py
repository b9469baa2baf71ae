"""A plan that gives each device of a model two lanes.

  lanes_plan.py MODEL.onnx GPUS > plan.json

The samples are spread over the devices. Convolutions and products take turns on the two
lanes, and compute the gradients of their weights on the other one.
"""

import json
import sys

import onnx


def lanes_plan(path, gpus):
    graph = onnx.load(path, load_external_data=False).graph
    layers = {}
    for number, node in enumerate(n for n in graph.node
                                  if n.op_type in ("Conv", "Gemm", "MatMul")):
        lane = number % 2
        layers[node.name] = {"n": gpus, "lane": {"weight": 1 - lane},
                             "places": [f"0.{device}.{lane}" for device in range(gpus)]}
    return {"version": 2, "layers": layers}


if __name__ == "__main__":
    json.dump(lanes_plan(sys.argv[1], int(sys.argv[2])), sys.stdout, indent=1)
    print()
