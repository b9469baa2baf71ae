"""pipeline.py SCHEDULE: a plan of LeNet-5, two stages and four micro-batches.
pipeline.py compare LOG LOG...: are the losses those of the first?"""

import json
import sys

STAGES = {"stage0": ["conv1", "relu1", "pool1", "conv2", "relu2", "pool2"],
          "stage1": ["flatten", "fc1", "relu3", "fc2", "relu4", "fc3", "loss"]}
MICRO_BATCHES = 4


def order(schedule, stage, stages):
    """What the lane of a stage does, as (micro-batch, phase)."""
    forward = [(i, "") for i in range(MICRO_BATCHES)]
    backward = [(i, " backward") for i in range(MICRO_BATCHES)]
    if schedule == "gpipe":
        return forward + backward
    warm = stages - 1 - stage
    tasks = forward[:warm]
    for i in range(MICRO_BATCHES):
        tasks += forward[warm + i:warm + i + 1] + backward[i:i + 1]
        if schedule == "zero-bubble" and i >= stage:
            tasks.append((i - stage, " weight"))
    if schedule == "zero-bubble":
        tasks += [(i, " weight") for i in range(MICRO_BATCHES - stage, MICRO_BATCHES)]
    return tasks


def plan(schedule):
    return {"version": 2, "groups": STAGES,
            "layers": {layer: {"n": MICRO_BATCHES, "places": [f"0.{i}.0"]}
                       for i, layers in enumerate(STAGES.values())
                       for layer in layers},
            "order": {f"0.{i}.0": [f"{name}[{batch}]{phase}"
                                   for batch, phase in order(schedule, i, len(STAGES))]
                      for i, name in enumerate(STAGES)}}


def losses(log):
    with open(log) as lines:
        records = [json.loads(line) for line in lines]
    return [record["loss"] for record in records if "lr" in record]


if sys.argv[1] == "compare":
    first, *others = [losses(log) for log in sys.argv[2:]]
    assert all(len(other) == len(first) for other in others)
    worst = max(abs(a - b) / a for other in others for a, b in zip(first, other))
    print(f"{len(first)} losses of each, within {1e-6 if worst <= 1e-6 else worst:.0e}")
else:
    print(json.dumps(plan(sys.argv[1])))
