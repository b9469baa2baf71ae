"""Writes the handwritten digits that scikit-learn ships as a data set.

  make_digits.py OUT             OUT/train (1,500 images) and OUT/val (the other 297)
  make_digits.py OUT --pictures  the same as files: OUT/train/CLASS/NUMBER.png

A folder of arrays holds images.npy (uint8 [n, 8, 8], 0 to 255) and labels.npy
(int64 [n]), in an order fixed by a seed: the same bytes every time.
"""

import argparse
import os

import numpy as np
from sklearn.datasets import load_digits

TRAINING = 1500


def write_pictures(folder, images, labels):
    from PIL import Image
    for number, (image, label) in enumerate(zip(images, labels)):
        name = os.path.join(folder, str(label), f"{number}.png")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        Image.fromarray(image).save(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--pictures", action="store_true")
    args = parser.parse_args()
    digits = load_digits()
    images = np.rint(digits.images * (255 / 16)).astype(np.uint8)
    labels = digits.target.astype(np.int64)
    order = np.random.RandomState(0).permutation(len(labels))
    for part, rows in ("train", order[:TRAINING]), ("val", order[TRAINING:]):
        folder = os.path.join(args.out, part)
        os.makedirs(folder, exist_ok=True)
        if args.pictures:
            write_pictures(folder, images[rows], labels[rows])
        else:
            np.save(os.path.join(folder, "images.npy"), images[rows])
            np.save(os.path.join(folder, "labels.npy"), labels[rows])
        print(f"{folder}: {len(rows)} images")


if __name__ == "__main__":
    main()
