"""How a data-parallel training scales over nodes: our exchange and two others.

  scaling.py [NAME:BATCH ...] [--nodes=2,4,..] [--machine=NAME] [--network=GB/s]
  (default: alexnet:64 googlenet:32 on 2 to 64 nodes of one P100, 56 Gb/s)

BATCH is a node's. Every figure is predicted, none measured: this is the claim of
CaffeGPI (Kuehn, Keuper, Pfreundt, 2017) in form, whose figures are not to be had.

  ours        the step of the program that lwcc makes: each layer's gradients are
              exchanged as soon as they are there, under the backward pass
  all-reduce  one node's step, then a ring of all nodes over all gradients
              (Patarasuk and Yuan, 2009): nothing overlaps
  server      one node's step, then all send their gradients to one node and get
              its parameters, which share that node's link

Efficiency is one node's step by that of N nodes. No Python beside the standard
library's, but for models that are made.
"""

import argparse
import json
import re
import subprocess
import tempfile

from models import model_file


def lwcc(*arguments):
    return subprocess.run(["lwcc", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def machine_file(args, nodes, folder):
    """One device of the machine in each of so many nodes."""
    described = json.loads(lwcc("machine", args.machine))
    described.update(name=f"{nodes} nodes", nodes=nodes, gpus=1)
    described["network"] = {"bandwidth": args.network * 1e9, "latency": args.latency * 1e-6}
    path = f"{folder}/{nodes}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(described, file)
    return path


def step_of(model, batch, nodes, args, folder):
    """Seconds, of the program if there are several nodes."""
    path = machine_file(args, max(nodes, 2), folder)
    strategy = "data" if nodes > 1 else "single"
    text = lwcc(model, f"--machine={path}", f"--gpus={max(nodes, 2)}", f"--batch={nodes * batch}",
                f"--strategy={strategy}", "--explain", "--stop-after=exec", "-o", f"{folder}/out")
    return float(re.search(r"predicted step of this program: ([\d.]+) ms", text)[1]) * 1e-3


def parameter_bytes(model):
    return 4 * json.loads(lwcc("inspect", model, "--json"))["parameters"]["trained"]["elements"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", nargs="*", metavar="NAME:BATCH",
                        default=["alexnet:64", "googlenet:32"])
    parser.add_argument("--nodes", default="2,4,8,16,32,64")
    parser.add_argument("--machine", default="p100-4x4")
    parser.add_argument("--network", type=float, default=7, help="of a node, GB/s")
    parser.add_argument("--latency", type=float, default=20, help="microseconds")
    args = parser.parse_args()
    print("| model | nodes | ours, ms | efficiency | all-reduce, ms | efficiency "
          "| server, ms | efficiency |\n" + "|---" * 8 + "|")
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        for name, batch in (item.rsplit(":", 1) for item in args.what):
            model = model_file(name, folder)
            alone = step_of(model, int(batch), 1, args, folder)
            transfer = parameter_bytes(model) / (args.network * 1e9)
            for nodes in map(int, args.nodes.split(",")):
                steps = [step_of(model, int(batch), nodes, args, folder),
                         alone + 2 * (nodes - 1) * (transfer / nodes + args.latency * 1e-6),
                         alone + 2 * ((nodes - 1) * transfer + args.latency * 1e-6)]
                cells = " | ".join(f"{1e3 * step:.1f} | {alone / step:.2f}" for step in steps)
                print(f"| {name} | {nodes} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
