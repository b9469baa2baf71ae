"""Optimizers by lwcc's names: PyTorch's own, and the flags that say the same to lwcc.

Decides what a trainer's optimizer is compared with. Lion, LARS and LAMB are not in
torch.optim; their updates are written down here as they were published.
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


class Lars(torch.optim.Optimizer):
    """You et al., "Large batch training of convolutional networks", 2017, as timm's Lars
    with its defaults has it."""

    def __init__(self, parameters, lr, momentum=0.0, nesterov=False, trust_coeff=1e-3,
                 eps=1e-8, weight_decay=0.0):
        super().__init__(parameters, {
            "lr": lr, "momentum": momentum, "nesterov": nesterov, "eps": eps,
            "trust_coeff": trust_coeff, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            decay, momentum = group["weight_decay"], group["momentum"]
            for w in group["params"]:
                g = w.grad
                if decay != 0:
                    norm, other = w.norm(2.0), g.norm(2.0)
                    trust = (group["trust_coeff"] * norm
                             / (other + norm * decay + group["eps"]))
                    g = (g + decay * w) * (trust if norm > 0 and other > 0 else 1.0)
                m = self.state[w].setdefault("momentum", torch.zeros_like(w))
                m.mul_(momentum).add_(g)
                w.add_(g + momentum * m if group["nesterov"] else m, alpha=-group["lr"])


class Lamb(torch.optim.Optimizer):
    """You et al., "Large batch optimization for deep learning", 2020, as timm's Lamb with
    max_grad_norm=None has it."""

    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps,
                                      "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            decay, (beta1, beta2) = group["weight_decay"], group["betas"]
            for w in group["params"]:
                state = self.state[w]
                state["step"] = step = state.get("step", 0) + 1
                m = state.setdefault("exp_avg", torch.zeros_like(w))
                v = state.setdefault("exp_avg_sq", torch.zeros_like(w))
                m.mul_(beta1).add_(w.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(w.grad, w.grad, value=1 - beta2)
                denominator = (v.sqrt() / (1 - beta2 ** step) ** 0.5).add_(group["eps"])
                u = (m / (1 - beta1 ** step)).div_(denominator)
                if decay != 0:
                    u.add_(w, alpha=decay)
                    norm, other = w.norm(2.0), u.norm(2.0)
                    u.mul_(norm / other if norm > 0 and other > 0 else 1.0)
                w.add_(u, alpha=-group["lr"])


OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "lion": Lion,
    "lars": Lars,
    "lamb": Lamb,
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
