#!/bin/sh
# Tabular regression: how far a diabetes has gone after a year, by ten numbers of a
# patient (scikit-learn's data set of 442). Needs lwcc on the PATH and a Python with
# PyTorch, onnxscript and scikit-learn; writes into the current folder.
set -e
here=$(cd "$(dirname "$0")" && pwd)

python "$here/table.py" table
lwcc table/model.onnx --target=cpu --batch=32 --loss=mse --optimizer=adam --no-decay=bias,norm -o table/trainer
table/trainer --data=table/train.csv --val-data=table/val.csv --target-columns=progression --epochs=60 --lr=0.01 \
  --weight-decay=1e-3 --best=val_loss --checkpoint-dir=table/kept
table/trainer predict --data=table/val.csv --resume=table/kept/best -o table/predictions.csv
