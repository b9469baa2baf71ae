"""How many pictures a second a trainer reads, against PyTorch's DataLoader.

  reader.py [--workers=2] [--pictures=800] [--batch=32] [--rounds=5] [--work=DIR]
            [--step=resnet18:32] [--only=reader|step]

JPEGs of 500 x 375 pixels, cut at random from two photographs that scikit-learn
brings, become inputs of 3 x 224 x 224, in two ways: as in training, by a random
resized crop and a mirror, and as in evaluation, by a resize to 256 and the centre;
both normalized. Ours is a trainer whose network looks at 49 pixels of each input,
so that its steps take no time; PyTorch's is torchvision's ImageFolder and
transforms, of Pillow's pictures or of tensors (decode_image, transforms.v2), in a
DataLoader with as many workers as ours has threads. Each runs in a process of its
own, one after the other, several epochs of which the first is not counted. A figure
is the median over the rounds; the ratio is ours to the better of PyTorch's (above 1:
ours is quicker), its spread the least and the largest ratio of a round.

Then a step of --step, trained on the JPEGs and on the same pictures as an array of
bytes of the model's size, in turns: the ratio of their images a second, in the median
of the steps. A network whose steps take longer than its pictures should lose nothing by
them.

Run it with the oracle's Python and lwcc on the PATH, on an otherwise idle machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from models import model_file

WAYS = ("training", "evaluation")
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
EPOCHS = 3
CLASSES = 10


def write_pictures(folder, count):
    """A folder for each class; returns the mean size of a file."""
    from PIL import Image
    from sklearn.datasets import load_sample_images

    photos = load_sample_images().images
    random = np.random.default_rng(1)
    total = 0
    for number in range(count):
        photo = photos[number % len(photos)]
        top = random.integers(photo.shape[0] - 375 + 1)
        left = random.integers(photo.shape[1] - 500 + 1)
        picture = photo[top:top + 375, left:left + 500]
        if random.random() < 0.5:
            picture = picture[:, ::-1]
        path = f"{folder}/{number % CLASSES}/{number}.jpg"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Image.fromarray(np.ascontiguousarray(picture)).save(path, quality=92)
        total += os.path.getsize(path)
    return total / count


def write_array(folder, pictures):
    """The same as bytes, in 224 x 224."""
    from PIL import Image
    from torchvision.datasets import ImageFolder

    os.makedirs(folder)
    files = ImageFolder(pictures).samples
    np.save(f"{folder}/images.npy", np.stack(
        [np.asarray(Image.open(path).resize((224, 224))) for path, _ in files]))
    np.save(f"{folder}/labels.npy", np.array([label for _, label in files], np.int64))


def write_glance(path):
    """A network that costs nothing."""
    import torch

    network = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 1, stride=32),
                                  torch.nn.Flatten(), torch.nn.Linear(98, CLASSES))
    torch.onnx.export(network, (torch.zeros(2, 3, 224, 224),), path, dynamo=False,
                      training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, input_names=["x"],
                      dynamic_axes={"x": [0]})


def flags_of(way):
    return (["--scale=0.08,1", "--hflip=0.5"] if way == "training"
            else ["--crop-pct=0.875"]) + [
                "--mean=" + ",".join(map(str, MEAN)), "--std=" + ",".join(map(str, STD))]


def pytorch(way, kind, args):
    """The worker process: prints pictures a second of the later epochs."""
    import torch
    from torchvision import datasets, io, transforms
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    if kind == "pillow":
        seen = ([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()]
                if way == "training" else
                [transforms.Resize(256), transforms.CenterCrop(224)])
        change = transforms.Compose(seen + [transforms.ToTensor(),
                                            transforms.Normalize(MEAN, STD)])
        loader = datasets.folder.default_loader
    else:
        seen = ([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
                if way == "training" else
                [v2.Resize(256, antialias=True), v2.CenterCrop(224)])
        change = v2.Compose(seen + [v2.ToDtype(torch.float32, scale=True),
                                    v2.Normalize(MEAN, STD)])

        def loader(path):
            return io.decode_image(path, mode="RGB")

    data = datasets.ImageFolder(args.data, change, loader=loader)
    batches = torch.utils.data.DataLoader(
        data, args.batch, shuffle=True, num_workers=args.workers, drop_last=True,
        persistent_workers=True)
    speeds = []
    for _ in range(EPOCHS):
        start, count = time.perf_counter(), 0
        for images, _ in batches:
            count += len(images)
        speeds.append(count / (time.perf_counter() - start))
    print(statistics.median(speeds[1:]))


def run_pytorch(way, kind, args):
    return float(subprocess.run(
        [sys.executable, os.path.abspath(__file__), f"--worker={way},{kind}",
         f"--data={args.data}", f"--workers={args.workers}", f"--batch={args.batch}"],
        check=True, text=True, stdout=subprocess.PIPE).stdout.split()[-1])


def compiled(model, batch, args):
    trainer = os.path.splitext(f"{args.work}/{os.path.basename(model)}")[0]
    subprocess.run(["lwcc", model, "--target=cpu", f"--batch={batch}", "-o", trainer],
                   check=True, stdout=subprocess.DEVNULL)
    return trainer


def steps_of(trainer, data, args, flags):
    """Images a second of each step of the epochs after the first one."""
    log = f"{args.work}/log.jsonl"
    if os.path.exists(log):
        os.remove(log)
    subprocess.run([trainer, f"--data={data}", f"--epochs={EPOCHS}", "--lr=0.0001",
                    f"--workers={args.workers}", f"--log={log}", *flags],
                   check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        steps = [json.loads(line) for line in lines]
    return [step["images_per_s"] for step in steps
            if "images_per_s" in step and step["epoch"] > 1]


def spread(ratios):
    return (f"{statistics.median(ratios):.2f} "
            f"({min(ratios):.2f}..{max(ratios):.2f})")


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=800)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--step", default="resnet18:32")
    parser.add_argument("--only", choices=("reader", "step"))
    parser.add_argument("--work")
    parser.add_argument("--data", help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return pytorch(*args.worker.split(","), args)
    args.work = args.work or tempfile.mkdtemp(prefix="lwcc-reader-")
    args.data = f"{args.work}/pictures"
    size = write_pictures(args.data, args.pictures)
    print(f"{args.pictures} JPEGs of {size / 1000:.0f} KB, {args.workers} workers",
          flush=True)

    if args.only != "step":
        measure_reader(args)
    if args.only != "reader":
        measure_step(args)


def measure_reader(args):
    glance = f"{args.work}/glance.onnx"
    write_glance(glance)
    trainer = compiled(glance, args.batch, args)
    rows = []
    for way in WAYS:
        rounds = [(statistics.harmonic_mean(
                       steps_of(trainer, args.data, args, flags_of(way))),
                   run_pytorch(way, "pillow", args), run_pytorch(way, "tensors", args))
                  for _ in range(args.rounds)]
        rows.append([way, *(f"{statistics.median(column):.0f}"
                            for column in zip(*rounds)),
                     spread([ours / max(theirs) for ours, *theirs in rounds])])
    print(table(["as in", "lwcc, pictures a second", "DataLoader, Pillow",
                 "DataLoader, tensors", "ratio to the better (rounds)"], rows),
          flush=True)


def measure_step(args):
    name, batch = args.step.rsplit(":", 1)
    write_array(f"{args.work}/array", args.data)
    trainer = compiled(model_file(name, args.work), int(batch), args)
    rounds = [tuple(statistics.median(steps_of(trainer, data, args, flags_of("training")))
                    for data in (args.data, f"{args.work}/array"))
              for _ in range(args.rounds)]
    jpegs, arrays = (statistics.median(column) for column in zip(*rounds))
    print(table([f"{name}, batch {batch}", "JPEGs, images a second", "an array", "ratio"],
                [["", f"{jpegs:.1f}", f"{arrays:.1f}", spread([a / b for a, b in rounds])]]))


if __name__ == "__main__":
    main()
