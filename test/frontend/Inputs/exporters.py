"""Small files with the names that exporters give: exporters.py FOLDER"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write(name, producer, nodes, tensors, x, y):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(np.asarray(value, np.float32)
                                 if not np.issubdtype(np.asarray(value).dtype, np.integer)
                                 else np.asarray(value), key)
         for key, value in tensors.items()])
    model = helper.make_model(graph, producer_name=producer, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, os.path.join(sys.argv[1], f"{name}.onnx"))


def formula(x, y, names, shape, gamma=True, beta=True, reciprocal=False, swapped=False):
    """Batch normalization as Keras spells it out; `names` begin those of its tensors."""
    def reshaped(tensor):
        return helper.make_node("Reshape", [names + tensor, shape], [f"{y}.{tensor}"])

    nodes = [reshaped(t) for t, is_there in (
        ("moving_mean", True), ("moving_variance", True), ("gamma", gamma), ("beta", beta))
        if is_there]
    nodes += [helper.make_node("Sub", [x, f"{y}.moving_mean"], [f"{y}.sub"]),
              helper.make_node("Add", [f"{y}.moving_variance", "epsilon"], [f"{y}.shifted"]),
              helper.make_node("Sqrt", [f"{y}.shifted"], [f"{y}.sqrt"]),
              helper.make_node("Reciprocal", [f"{y}.sqrt"], [f"{y}.scale"]) if reciprocal else
              helper.make_node("Div", ["one", f"{y}.sqrt"], [f"{y}.scale"])]
    scale = f"{y}.scale"
    if gamma:
        nodes.append(helper.make_node("Mul", [scale, f"{y}.gamma"], [f"{y}.weight"]))
        scale = f"{y}.weight"
    operands = [f"{y}.sub", scale]
    nodes.append(helper.make_node("Mul", operands[::-1] if swapped else operands,
                                  [f"{y}.product" if beta else y]))
    if beta:
        nodes.append(helper.make_node("Add", [f"{y}.product", f"{y}.beta"], [y]))
    return nodes


def statistics(names, count):
    return {names + "moving_mean": np.arange(count) / 8, names + "moving_variance":
            1.0 + np.arange(count), names + "gamma": np.ones(count) * 2,
            names + "beta": np.ones(count) / 2}


# PyTorch stores a number of an expression as a node, not as a tensor of the file.
NUMBERS = [helper.make_node("Constant", [], [name], value_float=value)
           for name, value in (("one", 1.0), ("epsilon", 0.001))]
LAST, SECOND = np.array([1, 1, 1, 4]), np.array([1, 4, 1, 1])


def keras():
    shape = [2, 4, 4, 4]
    # Channels last, second, and without one of the weights.
    write("keras", "pytorch", [
        *NUMBERS, *formula("x", "a", "m/bn/", "last"),
        *formula("a", "b", "m/bn_1/", "second", reciprocal=True),
        *formula("b", "c", "m/bn_2/", "last", gamma=False, swapped=True),
        *formula("c", "y", "m/bn_3/", "last", beta=False)],
        {"last": LAST, "second": SECOND,
         **{k: v for i in ("", "_1", "_2", "_3")
            for k, v in statistics(f"m/bn{i}/", 4).items()}}, shape, shape)
    # PyTorch's frozen normalization is the same formula, under other names.
    frozen = statistics("m.bn.", 4)
    write("frozen", "pytorch", [*NUMBERS, *formula("x", "y", "m.bn.", "last")],
          {"last": LAST, **frozen}, shape, shape)
    # Keras' Normalization, which is given its statistics: no batch normalization.
    write("other", "pytorch", [
        helper.make_node("Sub", ["x", "m/bn/moving_mean"], ["d"]),
        helper.make_node("Mul", ["d", "m/bn/gamma"], ["y"])],
        {"m/bn/moving_mean": np.ones(4), "m/bn/gamma": np.ones(4)}, shape, shape)


def damage():
    random = np.random.RandomState(0)
    image, kernel = [2, 3, 8, 8], random.uniform(-1, 1, (5, 3, 3, 3))
    dense = random.uniform(-1, 1, (5 * 36, 4))
    names = ["net/conv2d/convolution:0", "net/bn/batchnorm/mul_1:0", "net/dense/MatMul:0"]
    write("tensorflow", "tf2onnx", [
        helper.make_node("Conv", ["x", "kernel"], [names[0]], name="net/conv2d/convolution"),
        helper.make_node("Mul", [names[0], "scale"], [names[1]]),
        helper.make_node("Flatten", [names[1]], ["f"]),
        helper.make_node("MatMul", ["f", "dense"], [names[2]], name="net/dense/MatMul"),
        helper.make_node("Add", [names[2], "bias"], ["y"])],
        {"kernel": kernel, "scale": random.uniform(1, 2, (5, 1, 1)), "dense": dense,
         "bias": np.ones(4)}, image, [2, 4])
    # Statistics of the batch, which no export left out.
    moments = [helper.make_node("ReduceMean", ["x"], ["net/bn/moments/mean:0"], axes=[0, 2, 3]),
               helper.make_node("Sub", ["x", "net/bn/moments/mean:0"], [names[1]]),
               helper.make_node("Flatten", [names[1]], ["y"])]
    write("moments", "tf2onnx", moments, {}, image, [2, 192])
    write("folded", "pytorch", [
        helper.make_node("Conv", ["x", "onnx::Conv_7", "onnx::Conv_8"], ["c"], name="/conv/Conv"),
        helper.make_node("Flatten", ["c"], ["y"])],
        {"onnx::Conv_7": kernel, "onnx::Conv_8": np.ones(5)}, image, [2, 180])


def recurrent():
    random = np.random.RandomState(0)
    for producer in ("tf2onnx", "pytorch"):
        write(f"lstm.{producer}", producer, [
            helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
            helper.make_node("LSTM", ["t", "w", "r", "b"], ["", "h"], hidden_size=2),
            helper.make_node("Squeeze", ["h", "axes"], ["y"])],
            {"w": random.uniform(-1, 1, (1, 8, 3)), "r": random.uniform(-1, 1, (1, 8, 2)),
             "b": np.zeros((1, 16)), "axes": np.array([0])}, [2, 5, 3], [2, 2])


def images():
    """Inputs with channels last."""
    kernel = np.random.RandomState(0).uniform(-1, 1, (3, 3, 1, 1))
    there = helper.make_node("Transpose", ["p"], ["t"], perm=[0, 3, 1, 2])
    conv = helper.make_node("Conv", ["t", "k"], ["c"], kernel_shape=[1, 1])
    border = helper.make_node("Pad", ["s", "pads"], ["p"])
    scale = helper.make_node("Mul", ["x", "scale"], ["s"])
    tensors = {"k": kernel, "scale": np.ones(3) / 2, "pads": np.array([0, 1, 1, 0, 0, 0, 0, 0])}
    flat = helper.make_node("Flatten", ["c"], ["y"])
    write("last", "pytorch", [scale, border, there, conv, flat], tensors, [2, 5, 7, 3], [2, 144])
    # Each value is read twice by the next: 2^60 ways from the input to the convolution.
    names = ["x", *(f"d{i}" for i in range(59)), "p"]
    doubled = [helper.make_node("Add", [a, a], [b]) for a, b in zip(names, names[1:])]
    write("doubled", "pytorch", [*doubled, there, conv, flat], tensors, [2, 5, 7, 3], [2, 105])
    # Five channels are no colours: the user says what they are.
    five = helper.make_node("Conv", ["t5", "k5"], ["c"], kernel_shape=[1, 1])
    there5 = helper.make_node("Transpose", ["x"], ["t5"], perm=[0, 3, 1, 2])
    write("five", "pytorch", [there5, five, flat], {"k5": np.ones((2, 5, 1, 1))}, [2, 4, 6, 5],
          [2, 48])
    # What a convolution reads as it is has channels second, whatever its extents are.
    both = helper.make_node("Conv", ["x", "k5"], ["c5"], kernel_shape=[1, 1])
    sums = [helper.make_node("Flatten", ["c5"], ["f5"]), helper.make_node("Flatten", ["c"], ["f"]),
            helper.make_node("MatMul", ["f", "w"], ["g"]), helper.make_node("Add", ["f5", "g"], ["y"])]
    write("both", "pytorch", [scale, border, there, conv, both, *sums],
          {**tensors, "k5": np.ones((2, 5, 1, 1)), "w": np.ones((144, 42))}, [2, 5, 7, 3], [2, 42])
    # Targets of an autoencoder have the order of its output.
    back = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), conv,
            helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1])]
    write("back", "pytorch", back, {"k": kernel}, [2, 5, 7, 3], [2, 5, 7, 3])


keras()
damage()
images()
recurrent()
