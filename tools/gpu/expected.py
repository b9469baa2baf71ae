"""Records what a model's first steps must give: the CPU target's and PyTorch's.

  expected.py MODEL.onnx --data=DIR --lwcc-run=PROGRAM --out=FILE.json

The losses of the CPU target, of PyTorch in double precision and of PyTorch in
single precision on the same batches (test/parity). The bundle of
tools/gpu-test.sh carries them to the GPU machine, which has no oracle.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "test", "parity"))

import torch  # noqa: E402

from onnx_torch import Oracle  # noqa: E402
from parity import image_shape  # noqa: E402
from trainer import Data, Settings, run_oracle, train  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--data", required=True)
    parser.add_argument("--lwcc-run", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.01)
    args = parser.parse_args()
    settings = Settings(args.batch, args.steps, args.lr)
    data = Data(args.data, image_shape(args.model))
    cpu, _ = train([args.lwcc_run, args.model, f"--batch={args.batch}", "--"],
                   args.data, settings)

    def oracle(dtype):
        return run_oracle(Oracle(args.model, dtype, settings.seed), data, settings)

    record = dict(batch=args.batch, steps=args.steps, lr=args.lr,
                  momentum=settings.momentum, weight_decay=settings.weight_decay,
                  seed=settings.seed, cpu=cpu, double=oracle(torch.float64),
                  single=oracle(torch.float32))
    with open(args.out, "w") as file:
        json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
