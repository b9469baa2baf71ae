#!/bin/sh
# A small GPT learns the bytes of a text. Needs lwcc on the PATH and a Python with PyTorch
# and onnxscript; writes into the current folder.
set -e
here=$(cd "$(dirname "$0")" && pwd)

python "$here/gpt.py" gpt.onnx
lwcc gpt.onnx --target=cpu --batch=16 --optimizer=adamw --clip-norm=1 -o gpt
mkdir -p text && cp "$here/../LICENSE" text/licence.txt # or any text of yours
./gpt --data=text --val-split=0.1 --epochs=6 --lr=0.002 --sched=cosine --warmup-steps=5 \
  --export-onnx=gpt-trained.onnx
