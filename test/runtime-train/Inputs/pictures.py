"""Pictures of every mode and format that Pillow writes, and what torchvision makes
of them: pictures.py FOLDER.

The trainer's inputs, as lwcc-read-data writes them, are those of Resize and CenterCrop,
in the order of ImageFolder; in training those of RandomResizedCrop and
RandomHorizontalFlip, whose draws are those of seed 7. Those of pictures of 32 x 32, in
colour and grey, are those of ColorJitter and RandomErasing, of RandomRotation(60) and of
RandAugment in three strengths.
"""
import math
import pathlib
import subprocess
import sys
from unittest import mock

import numpy as np
import torch
from PIL import Image, ImageOps
from torchvision import datasets
from torchvision.transforms import v2

SIZES = [(61, 47), (32, 32), (20, 90), (33, 32), (200, 131), (7, 5)]


def scene(random, width, height, channels):
    """Smooth colours with edges and some noise, as pictures have."""
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for _ in range(channels):
        a, b, c = random.uniform(0.02, 0.4, 3)
        plane = 128 + 90 * np.sin(a * x + b * y + 9 * c) + random.normal(0, 6, (height, width))
        plane[(x > width / 3) & (y > height / 2)] *= c + 0.3
        planes.append(plane)
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def make(folder):
    random = np.random.RandomState(7)
    for number, (width, height) in enumerate(SIZES):
        rgb = Image.fromarray(scene(random, width, height, 3))
        grey = Image.fromarray(scene(random, width, height, 1)[..., 0])
        alpha = Image.fromarray(scene(random, width, height, 4), "RGBA")
        deep = Image.fromarray(scene(random, width, height, 1)[..., 0].astype(np.uint16) * 257)
        files = {
            "jpeg": {"rgb.jpg": (rgb, {"quality": 90}),
                     "half.jpeg": (rgb, {"quality": 60, "subsampling": 2}),
                     "full.JPG": (rgb, {"quality": 95, "subsampling": 0, "progressive": True}),
                     "grey.jpg": (grey, {}), "cmyk.jpg": (rgb.convert("CMYK"), {})},
            "png": {"rgb.png": (rgb, {}), "rgba.png": (alpha, {}), "grey.png": (grey, {}),
                    "la.png": (alpha.convert("LA"), {}), "palette.png": (rgb.quantize(17), {}),
                    "two.png": (grey.convert("1"), {}), "sixteen.png": (deep, {}),
                    "clear.png": (rgb.quantize(200), {"transparency": 3}),
                    "four.png": (rgb.quantize(9), {"bits": 4})},
            "webp": {"lossy.webp": (rgb, {"quality": 80}), "exact.webp": (rgb, {"lossless": True}),
                     "alpha.webp": (alpha, {"quality": 80, "exact": True})},
            "bmp": {"rgb.bmp": (rgb, {}), "grey.bmp": (grey, {}), "palette.bmp": (rgb.quantize(30), {}),
                    "two.bmp": (grey.convert("1"), {}), "alpha.bmp": (alpha, {})},
        }
        for kind, pictures in files.items():
            (folder / kind / f"size{number}").mkdir(parents=True, exist_ok=True)
            for name, (picture, options) in pictures.items():
                picture.save(folder / kind / f"size{number}" / name, **options)
    picture = Image.fromarray(scene(random, 40, 50, 3))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        for ending in "jpg", "png", "webp":
            place = folder / "upright" / f"{orientation}.{ending}"
            place.parent.mkdir(exist_ok=True)
            picture.save(place, exif=exif, quality=95)


def loaded(path, mode):
    picture = Image.open(path)
    if picture.mode.startswith("I"):  # Pillow would clip at 255
        picture = Image.fromarray((np.asarray(picture).astype(np.uint32) >> 8).astype(np.uint8))
    return ImageOps.exif_transpose(picture).convert(mode)


sys.path.append(str(pathlib.Path(__file__).parents[2] / "parity"))
import philox  # noqa: E402


class Draws:
    """The numbers that the trainer draws for a picture (runtime/train/data/Augment.h),
    in place of torch's."""

    def __init__(self, index, epoch, stream="augmentation"):
        blocks = np.arange(index * 16, index * 16 + 16, dtype=np.uint64)
        words = philox.philox(7, blocks, philox.stream_of(stream), epoch)
        self.numbers = (words.reshape(-1) >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
        self.next = 4

    def uniform(self, tensor, low, high):
        if self.next % 4 == 2:  # of a try that was given up, which draws no place
            self.next += 2
        self.next += 1
        return torch.tensor([low + self.numbers[self.next - 1] * (high - low)])

    def randint(self, low, high, size):
        self.next += 1
        return torch.tensor([low + int(self.numbers[self.next - 1] * (high - low))])


def augmented(picture, index, epoch, size):
    """By torchvision's own code."""
    draws = Draws(index, epoch)
    with mock.patch.object(torch.Tensor, "uniform_", lambda *given: draws.uniform(*given)), \
            mock.patch("torch.randint", draws.randint):
        picture = v2.RandomResizedCrop(size)(picture)
    picture = v2.functional.hflip(picture) if draws.numbers[0] < 0.5 else picture
    return v2.functional.vflip(picture) if draws.numbers[1] < 0.5 else picture


def check(folder, listing, out, channels, side, part, epoch=None):
    mode = "L" if channels == 1 else "RGB"
    files = datasets.ImageFolder(folder)
    expected = [(str(pathlib.Path(path).relative_to(folder)), label) for path, label in files.samples]
    listed = [line.rsplit(" ", 1) for line in listing.splitlines()]
    assert [(name, int(label)) for name, label in listed] == expected, "another order than ImageFolder's"
    ours = np.fromfile(out, np.float32).reshape(len(expected), channels, side, side)
    resize = v2.Resize(math.floor(side / part))
    worst = exact = 0
    for index, ((path, _), values) in enumerate(zip(files.samples, ours)):
        picture = loaded(path, mode)
        if epoch is None:
            picture = v2.CenterCrop(side)(resize(picture))
        else:
            picture = augmented(picture, index, epoch, side)
        theirs = torch.from_numpy(np.array(picture)).reshape(side, side, channels).permute(2, 0, 1).numpy()
        difference = np.abs(values * 255 - theirs).max()
        assert difference <= 1.01, f"{path}: differs by {difference} of 255"
        worst, exact = max(worst, difference), exact + (difference < 1e-3)
    assert worst > 0, "nothing was resized"
    print(f"{len(ours)} pictures as torchvision has them")


def many(folder):
    random = np.random.RandomState(9)
    for kind, channels in ("colour", 3), ("grey", 1):
        (folder / kind).mkdir(parents=True)
        for number in range(60):
            picture = scene(random, 32, 32, channels)
            if number % 3 == 0:  # few values, so that channels are equal here and there
                picture = picture // 64 * 64
            if number == 1:
                picture[:] = 0
            Image.fromarray(picture.squeeze()).save(folder / kind / f"{number:03}.png")


def recoloured(picture, index, epoch):
    """By torchvision's functions, in an order and with factors that it would draw."""
    numbers = Draws(index, epoch).numbers[44:52]
    change = v2.functional
    brightness, contrast, saturation, hue = numbers[4:]
    steps = [lambda x: change.adjust_brightness(x, 0.6 + 0.8 * brightness),
             lambda x: change.adjust_contrast(x, 0.5 + contrast),
             lambda x: change.adjust_saturation(x, 2.25 * saturation),
             lambda x: change.adjust_hue(x, -0.3 + 0.6 * hue)]
    for step in np.argsort(numbers[:4], kind="stable"):
        picture = steps[step](picture)
    return picture


def erased(picture, index, epoch):
    draws = Draws(index, epoch, "erasing")
    if draws.numbers[0] >= 0.5:
        return picture
    with mock.patch.object(torch.Tensor, "uniform_", lambda *given: draws.uniform(*given)), \
            mock.patch("torch.randint", draws.randint), \
            mock.patch("torch.rand", lambda *given: torch.zeros(1)):
        return v2.RandomErasing(p=1)(picture)


def colours(folder, out, epoch):
    files = datasets.ImageFolder(folder).samples
    ours = torch.from_numpy(np.fromfile(out, np.float32).reshape(len(files), 3, 32, 32))
    holes = 0
    for index, ((path, _), values) in enumerate(zip(files, ours)):
        picture = v2.functional.pil_to_tensor(Image.open(path).convert("RGB")).float() / 255
        expected = erased(recoloured(picture, index, epoch), index, epoch)
        holes += int((expected == 0).sum() > 60)
        difference = (values - expected).abs().max()
        assert difference < 2e-5, f"{path}: differs by {difference}"
    assert holes > 20, "nothing was erased"
    print(f"{len(files)} pictures in torchvision's colours")


def inputs(folder, out):
    files = datasets.ImageFolder(folder).samples
    ours = np.fromfile(out, np.float32).reshape(len(files), 3, 32, 32)
    for index, ((path, _), values) in enumerate(zip(files, ours)):
        picture = v2.functional.pil_to_tensor(Image.open(path).convert("RGB"))
        yield index, path, picture, torch.from_numpy(np.rint(values * 255).astype(np.int16))


def rotation(folder, out, epoch):
    other = total = 0
    for index, _, picture, values in inputs(folder, out):
        angle = -60 + 120 * Draws(index, epoch, "rotation").numbers[0]
        expected = v2.functional.rotate(picture, angle)
        # Where a pixel comes from a place between two, either may be taken.
        other += int((values != expected).any(0).sum())
        total += values[0].numel()
    assert other <= total / 1000, f"{other} of {total} pixels are others"
    print("pictures turned as torchvision turns them")


def changes(folder, out, epoch, strengths):
    met, other, total = set(), 0, 0
    for strength in strengths:
        change = v2.RandAugment(2, strength)
        names = list(change._AUGMENTATION_SPACE)
        for index, path, picture, values in inputs(folder, f"{out}.{strength}"):
            numbers = Draws(index, epoch, "rand-augment").numbers
            drawn = [int(number * len(names)) for number in numbers[[0, 4]]]
            signs = [number for number, which in zip(numbers[[1, 5]], drawn)
                     if change._AUGMENTATION_SPACE[names[which]][1]]
            which, ways = iter(drawn), iter(signs)
            met.update(names[number] for number in drawn)
            with mock.patch("torch.randint", lambda *given: torch.tensor(next(which))), \
                    mock.patch("torch.rand", lambda *given: torch.tensor(next(ways))):
                expected = change(picture)
            difference = (values - expected).abs()
            other += int((difference > 0).any(0).sum())
            total += values[0].numel()
            # A sum whose order differs may be cut to the next whole number.
            if not set(names[number] for number in drawn) & {"ShearX", "ShearY", "Rotate", "Equalize",
                                                             "Posterize", "Solarize", "AutoContrast"}:
                assert difference.max() <= 3, f"{path}: differs by {difference.max()}"
    assert len(met) == len(names), f"not drawn: {set(names) - met}"
    assert other <= total / 500, f"{other} of {total} pixels are others"
    print(f"pictures changed as RandAugment changes them, {len(met)} ways")


def read(folder, side, out, *how, channels=3, part=1):
    """The trainer's inputs into the file `out`; returns their files and labels."""
    return subprocess.run(
        ["lwcc-read-data", *map(str, (folder, channels, side, side, part, out, *how))],
        text=True, check=True, stdout=subprocess.PIPE).stdout


def main(folder):
    torch.set_num_threads(1)  # the pictures are small
    pictures, others, out = folder / "pictures", folder / "many", folder / "out"
    make(pictures)
    for channels, side, part, *epoch in (3, 32, 1), (1, 24, 1), (3, 96, 0.875), (3, 32, 1, 3):
        listing = read(pictures, side, out, *epoch, channels=channels, part=part)
        check(pictures, listing, out, channels, side, part, *epoch)
    many(others)
    read(others, 32, out, 3, "colours")
    colours(others, out, 3)
    read(others, 32, out, 2, "rotation")
    rotation(others, out, 2)
    strengths = 9, 15, 30
    for strength in strengths:
        read(others, 32, f"{out}.{strength}", 1, strength)
    changes(others, out, 1, strengths)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
