"""One Weird Trick (a), (b) and (c) beside each other, as lwcc predicts.

  weird_trick.py

Predicted milliseconds of AlexNet's step, 128 images for each device as
Krizhevsky had (2014, one K20 each, PCIe 2.0 at 6 GB/s), on machines of 2, 4 and
8 devices. His speed-ups over one GPU, scheme (b), are in the last column; they
include his variable batch. Needs lwcc on the PATH, no GPU.
"""

import json
import os
import re
import subprocess
import tempfile

ALEXNET = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../examples/alexnet.onnx")
PUBLISHED = {2: 1.95, 4: 3.74, 8: 6.16}  # table 1, the best of each number
# Rates of a data sheet: 3.5 Tflop/s, 208 GB/s.
K20 = {"version": 1, "name": "k20x8", "nodes": 1, "gpus": 8,
       "device": {"fp32": 3.5e12, "tf32": 3.5e12, "bandwidth": 2.08e11,
                  "memory": 5e9, "launch": 5e-6},
       "link": {"bandwidth": 6e9, "latency": 1e-5},
       "network": {"bandwidth": 6e9, "latency": 1e-5}}


def step(strategy, gpus, machine):
    text = subprocess.run(
        ["lwcc", ALEXNET, f"--batch={128 * gpus}", f"--gpus={gpus}",
         f"--machine={machine}", f"--strategy={strategy}", "--search-seconds=0",
         "--explain", "--emit=plan", "-o", "/dev/null"],
        check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout
    return float(re.search(rf"^  {strategy} \* +(\d+\.\d+)", text, re.M)[1])


def main():
    with tempfile.TemporaryDirectory(prefix="weird-trick-") as folder:
        k20 = f"{folder}/k20.json"
        with open(k20, "w") as file:
            json.dump(K20, file)
        print("| machine | GPUs | data | (a) | (b) | (c) | quickest | speed-up "
              "of (b) | published |\n|---" + "|---" * 8 + "|")
        for machine in k20, "p100-4x4", "h200x8":
            for gpus in 2, 4, 8:
                names = ["data", "owt", "owt-b", "owt-c"]
                steps = {name: step(name, gpus, machine) for name in names}
                text = subprocess.run(
                    ["lwcc", ALEXNET, "--batch=128", "--gpus=1",
                     f"--machine={machine}", "--explain"],
                    check=True, text=True, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL).stdout
                one = float(re.search(r"([\d.]+) ms", text)[1])
                print(f"| {os.path.basename(machine).removesuffix('.json')} | {gpus} | "
                      + " | ".join(f"{steps[name]:.1f}" for name in names)
                      + f" | {min(steps, key=steps.get)} "
                      f"| {gpus * one / steps['owt-b']:.2f} "
                      + (f"| {PUBLISHED[gpus]} |" if machine == k20 else "| - |"),
                      flush=True)


if __name__ == "__main__":
    main()
