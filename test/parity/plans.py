"""Random plans must not change what a program computes.

  plans.py [--cases=N] [--first=SEED] [--emitted=N] [--counted=N]
           [--predicted=N] [--max-devices=N] [--emulation=DIR]

Each case draws a small network of any operators (random_net.py) and a plan: for
every layer random degrees of sample, channel, height, width and reduction,
uneven ones included, now and then with the sizes of the parts, and a random
device and lane for every tile; lanes are told an order of some of their tiles.
The planned program trains for three steps through lwcc-run (the first --emitted
cases through an emitted program as well) and is compared with the program on one
device: losses and weights within 1e-6, relatively. The learning rate is one at which
these networks learn; from steps that are too long for them any two programs part
(docs/results.md, Losses of every plan). With --emulation the emitted programs are
CUDA ones and run on emulated GPUs (test/cuda-emulation, built in DIR), a seed of
theirs a case. In the first --counted cases the bytes that the compiler says each pair of devices
exchanges must be those that the runtime counts. In the first --predicted cases the
scores of the weights after these steps must be one device's, too, of a number of
images that is no multiple of the batch. A failing case is printed with its
seed and keeps its files, and so is an operator of the frontend that no network has.
Prints a last line `N passed, M failed`.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from safetensors.numpy import load_file

from random_net import Net, undrawn

GOAL = 1e-6


def merged(net):
    """Transposes in a row, which become one op: what is left of each need not have
    the extents of its node."""
    made = {output: node for node in net.nodes for output in node.output}
    pairs = [(node, made.get(node.input[0])) for node in net.nodes
             if node.op_type == "Transpose"]
    return {each.name for node, before in pairs
            if before is not None and before.op_type == "Transpose"
            for each in (node, before)}


def random_machine(rng, devices, path):
    """Writes a machine of so many devices, often on several nodes; returns how many
    each node has."""
    nodes = rng.choice([1] + [n for n in range(1, devices + 1) if devices % n == 0])
    machine = json.loads(run(["lwcc", "machine", "p100-4x4"]))
    machine.update(name="random", nodes=nodes, gpus=devices // nodes)
    with open(path, "w") as file:
        json.dump(machine, file)
    return devices // nodes


def random_plan(rng, net, batch, devices, of_node):
    layers, left_out = {}, merged(net)
    for name, extents in [*net.layers, ("loss", {"c": 10})]:
        if rng.random() < 0.2 or name in left_out:
            continue  # takes over its producer's tiling
        cuts, tiles = {}, 1
        for dim, extent in {"n": batch, **extents}.items():
            if rng.random() >= (0.5 if dim == "n" else 0.3):
                continue
            parts = rng.randint(1, min(3, extent))
            if tiles * parts > 24:  # more tiles test nothing new
                continue
            cuts[dim] = parts
            tiles *= parts
            if rng.random() < 0.3:
                ends = sorted(rng.sample(range(1, extent), parts - 1)) + [extent]
                cuts[dim] = [b - a for a, b in zip([0] + ends, ends)]
        layers[name] = {
            **cuts,
            "places": [f"{device // of_node}.{device % of_node}.{rng.randrange(2)}"
                       for device in rng.choices(range(devices), k=tiles)]}
        if rng.random() < 0.2:
            layers[name]["lane"] = {"weight": rng.randrange(3)}
    return {"version": 2, "layers": layers, "order": random_order(rng, layers)}


def random_order(rng, layers):
    """An order of tasks per lane, of some layers: their tiles in random order, the
    layers in the model's order and, in the backward pass, in its reverse. Of some
    layers the gradients of parameters come last, in any order."""
    lanes = {}
    ordered = [layer for layer in layers.items() if rng.random() < 0.4]
    apart = [layer for layer in ordered if rng.random() < 0.4]
    rng.shuffle(apart)
    for suffix, some in ("", ordered), (" backward", ordered[::-1]), (" weight", apart):
        for name, layer in some:
            for tile, place in rng.sample(list(enumerate(layer["places"])),
                                          len(layer["places"])):
                if suffix == " weight" and "lane" in layer:
                    place = f"{place[:-1]}{layer['lane']['weight']}"
                lanes.setdefault(place, []).append(f"{name}[{tile}]{suffix}")
    return lanes


def run(command, **variables):
    result = subprocess.run(command, text=True, errors="replace",
                            env={**os.environ, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}\nexit code "
                           f"{result.returncode}\n{result.stdout[-3000:]}")
    return result.stdout


def random_optimizer(seed):
    """Compile and trainer flags. A large eps, since a division by a gradient near zero
    would make a difference in the last place one of a whole step; therefore neither Lion
    nor LAMB, whose steps are as long as the parameter whatever its gradient: that of a
    bias in front of a batch normalization is zero but for rounding."""
    name = random.Random(f"optimizer {seed}").choice(
        ["sgd", "sgd", "adam", "adamw", "rmsprop", "adagrad", "lars"])
    return [f"--optimizer={name}"], [] if name == "sgd" else ["--eps=0.1"]


def train(command, own, folder, name, **variables):
    log, out = f"{folder}/{name}.jsonl", f"{folder}/{name}"
    run(command + ["--data=synthetic", "--steps=3", "--no-shuffle", "--lr=0.005",
                   "--weight-decay=1e-3", "--seed=7", "--deterministic", *own,
                   f"--log={log}", f"--checkpoint-dir={out}",
                   "--checkpoint-every=3"],
        **{"OMP_NUM_THREADS": "2", **variables})
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    steps = [r for r in records if "loss" in r and "lr" in r]
    return ([r["loss"] for r in steps],
            load_file(f"{out}/step-000003/model.safetensors"),
            [r["top1"] for r in steps])


def check_traffic(flags, folder, trainer=()):
    """Checks the bytes per step and pair of devices: predicted by the compiler against
    counted by the runtime. Returns what was printed, and the losses of three steps."""
    log = f"{folder}/benchmark.jsonl"
    text = run(["lwcc-run", *flags, "--explain", "--", "--benchmark=1",
                "--threads=2", f"--log={log}", *trainer])
    name = r"(?:node\d+\.)?gpu\d+"
    # The compiler names devices; the runtime numbers those in use.
    used = re.findall(rf"^memory of ({name})", text, re.M)
    predicted = {
        f"{used.index(a)}->{used.index(b)}": int(count.replace(",", ""))
        for a, b, count in re.findall(
            rf"^  from ({name}) to ({name}): ([\d,]+) bytes", text, re.M)}
    with open(log) as lines:
        record = json.loads(lines.readline())
    if record["moved"] != predicted:
        raise RuntimeError(
            f"bytes predicted {predicted}, counted {record['moved']}")
    return text, record["losses"]


def predict(command, folder, name, **variables):
    """The scores of some images with the weights that one device has learned."""
    table = f"{folder}/{name}.csv"
    run(command + ["predict", f"--data={folder}/images", f"--resume={folder}/whole",
                   "--scores", f"--output={table}"],
        **{"OMP_NUM_THREADS": "2", **variables})
    return np.loadtxt(table, delimiter=",", skiprows=1, ndmin=2)[:, 3:]


def write_images(net, batch, seed, folder):
    """Images to predict, the last batch of them not whole."""
    os.mkdir(folder)
    shape = (2 * batch + 1 + seed % (batch - 1), *net.image)
    random = np.random.default_rng(seed)
    np.save(f"{folder}/images.npy", random.integers(net.tokens, size=shape)
            if net.tokens else random.standard_normal(shape, np.float32))


def distance(one, other):
    """The relative distances of the losses and of the weights."""
    losses = max(abs(a - b) / max(abs(b), 1e-3)
                 for a, b in zip(one[0], other[0]))
    if set(one[1]) != set(other[1]):
        return losses, float("inf")
    square = sum(float(np.sum((one[1][k].astype(np.float64) - w) ** 2))
                 for k, w in other[1].items())
    norm = sum(float(np.sum(w.astype(np.float64) ** 2))
               for w in other[1].values())
    return losses, (square / norm) ** 0.5


def build(flags, folder, args):
    """Makes the emitted program; returns its path."""
    program = f"{folder}/trainer"
    if not args.emulation:
        run(["lwcc", *flags, "--target=cpu", "-o", program])
        return program
    source = f"{folder}/source"
    run(["lwcc", *flags, "--target=cuda", "--emit=source", "-o", source])
    run([os.path.abspath(f"{args.emulation}/bin/emulate"), source, program])
    return program


def random_groups(rng, batch):
    """How many groups of samples are normalized by themselves, often one: groups of
    at least two samples."""
    return rng.choice([1] + [n for n in range(1, batch // 2 + 1) if batch % n == 0])


def random_pipeline(rng, batch, groups):
    """The flags of a pipeline, or of another strategy in passes; none if there can be no
    micro-batches. Each has whole groups of samples; without batch normalization, a sample
    is a group. A network that mixes samples has one, whatever is asked for."""
    schedule = rng.choice(["gpipe", "1f1b", "1f1b-eager", "zb-h1", "zb-h2"])
    counts = [n for n in range(2, groups + 1) if groups % n == 0 or groups == batch]
    strategy = [f"--strategy={rng.choice(['owt-b', 'owt-c', 'hypergraph'])}"]
    if rng.random() < 0.7:
        strategy = ["--strategy=pipeline", f"--schedule={schedule}"]
    return counts and [*strategy, f"--micro-batches={rng.choice(counts)}"]


def check(seed, args, emitted):
    """The distances of a case, and whether its accuracies are equal; raises
    RuntimeError with what failed."""
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix=f"plan-{seed}-")
    net = Net(rng)
    model, plan = f"{folder}/net.onnx", f"{folder}/plan.json"
    net.build(model)
    batch, devices = rng.randint(3, 8), rng.randint(1, args.max_devices)
    machine = f"{folder}/machine.json"
    of_node = random_machine(rng, devices, machine)
    with open(plan, "w") as file:
        json.dump(random_plan(rng, net, batch, devices, of_node), file, indent=1)
    groups = batch
    optimizer, own = random_optimizer(seed)
    # Some give as many numbers as they get.
    flags = [model, f"--batch={batch}", "--loss=cross-entropy", *optimizer]
    if any(node.op_type == "BatchNormalization" for node in net.nodes):
        groups = random_groups(rng, batch)
        if random.Random(f"statistics {seed}").random() < 0.25:
            groups, flags = batch, [*flags, "--frozen-bn"]
        elif groups > 1:
            flags.append(f"--bn=group:{batch // groups}")
    if random.Random(f"clip {seed}").random() < 0.25:
        flags = [*flags, "--clip-norm=0.3"]
    if random.Random(f"average {seed}").random() < 0.25:
        flags = [*flags, "--ema=0.5"]
    try:
        whole = train(["lwcc-run", *flags, "--"], own, folder, "whole")
        alone = list(flags)
        flags += [f"--gpus={devices}", f"--machine={machine}"]
        pipeline = random_pipeline(rng, batch, groups)
        if rng.random() < 0.25 and pipeline:
            flags += pipeline
        else:
            flags += [f"--plan={plan}"]
        trained = [train(["lwcc-run", *flags, "--"], own, folder, "planned")]
        # Of a model with several labels for a sample nothing is predicted.
        predicted = seed - args.first < args.predicted and len(net.scores) == 2
        if predicted:
            write_images(net, batch, seed, f"{folder}/images")
            expected = predict(["lwcc-run", *alone, "--"], folder, "expected")
            scores = [predict(["lwcc-run", *flags, "--"], folder, "scores")]
        if seed - args.first < args.counted:
            check_traffic(flags, folder)
        if emitted:
            program, variables = build(flags, folder, args), {
                "LWCC_EMULATED_GPUS": str(devices),
                "LWCC_EMULATION_SEED": str(seed)}
            trained.append(train([program], own, folder, "trained", **variables))
            if predicted:
                scores.append(predict([program], folder, "emitted", **variables))
        result = np.max([distance(other, whole) for other in trained], axis=0)
        if not np.all(result <= GOAL):
            raise RuntimeError("distance of losses {:.1e}, of weights {:.1e}"
                               .format(*result))
        if predicted:
            off = max(np.abs(each - expected).max() for each in scores)
            if not off <= GOAL * max(1, np.abs(expected).max()):
                raise RuntimeError(f"distance of scores {off:.1e}")
        ranked = all(other[2] == whole[2] for other in trained)
    except RuntimeError as error:
        raise RuntimeError(f"seed {seed} ({folder}): {error}") from None
    shutil.rmtree(folder)
    return result, ranked


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--emitted", type=int, default=0,
                        help="cases that also run as emitted programs")
    parser.add_argument("--counted", type=int, default=0,
                        help="cases whose traffic is counted")
    parser.add_argument("--predicted", type=int, default=0,
                        help="cases whose scores are compared")
    parser.add_argument("--max-devices", type=int, default=6)
    parser.add_argument("--emulation", metavar="DIR",
                        help="emitted programs run on emulated GPUs, built here")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    if missing := undrawn(networks=1000):
        print("FAIL operators that no random network has: " + ", ".join(missing))
        print("0 passed, 1 failed")
        return True

    def judge(seed):
        try:
            return check(seed, args, seed - args.first < args.emitted), None
        except RuntimeError as error:
            return None, str(error)

    distances, failed, tied = [], 0, 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for result, error in pool.map(
                judge, range(args.first, args.first + args.cases)):
            if error:
                failed += 1
                print(f"FAIL {error}", flush=True)
            else:
                distances.append(result[0])
                tied += not result[1]
    if distances:
        for what, each in zip(("losses", "weights"), np.transpose(distances)):
            print(f"{len(each)} plans: distance of {what} from one device's "
                  f"{np.median(each):.1e} in the median, {max(each):.1e} at most")
        # Where a ReLU is dead, all samples have equal scores, up to rounding.
        if tied:
            print(f"accuracies differ in {tied}, where scores tie")
        failed += tied > max(1, 0.01 * len(distances))
    print(f"{len(distances)} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
