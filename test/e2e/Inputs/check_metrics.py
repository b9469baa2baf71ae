"""check_metrics.py METRICS LOG PREDICTIONS LABELS: the table of evaluate, against scikit-learn.

PREDICTIONS are those of predict for the same images, LABELS the numbers of their
classes.
"""
import csv
import json
import sys

import numpy as np
from sklearn import metrics

table, log, predictions, labels = sys.argv[1:]
with open(table, newline="") as file:
    header, *rows = csv.reader(file)
with open(predictions, newline="") as file:
    predicted = np.array([int(row["class"]) for row in csv.DictReader(file)])
labels = np.load(labels)
assert (predicted != labels).any(), "nothing to tell apart"
classes = list(range(10))
assert header == ["class", "images", "precision", "recall", "f1", *map(str, classes)]
matrix = np.array([row[5:] for row in rows], int)
assert (matrix == metrics.confusion_matrix(labels, predicted, labels=classes)).all()
wanted = metrics.precision_recall_fscore_support(labels, predicted, labels=classes,
                                                 zero_division=0)
for number, row in enumerate(rows):
    assert int(row[1]) == wanted[3][number], row
    for text, values in zip(row[2:5], wanted):
        assert text == "" or abs(float(text) - values[number]) < 1e-5, (row, values[number])
macro = metrics.precision_recall_fscore_support(labels, predicted, average="macro",
                                                zero_division=0)
with open(log) as lines:
    said, = map(json.loads, lines)
for name, value in zip(("macro_precision", "macro_recall", "macro_f1"), macro):
    assert abs(said[name] - value) < 1e-8, (name, said, value)
assert abs(said["val_top1"] - metrics.accuracy_score(labels, predicted)) < 1e-8
print("as scikit-learn has them")
