"""A folder of pictures, and the same in tar archives as WebDataset has them: shards.py FOLDER.

The archives follow the order of the folder, and are of all forms that Python writes; one
name is longer than the first form can hold.
"""

import io
import os
import sys
import tarfile

import numpy as np
from PIL import Image


def add(archive, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def main():
    folder = sys.argv[1]
    random = np.random.RandomState(4)
    forms = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
    for part, counts in ("train", (5, 8, 11)), ("val", (3, 0, 4)):
        os.makedirs(f"{folder}/shards", exist_ok=True)
        for label, (count, form) in enumerate(zip(counts, forms)):
            os.makedirs(f"{folder}/{part}/class{label}")
            if not count:
                continue
            with tarfile.open(f"{folder}/shards/{part}-{label:03}.tar", "w", format=form) as archive:
                add(archive, "._hidden.png", b"no picture")
                for number in range(count):
                    file = io.BytesIO()
                    pixels = random.randint(0, 256, (9 + number, 12, 3)).astype(np.uint8)
                    Image.fromarray(pixels).save(file, "PNG")
                    with open(f"{folder}/{part}/class{label}/{number:03}.png", "wb") as copy:
                        copy.write(file.getvalue())
                    deep = "/".join(["a" * 40] * 3) if number == 1 else "data"
                    key = f"{deep}/{number:03}"
                    add(archive, f"{key}.json", b"{}")
                    add(archive, f"{key}.png", file.getvalue())
                    add(archive, f"{key}.cls", f"{label}\n".encode())
    os.rmdir(f"{folder}/val/class1")
    with tarfile.open(f"{folder}/wrong.tar", "w") as archive:
        for number, label in enumerate([b"1", b"cat", b"7", b"2"]):
            add(archive, f"{number}.png", file.getvalue())
            add(archive, f"{number}.cls", label)
    with open(f"{folder}/shards/train-002.tar", "rb") as shard:
        good = shard.read()
    with open(f"{folder}/short.tar", "wb") as short:
        short.write(good[:good.index(b"\x89PNG") + 50])
    with open(f"{folder}/bits.tar", "wb") as bits:
        bits.write(good[:100] + b"x" + good[101:])


if __name__ == "__main__":
    main()
