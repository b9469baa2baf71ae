"""The zoo: all its networks by name, with seeded weights and without dropout.

Decides names, weights, and which networks are the quick subset. The networks are in
zoo_torchvision.py, zoo_convolutions.py, zoo_attention.py, zoo_blocks.py, zoo_mixers.py,
zoo_rows.py, zoo_sequences.py and zoo_spectra.py.
"""

import torch
from torch import nn

from zoo_attention import ATTENTION
from zoo_blocks import BLOCKS
from zoo_convolutions import CONVOLUTIONS
from zoo_mixers import MIXERS
from zoo_rows import ROWS
from zoo_sequences import SEQUENCES, Tokens
from zoo_spectra import SPECTRA
from zoo_torchvision import TORCHVISION

ZOO = {**TORCHVISION, **CONVOLUTIONS, **ATTENTION, **BLOCKS, **MIXERS, **ROWS, **SEQUENCES,
       **SPECTRA}
# Together every kind of operator, in less than 90 seconds.
QUICK = ["efficientnet", "convnext", "vit", "swin", "nfnet", "unet_bilinear",
         "instance_style", "levit", "pointnet", "r3d", "siamese", "mlp_pieces",
         "normalizations", "gpt_tied", "bert", "categories", "pixels", "llama", "involution",
         "statistics", "spectrogram", "stacked"]


def draw_nothing(network):
    """What is drawn at random in training (dropout, stochastic depth, which libraries keep
    as numbers of many names) is left out: no two programs draw alike."""
    for module in network.modules():
        if isinstance(module, (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d,
                               nn.AlphaDropout)):
            module.p = 0.0
        for name, value in vars(module).items():
            if isinstance(value, float) and "drop" in name:
                setattr(module, name, 0.0)


def build_zoo(name):
    """The network and its input shape without the batch; the same weights each time."""
    torch.manual_seed(sum(map(ord, name)))
    make, shape = ZOO[name]
    network = make()
    draw_nothing(network)
    # Constructors leave scales at one and biases at zero: equal tensors hide swapped
    # ones, and exporters take constants for each other.
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.is_floating_point() and (
                    parameter.dim() <= 1 or parameter.min() == parameter.max()):
                parameter += 0.05 * torch.randn_like(parameter)
    return network.train(), shape


def draw_samples(shape, count, random):
    """Samples of this shape, as a numpy array; `random` is a RandomState."""
    if isinstance(shape, Tokens):
        return random.randint(0, shape.count, (count, *shape))
    return random.uniform(-1, 1, (count, *shape)).astype("float32")
