"""How a node test of ONNX becomes a network that lwcc can take: node_tests.py runs these.

Its inputs are data of one sample, a row of numbers each, or stored in the file; its
outputs become rows of floats.
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HALVES = ("float16", "bfloat16")


def array_of(value):
    """A value of a test as an array; None if it is no tensor of numbers or truths."""
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return None
    array = np.asarray(value)
    return array if array.dtype.kind in "fiub" or array.dtype.name in HALVES else None


class Network:
    """A case as lwcc can take it; `stored` says which inputs are in the file."""

    def __init__(self, case, stored):
        graph = case.model.graph
        self.arrays = {"extra": np.zeros((1, 1), np.float32)}
        self.nodes, self.inputs, self.initializers = [], [], []
        self.domains = case.model.opset_import
        self.give("extra", FLOAT, [1])
        given = case.data_sets[0][0]
        for position, (info, value) in enumerate(zip(graph.input, given)):
            self.take(info, value, stored(position, value))
        self.nodes += graph.node
        for number, node in enumerate(graph.node):
            node.name = node.name or f"{case.name}.{number}"

    def give(self, name, kind, shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, [1, *shape]))

    def store(self, name, array):
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def take(self, info, value, stored):
        """An input of the case: stored, or of data, of which a sample is a row of numbers."""
        array = array_of(value)
        if isinstance(value, list) and all(array_of(each) is not None for each in value):
            names = [f"{info.name}.{i}" for i in range(len(value))]
            for name, each in zip(names, value):
                self.take(helper.make_tensor_value_info(name, FLOAT, None), each, stored)
            self.node("SequenceConstruct" if names else "SequenceEmpty", names, info.name)
        elif array is None and stored and not isinstance(value, (list, type(None))):
            self.initializers.append(value if isinstance(value, TensorProto) else
                                     numpy_helper.from_array(np.asarray(value)))
            self.initializers[-1].name = info.name
        elif array is None:
            self.inputs.append(info)  # for lwcc to say what it thinks of it
        elif stored or array.size == 0:
            self.store(info.name, array)
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            data, truth = f"{info.name}.data", kind == TensorProto.BOOL
            self.give(data, INT64 if truth else kind, [array.size])
            self.arrays[data] = array.reshape(1, -1).astype(
                np.int64 if array.dtype.kind in "iub" else np.float32)
            shape = self.store(f"{info.name}.shape", np.array(array.shape, np.int64))
            shaped = self.node("Reshape", [data, shape],
                               f"{info.name}.shaped" if truth else info.name)
            if truth:
                self.node("Cast", [shaped], info.name, to=kind)

    def row(self, name, value):
        """An output of the case as a row of floats; a list of them for a sequence."""
        if isinstance(value, list):
            rows = []
            for i, each in enumerate(value):
                at = self.store(f"{name}.at{i}", np.array(i, np.int64))
                rows += self.row(self.node("SequenceAt", [name, at], f"{name}.{i}"), each)
            return rows
        array = array_of(value)
        if array is None or array.dtype != np.float32:
            name = self.node("Cast", [name], f"{name}.float", to=FLOAT)
        return [self.node("Flatten", [name], f"{name}.row", axis=0)]

    def rows(self, wanted):
        return [row for name, value in wanted for row in self.row(name, value)]

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def save(self, folder, output):
        kinds = helper.make_tensor_value_info(output, FLOAT, None)
        graph = helper.make_graph(self.nodes, "case", self.inputs, [kinds],
                                  self.initializers)
        model = helper.make_model(graph, ir_version=10, opset_imports=self.domains)
        path = os.path.join(folder, "case.onnx")
        onnx.save(model, path)
        for name, array in self.arrays.items():
            if any(i.name == name for i in self.inputs):
                alone = len(self.inputs) == 1  # an only input is that of the images
                np.save(os.path.join(folder, "images.npy" if alone else f"{name}.npy"), array)
        return path
