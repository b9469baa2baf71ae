"""One case of the operator grid: a small network around one operator.

Every case is  images -> Add(p) -> [operator under test] -> flatten -> Gemm ->
loss,  where p has the full shape of the operator's input: p's update then shows
the operator's data gradient, and the updates of its own weights show the rest.
"""

import zlib

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, shape_inference

from onnx_torch import Oracle

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
CLASSES = 5


def text(value):
    """The text of a value in the name of a case."""
    if isinstance(value, (list, tuple)):
        return "x".join(text(v) for v in value)
    return str(value).replace("-", "m")


class Case:
    """One model under construction; `last` is the value to continue from."""

    def __init__(self, name, shape, opset=18, tokens=0):
        """With `tokens` the input is integers below it, to which nothing is added."""
        self.name, self.shape, self.opset = name, list(shape), opset
        self.type = INT64 if tokens else FLOAT
        self.random = np.random.RandomState(zlib.crc32(name.encode()))
        self.nodes, self.initializers, self.count = [], [], 0
        self.labels = False
        # Pictures are grey and broadcast over the channels, so that a case may have any number of
        # channels.
        picture = len(shape) == 4 and not tokens
        self.input = [shape[0], 1, *shape[2:]] if picture else list(shape)
        self.tokens = tokens
        self.last = ("images" if tokens else
                     self.op("Add", "images", self.weight("p", shape)))

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"v{self.count}" + (f".{i}" if i else "")
                 for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names,
                                           f"{kind}{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, name, shape, low=-1.0, high=1.0):
        values = self.random.uniform(low, high, shape).astype(np.float32)
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def ints(self, *values):
        return self.stored(np.array(values, np.int64))

    def scalar(self, value):
        return self.stored(np.array(value, np.float32))

    def stored(self, array):
        """A constant that is no parameter, since a Constant node gives it."""
        self.count += 1
        name = f"c{self.count}"
        self.nodes.append(helper.make_node(
            "Constant", [], [name], value=numpy_helper.from_array(array)))
        return name

    def model(self, loss=None):
        """Finishes the case; `loss(case, logits)` may add one of its own."""
        batch = self.shape[0]
        rows = self.op("Reshape", self.last, self.ints(batch, -1))
        width = self._width(rows)
        logits = self.op("Gemm", rows, self.weight("head", [width, CLASSES]),
                         self.weight("head.bias", [CLASSES]))
        if loss:
            logits = loss(self, logits)
        inputs = [helper.make_tensor_value_info("images", self.type, self.input)]
        if self.labels:
            inputs.append(helper.make_tensor_value_info("labels", INT64, [batch]))
        graph = helper.make_graph(
            self.nodes, self.name, inputs,
            [helper.make_tensor_value_info(
                logits, FLOAT, [] if self.labels else [batch, CLASSES])],
            self.initializers)
        # Files of PyTorch's exporters have the numbers of expressions among their initializers;
        # with this producer a lone number is no parameter (frontend/Parameters.cpp).
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=8, producer_name="pytorch",
            doc_string=str(self.tokens) if self.tokens else "")

    def _width(self, rows):
        """The row length, by ONNX's own shape inference; by the oracle where that does
        not know an operator."""
        graph = helper.make_graph(
            self.nodes, "rows",
            [helper.make_tensor_value_info("images", self.type, self.input)],
            [helper.make_tensor_value_info(rows, FLOAT, [self.shape[0], None])],
            self.initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=8)
        try:
            inferred = shape_inference.infer_shapes(model, strict_mode=True,
                                                    data_prop=True)
            width = inferred.graph.output[0].type.tensor_type.shape.dim[1].dim_value
        except shape_inference.InferenceError:
            width = 0
        return width or Oracle(model).run(torch.zeros(
            self.input, dtype=torch.int64 if self.tokens else None)).shape[1]
