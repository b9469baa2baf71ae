"""Writes the tests' ONNX models, as both of PyTorch's exporters write them.

  make_models.py OUT [NAME ...] [--exporter=both|dynamo|legacy]
                     [--size=small|full] [--static-batch=N]

Files are OUT/NAME.EXPORTER.onnx (OUT/NAME-full.EXPORTER.onnx), the dynamo
exporter's with their weights beside them, which is its default. A file that is
already there is kept. The calls are the two that keep every parameter:
anything else folds batch normalization into the convolutions.
"""

import argparse
import os
import sys
import time
import warnings

import torch

from networks import ALL, NETWORKS, build, inputs

EXPORTERS = ("dynamo", "legacy")


def export(network, shape, path, exporter, static_batch=0):
    batch = static_batch or 4
    arguments, names = (inputs(network, shape, batch),), ["images"]
    if getattr(network, "loss", False):
        arguments += (torch.zeros(batch, dtype=torch.int64),)
        names.append("labels")
    options = dict(input_names=names, verbose=False)
    if exporter == "dynamo":
        if not static_batch:
            size = torch.export.Dim("batch", min=1, max=1 << 20)
            options["dynamic_shapes"] = tuple({0: size} for _ in arguments)
        torch.onnx.export(network, arguments, path, dynamo=True, optimize=False,
                          **options)
    else:
        if not static_batch:
            options["dynamic_axes"] = {name: {0: "batch"} for name in names}
        torch.onnx.export(network, arguments, path, dynamo=False,
                          training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exporter", choices=EXPORTERS + ("both",), default="both")
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--static-batch", type=int, default=0, metavar="N",
                        help="export a fixed batch instead of a symbolic one")
    args = parser.parse_intermixed_args()
    unknown = [name for name in args.names if name not in ALL]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are: "
                     + ", ".join(ALL))
    os.makedirs(args.out, exist_ok=True)
    warnings.filterwarnings("ignore")

    exporters = EXPORTERS if args.exporter == "both" else (args.exporter,)
    suffix = "-full" if args.size == "full" else ""
    if args.static_batch:
        suffix += f"-b{args.static_batch}"
    for name in args.names or NETWORKS:
        for exporter in exporters:
            stem = f"{name}{suffix}.{exporter}.onnx"
            path = os.path.join(args.out, stem)
            if os.path.exists(path):
                continue
            start = time.time()
            network, shape = build(name, args.size)
            # Under its final file name (external data is named after it), but
            # in a folder of its own: an interrupted export leaves no file that
            # the next run would take for finished.
            parts = os.path.join(args.out, stem + ".part")
            os.makedirs(parts, exist_ok=True)
            export(network, shape, os.path.join(parts, stem), exporter,
                   args.static_batch)
            for part in sorted(os.listdir(parts), reverse=True):
                os.replace(os.path.join(parts, part), os.path.join(args.out, part))
            os.rmdir(parts)
            print(f"{stem}: {time.time() - start:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
