"""A model that computes its loss itself, and draws random numbers: own_loss.py FOLDER.

A variational autoencoder gives the loss of each sample. PyTorch's exporters write it; it
is trained for its output, without targets, on one device and on several. The losses and
the weights are PyTorch's, with the trainer's own noise in place of PyTorch's.
"""

import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from torch import nn

from losses import BATCH, SETTINGS, STEPS, check_plans, trained

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../parity"))
import philox  # noqa: E402

INPUTS, HIDDEN, LATENT = 10, 8, 3


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(INPUTS, HIDDEN)
        self.mean, self.logvar = nn.Linear(HIDDEN, LATENT), nn.Linear(HIDDEN, LATENT)
        self.decode = nn.Linear(LATENT, HIDDEN)
        self.give = nn.Linear(HIDDEN, INPUTS)

    def forward(self, x, noise=None):
        hidden = torch.relu(self.encode(x))
        mean, logvar = self.mean(hidden), self.logvar(hidden)
        deviation = torch.exp(0.5 * logvar)
        drawn = torch.randn_like(deviation) if noise is None else noise
        y = self.give(torch.relu(self.decode(mean + deviation * drawn)))
        rebuilt = F.mse_loss(y, x, reduction="none").sum(1)
        return rebuilt - 0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1)


def main():
    folder = sys.argv[1]
    torch.manual_seed(5)
    module = Autoencoder()
    initial = {name: w.detach().numpy().copy() for name, w in module.named_parameters()}
    x = np.random.RandomState(7).normal(size=(BATCH * STEPS, INPUTS)).astype(np.float32)
    os.makedirs(f"{folder}/data", exist_ok=True)
    np.save(f"{folder}/data/images.npy", x)
    x = torch.from_numpy(x).double()
    double = module.double()
    compared = 0
    for dynamo in True, False:
        path = f"{folder}/vae{int(dynamo)}.onnx"
        options = (dict(optimize=False) if dynamo else
                   dict(training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False))
        torch.onnx.export(module.float().train(), (torch.zeros(BATCH, INPUTS),), path,
                          dynamo=dynamo, input_names=["x"], output_names=["loss"], **options)
        [drawn] = [node.output[0] for node in onnx.load(path).graph.node
                   if node.op_type.startswith("RandomNormal")]
        double = module.double()

        def loss_of(w, part, name=drawn):
            step = part.start // BATCH + 1
            noise = philox.normal([BATCH, LATENT], 0, 1, SETTINGS.seed, name, step)
            noise = torch.from_numpy(noise).double()
            return torch.func.functional_call(double, w, (x[part], noise)).mean()

        compared += check_plans(f"dynamo={dynamo}", path, ["--loss=output"],
                                f"{folder}/data", trained(initial, loss_of))
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
