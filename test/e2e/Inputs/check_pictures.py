"""check_pictures.py LOG LOG: what two trainings on the same pictures learned."""
import json
import sys


def records(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


first, second = map(records, sys.argv[1:])
accuracy = [record["val_top1"] for record in first if "val_top1" in record][-1]
print("held-out accuracy above 90 %:", "yes" if accuracy > 0.9 else accuracy)
losses = [[record["loss"] for record in log if "lr" in record] for log in (first, second)]
print("as with three threads:", "yes" if losses[0] and losses[0] == losses[1] else "no")
