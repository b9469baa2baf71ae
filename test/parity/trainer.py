"""Runs a trainer on a data folder, and makes the same batches in PyTorch.

Decides how a trainer is called, and where its losses and weights are found. What they
are compared with is decided in parity.py and op_grid.py.
"""

import glob
import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

import philox
from optimizers import make_optimizer, trainer_flags


@dataclass
class Settings:
    batch: int
    steps: int
    lr: float
    momentum: float = 0.9
    weight_decay: float = 5e-4
    nesterov: bool = False
    seed: int = 1
    optimizer: str = "sgd"
    options: dict = None  # by PyTorch's names; None: the fields above, of SGD
    groups: tuple = ()    # of parameters, as make_optimizer has them
    clip_value: float = None
    clip_norm: float = None  # compiled in: train() does not say it

    def hyper_parameters(self):
        """As torch.optim's keyword arguments."""
        own = (self.options if self.options is not None else
               {"momentum": self.momentum, "weight_decay": self.weight_decay,
                "nesterov": self.nesterov})
        return {"lr": self.lr, **own}


class TrainerError(Exception):
    """The trainer ended with an error; the text is what it wrote."""


def train(command, data, settings, said=None):
    """Losses of the steps, and all saved tensors by their ONNX names.

    `command` is the program and all arguments in front of the trainer's own flags.
    What it wrote to the terminal is appended to the list `said`.
    """
    with tempfile.TemporaryDirectory(prefix="lwcc-parity-") as folder:
        log = os.path.join(folder, "log.jsonl")
        flags = [
            f"--data={data}", f"--steps={settings.steps}", "--no-shuffle",
            *trainer_flags(settings.hyper_parameters()), f"--seed={settings.seed}",
            f"--log={log}", f"--checkpoint-dir={folder}/checkpoints",
            f"--checkpoint-every={settings.steps}"]
        if settings.clip_value is not None:
            flags.append(f"--clip-value={settings.clip_value}")
        try:
            result = subprocess.run(
                command + flags, text=True, errors="replace",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            raise TrainerError(str(error)) from error
        if said is not None:
            said.append(result.stdout)
        if result.returncode:
            raise TrainerError(f"{shlex.join(command + flags)}\n"
                               f"exit code {result.returncode}\n{result.stdout}")
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
        losses = [r["loss"] for r in records if "loss" in r and "lr" in r]
        if len(losses) != settings.steps:
            raise TrainerError(f"{len(losses)} losses in the log of "
                               f"{settings.steps} steps")
        saved = sorted(glob.glob(f"{folder}/checkpoints/step-*/model.safetensors"))
        if not saved:
            raise TrainerError("no checkpoint was written")
        return losses, load_file(saved[-1])


class Data:
    """The images of a folder, in the order in which a trainer without shuffling has them."""

    def __init__(self, folder, shape):
        self.images = np.load(os.path.join(folder, "images.npy"), mmap_mode="r")
        self.labels = np.load(os.path.join(folder, "labels.npy"), mmap_mode="r")
        self.shape = shape  # of one image, [c, h, w], or [features]

    def batch(self, step, size):
        """The batch of a step counted from zero: float32 images, or the integers that
        are given; labels."""
        first = step % (len(self.labels) // size) * size
        images = torch.from_numpy(np.array(self.images[first:first + size]))
        images = images / 255 if images.dtype == torch.uint8 else images
        labels = np.array(self.labels[first:first + size], dtype=np.int64)
        if images.dim() == 3 and len(self.shape) == 3:
            images = F.interpolate(images[:, None], self.shape[1:],
                                   mode="bilinear", align_corners=False,
                                   antialias=True)
            images = images.expand(size, *self.shape)
        return (images.reshape(size, *self.shape).contiguous(),
                torch.from_numpy(labels))


class BenchmarkData:
    """The synthetic images of a trainer's --benchmark, of a given shape: the first ones,
    in every step (runtime/train/data/Synthetic.cpp)."""

    def __init__(self, shape, classes):
        self.shape, self.classes = shape, classes

    def label(self, index):
        blocks = np.array([index], dtype=np.uint64)
        word = philox.philox(0, blocks, philox.stream_of("synthetic labels"), 0)[0, 0]
        return int(word) * self.classes >> 32

    def image(self, index):
        """Noise in [0.25, 0.75], plus or minus 0.25 as the class's pattern says."""
        count = int(np.prod(self.shape))
        blocks = -(-count // 16)
        words = philox.philox(
            0, np.arange(index * blocks, (index + 1) * blocks, dtype=np.uint64),
            philox.stream_of("synthetic images"), 0).reshape(-1)
        shifts = 8 * np.arange(4, dtype=np.uint64)
        noise = ((words[:, None] >> shifts) & np.uint64(255)).reshape(-1)[:count]
        pattern = philox.philox(0, np.array([self.label(index)], dtype=np.uint64),
                                philox.stream_of("synthetic class"), 0)[0]
        signs = int(pattern[1]) << 32 | int(pattern[0])
        cells = np.array([signs >> cell & 1 for cell in range(64)])
        sign = np.where(cells[np.arange(count) * 64 // count], 0.25, -0.25)
        values = (np.float32(0.25) + noise.astype(np.float32) / np.float32(510)
                  + sign.astype(np.float32))
        return values.reshape(self.shape)

    def batch(self, step, size):
        return (torch.from_numpy(np.stack([self.image(i) for i in range(size)])),
                torch.tensor([self.label(i) for i in range(size)]))


def run_oracle(oracle, data, settings):
    """The oracle's losses on the same batches."""
    def make(parameters):
        return make_optimizer(settings.optimizer, parameters,
                              settings.hyper_parameters(), settings.groups)

    return [oracle.train_step(*data.batch(step, settings.batch), make,
                              settings.clip_value, settings.clip_norm)
            for step in range(settings.steps)]
