"""bad_data.py OUT: data folders that no trainer should accept."""

import os
import sys

import numpy as np


def write(name, images, labels):
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(folder)
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels)


grey = np.zeros((20, 28, 28), np.uint8)
labels = np.arange(20) % 10
write("lengths", grey, labels[:19])
write("range", grey, labels + 1)
write("few", grey[:7], labels[:7])
write("channels", np.zeros((20, 28, 28, 3), np.uint8), labels)
