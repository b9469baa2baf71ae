"""Hypergraph model parallelism: hypergraph.py [--nets=100].

Two tables:
- AlexNet, batch 64, on 2, 4 and 8 virtual devices: bytes that the runtime counts in
  a step under `data`, `hypergraph` and `layerwise`, and 2 km1 of the hypergraph;
- km1 of random networks beside that of Mt-KaHyPar's preset `highest quality`
  with the same limit of weight (--nets of them, 2, 4 and 8 parts in turn).

Needs lwcc and lwcc-run on the PATH and mtkahypar (tools/oracle-requirements.txt), no GPU.
"""

import argparse
import importlib.metadata
import json
import os
import random
import re
import subprocess
import tempfile

import mtkahypar

ALEXNET = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../examples/alexnet.onnx")


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def sent(strategy, gpus, folder):
    """Bytes of a step on virtual devices, as the runtime counts them."""
    log = f"{folder}/{strategy}.jsonl"
    run("lwcc-run", ALEXNET, "--batch=64", f"--gpus={gpus}", "--machine=h200x8",
        f"--strategy={strategy}",
        *(["--micro-batches=8"] if strategy == "hypergraph" else []),
        "--", "--benchmark=1", "--threads=2", f"--log={log}")
    with open(log) as lines:
        return sum(json.loads(lines.readline())["moved"].values())


def hypergraph(model, gpus, *flags):
    """What lwcc found, and the hypergraph: limit, km1, overload, nets, weights."""
    lines = run("lwcc", model, f"--gpus={gpus}", "--machine=h200x8",
                "--emit=hypergraph", "--strategy=data", "-o", "-", *flags).split("\n")
    found = dict(re.findall(r"(most|km1|overload) (\d+)", lines[0]))
    nets, vertices, _ = map(int, lines[1].split())
    rows = [list(map(int, line.split())) for line in lines[2:2 + nets + vertices]]
    return (int(found["most"]), int(found["km1"]), int(found["overload"]),
            rows[:nets], [row[0] for row in rows[nets:]])


def network(seed, path):
    """Convolutions in a chain with branches, sums and groups, then features."""
    draw = random.Random(seed)
    lines, channels, last = [], draw.choice([16, 32, 48]), "x"

    def conv(source, before, after, groups=1, kernel=3):
        i = len(lines)
        lines.extend([
            f"w{i} = RandomNormal <shape = [{after}, {before // groups}, {kernel}, {kernel}]> ()",
            f"c{i} = Conv <pads = [{kernel // 2}, {kernel // 2}, {kernel // 2}, {kernel // 2}], "
            f"group = {groups}> ({source}, w{i})", f"r{i} = Relu (c{i})"])
        return f"r{i}"
    last = conv(last, 3, channels)
    for _ in range(draw.randint(3, 8)):
        kind = draw.choice(["plain", "sum", "concat", "grouped", "pool"])
        if kind == "plain":
            after = draw.choice([16, 32, 64, 128])
            last, channels = conv(last, channels, after), after
        elif kind == "sum":
            other = conv(conv(last, channels, channels), channels, channels, kernel=1)
            lines.append(f"s{len(lines)} = Add ({last}, {other})")
            last = f"s{len(lines) - 1}"
        elif kind == "concat":
            a, b = conv(last, channels, 16, kernel=1), conv(last, channels, 32)
            lines.append(f"j{len(lines)} = Concat <axis = 1> ({a}, {b})")
            last, channels = f"j{len(lines) - 1}", 48
        elif kind == "grouped":
            last = conv(last, channels, channels, groups=channels // 16)
        else:
            lines.append(f"p{len(lines)} = MaxPool <kernel_shape = [3, 3], "
                         f"pads = [1, 1, 1, 1]> ({last})")
            last = f"p{len(lines) - 1}"
    lines += [f"g = GlobalAveragePool ({last})", "f = Flatten (g)",
              f"h = RandomNormal <shape = [{channels}, 10]> ()", "y = MatMul (f, h)"]
    with open(path, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 20]>\n'
                   "net (float[8,3,16,16] x) => (float[8,10] y)\n{\n  "
                   + "\n  ".join(lines) + "\n}\n")


def referee(kahypar, nets, weights, parts, most):
    """Its km1, and whether it is balanced. It counts in 32 bits: what it looks at
    is rounded, what is returned is not."""
    def small(values):
        unit = max(1, -(-sum(values) // 10**9))
        return unit, [max(1, round(value / unit)) for value in values]
    unit, rounded = small(weights)
    context = kahypar.context_from_preset(mtkahypar.PresetType.HIGHEST_QUALITY)
    context.set_partitioning_parameters(parts, 0.03, mtkahypar.Objective.KM1)
    context.set_individual_target_block_weights([most // unit] * parts)
    context.logging = False
    graph = kahypar.create_hypergraph(
        context, len(weights), len(nets), [[pin - 1 for pin in row[1:]] for row in nets],
        rounded, small([row[0] for row in nets])[1])
    of = graph.partition(context).get_partition()
    loads = [0] * parts
    for vertex, part in enumerate(of):
        loads[part] += weights[vertex]
    km1 = sum(row[0] * (len({of[pin - 1] for pin in row[1:]}) - 1) for row in nets)
    return km1, max(loads) <= most * (1 + 1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nets", type=int, default=100)
    args = parser.parse_args()
    print("AlexNet, batch 64, MB a step\n\n| devices | data | hypergraph | 2 km1 "
          "| layerwise | hypergraph against data |\n|---|---|---|---|---|---|")
    for gpus in 2, 4, 8:
        with tempfile.TemporaryDirectory(prefix="hypergraph-") as folder:
            data, ours, exact = (sent(name, gpus, folder) for name in
                                 ("data", "hypergraph", "layerwise"))
        km1 = hypergraph(ALEXNET, gpus, "--batch=64")[1]
        print(f"| {gpus} | {data / 1e6:.3f} | {ours / 1e6:.3f} | {2 * km1 / 1e6:.3f} "
              f"| {exact / 1e6:.3f} | {100 * (ours / data - 1):.1f} % |", flush=True)

    mtkahypar.set_seed(1)
    kahypar = mtkahypar.initialize(1)
    ratios, unbalanced, unfair = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="hypergraph-") as folder:
        for seed in range(args.nets):
            path, parts = f"{folder}/net.onnxtext", (2, 4, 8)[seed % 3]
            network(seed, path)
            most, km1, overload, nets, weights = hypergraph(path, parts)
            theirs, fits = referee(kahypar, nets, weights, parts, most)
            unbalanced += overload > 0
            if not fits or overload > 0 or theirs == 0:
                unfair += 1
                continue
            ratios.append(km1 / theirs)
    print(f"\n{args.nets} random networks: km1 / that of Mt-KaHyPar {importlib.metadata.version('mtkahypar')} "
          f"in the mean {sum(ratios) / max(1, len(ratios)):.4f}, "
          f"{min(ratios, default=0):.3f}..{max(ratios, default=0):.3f}, of {len(ratios)}; "
          f"left out {unfair} that one of both does not balance (ours: {unbalanced})")


if __name__ == "__main__":
    main()
