"""Checks that two logs of evaluations agree up to rounding."""
import json
import sys

first, second = (json.loads(open(path).readline()) for path in sys.argv[1:])
assert first["val_images"] == second["val_images"] == 24
assert abs(first["val_loss"] - second["val_loss"]) < 1e-6 * first["val_loss"], (first, second)
