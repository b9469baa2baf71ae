"""Random plans must not change what a program computes.

  plans.py [--cases=N] [--first=SEED] [--emitted=N] [--counted=N]
           [--max-devices=N]

Each case draws a small network (convolutions with odd windows and groups,
pooling, batch and local response normalization, residual sums, concatenation,
pads, slices, softmax, dropout, fully connected layers) and a plan: for every layer random degrees of
sample, channel, height, width and reduction, uneven ones included, now and then
with the sizes of the parts, and a random device and lane for every tile; some
lanes are told an order of their convolutions' tiles. The planned program trains for three steps through lwcc-run
(the first --emitted cases through an emitted program as well) and is compared
with the program on one device: losses and weights within 1e-4, relatively, and
the median over the cases below 1e-6. In the first --counted cases the bytes that
the compiler says each pair of devices exchanges must be those that the runtime
counts. A failing case is printed with its seed and
keeps its files. Prints a last line `N passed, M failed`.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from onnx import TensorProto, helper, save
from safetensors.numpy import load_file

FLOAT = TensorProto.FLOAT


class Net:
    """A random network; `shape` is that of the last value, without samples."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []
        self.layers = []  # (name, extents by dimension) of what may be cut
        self.last, self.shape = "images", (rng.choice([1, 3]), 0, 0)

    def name(self, kind):
        return f"{kind}{len(self.nodes)}"

    def weight(self, name, shape, scale):
        self.nodes.append(helper.make_node(
            "RandomNormal", [], [name], name=name, dtype=FLOAT, shape=shape,
            mean=0.0, scale=scale))
        return name

    def constant(self, name, shape, value):
        self.constants.append(helper.make_tensor(
            f"{name}.shape", TensorProto.INT64, [len(shape)], shape))
        self.nodes.append(helper.make_node(
            "ConstantOfShape", [f"{name}.shape"], [name], name=name,
            value=helper.make_tensor("value", FLOAT, [1], [value])))
        return name

    def op(self, kind, inputs=(), shape=None, **attributes):
        name, before = self.name(kind.lower()), self.shape
        self.nodes.append(helper.make_node(
            kind, [self.last, *inputs], [name], name=name, **attributes))
        self.last = name
        self.shape = shape or self.shape
        # Elementwise layers may be fused into others: they follow these.
        if kind not in ("Relu", "Sigmoid", "Add", "Dropout"):
            extents = dict(zip("chw", self.shape))
            if kind == "Flatten":
                extents["c"] = before[0]
            elif kind in ("Conv", "Gemm") and attributes.get("group", 1) == 1:
                extents["k"] = before[0]
            self.layers.append((name, extents))
        return name

    def conv(self, outputs=None, keep=False):
        rng, (c, h, w) = self.rng, self.shape
        kernel = [rng.choice([1, 3, 3, 5]) for _ in range(2)]
        stride = [1, 1] if keep else [rng.choice([1, 1, 2, 3]) for _ in range(2)]
        dilation = [1, 1] if keep else [rng.choice([1, 1, 1, 2]) for _ in range(2)]
        pads = ([k // 2 for k in kernel] * 2 if keep
                else [rng.randrange(k) for k in kernel * 2])
        size = [(e + pads[d] + pads[d + 2] - dilation[d] * (kernel[d] - 1) - 1)
                // stride[d] + 1 for d, e in enumerate((h, w))]
        if min(size) < 2:
            return self.conv(outputs, keep=True)
        groups = rng.choice([g for g in (1, 1, 2, 3) if c % g == 0])
        outputs = outputs or groups * rng.randrange(2, 6)
        if outputs % groups:
            groups = 1
        name = self.name("w")
        inputs = [self.weight(name, [outputs, c // groups, *kernel],
                              (2 / (c // groups * kernel[0] * kernel[1])) ** 0.5)]
        if rng.random() < 0.6:
            inputs.append(self.constant(name + ".bias", [outputs], 0.1))
        return self.op("Conv", inputs, (outputs, *size), kernel_shape=kernel,
                       strides=stride, dilations=dilation, pads=pads,
                       group=groups)

    def pool(self):
        rng, (c, h, w) = self.rng, self.shape
        kernel = [rng.choice([2, 3]) for _ in range(2)]
        stride = [rng.choice([1, 2, 3]) for _ in range(2)]
        pads = [rng.randrange((k + 1) // 2) for k in kernel * 2]
        size = [(e + pads[d] + pads[d + 2] - kernel[d]) // stride[d] + 1
                for d, e in enumerate((h, w))]
        if min(size) < 2:
            return
        options = dict(kernel_shape=kernel, strides=stride, pads=pads)
        if rng.random() < 0.5:
            self.op("MaxPool", shape=(c, *size), **options)
        else:
            self.op("AveragePool", shape=(c, *size),
                    count_include_pad=rng.randrange(2), **options)

    def normalize(self):
        c, name = self.shape[0], self.name("bn")
        self.op("BatchNormalization",
                [self.constant(name + ".scale", [c], 1.0),
                 self.constant(name + ".bias", [c], 0.5),
                 self.constant(name + ".mean", [c], 0.0),
                 self.constant(name + ".var", [c], 1.0)], training_mode=0)

    def dropout(self):
        name = self.name("ratio")
        self.constants += [
            helper.make_tensor(name, FLOAT, [], [0.3]),
            helper.make_tensor(name + ".on", TensorProto.BOOL, [], [True])]
        self.op("Dropout", [name, name + ".on"])

    def pad(self):
        """Sometimes takes something off."""
        rng, (c, h, w), name = self.rng, self.shape, self.name("pads")
        pads = [0, rng.randrange(2), rng.randrange(-1, 3), rng.randrange(-1, 3)]
        pads += [0, rng.randrange(2), rng.randrange(-1, 3), rng.randrange(-1, 3)]
        self.constants.append(
            helper.make_tensor(name, TensorProto.INT64, [8], pads))
        self.op("Pad", [name], tuple(
            e + pads[d] + pads[d + 4] for d, e in enumerate((c, h, w), 1)))

    def slice(self):
        """Every second row or column, or all but the outer ones."""
        rng, name, axis = self.rng, self.name("slice"), self.rng.randrange(2, 4)
        extent, step = self.shape[axis - 1], rng.choice([1, 2, -1, -2])
        if extent < 5:
            return
        first, last = (1, extent - 1) if step > 0 else (extent - 2, 0)
        for key, value in dict(starts=first, ends=last, axes=axis,
                               steps=step).items():
            self.constants.append(helper.make_tensor(
                f"{name}.{key}", TensorProto.INT64, [1], [value]))
        shape = list(self.shape)
        shape[axis - 1] = len(range(first, last, step))
        self.op("Slice", [f"{name}.{key}" for key in
                          ("starts", "ends", "axes", "steps")], tuple(shape))

    def residual(self):
        before = self.last
        self.conv(self.shape[0], keep=True)
        self.op("Add", [before])

    def concat(self):
        before, shape = self.last, self.shape
        self.conv(keep=True)
        total = (shape[0] + self.shape[0], *shape[1:])
        self.op("Concat", [before], total, axis=1)

    def linear(self, outputs):
        name, inputs = self.name("w"), self.shape[0]
        self.op("Gemm", [self.weight(name, [outputs, inputs],
                                     (1 / inputs) ** 0.5),
                         self.constant(name + ".bias", [outputs], 0.0)],
                (outputs,), transB=1)

    def build(self, path):
        rng = self.rng
        size = rng.choice([8, 9, 12])
        self.shape = image = (self.shape[0], size, size + rng.randrange(3))
        self.conv()
        for _ in range(rng.randrange(1, 5)):
            rng.choice([
                self.conv, self.pool, self.normalize, self.dropout,
                self.residual, self.concat, self.pad, self.slice,
                lambda: self.op("Relu"),
                lambda: self.op("Softmax", axis=1),
                lambda: self.op("Sigmoid"),
                lambda: self.op("LRN", size=3, alpha=0.1, beta=0.75)])()
        if rng.random() < 0.3:
            self.op("GlobalAveragePool", shape=(self.shape[0], 1, 1))
        flat = int(np.prod(self.shape))
        self.op("Flatten", shape=(flat,), axis=1)
        for _ in range(rng.randrange(2)):
            self.linear(rng.randrange(6, 20))
            self.op("Relu")
        self.linear(10)
        graph = helper.make_graph(
            self.nodes, "net",
            [helper.make_tensor_value_info("images", FLOAT, ["batch", *image])],
            [helper.make_tensor_value_info(self.last, FLOAT, ["batch", 10])],
            self.constants)
        save(helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            path)
        return image


def random_plan(rng, net, batch, devices):
    layers = {}
    for name, extents in [*net.layers, ("loss", {"c": 10})]:
        if rng.random() < 0.2:
            continue  # takes its producer's tiling
        cuts, tiles = {}, 1
        for dim, extent in {"n": batch, **extents}.items():
            if rng.random() >= (0.5 if dim == "n" else 0.3):
                continue
            cuts[dim] = parts = rng.randint(1, min(3, extent))
            tiles *= parts
            if rng.random() < 0.3:
                ends = sorted(rng.sample(range(1, extent), parts - 1)) + [extent]
                cuts[dim] = [b - a for a, b in zip([0] + ends, ends)]
        layers[name] = {
            **cuts,
            "places": [f"0.{rng.randrange(devices)}.{rng.randrange(2)}"
                       for _ in range(tiles)]}
    order = {}  # tiles of one convolution need nothing of each other
    for name, layer in layers.items():
        if name.startswith("conv") and rng.random() < 0.5:
            for tile, place in enumerate(layer["places"]):
                order.setdefault(place, {}).setdefault(name, []).insert(
                    0, f"{name}[{tile}]")
    order = {place: [tile for tiles in names.values() for tile in tiles]
             for place, names in order.items()}
    return {"version": 1, "layers": layers, "order": order}


def run(command):
    result = subprocess.run(command, text=True, errors="replace",
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\nexit code "
                           f"{result.returncode}\n{result.stdout[-3000:]}")
    return result.stdout


def train(command, folder, name):
    log, out = f"{folder}/{name}.jsonl", f"{folder}/{name}"
    run(command + ["--data=synthetic", "--steps=3", "--no-shuffle", "--lr=0.05",
                   "--weight-decay=1e-3", "--seed=7", "--deterministic",
                   "--threads=2", f"--log={log}", f"--checkpoint-dir={out}",
                   "--checkpoint-every=3"])
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    steps = [r for r in records if "loss" in r and "lr" in r]
    return ([r["loss"] for r in steps] + [1 + r["top1"] for r in steps],
            load_file(f"{out}/step-000003/model.safetensors"))


def check_traffic(flags, folder):
    """Bytes a step by pair of devices: predicted by the compiler, counted while
    running."""
    log = f"{folder}/benchmark.jsonl"
    text = run(["lwcc-run", *flags, "--explain", "--", "--benchmark=1",
                "--threads=2", f"--log={log}"])
    predicted = {
        f"{a}->{b}": int(count.replace(",", "")) for a, b, count in re.findall(
            r"^  from gpu(\d+) to gpu(\d+): ([\d,]+) bytes", text, re.M)}
    with open(log) as lines:
        counted = json.loads(lines.readline())["moved"]
    # The compiler numbers GPUs, the runtime the devices that it was given.
    used = sorted({int(g) for g in re.findall(r"^memory of gpu(\d+)", text, re.M)})
    counted = {"->".join(str(used[int(d)]) for d in pair.split("->")): count
               for pair, count in counted.items()}
    if counted != predicted:
        raise RuntimeError(f"bytes predicted {predicted}, counted {counted}")


def distance(one, other):
    """The larger of the losses' (and accuracies') and the weights' relative
    distance."""
    losses = max(abs(a - b) / max(abs(b), 1e-3)
                 for a, b in zip(one[0], other[0]))
    if set(one[1]) != set(other[1]):
        return float("inf")
    square = sum(float(np.sum((one[1][k].astype(np.float64) - w) ** 2))
                 for k, w in other[1].items())
    norm = sum(float(np.sum(w.astype(np.float64) ** 2))
               for w in other[1].values())
    return max(losses, (square / norm) ** 0.5)


def check(seed, args, emitted):
    """The distance of a case; raises RuntimeError with what failed."""
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix=f"plan-{seed}-")
    net = Net(rng)
    model, plan = f"{folder}/net.onnx", f"{folder}/plan.json"
    net.build(model)
    batch, devices = rng.randint(3, 8), rng.randint(1, args.max_devices)
    with open(plan, "w") as file:
        json.dump(random_plan(rng, net, batch, devices), file, indent=1)
    try:
        whole = train(["lwcc-run", model, f"--batch={batch}", "--"], folder,
                      "whole")
        flags = [model, f"--batch={batch}", f"--gpus={devices}",
                 f"--plan={plan}"]
        result = distance(train(["lwcc-run", *flags, "--"], folder, "planned"),
                          whole)
        if seed - args.first < args.counted:
            check_traffic(flags, folder)
        if emitted:
            run(["lwcc", *flags, "--target=cpu", "-o", f"{folder}/trainer"])
            result = max(result, distance(
                train([f"{folder}/trainer"], folder, "emitted"), whole))
        if not result <= 1e-4:
            raise RuntimeError(f"distance {result:.1e}")
    except RuntimeError as error:
        raise RuntimeError(f"seed {seed} ({folder}): {error}") from None
    shutil.rmtree(folder)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--emitted", type=int, default=0,
                        help="cases that also run as emitted programs")
    parser.add_argument("--counted", type=int, default=0,
                        help="cases whose traffic is counted")
    parser.add_argument("--max-devices", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    def judge(seed):
        try:
            return check(seed, args, seed - args.first < args.emitted), None
        except RuntimeError as error:
            return None, str(error)

    distances, failed = [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for result, error in pool.map(
                judge, range(args.first, args.first + args.cases)):
            if error:
                failed += 1
                print(f"FAIL {error}", flush=True)
            else:
                distances.append(result)
    if distances:
        median = statistics.median(distances)
        print(f"{len(distances)} plans: distance from one device {median:.1e} "
              f"in the median, {max(distances):.1e} at most")
        failed += not median < 1e-6
    print(f"{len(distances)} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
