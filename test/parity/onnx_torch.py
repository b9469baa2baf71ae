"""The oracle: trains any ONNX file in PyTorch, for comparison with a trainer.

Holds a model's state, runs its graph with the functions of onnx_ops.py, and
lets autograd and torch.optim do the rest. Which tensors train
is decided by the same published rule as the compiler's, implemented here on its
own: float initializers (or the random or constant nodes that stand for them)
that a gradient reaches, minus running statistics and what the exporter marked
as a buffer. Knows nothing of lwcc's code; test_oracle.py checks it against ONNX
Runtime and the PyTorch modules that the files came from.
"""

import os
import re

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

import philox
from onnx_ops import OPS, constant, ints, to_torch

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
GENERATORS = ("RandomNormal", "RandomUniform", "RandomNormalLike",
              "RandomUniformLike", "ConstantOfShape")
LOSSES = ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")


def class_axis(scores):
    """Of scores [n, c], [n, c, h, w], or of sequences [n, t, c]."""
    return 2 if len(scores) == 3 and scores[2] != 1 else 1


def cross_entropy(scores, labels):
    return F.cross_entropy(scores.movedim(class_axis(scores.shape), 1), labels)


class Call:
    """One node as onnx_ops.py sees it."""

    def __init__(self, node, run):
        self.op = node.op_type
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.run, self.opset = run, run.opset
        # A detach() of PyTorch's is an Identity, and only this says so.
        self.detaches = any("aten.detach" in note.value for note in node.metadata_props)
        padding = [re.search(r"aten\.embedding\.default\]\(args = \(%\w+, %\w+, (\d+)",
                             note.value) for note in node.metadata_props]
        self.padding = next((int(match[1]) for match in padding if match), None)
        divisor = [re.search(r"aten\.avg_pool.d\.default\]\(args = \(.*(?:Tru|Fals)e, (-?\d+)\)",
                             note.value) for note in node.metadata_props]
        self.divisor = next((int(match[1]) for match in divisor if match), None)
        self.attributes = {}
        for attribute in node.attribute:
            value = helper.get_attribute_value(attribute)
            self.attributes[attribute.name] = (
                value.decode() if isinstance(value, bytes) else value)

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return list(value) if isinstance(value, (list, tuple)) else value


class Oracle:
    def __init__(self, model, dtype=torch.float64, seed=0, dropout=True,
                 bn_group=0):
        """`model` is a path or a ModelProto; `seed` and the step's number key
        the random draws, as in the trainer; `bn_group` is how many samples
        are normalized together, 0: all."""
        if isinstance(model, (str, os.PathLike)):
            model = onnx.load(model)
        graph = model.graph
        self.dtype, self.seed, self.dropout = dtype, seed, dropout
        self.bn_group = bn_group
        self.training, self.step = True, 0
        self.opset = max(o.version for o in model.opset_import if not o.domain)
        self.calls = restore_dropout([Call(node, self) for node in graph.node],
                                     graph.output[0].name)
        stored = {i.name for i in graph.initializer}
        self.inputs = [i.name for i in graph.input if i.name not in stored]
        self.output = graph.output[0].name
        self._find_loss()

        buffers = {v.name for v in graph.value_info for p in v.metadata_props
                   if p.key == KIND and p.value == "BUFFER"}
        self.statistics = {}  # running means and variances, by name
        self.constants = {}   # everything else that the file holds
        self.parameters = {}
        values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        self._draw(values, model.producer_name == "pytorch")
        running = {name for call in self.calls
                   if call.op == "BatchNormalization" for name in call.inputs[3:5]}
        for name, array in values.items():
            tensor = to_torch(array, dtype)
            if name in running:
                self.statistics[name] = tensor
            elif tensor.is_floating_point() and name not in buffers:
                self.parameters[name] = tensor.requires_grad_()
            else:
                self.constants[name] = tensor
        self.optimizer = None

    # Reading the graph --------------------------------------------------------

    def _find_loss(self):
        """The loss in the file, or cross entropy on the logits: then a trailing
        (log-)softmax belongs to the loss."""
        producer = {name: call for call in self.calls for name in call.outputs}
        last = producer[self.output]
        self.own_loss = last.op in LOSSES
        if not self.own_loss and last.op in ("Softmax", "LogSoftmax"):
            self.calls.remove(last)
            self.output = last.inputs[0]

    def _draw(self, values, all_stored):
        """Initial values of the parameters that nodes stand for; others draw noise. With
        `all_stored` no node of random numbers stands for one."""
        known = {}
        for call in list(self.calls):
            if call.op == "Constant":
                known[call.outputs[0]] = constant(call)
            if call.op not in GENERATORS:
                continue
            name = call.outputs[0]
            if call.op == "ConstantOfShape":
                sizes = values.get(call.inputs[0], known.get(call.inputs[0]))
                value = call.get("value")
                value = (np.zeros(1, np.float32) if value is None
                         else numpy_helper.to_array(value))
                if sizes is None or value.dtype != np.float32:
                    continue
                values[name] = np.full(ints(sizes), value.item(), np.float32)
            else:
                if all_stored or (call.op.endswith("Like") and call.inputs[0] not in values):
                    continue
                shape = call.get("shape")
                if call.op.endswith("Like"):
                    shape = list(values[call.inputs[0]].shape)
                if "Normal" in call.op:
                    values[name] = philox.normal(
                        shape, call.get("mean", 0.0), call.get("scale", 1.0),
                        self.seed, name)
                else:
                    values[name] = philox.uniform(
                        shape, call.get("low", 0.0), call.get("high", 1.0),
                        self.seed, name)
            self.calls.remove(call)

    # Running it ---------------------------------------------------------------

    def run(self, images, labels=None):
        """The graph's first output: logits, or the loss if the file holds it."""
        values = dict(self.constants)
        values.update(self.statistics)
        values.update(self.parameters)
        values[self.inputs[0]] = (images.to(self.dtype) if images.is_floating_point()
                                  else images)
        if len(self.inputs) > 1:
            values[self.inputs[1]] = labels
        for call in self.calls:
            self.evaluate(call, values)
        return values[self.output]

    def evaluate(self, call, values):
        """Runs one node on values by name, and adds its outputs to these."""
        arguments = [values[name] if name else None for name in call.inputs]
        if call.op not in OPS:
            raise NotImplementedError(f"the oracle has no {call.op}")
        call.scope = values  # what the graphs of an If or a Loop may read
        results = OPS[call.op](call, *arguments)
        if not isinstance(results, tuple):
            results = (results,)
        values.update(zip(call.outputs, results))

    def loss(self, images, labels):
        result = self.run(images, labels)
        return result if self.own_loss else cross_entropy(result, labels)

    def train_step(self, images, labels, make_optimizer, clip_value=None,
                   clip_norm=None):
        """One step; returns the loss. `make_optimizer` gets the parameters by name once,
        and returns the optimizer of torch.optim that updates them."""
        self.training = True
        self.step += 1
        loss = self.loss(images, labels)
        gradients = torch.autograd.grad(loss, list(self.parameters.values()),
                                        allow_unused=True)
        for (name, w), g in zip(list(self.parameters.items()), gradients):
            if g is None:  # does not reach the loss: a constant
                self.constants[name] = self.parameters.pop(name).detach()
            w.grad = g
        if self.optimizer is None:
            self.optimizer = make_optimizer(self.parameters)
        if clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters.values(), clip_norm)
        if clip_value is not None:
            torch.nn.utils.clip_grad_value_(self.parameters.values(), clip_value)
        self.optimizer.step()
        return loss.item()

    def state(self):
        """Parameters and running statistics by ONNX name, as numpy arrays."""
        return {name: tensor.detach().numpy() for name, tensor in
                {**self.parameters, **self.statistics}.items()}


def restore_dropout(calls, output):
    """Turns x * (uniform < keep) / keep, a Bernoulli of keep, or x / keep * floor(uniform +
    keep) back into a Dropout node.

    The dynamo exporter writes nn.Dropout(inplace=True) in the first way, and Transformers
    stochastic depth in the last. The node's result keeps the product's name, which keys its
    mask.
    """
    producer = {name: call for call in calls for name in call.outputs}

    def follow(name, *ops):
        call = producer.get(name)
        for op in ops:
            while call is not None and call.op in ("Cast", "CastLike", "Identity"):
                call = producer.get(call.inputs[0])
            if call is None or call.op != op:
                return None
            found = call
            call = producer.get(call.inputs[0]) if call.inputs else None
        return found

    for call in list(calls):
        if call.op != "Mul":
            continue
        for x, mask in (call.inputs, call.inputs[::-1]):
            if (follow(mask, "Div", "Less", "RandomUniformLike")
                    or follow(mask, "Div", "Bernoulli")):
                keep = follow(follow(mask, "Div").inputs[1], "Constant")
                call.op, call.inputs = "Dropout", [x]
                call.attributes = {"ratio": 1.0 - float(constant(keep))}
                break
            if follow(mask, "Floor", "Add", "RandomUniformLike") and follow(x, "Div"):
                shifted = follow(mask, "Floor", "Add")
                keep = follow(shifted.inputs[1], "Constant")
                calls = [each for each in calls
                         if each not in (shifted, follow(mask, "Floor"))]
                call.op, call.inputs = "Dropout", [follow(x, "Div").inputs[0]]
                call.attributes = {"ratio": 1.0 - float(constant(keep))}
                break
    return live(calls, output)


def live(calls, output):
    """The calls that are still read: without the chain of random numbers."""
    while True:
        read = {output, *(name for call in calls for name in call.inputs)}
        dead = [call for call in calls if call.op in (
            "Div", "Less", "RandomUniformLike", "Bernoulli", "Cast", "CastLike", "Expand")
            and not read.intersection(call.outputs)]
        if not dead:
            return calls
        calls = [call for call in calls if call not in dead]
