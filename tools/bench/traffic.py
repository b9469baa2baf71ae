"""How many bytes the devices of a training step exchange, by lwcc --explain.

  traffic.py MODEL.onnx [--strategies=data,owt] [--gpus=2,4,8,16] [--images=32]
             [--machine=NAME]

One row per strategy and number of GPUs, `--images` for each GPU: bytes that the
busiest GPU sends and receives in a step, bytes of all GPUs, and the same as a
parameter server would count them (OptCNN, figure 8: each of G GPUs sends its
gradients of P bytes and receives as many, so 2PG, where an exchange between
peers moves 2P(G-1)), beside 2PG itself. Needs no GPU. The model `alexnet-7x7`
is AlexNet with a map of 7x7 before its classifier, which is what the bars of
that figure imply (74.7 million parameters).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter


def traffic(model, strategy, gpus, batch, machine):
    """Bytes of a step by (from, to), and bytes of the parameters."""
    text = subprocess.run(
        ["lwcc", model, f"--batch={batch}", f"--gpus={gpus}",
         f"--strategy={strategy}", "--explain",
         *([f"--machine={machine}"] if machine else [])],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    pairs = re.findall(r"^  from (\S+) to (\S+): ([\d,]+) bytes", text, re.M)
    return {(a, b): int(n.replace(",", "")) for a, b, n in pairs}


def parameter_bytes(model):
    text = subprocess.run(["lwcc-run", model, "--batch=1", "--", "--info"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return 4 * int(re.search(r"parameters +([\d,]+) in", text)[1].replace(",", ""))


def alexnet_7x7():
    root = os.path.dirname(os.path.abspath(__file__)) + "/../.."
    sys.path.insert(0, root + "/examples")
    import make_examples
    path = os.path.join(tempfile.mkdtemp(), "alexnet-7x7.onnx")
    make_examples.alexnet(path, size=256, pooled=7)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--strategies", default="data,model,owt")
    parser.add_argument("--gpus", default="2,4,8,16")
    parser.add_argument("--machine", default="",
                        help="that layerwise plans for: p100-4x4 is OptCNN's")
    parser.add_argument("--images", type=int, default=32, help="per GPU")
    args = parser.parse_args()
    print("| model | strategy | GPUs | sent by a GPU, MB | received, MB | all, GiB "
          "| as a parameter server, GiB | 2PG, GiB |\n" + "|---" * 8 + "|")
    for model in args.models:
        if model == "alexnet-7x7":
            model = alexnet_7x7()
        parameters = parameter_bytes(model)
        for strategy in args.strategies.split(","):
            for gpus in map(int, args.gpus.split(",")):
                pairs = traffic(model, strategy, gpus, gpus * args.images,
                                args.machine)
                sent, received = Counter(), Counter()
                for (a, b), count in pairs.items():
                    sent[a] += count
                    received[b] += count
                total = sum(pairs.values())
                print(f"| {model.split('/')[-1]} | {strategy} | {gpus} "
                      f"| {max(sent.values()) / 1e6:.1f} "
                      f"| {max(received.values()) / 1e6:.1f} "
                      f"| {total / 2**30:.3f} "
                      f"| {total * gpus / (gpus - 1) / 2**30:.3f} "
                      f"| {2 * parameters * gpus / 2**30:.3f} |", flush=True)


if __name__ == "__main__":
    main()
