"""What pipelines hold, from the arenas of their programs, against formulas: stashes.py.

Four equal stages of four equal layers each (bubbles.py's model), M = 4 to 32
micro-batches of as many samples as layers are wide, so that all tensors are equally
large. Of a stage's arena, in tensors:
- 8 are its four weights and their momentum, 4 the sums of their gradients;
- a stash has 5: the inputs of four layers, and what the stage hands on, which is free
  to be written again when the next stage's gradient comes back. (The last one
  hands on nothing, but keeps the probabilities of its loss);
- the first stage has M of samples, besides.
What is left is of the turn at hand, and should not depend on M. A row has it by
stage, with the formula for stashes. `evaluation`: the arena is as large as it takes,
which holds what a stage reads of all M micro-batches, and one tensor more.

Then AlexNet, batch 256, two devices, 1f1b, by M, cut as for M = 16: the arena of the
last stage, and how it compares with that for M = 1 and one set of gradients.

Needs lwcc on the PATH, no GPU, and a minute.
"""

import json
import math
import os
import re
import subprocess
import tempfile

from bubbles import WIDTH, write_machine, write_model

STAGES, LAYERS, STASH = 4, 4, 5
STASHES = {"gpipe": ("M", lambda s, m: m),
           "1f1b": ("min(M, S-s)", lambda s, m: min(m, STAGES - s)),
           "1f1b-eager": ("min(M, 2(S-s)-1)", lambda s, m: min(m, 2 * (STAGES - s) - 1))}
ALEXNET = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "../../examples/alexnet.onnx")


def lwcc(*flags):
    return subprocess.run(["lwcc", *flags], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout


def arenas(program):
    return [int(size) for size in re.findall(r"exec.device @gpu\d+ .*arena (\d+)", program)]


def equal_stages(folder):
    model, machine = f"{folder}/mlp.onnxtext", f"{folder}/machine.json"
    write_machine(machine)
    tensor = 4 * WIDTH * WIDTH
    print("| schedule | stashes of stage s | M | left of stage 0 | 1 | 2 | 3 |\n"
          "|---|---|---|---|---|---|---|")
    for schedule, (formula, stashes) in STASHES.items():
        for batches in 4, 8, 12, 16, 32:
            write_model(model, batches * WIDTH)
            program = lwcc(model, f"--batch={batches * WIDTH}", f"--gpus={STAGES}",
                           f"--machine={machine}", "--strategy=pipeline",
                           f"--schedule={schedule}", f"--stages={STAGES}",
                           f"--micro-batches={batches}", "--search-seconds=0",
                           "--stop-after=exec", "-o", "-")
            cells = []
            for stage, arena in enumerate(arenas(program)):
                held = arena / tensor - 2 * LAYERS - (batches if stage == 0 else 0)
                left = held - LAYERS - STASH * stashes(stage, batches)
                cells.append("evaluation" if int(held) == batches + 1 else f"{left:.3f}")
            print(f"| {schedule} | {formula} | {batches} | {' | '.join(cells)} |", flush=True)


def one_by_one(batches, plan):
    """The plan of two stages, with another number of micro-batches, as 1f1b."""
    plan = dict(plan, layers={name: {**layer, "n": batches}
                              for name, layer in plan["layers"].items()})
    first, last = [f"stage0[{i}]" for i in range(min(2, batches))], []
    for i in range(batches):
        first += [f"stage0[{i}] backward"] + [f"stage0[{i + 2}]"] * (i + 2 < batches)
        last += [f"stage1[{i}]", f"stage1[{i}] backward"]
    return dict(plan, order=dict(zip(plan["order"], (first, last))))


def alexnet(folder):
    path = f"{folder}/plan.json"
    common = [ALEXNET, "--batch=256", "--gpus=2", "--machine=h200x4"]
    lwcc(*common, "--strategy=pipeline", "--schedule=1f1b", "--stages=2",
         "--micro-batches=16", "--emit=plan", "-o", path)
    with open(path) as file:
        plan = json.load(file)
    print("\n| micro-batches | arena of the last stage, MiB | of that with one, and its "
          "gradients |\n|---|---|---|")
    bound = None
    for batches in 1, 2, 4, 8, 16, 32:
        with open(path, "w") as file:
            json.dump(one_by_one(batches, plan), file)
        program = lwcc(*common, f"--plan={path}", "--stop-after=exec", "-o", "-")
        arena = arenas(program)[1]
        if not bound:
            shapes = re.findall(r"exec.buffer trainable @gpu1\S* of \S+ : tensor<([\dx]+)xf32>",
                                program)
            gradients = sum(4 * math.prod(map(int, shape.split("x"))) for shape in shapes)
            bound = arena + gradients
        print(f"| {batches} | {arena / 2**20:.1f} | {arena / bound:.3f} |")
    print(f"\ngradients: {gradients / 2**20:.1f} MiB")


def main():
    with tempfile.TemporaryDirectory(prefix="stashes-") as folder:
        equal_stages(folder)
        alexnet(folder)


if __name__ == "__main__":
    main()
