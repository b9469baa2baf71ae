"""Writes scikit-learn's diabetes data as tables, and a network for them: table.py FOLDER.

FOLDER/train.csv (352 patients) and FOLDER/val.csv (the other 90) have ten columns of
measurements as they were taken, and the column `progression`. FOLDER/model.onnx begins
with a batch normalization, which brings columns of any scale into one. Needs PyTorch,
onnx and onnxscript.
"""

import csv
import os
import sys

import torch
from sklearn.datasets import load_diabetes
from torch import nn

TRAINING = 352


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    data = load_diabetes(scaled=False)
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    for part, rows in ("train", order[:TRAINING]), ("val", order[TRAINING:]):
        with open(f"{folder}/{part}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*data.feature_names, "progression"])
            writer.writerows([*data.data[row], data.target[row]] for row in rows.tolist())
    torch.manual_seed(1)
    columns = len(data.feature_names)
    model = nn.Sequential(nn.BatchNorm1d(columns), nn.Linear(columns, 32), nn.ReLU(),
                          nn.Linear(32, 1))
    # So that training does not begin with finding the mean.
    nn.init.constant_(model[3].bias, float(data.target[order[:TRAINING]].mean()))
    torch.onnx.export(model.train(), (torch.randn(4, columns),), f"{folder}/model.onnx",
                      optimize=False, dynamic_shapes=({0: torch.export.Dim("batch")},))


if __name__ == "__main__":
    main()
