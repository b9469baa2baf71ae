"""same_validations.py LOG LOG: checks that two trainings validate alike, up to rounding."""
import json
import sys


def validations(path):
    with open(path) as lines:
        return [record for record in map(json.loads, lines) if "val_loss" in record]


first, second = map(validations, sys.argv[1:])
assert len(first) == len(second), (first, second)
for one, other in zip(first, second):
    assert one["val_images"] == other["val_images"], (one, other)
    assert abs(one["val_loss"] - other["val_loss"]) <= 1e-5 * one["val_loss"], (one, other)
print(f"validations: {len(first)}, of {first[0]['val_images']} images, agree")
