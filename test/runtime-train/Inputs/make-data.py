"""Writes the same 7x9 images in several formats, and as torchvision makes them 4x4."""
import os
import sys

import numpy as np
import torch
from torchvision.transforms import v2

generator = np.random.default_rng(0)
images = generator.integers(0, 256, (24, 7, 9, 1), dtype=np.uint8)
labels = generator.integers(0, 4, 24)
fractions = images.astype(np.float32) / np.float32(255)
seen = v2.Compose([v2.Resize(4, antialias=True), v2.CenterCrop(4)])
resized = seen(torch.from_numpy(fractions.transpose(0, 3, 1, 2).copy())).numpy()


def save(name, images, labels):
    folder = os.path.join(sys.argv[1], name)
    os.mkdir(folder)
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels)


save("uint8", images, labels)
save("float32", fractions[..., 0], labels.astype(np.int32))
save("float64", fractions.astype(np.float64), labels.astype(np.uint8))
save("nchw", np.ascontiguousarray(fractions.transpose(0, 3, 1, 2)), labels.reshape(-1, 1))
save("torch", resized, labels)
