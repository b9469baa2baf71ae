#!/bin/sh
# Digits from scratch: LeNet-5, whose weights are drawn when training starts, on 1,500
# images of 8x8 pixels. Needs lwcc on the PATH and a Python with scikit-learn; writes into
# the current folder.
set -e
here=$(cd "$(dirname "$0")" && pwd)

python "$here/../tools/data/make_digits.py" digits
lwcc "$here/lenet5.onnx" --target=cpu --batch=32 -o lenet5
./lenet5 --data=digits/train --val-data=digits/val --epochs=15 --weight-decay=5e-4 \
  --best=val_top1 --checkpoint-dir=lenet5-kept --export-onnx=lenet5-trained.onnx
./lenet5 evaluate --data=digits/val --resume=lenet5-kept/best --metrics=lenet5-metrics.csv
