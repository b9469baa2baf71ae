"""The exact search against a solver that shares no code with it: minimum.py.

  minimum.py [--cases=N] [--first=SEED] [--max-devices=N]

Each case draws a network of any operators (random_net.py), a batch and a machine, and
takes the tables of the sum of costs from `lwcc --emit=costs`. A mixed-integer program
finds their least sum (HiGHS, through SciPy): a 0-1 variable for each tiling of each
group, and for each edge one for each pair of tilings, whose sums over one side are the
variables of the other. The sum at the plan that `layerwise` made must be that least one,
up to 1e-9 of it. Prints a last line `N passed, M failed`.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from random_net import Net

MACHINES = ["h200x8", "p100-4x4", "k80-16x4"]
NODES_OF_FOUR = {"p100-4x4", "k80-16x4"}


def least_sum(costs):
    """The minimum in seconds."""
    objective, rows, columns, values, right = [], [], [], [], []
    constraints = 0

    def constrain(plus, minus, total):
        nonlocal constraints
        for number, value in [(p, 1.0) for p in plus] + [(m, -1.0) for m in minus]:
            rows.append(constraints)
            columns.append(number)
            values.append(value)
        right.append(total)
        constraints += 1

    first = []
    for group in costs["groups"]:
        first.append(len(objective))
        objective += group["seconds"]
        constrain(range(first[-1], len(objective)), [], 1)
    chosen = len(objective)
    for edge in costs["edges"]:
        a, b = edge["from"], edge["to"]
        height, width = (len(costs["groups"][g]["seconds"]) for g in (a, b))
        pairs = np.arange(height * width).reshape(height, width) + len(objective)
        objective += edge["seconds"]
        for i in range(height):
            constrain(pairs[i], [first[a] + i], 0)
        for j in range(width):
            constrain(pairs[:, j], [first[b] + j], 0)
    scale = 1 / max(objective)  # the solver's tolerances are absolute
    found = milp(np.array(objective) * scale,
                 integrality=np.arange(len(objective)) < chosen, bounds=Bounds(0, 1),
                 constraints=LinearConstraint(
                     coo_array((values, (rows, columns)),
                               (constraints, len(objective))).tocsr(), right, right),
                 options={"mip_rel_gap": 0})
    assert found.success, found.message
    # What was chosen is priced anew: the solver's own sum has its tolerances.
    picks = [int(np.argmax(found.x[at:at + len(group["seconds"])]))
             for at, group in zip(first, costs["groups"])]
    return sum_at(costs, picks)


def sum_at(costs, picks):
    total = sum(group["seconds"][pick] for group, pick in zip(costs["groups"], picks))
    for edge in costs["edges"]:
        width = len(costs["groups"][edge["to"]]["seconds"])
        total += edge["seconds"][picks[edge["from"]] * width + picks[edge["to"]]]
    return total


def check(seed, most):
    """(tilings in all, groups); raises AssertionError with what is wrong."""
    rng = random.Random(f"minimum {seed}")
    folder = tempfile.mkdtemp(prefix=f"minimum-{seed}-")
    net = Net(random.Random(seed))
    net.build(f"{folder}/net.onnx")
    machine = rng.choice(MACHINES)
    devices = (rng.randrange(4, max(5, most + 1), 4) if machine in NODES_OF_FOUR
               else rng.randint(2, min(most, 8)))
    flags = ["lwcc", f"{folder}/net.onnx", f"--batch={rng.randint(2, 9)}",
             f"--gpus={devices}", f"--machine={machine}", "--target=cuda"]
    for what in ("costs", "plan"):
        made = subprocess.run(
            [*flags, "--strategy=layerwise", f"--emit={what}", "-o", f"{folder}/{what}"],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert made.returncode == 0, f"seed {seed} ({folder}): {made.stdout[-2000:]}"
    with open(f"{folder}/costs") as file:
        costs = json.load(file)
    with open(f"{folder}/plan") as file:
        layers = json.load(file)["layers"]
    planned = sum_at(costs, [
        group["tilings"].index([layers[group["layers"][0]].get(d, 1) for d in "nchwk"])
        for group in costs["groups"]])
    least = least_sum(costs)
    assert abs(planned - least) <= 1e-9 * least, \
        f"seed {seed} ({folder}): layerwise has {planned}, the least is {least}"
    shutil.rmtree(folder)
    return sum(len(group["tilings"]) for group in costs["groups"]), len(costs["groups"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--max-devices", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()

    def judge(seed):
        try:
            return check(seed, args.max_devices), None
        except AssertionError as error:
            return None, str(error)

    sizes, failed = [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for size, error in pool.map(judge, range(args.first, args.first + args.cases)):
            if error:
                failed += 1
                print(f"FAIL {error}", flush=True)
            else:
                sizes.append(size)
    if sizes:
        tilings, groups = np.max(sizes, axis=0)
        print(f"up to {groups} groups and {tilings} tilings")
    print(f"{len(sizes)} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
