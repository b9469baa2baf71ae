"""Writes the example models, whose weights are drawn when training starts.

  make_examples.py [FOLDER]      (the folder of this script, if none is given)

A stored AlexNet would weigh 244 MB. Here every parameter is the output of a
random or constant node instead, which ONNX allows and lwcc trains: the files
are a few KB. Names are torchvision's, so a checkpoint can be loaded there.

Weights are drawn by He et al. 2015 (variance 2/fan-in; normal in alexnet.onnx,
uniform in lenet5.onnx), biases are zero: without batch normalization, PyTorch's
default shrinks the signal from layer to layer, and the loss stays on a plateau
at first. A trainer's --init=fresh draws by PyTorch's default instead.
"""

import math
import os
import sys

from onnx import TensorProto, checker, helper, save

FLOAT = TensorProto.FLOAT


class Net:
    """A graph that grows layer by layer from `images`."""

    def __init__(self, name, distribution):
        self.name, self.distribution = name, distribution
        self.nodes, self.constants, self.last = [], [], "images"

    def node(self, op, name, *extra, **attributes):
        """Appends an op that reads the last value; `name` names its result."""
        self.nodes.append(helper.make_node(
            op, [self.last, *extra], [name], name=name, **attributes))
        self.last = name

    def weight(self, name, shape):
        deviation = math.sqrt(2 / math.prod(shape[1:]))
        drawn = dict(mean=0.0, scale=deviation)
        if self.distribution == "Uniform":
            drawn = dict(low=-math.sqrt(3) * deviation,
                         high=math.sqrt(3) * deviation)
        self.nodes.append(helper.make_node(
            f"Random{self.distribution}", [], [name], name=name, dtype=FLOAT,
            shape=shape, **drawn))
        return name

    def bias(self, name, size):
        self.constants.append(helper.make_tensor(
            f"{name}.shape", TensorProto.INT64, [1], [size]))
        self.nodes.append(helper.make_node(
            "ConstantOfShape", [f"{name}.shape"], [name], name=name,
            value=helper.make_tensor("value", FLOAT, [1], [0.0])))
        return name

    def layer(self, op, name, shape, outputs, **attributes):
        self.node(op, name, self.weight(f"{name}.weight", shape),
                  self.bias(f"{name}.bias", outputs), **attributes)

    def conv(self, name, inputs, outputs, kernel, stride=1, pad=0):
        self.layer("Conv", name, [outputs, inputs, kernel, kernel], outputs,
                   kernel_shape=[kernel] * 2, strides=[stride] * 2,
                   pads=[pad] * 4)

    def linear(self, name, inputs, outputs):
        self.layer("Gemm", name, [outputs, inputs], outputs, transB=1)

    def pool(self, name, kernel, stride):
        self.node("MaxPool", name, kernel_shape=[kernel] * 2,
                  strides=[stride] * 2)

    def dropout(self, name):
        if not any(constant.name == "ratio" for constant in self.constants):
            self.constants += [
                helper.make_tensor("ratio", FLOAT, [], [0.5]),
                helper.make_tensor("training", TensorProto.BOOL, [], [True])]
        self.node("Dropout", name, "ratio", "training")

    def save(self, path, shape, classes):
        self.nodes[-1].output[0] = self.last = "logits"
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info("images", FLOAT, ["batch", *shape])],
            [helper.make_tensor_value_info("logits", FLOAT, ["batch", classes])],
            self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
            producer_name="make_examples.py")
        checker.check_model(model, full_check=True)
        save(model, path)
        print(f"{path}: {os.path.getsize(path)} bytes")


def alexnet(path, size=224, pooled=6):
    """torchvision.models.alexnet, 61,100,840 parameters. With images of 256
    pixels and a map of 7x7 before the classifier it has 74.7 million."""
    net = Net("alexnet", "Normal")
    net.conv("features.0", 3, 64, 11, stride=4, pad=2)
    net.node("Relu", "features.1")
    net.pool("features.2", 3, 2)
    net.conv("features.3", 64, 192, 5, pad=2)
    net.node("Relu", "features.4")
    net.pool("features.5", 3, 2)
    net.conv("features.6", 192, 384, 3, pad=1)
    net.node("Relu", "features.7")
    net.conv("features.8", 384, 256, 3, pad=1)
    net.node("Relu", "features.9")
    net.conv("features.10", 256, 256, 3, pad=1)
    net.node("Relu", "features.11")
    net.pool("features.12", 3, 2)
    net.node("Flatten", "flatten", axis=1)
    net.dropout("classifier.0")
    net.linear("classifier.1", 256 * pooled * pooled, 4096)
    net.node("Relu", "classifier.2")
    net.dropout("classifier.3")
    net.linear("classifier.4", 4096, 4096)
    net.node("Relu", "classifier.5")
    net.linear("classifier.6", 4096, 1000)
    net.save(path, [3, size, size], 1000)


def lenet5(path):
    """LeCun et al. 1998 with ReLU and max pooling, 61,706 parameters."""
    net = Net("lenet5", "Uniform")
    net.conv("conv1", 1, 6, 5, pad=2)
    net.node("Relu", "relu1")
    net.pool("pool1", 2, 2)
    net.conv("conv2", 6, 16, 5)
    net.node("Relu", "relu2")
    net.pool("pool2", 2, 2)
    net.node("Flatten", "flatten", axis=1)
    net.linear("fc1", 400, 120)
    net.node("Relu", "relu3")
    net.linear("fc2", 120, 84)
    net.node("Relu", "relu4")
    net.linear("fc3", 84, 10)
    net.save(path, [1, 28, 28], 10)


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(
        os.path.abspath(__file__))
    alexnet(os.path.join(folder, "alexnet.onnx"))
    lenet5(os.path.join(folder, "lenet5.onnx"))
