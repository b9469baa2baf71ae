#!/usr/bin/env python3
"""Draws the forms of a program and the passes between them into a document.

  draw_forms.py [--check] MODEL.onnx FILE.md

Asks lwcc (on the PATH) which passes it runs up to which form: --stop-after
stops behind a form, --dump-dir keeps a file per pass. The drawing, in Mermaid,
replaces what stands between the two comments in FILE.md that name this script.
With --check the file stays as it is; if the drawing is not up to date, the exit
code is 1. docs/architecture.md is drawn from examples/lenet5.onnx.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

FORMS = ["imported", "differentiated", "planned", "sharded", "scheduled", "exec"]
BEGIN, END = "<!-- drawn by tools/draw_forms.py -->\n", "<!-- end of drawing -->"


def passes_up_to(model, form):
    """The names of the passes that a program goes through to reach a form."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["lwcc", model, "--target=cpu", "--batch=8", "--gpus=2",
             "--strategy=data", f"--stop-after={form}", f"--dump-dir={folder}",
             "-o", os.devnull])
        if done.returncode:
            sys.exit(f"draw_forms.py: lwcc --stop-after={form} fails")
        return [re.fullmatch(r"\d+-(.*)\.mlir", name)[1]
                for name in sorted(os.listdir(folder))][1:]


def draw(model):
    lines = ["flowchart TD", '  onnx[/"ONNX file"/]', '  onnx -->|"frontend/"| imported']
    before = []
    for index, form in enumerate(FORMS):
        if index:
            passes = passes_up_to(model, form)
            added = passes[len(before):]
            lines.append(f'  {FORMS[index - 1]} -->|"{"<br>".join(added)}"| {form}')
            before = passes
    lines += ['  exec -->|"codegen/"| text[/"C++ or CUDA C++"/]',
              '  exec -->|"lwcc-run"| run(["training, without a C++ compiler"])',
              '  text -->|"g++ or nvcc, with runtime/"| trainer(["trainer"])',
              '  trainer --> files[/"checkpoints, trained ONNX file"/]',
              '  run --> files']
    return "```mermaid\n" + "\n".join(lines) + "\n```\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("file")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    with open(args.file) as file:
        text = file.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    drawn = text[:begin] + draw(args.model) + text[end:]
    if args.check:
        if drawn != text:
            sys.exit(f"{args.file} is not what is drawn now: run\n"
                     f"tools/draw_forms.py {args.model} {args.file}")
    else:
        with open(args.file, "w") as file:
            file.write(drawn)


if __name__ == "__main__":
    main()
