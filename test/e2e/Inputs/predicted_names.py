"""predicted_names.py CSV LOG: predictions of pictures that lie in the folders of their
classes, against what evaluate says of them."""

import csv
import json
import os
import sys

with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
with open(sys.argv[2]) as lines:
    reached = json.loads(lines.readline())["val_top1"]
names = [row["image"] for row in rows]
assert names == sorted(names), names
known = [row for row in rows if row["class"]]
assert all(0 < float(row["probability"]) <= 1 for row in known)
print(f"{len(rows)} rows, {len(rows) - len(known)} of them empty")
right = sum(row["class"] == os.path.dirname(row["image"]) for row in known) / len(known)
print("right as often as evaluate says:",
      "yes" if abs(right - reached) < 1e-9 else f"no ({right}, {reached})")
print("above 90 %:", "yes" if right > 0.9 else f"no ({right})")
