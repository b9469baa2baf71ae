"""same_losses.py LOG LOG...: are the losses of all trainings those of the first?"""

import json
import sys


def losses(log):
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    return [record["loss"] for record in records if "lr" in record]


first, *others = [losses(log) for log in sys.argv[1:]]
assert all(len(other) == len(first) for other in others)
worst = max(abs(a - b) / a for other in others for a, b in zip(first, other))
print(f"{len(first)} losses of each of {len(sys.argv) - 1} logs, "
      f"within {max(worst, 1e-6):.0e}")
