"""Several outputs with losses and labels of their own, against PyTorch: own_losses.py FOLDER.

A net that says of a picture what it is, how old, and in what colours: cross entropy, the
Huber loss and binary cross entropy of pixels, in a weighted sum. Losses and weights behind
some steps are PyTorch's on one device, in micro-batches and on several devices; so they are
where the sum begins with numbers, where some targets are missing, and where the last batch
is not full.
"""

import copy
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../parity"))
from trainer import Settings, train  # noqa: E402

BATCH, SIDE, CLASSES, COUNT = 6, 8, 5, 34  # five batches, and four more
NAMES = ["kind", "age", "mask", "pixels"]
WEIGHTS = dict(kind=1, age=0.5, mask=2, pixels=0.3)
LOSSES = dict(kind="cross-entropy", age="huber", mask="bce", pixels="cross-entropy")
PLANS = [[], ["--micro-batches=3"], ["--gpus=3", "--strategy=data"],
         ["--gpus=2", "--strategy=model"], ["--gpus=3", "--strategy=layerwise"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=3", "--stages=2"]]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 6, 3, padding=1)
        self.deep = nn.Conv2d(6, 6, 3, padding=1)
        self.kind, self.age = nn.Linear(6, CLASSES), nn.Linear(6, 1)
        self.mask, self.pixels = nn.Conv2d(6, 1, 1), nn.Conv2d(6, 3, 1)

    def forward(self, x):
        early = F.relu(self.stem(x))
        late = F.relu(self.deep(early))
        flat = late.mean((2, 3))
        return (self.kind(flat), self.age(flat), torch.sigmoid(self.mask(early)),
                self.pixels(late))


def flags_of(main):
    return [f"--output={main}", f"--loss={LOSSES[main]}",
            *(f"--aux={name}={WEIGHTS[name]}:{LOSSES[name]}" for name in NAMES if name != main)]


def loss_of(name, output, labels):
    """A mean over what counts."""
    if LOSSES[name] == "cross-entropy":
        return F.cross_entropy(output, labels)
    known = ~torch.isnan(labels)
    how = F.huber_loss if LOSSES[name] == "huber" else F.binary_cross_entropy
    return how(output[known], labels[known])


def in_torch(net, main, x, labels, steps, settings):
    model = copy.deepcopy(net).double()
    optimizer = torch.optim.SGD(model.parameters(), settings.lr, settings.momentum,
                                weight_decay=settings.weight_decay)
    losses = []
    for step in range(steps):
        part = slice(step * BATCH, (step + 1) * BATCH)
        outputs = dict(zip(NAMES, model(x[part])))
        loss = sum((1 if name == main else WEIGHTS[name])
                   * loss_of(name, outputs[name], labels[name][part]) for name in NAMES)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.state_dict()


def main():
    folder = sys.argv[1]
    random = np.random.RandomState(7)
    arrays = dict(
        images=random.normal(size=(COUNT, 2, SIDE, SIDE)).astype(np.float32),
        kind=random.randint(0, CLASSES, COUNT), age=random.normal(size=COUNT).astype(np.float32),
        mask=random.randint(0, 2, (COUNT, 1, SIDE, SIDE)).astype(np.float32),
        pixels=random.randint(0, 3, (COUNT, SIDE, SIDE)))
    arrays["age"][[2, 3, 7]] = np.nan
    arrays["mask"][4, 0, 2:5] = np.nan
    arrays["pixels"][5, 1] = -100
    torch.manual_seed(3)
    net = Net()
    path = f"{folder}/net.onnx"
    torch.onnx.export(copy.deepcopy(net).train(), (torch.zeros(BATCH, 2, SIDE, SIDE),), path,
                      optimize=False, output_names=NAMES)
    x = torch.from_numpy(arrays["images"]).double()
    labels = {name: torch.from_numpy(arrays[name]) for name in NAMES}
    labels = {name: values.double() if values.is_floating_point() else values
              for name, values in labels.items()}
    labels["age"] = labels["age"][:, None]
    compared = 0
    for first, name in ("kind", "labels"), ("age", "targets"), ("pixels", "labels"):
        data = f"{folder}/{first}"
        os.makedirs(data)
        for key, values in arrays.items():
            np.save(f"{data}/{name if key == first else key}.npy", values)
        for steps, more in (5, []), (6, ["--last-batch=keep"]):
            settings = Settings(BATCH, steps, 0.05, 0.9, 1e-3)
            losses, learned = in_torch(net, first, x, labels, steps, settings)
            for plan in PLANS:
                found, state = train(["lwcc-run", path, *flags_of(first), *plan, "--", *more],
                                     data, settings)
                worst = max(abs(a - b) / abs(b) for a, b in zip(found, losses))
                for key, tensor in learned.items():
                    worst = max(worst, np.abs(state[key].reshape(tensor.shape)
                                              - tensor.numpy()).max())
                if not worst < 1e-5:
                    sys.exit(f"{first} {plan} {more}: off by {worst}\n{found}\n{losses}")
                compared += 1
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
