"""Random plans for any model, from the tilings that lwcc says its layers have.

Decides which plans a case of the operator grid is tried under. Networks that are drawn
with their plans, and plans of uneven parts, lanes and orders, are plans.py's.
"""

import json
import math
import random
import subprocess

DIMENSIONS = "nchwk"


def random_plan(model, flags, batch, name, path):
    """Writes a plan for 2 to 6 devices: each group of layers is cut in one of all ways
    that there are, mostly in several parts, and each part runs on any device. `name`
    decides. Returns the flags of the compiler that ask for it; raises CalledProcessError."""
    rng = random.Random(name)
    devices = rng.randint(2, 6)
    told = ["--target=cpu", f"--batch={batch}", f"--gpus={devices}", *flags]
    subprocess.run(["lwcc", model, *told, "--emit=costs", "-o", path], check=True,
                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with open(path) as file:
        groups = json.load(file)["groups"]
    layers = {}
    for group in groups:
        tilings = [[1] * 5] + group["tilings"] * 2
        degrees = rng.choice(tilings)
        layers[group["layers"][0]] = {
            **{dim: degree for dim, degree in zip(DIMENSIONS, degrees) if degree > 1},
            "places": [f"0.{rng.randrange(devices)}.0" for _ in range(math.prod(degrees))]}
    with open(path, "w") as file:
        json.dump({"version": 2, "layers": layers}, file, indent=1)
    return [f"--gpus={devices}", f"--plan={path}"]
