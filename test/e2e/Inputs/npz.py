"""One set of images in every form of .npz, and as arrays: npz.py FOLDER."""

import os
import sys

import numpy as np


def main():
    folder = sys.argv[1]
    random = np.random.RandomState(7)
    parts = {}
    for name, count in ("train", 40), ("test", 11):
        os.makedirs(f"{folder}/{name}")
        images = random.randint(0, 256, (count, 28, 28)).astype(np.uint8)
        labels = random.randint(0, 10, count).astype(np.int64)
        np.save(f"{folder}/{name}/images.npy", images)
        np.save(f"{folder}/{name}/labels.npy", labels)
        parts[name] = images, labels
    (x, y), (x_test, y_test) = parts["train"], parts["test"]
    np.savez(f"{folder}/keras.npz", x_train=x, y_train=y, x_test=x_test, y_test=y_test)
    np.savez_compressed(f"{folder}/medmnist.npz", train_images=x, train_labels=y[:, None],
                        test_images=x_test, test_labels=y_test[:, None])
    os.makedirs(f"{folder}/both")
    np.savez(f"{folder}/both/train.npz", x, y)
    np.savez_compressed(f"{folder}/both/val.npz", images=x_test, labels=y_test, other=y)
    np.savez(f"{folder}/alone.npz", data=x_test)
    np.savez(f"{folder}/other.npz", pixels=x, classes=y)
    # Damage: a byte of packed data, a byte of the list, the end.
    with open(f"{folder}/medmnist.npz", "rb") as file:
        good = file.read()
    for name, place in ("bits", 300), ("list", good.rindex(b"PK\x01\x02")):
        bad = bytearray(good)
        bad[place] ^= 0xFF
        with open(f"{folder}/{name}.npz", "wb") as file:
            file.write(bad)
    with open(f"{folder}/short.npz", "wb") as file:
        file.write(good[:-40])


if __name__ == "__main__":
    main()
