"""Optimizers by lwcc's names: PyTorch's own, and the flags that say the same to lwcc.

Decides what a trainer's optimizer is compared with. Lion is not in torch.optim; its
update is written down here as its authors published it.
"""

import re

import torch


class Lion(torch.optim.Optimizer):
    """Chen et al., "Symbolic discovery of optimization algorithms", 2023, program 1."""

    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(parameters,
                         {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2) = group["lr"], group["betas"]
            for w in group["params"]:
                state = self.state[w]
                m = state.setdefault("exp_avg", torch.zeros_like(w))
                w.mul_(1 - lr * group["weight_decay"])
                w.add_(torch.sign(m * beta1 + w.grad * (1 - beta1)), alpha=-lr)
                m.mul_(beta2).add_(w.grad, alpha=1 - beta2)


OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": Lion,
}


def text_of(value):
    if isinstance(value, (tuple, list)):
        return ",".join(text_of(item) for item in value)
    return repr(value)


def trainer_flags(options):
    """PyTorch's keyword arguments as flags of a trainer; True is a switch."""
    return ["--" + name.replace("_", "-")
            + ("" if value is True else "=" + text_of(value))
            for name, value in options.items() if value is not False]


def parse_options(pairs):
    """["betas=0.9,0.99", "nesterov"] as keyword arguments."""
    options = {}
    for pair in pairs:
        name, given, value = pair.partition("=")
        numbers = [float(item) for item in value.split(",")] if given else []
        options[name.replace("-", "_")] = (
            True if not given else numbers[0] if len(numbers) == 1
            else tuple(numbers))
    return options


def make_optimizer(name, parameters, options, groups=()):
    """PyTorch's optimizer of the tensors in the dict `parameters`.

    `groups` are pairs of a regular expression and the factors of learning rate and weight
    decay for the parameters that it is found in; the first that is counts.
    """
    lists = []
    for parameter, tensor in parameters.items():
        group = {"params": [tensor]}
        for pattern, lr_scale, decay_scale in groups:
            if re.search(pattern, parameter):
                group["lr"] = options["lr"] * lr_scale
                group["weight_decay"] = options["weight_decay"] * decay_scale
                break
        lists.append(group)
    return OPTIMIZERS[name](lists, **options)
