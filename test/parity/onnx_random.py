"""What ONNX's random operators and Dropout mean: the trainer's own random numbers
(philox.py).

Nodes that stand for parameters and dropouts that are spelled out are onnx_torch.py's.
"""

import torch

import philox


def drawn(function, first, second):
    """`first` and `second` are the distribution's attributes, with their defaults."""
    def draw(call, like=None):
        shape = call.get("shape") if like is None else list(like.shape)
        numbers = function(shape, call.get(*first), call.get(*second), call.run.seed,
                           call.outputs[0], call.run.step)
        return torch.from_numpy(numbers).to(call.run.dtype)
    return draw


def dropout(call, x, ratio=None, training=None):
    ratio = ratio.detach().item() if ratio is not None else call.get("ratio", 0.5)
    run = call.run
    if not run.training or not run.dropout or ratio == 0:
        return x, None
    mask = philox.dropout_mask(tuple(x.shape), ratio, run.seed, call.outputs[0], run.step)
    return x * torch.from_numpy(mask).to(x.dtype), None


def bernoulli(call, probability):
    numbers = philox.uniform(list(probability.shape), 0, 1, call.run.seed, call.outputs[0],
                             call.run.step)
    return (torch.from_numpy(numbers) < probability).to(probability.dtype)


normal = drawn(philox.normal, ("mean", 0.0), ("scale", 1.0))
uniform = drawn(philox.uniform, ("low", 0.0), ("high", 1.0))

OPS = {"RandomNormal": normal, "RandomNormalLike": normal, "RandomUniform": uniform,
       "RandomUniformLike": uniform, "Bernoulli": bernoulli,
       "Dropout": dropout}
