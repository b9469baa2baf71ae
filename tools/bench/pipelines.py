"""Where pipelines win, and what they hold, as lwcc predicts.

  pipelines.py
  pipelines.py --measured [--rounds=3]

Three tables:
- an MLP of 24 layers of 4096, batch 2048, on four P100s of a node each, with
  10 Gb/s between the nodes: every fixed strategy, the layer-wise search, and
  pipelines of every schedule and number of micro-batches;
- AlexNet, batch 256, and VGG-16, batch 128, there: the same with the best
  pipeline alone;
- the program of AlexNet, 1F1B on four devices, by the number of micro-batches:
  its text, and how long lowering and printing take.

--measured: an MLP of 8 layers of 512, batch 256, on two CPU devices: steps of
pipelines and other plans as predicted by costs that are measured, and as their
programs take (predict.py), and whether both agree on the order. Needs a machine
that is idle.

Needs lwcc on the PATH, no GPU, and some minutes.
"""

import argparse

import json
import os
import re
import subprocess
import tempfile

import models
import predict
from rank import tau

SCHEDULES = ["gpipe", "1f1b", "1f1b-eager", "interleaved", "zb-h1", "zb-h2", "zb-v",
             "v-half"]
ALEXNET = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../examples/alexnet.onnx")


def mlp(path, layers, width, batch):
    lines, last = [], "x"
    for i in range(layers):
        lines += [f"w{i} = RandomNormal <shape = [{width}, {width}], scale = 0.02> ()",
                  f"fc{i} = MatMul ({last}, w{i})", f"relu{i} = Relu (fc{i})"]
        last = f"relu{i}"
    with open(path, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 20]>\n'
                   f"mlp (float[{batch},{width}] x) => (float[{batch},1000] y)\n"
                   "{\n  " + "\n  ".join(lines) + "\n"
                   f"  head = RandomNormal <shape = [{width}, 1000], scale = 0.02> ()\n"
                   f"  y = MatMul ({last}, head)\n}}\n")


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def machine(path):
    """P100s, each in a node of its own."""
    described = json.loads(run("lwcc", "machine", "p100-4x4"))
    described.update(name="p100-4x1", gpus=1)
    described["network"]["bandwidth"] = 1.25e9
    with open(path, "w") as file:
        json.dump(described, file)


def steps(model, batch, described, *flags):
    """Predicted milliseconds by strategy."""
    text = run("lwcc", model, f"--batch={batch}", "--gpus=4",
               f"--machine={described}", "--explain", "--emit=plan", "-o",
               "/dev/null", *flags)
    return {name: float(step) for name, step in
            re.findall(r"^  (\w+)(?: \*)? +(\d+\.\d+) +[-\d.]+ +[\d.]+ ", text, re.M)}


def measured(args):
    """Plans of a small MLP on two devices of this machine."""
    plans = ["single", "data", "model", "layerwise", "auto"] + [
        f"pipeline --stages=2 --schedule={schedule} --micro-batches={m}"
        for schedule, m in [("gpipe", 2), ("gpipe", 8), ("1f1b", 4), ("1f1b", 8),
                            ("1f1b", 32), ("zb-h1", 4), ("zb-h1", 8)]]
    with tempfile.TemporaryDirectory(prefix="pipelines-") as folder:
        model = f"{folder}/mlp.onnxtext"
        mlp(model, 8, 512, 256)
        print(predict.HEAD)
        rows = predict.compare((model, 256), 2, args, folder, plans)
    print(f"\nKendall's tau of predicted and measured: {tau(rows):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--measured", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    if args.measured:
        return measured(args)
    with tempfile.TemporaryDirectory(prefix="pipelines-") as folder:
        described, model = f"{folder}/machine.json", f"{folder}/mlp.onnxtext"
        machine(described)
        mlp(model, 24, 4096, 2048)
        fixed = steps(model, 2048, described, "--strategy=single")
        best = min(step for name, step in fixed.items() if name != "pipeline")
        print("MLP, 24 layers of 4096, batch 2048\n\n| strategy | step, ms |\n|---|---|")
        for name, step in sorted(fixed.items(), key=lambda row: row[1]):
            print(f"| {name} | {step:.1f} |")
        batches = [4, 8, 16, 32]
        print("\n| schedule | " + " | ".join(f"M = {m}" for m in batches)
              + " | quickest of the others / best |\n|---|" + "---|" * (len(batches) + 1))
        for schedule in SCHEDULES:
            row = [steps(model, 2048, described, "--strategy=pipeline",
                         f"--schedule={schedule}", f"--micro-batches={m}")["pipeline"]
                   for m in batches]
            print(f"| {schedule} | " + " | ".join(f"{step:.1f}" for step in row)
                  + f" | {best / min(row):.2f} |", flush=True)

        nets = [("AlexNet", ALEXNET, 256)]
        try:
            nets.append(("VGG-16", models.model_file("vgg16", folder), 128))
        except subprocess.CalledProcessError:
            print("\n(VGG-16 left out: this Python cannot make it, the oracle's can)")
        for net, file, batch in nets:
            rows = steps(file, batch, described, "--strategy=pipeline")
            print(f"\n{net}, batch {batch}\n\n| strategy | step, ms |\n|---|---|")
            for name, step in sorted(rows.items(), key=lambda row: row[1]):
                print(f"| {name} | {step:.1f} |")

        print("\nAlexNet, batch 256, four devices, 1f1b\n\n"
              "| micro-batches | text, KB | functions | lowered in, s | printed in, s |\n"
              "|---|---|---|---|---|")
        for m in 1, 2, 4, 8, 16, 32, 64:
            source = f"{folder}/source{m}"
            text = run("lwcc", ALEXNET, "--batch=256", "--gpus=4", "--machine=h200x4",
                       "--target=cuda", "--strategy=pipeline", "--stages=4",
                       "--schedule=1f1b", f"--micro-batches={m}", "--emit=source", "-o",
                       source, "-v")
            seconds = {phase: float(re.search(rf"^{phase} +([\d.]+) s$", text, re.M)[1])
                       for phase in ("sharded", "scheduled", "exec", "print")}
            with open(f"{source}/alexnet.cu") as file:
                program = file.read()
            lowered = sum(seconds.values()) - seconds["print"]
            print(f"| {m} | {len(program) / 1000:.1f} | {program.count('LWCC_ONCE void')} "
                  f"| {lowered:.2f} | {seconds['print']:.2f} |")


if __name__ == "__main__":
    main()
