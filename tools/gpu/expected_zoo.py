"""Records what a network of the zoo must give: its file, data and losses for the bundle.

  expected_zoo.py NAME --lwcc-run=PROGRAM --model=FILE.onnx --data=DIR --out=FILE.json

As expected.py does for the networks of test/models/networks.py. The losses are those of
the module itself (test/parity/zoo.py); of its runs in single precision, which differ by a
unit in the last place of each weight, the one that is farthest off is recorded.
"""

import argparse
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "test", "parity"))

import torch  # noqa: E402

import zoo  # noqa: E402
from trainer import train  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name")
    parser.add_argument("--lwcc-run", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    network, shape = zoo.build_zoo(args.name)
    zoo.export(network, shape, args.model, "dynamo")
    with tempfile.TemporaryDirectory() as folder:
        draw = zoo.Draw(args.name, shape, folder, 0)
        shutil.copytree(draw.folder, args.data, dirs_exist_ok=True)
        truth = draw.truth[0]
        singles = [draw.single(number)[0] for number in range(zoo.SAMPLES)]
        cpu, _ = train([args.lwcc_run, args.model, f"--batch={zoo.BATCH}", "--"],
                       draw.folder, zoo.SETTINGS)

    def distance(losses):
        return max(abs(a - b) / abs(b) for a, b in zip(losses, truth))

    settings = dataclasses.asdict(zoo.SETTINGS)
    record = {key: settings[key] for key in
              ("batch", "steps", "lr", "momentum", "weight_decay", "seed")}
    record.update(precision="fp32", cpu=cpu, double=truth,
                  single=max(singles, key=distance),
                  data=os.path.basename(args.data))
    with open(args.out, "w") as file:
        json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
