"""Mixed samples and soft labels against PyTorch and torchvision: mixing.py FOLDER.

How a batch is mixed is drawn here a second time (runtime/train/data/Mix.h), and done by
torchvision's MixUp and CutMix. Losses and what is learned are PyTorch's of the same
distributions, under every plan, also with class weights, smoothed labels, an auxiliary
output, a last batch that is not full, and where nothing is mixed.
"""

import copy
import json
import math
import os
import re
import subprocess
import sys

import numpy as np
import onnx
import scipy.stats
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torchvision.transforms import v2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../parity"))
import philox  # noqa: E402
from trainer import Settings, train  # noqa: E402

BATCH, STEPS, SAMPLES, SIDE, CLASSES = 6, 11, 28, (8, 10), 5
SETTINGS = Settings(BATCH, STEPS, 0.05, 0.9, 1e-3, seed=5)
WEIGHTS = [1, 2, 0.5, 3, 1.5]
PLANS = [[], ["--micro-batches=3"], ["--gpus=3", "--strategy=data"],
         ["--gpus=2", "--strategy=model"], ["--gpus=3", "--strategy=layerwise"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=3", "--stages=2"]]


class Draws:
    def __init__(self, epoch, batch):
        self.block, self.epoch = batch << 16, epoch

    def words(self):
        words = philox.philox(SETTINGS.seed, np.array([self.block], np.uint64),
                              philox.stream_of("mixing"), self.epoch)[0]
        self.block += 1
        return [int(word) for word in words]

    def pair(self):
        w = self.words()
        return [((w[i] >> 5) * 2.0 ** 26 + (w[i + 1] >> 6) + 0.5) / 2.0 ** 53 for i in (0, 2)]

    def beta(self, alpha):
        while alpha <= 1:
            u, v = self.pair()
            total = np.logaddexp(math.log(u) / alpha, math.log(v) / alpha)
            if total <= 0:
                return math.exp(math.log(u) / alpha - total)
        beta = math.sqrt((2 * alpha - 2) / (2 * alpha * alpha - 2 * alpha))
        while True:
            u, v = self.pair()
            odds = beta * math.log(u / (1 - u))
            w = alpha * math.exp(odds)
            r = (alpha + 1 / beta) * odds - math.log(4)
            if r + 2 * alpha * math.log(2 * alpha / (alpha + w)) >= math.log(u * u * v):
                return w / (alpha + w)


def mix(x, labels, mixup, cutmix, epoch, batch):
    """A batch as torchvision mixes it: samples and distributions."""
    draws = Draws(epoch, batch)
    words = draws.words()
    cuts = cutmix and (not mixup or (words[0] >> 8) * 2.0 ** -24 >= 0.5)
    share = draws.beta(cutmix if cuts else mixup)
    transform = (v2.CutMix if cuts else v2.MixUp)(num_classes=CLASSES)
    if cuts:
        # CutMix.make_params, of our numbers.
        height, width = x.shape[-2:]
        r_x, r_y = words[1] * width >> 32, words[2] * height >> 32
        half = 0.5 * math.sqrt(1 - share)
        w, h = int(half * width), int(half * height)
        x1, y1, x2, y2 = max(r_x - w, 0), max(r_y - h, 0), min(r_x + w, width), min(r_y + h, height)
        params = {"box": (x1, y1, x2, y2),
                  "lam_adjusted": float(1 - (x2 - x1) * (y2 - y1) / (width * height))}
    else:
        params = {"lam": share}
    transform.make_params = lambda _: params
    # A list of features is an image of one row to torchvision.
    images = x if x.dim() == 4 else x[:, None, None]
    mixed, shares = transform(images, labels)
    return mixed.reshape(x.shape), shares.double()


class Net(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(12, 8) if features else nn.Conv2d(2, 8, 3, padding=1)
        self.second, self.aux = nn.Linear(8, CLASSES), nn.Linear(8, CLASSES)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = x if x.dim() == 2 else x.mean((2, 3))
        return self.second(x), self.aux(x)


def in_torch(net, data, mixup=0, cutmix=0, keep=False, aux=0, **loss):
    """The losses of the steps in double precision, the parts that are answered right, and
    what was learned."""
    net = copy.deepcopy(net).double()
    optimizer = torch.optim.SGD(net.parameters(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    per_epoch = (SAMPLES + (BATCH - 1 if keep else 0)) // BATCH
    losses, right = [], []
    for step in range(STEPS):
        epoch, batch = divmod(step, per_epoch)
        part = slice(batch * BATCH, (batch + 1) * BATCH)
        x, labels = data[0][part], data[1][part]
        shares = F.one_hot(labels, CLASSES).double()
        if mixup or cutmix:
            x, shares = mix(x, labels, mixup, cutmix, epoch, batch)
        outputs = net(x)
        values = [F.cross_entropy(output, shares, **loss) for output in outputs]
        optimizer.zero_grad()
        (values[0] + aux * values[1]).backward()
        if not aux:
            for w in net.aux.parameters():
                w.grad = None
        optimizer.step()
        losses.append((values[0] + aux * values[1]).item())
        # As torchvision's training script has it: of the greatest share.
        right.append((outputs[0].argmax(1) == shares.argmax(1)).double().mean().item())
    return losses, right, net


def check(what, path, compiled, told, plans, data, expected):
    """Ends if a plan is not as expected; how many."""
    wanted, _, net = expected
    for plan in plans:
        found, state = train(["lwcc-run", path, f"--batch={BATCH}", "--output=main",
                              "--soft-labels", *compiled, *plan, "--", *told], data, SETTINGS)
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
        for name, w in net.state_dict().items():
            if name in state:
                worst = max(worst, np.abs(state[name].reshape(w.shape) - w.numpy()).max())
        if not worst < 1e-5:
            sys.exit(f"{what} {plan}: off by {worst}\n" + json.dumps([found, wanted]))
    return len(plans)


def check_reports(path, folder, data, expected):
    """Accuracy of training steps; loss and accuracy of an evaluation."""
    command = ["lwcc-run", path, f"--batch={BATCH}", "--output=main", "--soft-labels", "--",
               f"--data={folder}"]
    log, exported = f"{folder}.jsonl", f"{folder}.onnx"
    subprocess.run([*command, "--mixup=0.8", "--cutmix=1", f"--steps={STEPS}", "--no-shuffle",
                    f"--lr={SETTINGS.lr}", f"--weight-decay={SETTINGS.weight_decay}",
                    f"--seed={SETTINGS.seed}", f"--log={log}", f"--export-onnx={exported}"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        right = [r["top1"] for r in map(json.loads, lines) if "lr" in r]
    if not np.allclose(right, expected[1], atol=1e-6):
        sys.exit(f"{path}: right are {right}, not {expected[1]}")
    command[1] = exported
    said = subprocess.run([*command[:-1], "evaluate", command[-1]], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    with torch.no_grad():
        wanted = F.cross_entropy(expected[2](data[0])[0], data[1]).item()
    if abs(float(re.search(r"loss ([0-9.]+)", said)[1]) - wanted) > 1e-4:
        sys.exit(f"evaluation has the loss {wanted} in PyTorch\n{said}")


def check_distribution():
    for alpha in 0.2, 1, 2.5:
        shares = [Draws(3, batch).beta(alpha) for batch in range(1000)]
        if scipy.stats.kstest(shares, scipy.stats.beta(alpha, alpha).cdf).pvalue < 0.01:
            sys.exit(f"shares do not have the distribution Beta({alpha}, {alpha})")


def write_refused(folder):
    """Models that cannot be trained so: of integers, of a label for each pixel, with a
    loss of their own."""
    def save(name, inputs, nodes, outputs, **weights):
        values = {"i": TensorProto.INT64, "f": TensorProto.FLOAT}
        infos = [[helper.make_tensor_value_info(n, values[t], s) for n, t, s in each]
                 for each in (inputs, outputs)]
        stored = [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in weights.items()]
        graph = helper.make_graph(nodes, "net", *infos, stored)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                    ir_version=8), f"{folder}/{name}.onnx")
    node = helper.make_node
    save("tokens", [("x", "i", [4])], [node("Gather", ["w", "x"], ["y"], "table")],
         [("y", "f", [4, 5])], w=(7, 5))
    save("pixels", [("x", "f", [4, 2, 3, 3])], [node("Conv", ["x", "w"], ["y"], "conv")],
         [("y", "f", [4, 5, 3, 3])], w=(5, 2, 1, 1))
    save("own", [("x", "f", [4, 2]), ("t", "i", [4])],
         [node("Gemm", ["x", "w"], ["y"], "fc"),
          node("SoftmaxCrossEntropyLoss", ["y", "t"], ["loss"], "loss")],
         [("loss", "f", []), ("y", "f", [4, 5])], w=(2, 5))


def main():
    folder = sys.argv[1]
    write_refused(folder)
    random = np.random.RandomState(7)
    labels = random.randint(0, CLASSES, SAMPLES)
    check_distribution()
    compared = 0
    torch.manual_seed(2)
    for name, shape in ("images", (2, *SIDE)), ("features", (12,)):
        path, where = f"{folder}/{name}.onnx", f"{folder}/{name}"
        os.makedirs(where)
        x = random.normal(size=(SAMPLES, *shape)).astype(np.float32)
        np.save(f"{where}/images.npy", x)
        np.save(f"{where}/labels.npy", labels)
        data = torch.from_numpy(x).double(), torch.from_numpy(labels)
        net = Net(name == "features")
        torch.onnx.export(net, (torch.from_numpy(x[:BATCH]),), path, dynamo=False,
                          output_names=["main", "aux"], dynamic_axes={},
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)

        def compare(what, compiled, told, plans, **how):
            return check(f"{name} {what}", path, compiled, told, plans, where,
                         in_torch(net, data, **how))
        if name == "features":
            compared += compare("mixup", [], ["--mixup=2.5"], PLANS[:1], mixup=2.5)
            continue
        compared += compare("mixup", [], ["--mixup=0.2"], PLANS[:3], mixup=0.2)
        compared += compare("cutmix", [], ["--cutmix=1"], PLANS[:3], cutmix=1)
        compared += compare("both", [], ["--mixup=0.8", "--cutmix=1", "--workers=3"], PLANS,
                            mixup=0.8, cutmix=1)
        compared += compare("last batch", [], ["--mixup=1", "--last-batch=keep"], PLANS[:3],
                            mixup=1, keep=True)
        compared += compare(
            "everything", ["--aux=aux=0.5", "--label-smoothing=0.1",
                           "--class-weights=" + ",".join(map(str, WEIGHTS))],
            ["--mixup=0.8", "--cutmix=1"], PLANS, mixup=0.8, cutmix=1, aux=0.5,
            weight=torch.tensor(WEIGHTS).double(), label_smoothing=0.1)
        compared += compare("unmixed", ["--label-smoothing=0.1"], [], PLANS[:3],
                            label_smoothing=0.1)
        check_reports(path, where, data, in_torch(net, data, mixup=0.8, cutmix=1))
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
