"""Auxiliary outputs against PyTorch: auxiliary.py FOLDER.

A small GoogLeNet, whose two auxiliary classifiers are trained beside the main one, from
both exporters: losses and weights behind some steps are PyTorch's on one device, in
micro-batches and on several devices, with averages of the weights and smoothed labels,
too. Evaluation shows the loss of the main output, and the exported file has the trained
weights of all. The same of a loss of numbers.
"""

import copy
import json
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../parity"))
from trainer import Settings, train  # noqa: E402

BATCH, STEPS, SIDE, CLASSES = 6, 6, 12, 5
SETTINGS = Settings(BATCH, STEPS, 0.05, 0.9, 1e-3)
NAMES = ["main", "aux/1:0", "aux=2"]
HEADS = ["--output=main", "--aux=aux/1:0=0.3", "--aux=aux=2=0.4"]
WEIGHTS = [1, 0.3, 0.4]
PLANS = [[], ["--micro-batches=3"], ["--gpus=3", "--strategy=data"],
         ["--gpus=2", "--strategy=model"], ["--gpus=3", "--strategy=layerwise"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=3", "--stages=2"],
         ["--gpus=3", "--strategy=pipeline", "--micro-batches=2", "--stages=3",
          "--schedule=1f1b"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=2", "--schedule=interleaved"]]


class Block(nn.Module):
    def __init__(self, channels, norm):
        super().__init__()
        def conv(size):
            layers = [nn.Conv2d(channels, 4, size, padding=size // 2)]
            return nn.Sequential(*layers, *([nn.BatchNorm2d(4)] if norm else []), nn.ReLU())
        self.narrow, self.wide = conv(1), conv(3)

    def forward(self, x):
        return torch.cat([self.narrow(x), self.wide(x)], 1)


class Head(nn.Module):
    def __init__(self, numbers):
        super().__init__()
        self.conv = nn.Conv2d(8, 4, 1)
        self.fc1, self.fc2 = nn.Linear(4 * 9, 8), nn.Linear(8, numbers)

    def forward(self, x):
        x = F.relu(self.conv(F.avg_pool2d(x, x.shape[2] // 3)))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Net(nn.Module):
    """As torchvision's GoogLeNet: outputs of early layers beside the last one."""

    def __init__(self, norm=False, numbers=CLASSES):
        super().__init__()
        self.stem = nn.Conv2d(2, 6, 3, padding=1)
        self.first, self.second, self.third = Block(6, norm), Block(8, norm), Block(8, norm)
        self.aux1, self.aux2 = Head(numbers), Head(numbers)
        self.fc = nn.Linear(8, numbers)

    def forward(self, x):
        x = self.first(F.relu(self.stem(x)))
        aux1 = self.aux1(x)
        x = self.second(F.max_pool2d(x, 2))
        aux2 = self.aux2(x)
        return self.fc(self.third(x).mean((2, 3))), aux1, aux2


def export(model, path, newer):
    model = copy.deepcopy(model).train()  # which the older exporter runs
    x = (torch.zeros(BATCH, 2, SIDE, SIDE),)
    if newer:
        torch.onnx.export(model, x, path, optimize=False, output_names=NAMES)
    else:
        torch.onnx.export(model, x, path, dynamo=False, output_names=NAMES,
                          training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)


def in_torch(model, x, targets, loss_of, decay=None):
    """The losses of the steps in double precision, and what was learned."""
    model = copy.deepcopy(model).double().train()
    optimizer = torch.optim.SGD(model.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    losses = []
    averages = {f"{name}.average": w.detach().clone()
                for name, w in model.named_parameters()} if decay else {}
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        loss = sum(weight * loss_of(output, targets[part])
                   for weight, output in zip(WEIGHTS, model(x[part])))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        for name, w in model.named_parameters() if decay else []:
            averages[f"{name}.average"].lerp_(w.detach(), 1 - decay)
    return losses, {**model.state_dict(), **averages}, model.eval()


def check(what, path, flags, plans, data, expected):
    """Ends if a plan is not as expected; how many."""
    wanted, learned, _ = expected
    for plan in plans:
        found, state = train(["lwcc-run", path, *HEADS, *flags, *plan, "--"], data, SETTINGS)
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
        for name, tensor in learned.items():
            if not name.endswith("num_batches_tracked"):
                worst = max(worst, np.abs(state[name].reshape(tensor.shape)
                                          - tensor.numpy()).max())
        if not worst < 1e-5:
            sys.exit(f"{what} {plan}: off by {worst}\n" + json.dumps([found, wanted]))
    return len(plans)


def check_result(path, data, folder, expected, x, labels):
    """Evaluation, and the exported file."""
    model = expected[2]
    trained = f"{folder}/trained.onnx"

    def run(model, *flags):
        return subprocess.run(["lwcc-run", model, *HEADS, "--", *flags], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
    run(path, f"--data={data}", f"--steps={STEPS}", "--no-shuffle", f"--lr={SETTINGS.lr}",
        f"--weight-decay={SETTINGS.weight_decay}", f"--export-onnx={trained}")
    said = run(trained, "evaluate", f"--data={data}")
    with torch.no_grad():
        outputs = model(x)
    alone = F.cross_entropy(outputs[0], labels).item()
    if abs(float(re.search(r"loss ([0-9.]+)", said)[1]) - alone) > 1e-4:
        sys.exit(f"evaluation has the loss {alone} in PyTorch\n{said}")
    session = onnxruntime.InferenceSession(trained)
    found = session.run(None, {session.get_inputs()[0].name: x[:BATCH].float().numpy()})
    if [output.name for output in session.get_outputs()] != NAMES:
        sys.exit(f"{trained}: other outputs")
    worst = max(np.abs(a - b[:BATCH].numpy()).max() for a, b in zip(found, outputs))
    if not worst < 1e-4:
        sys.exit(f"{trained}: off by {worst}")


def check_predictions(path, data, folder):
    """Numbers that are predicted are the main output's."""
    written = f"{folder}/numbers.csv"
    subprocess.run(["lwcc-run", path, *HEADS, "--loss=huber", "--", "predict", f"--data={data}",
                    "-o", written], check=True, stdout=subprocess.DEVNULL)
    found = np.loadtxt(written, delimiter=",", skiprows=1)[:BATCH, 1:]
    session = onnxruntime.InferenceSession(path)
    wanted = session.run(["main"], {session.get_inputs()[0].name:
                                    np.load(f"{data}/images.npy")[:BATCH]})[0]
    if not np.allclose(found, wanted, atol=1e-4):
        sys.exit(f"{written}: other numbers than the main output's")


def add_ends(path, to):
    """The same net with a Softmax behind each output, and aux=2 as [n, c, 1, 1]."""
    model = onnx.load(path)
    for output in model.graph.output:
        name = output.name
        for node in model.graph.node:
            node.output[:] = [f"{name}.raw" if o == name else o for o in node.output]
        last = name if name != "aux=2" else f"{name}.flat"
        model.graph.node.append(onnx.helper.make_node("Softmax", [f"{name}.raw"], [last],
                                                      f"{name}.softmax", axis=1))
        if last != name:
            model.graph.node.append(onnx.helper.make_node(
                "Reshape", [last, "image"], [name], "to.image"))
            output.type.tensor_type.shape.dim.add().dim_value = 1
            output.type.tensor_type.shape.dim.add().dim_value = 1
    model.graph.initializer.append(onnx.numpy_helper.from_array(
        np.array([0, 0, 1, 1], np.int64), "image"))
    onnx.save(model, to)


def main():
    folder = sys.argv[1]
    data, numbers = f"{folder}/data", f"{folder}/numbers"
    random = np.random.RandomState(7)
    x = random.normal(size=(BATCH * STEPS, 2, SIDE, SIDE)).astype(np.float32)
    labels = random.randint(0, CLASSES, BATCH * STEPS)
    targets = random.normal(size=(BATCH * STEPS, 3)).astype(np.float32)
    for where, name, values in (data, "labels", labels), (numbers, "targets", targets):
        os.makedirs(where)
        np.save(f"{where}/images.npy", x)
        np.save(f"{where}/{name}.npy", values)
    x, labels = torch.from_numpy(x).double(), torch.from_numpy(labels)
    torch.manual_seed(3)
    net, normed, regression = Net(), Net(norm=True), Net(numbers=3)
    expected = in_torch(net, x, labels, F.cross_entropy)
    compared = 0
    for newer in True, False:
        path = f"{folder}/{'newer' if newer else 'older'}.onnx"
        export(net, path, newer)
        compared += check(path, path, [], PLANS, data, expected)
    check_result(path, data, folder, expected, x, labels)
    add_ends(path, f"{folder}/ends.onnx")
    compared += check("softmax", f"{folder}/ends.onnx", [], PLANS[:1], data, expected)

    def smoothed(output, label):
        return F.cross_entropy(output, label, torch.arange(1.0, CLASSES + 1).double(),
                               label_smoothing=0.2)
    compared += check("averaged and smoothed", path,
                      ["--ema=0.8", "--label-smoothing=0.2", "--class-weights=1,2,3,4,5"],
                      PLANS, data, in_torch(net, x, labels, smoothed, 0.8))
    export(normed, f"{folder}/normed.onnx", True)
    compared += check("normed", f"{folder}/normed.onnx", [], PLANS[:1] + PLANS[2:5], data,
                      in_torch(normed, x, labels, F.cross_entropy))
    export(regression, f"{folder}/regression.onnx", True)
    compared += check("numbers", f"{folder}/regression.onnx", ["--loss=huber"], PLANS, numbers,
                      in_torch(regression, x, torch.from_numpy(targets).double(),
                               F.huber_loss))
    check_predictions(f"{folder}/regression.onnx", numbers, folder)
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
