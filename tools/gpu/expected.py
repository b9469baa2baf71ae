"""Records what a model's first steps must give: the CPU target's and PyTorch's.

  expected.py MODEL.onnx --data=DIR --lwcc-run=PROGRAM --out=FILE.json

The losses of the CPU target and of PyTorch in double precision, in single
precision, and as with tf32 on the same batches (test/parity). The bundle of
tools/gpu-test.sh carries them to the GPU machine, which has no oracle.
"""

import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "test", "parity"))

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from onnx_torch import Oracle  # noqa: E402
from parity import image_shape  # noqa: E402
from trainer import Data, Settings, run_oracle, train  # noqa: E402


def to_tf32(values):
    """Rounded to the ten bits behind the point that tf32 keeps."""
    bits = values.to(torch.float32).view(torch.int32)
    return ((bits + 0x1000) & ~0x1fff).view(torch.float32).to(values.dtype)


class Tf32(TorchDispatchMode):
    """Convolutions and matrix products, forward and backward, round operands to
    tf32 and sum in the precision of the tensors, as GPUs do."""

    aten = torch.ops.aten
    # The positions of the operands; what is only added is not rounded.
    OPERANDS = {aten.convolution.default: (0, 1),
                aten.convolution_backward.default: (0, 1, 2),
                aten.mm.default: (0, 1), aten.bmm.default: (0, 1),
                aten.addmm.default: (1, 2), aten.baddbmm.default: (1, 2)}

    def __init__(self):
        super().__init__()
        self.rounded = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        args = list(args)
        for i in self.OPERANDS.get(function, ()):
            args[i] = to_tf32(args[i])
            self.rounded += 1
        return function(*args, **(kwargs or {}))


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

    with Tf32() as mode:
        tf32 = oracle(torch.float64)
    if not mode.rounded:
        sys.exit("expected.py: PyTorch has other names for its products than here")
    record = dict(batch=args.batch, steps=args.steps, lr=args.lr,
                  momentum=settings.momentum, weight_decay=settings.weight_decay,
                  seed=settings.seed, precision="fp32", cpu=cpu,
                  double=oracle(torch.float64), single=oracle(torch.float32),
                  tf32=tf32)
    with open(args.out, "w") as file:
        json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
