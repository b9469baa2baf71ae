"""Bubbles of pipelines against published formulas.

  bubbles.py [--quick | M ...]
  bubbles.py --measured

Sixteen equal layers (products of W x W matrices) on S = 2 to 8 devices, in
M = 2 to 32 micro-batches of W samples, so that F = B = W: a stage's forward,
backward and weight turns take equally long. The machine has no latencies, and
its links and memories take no time; what is left is computing. (With M = 1 all
schedules are alike, and stages may be cut anywhere.)

A row has how much longer a step is than M (F + B + W) of a device, in turns of a
device:
- program: as predicted of the program, call by call and event by event;
- played: the plan's order of turns, played by the few lines below, which know
  nothing of calls, lanes for copies, or events. Where a schedule has F, and B and W
  together, a turn may make all gradients that the stage before waits for first, and
  hand them on before the parameters' (B), or go layer by layer, and hand them on
  before those of its first layer's parameters only (BW). The program may do
  either, or each in some turns; the latter holds less, and the compiler takes it if
  that makes the step at most 2 % longer. The step between both that is nearest to
  the program's stands here;
- handed on: the formula of equal stages if gradients are handed on before W;
- published: the formula as published, with B and W together where a schedule has
  them so. That of zb-v has as many turns as pass until the last device begins,
  and that of v-half is approximate.
The last column is how much longer the program's step is than the one played, in per
cent. Last comes the worst of each schedule, also against the formula.

--measured: two CPU devices, 1f1b, eight micro-batches of an MLP of equal layers: the
step as predicted by costs that `lwcc profile` measures of one micro-batch, and as
measured, in turns. Needs a machine that is idle, and Python's onnx.

Needs lwcc on the PATH, no GPU, and some minutes (--quick), or an hour.
"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile

# By schedule: stages a device, the bubble if gradients are handed on before W, the
# published one, both in forward turns of a device, and from how many micro-batches.
SCHEDULES = {
    "gpipe": (1, lambda s: 2 * (s - 1), lambda s: 3 * (s - 1), lambda s: 2),
    "1f1b": (1, lambda s: 2 * (s - 1), lambda s: 3 * (s - 1), lambda s: 2),
    "1f1b-eager": (1, lambda s: 2 * (s - 1), lambda s: 3 * (s - 1), lambda s: 2),
    "interleaved": (2, lambda s: s - 1, lambda s: 3 * (s - 1) / 2, lambda s: s),
    "zb-h1": (1, lambda s: s - 1, lambda s: s - 1, lambda s: s),
    "zb-h2": (1, lambda s: s - 1, lambda s: s - 1, lambda s: s),
    "zb-v": (2, lambda s: (s - 1) / 2, lambda s: (s - 1) / 2, lambda s: 2 * s),
    "v-half": (2, None, lambda s: 3 * (s - 1) / 2, lambda s: 2 * s)}
LAYERS, WIDTH = 16, 2048


def write_model(path, batch, width=WIDTH, layers=LAYERS):
    # A slice, which only moves data, makes fewer numbers than the input has: what
    # gives as many is taken for an autoencoder.
    lines = [f"{name} = Constant <value_ints = [{value}]> ()" for name, value in
             (("begin", 0), ("end", width), ("axis", 1))]
    # A parameter in front, so that the first product has a gradient of its input.
    lines += ["part = Slice (x, begin, end, axis)",
              f"scale = RandomNormal <shape = [{width}]> ()", "in = Mul (part, scale)"]
    last = "in"
    for i in range(layers):
        lines += [f"w{i} = RandomNormal <shape = [{width}, {width}], scale = 0.02> ()",
                  f"fc{i} = MatMul ({last}, w{i})"]
        last = f"fc{i}"
    with open(path, "w") as file:
        file.write('<ir_version: 8, opset_import: ["" : 20]>\n'
                   f"mlp (float[{batch},{width + 1}] x) => (float[{batch},{width}] {last})\n"
                   "{\n  " + "\n  ".join(lines) + "\n}\n")


def write_machine(path):
    fast = 1e30
    with open(path, "w") as file:
        json.dump({"version": 1, "name": "free", "nodes": 1, "gpus": 8,
                   "device": {"fp32": 1e11, "tf32": 1e11, "bandwidth": fast,
                              "memory": 1e15, "launch": 0},
                   "link": {"bandwidth": fast, "latency": 0},
                   "network": {"bandwidth": fast, "latency": 0}}, file)


def predicted(model, machine, stages, schedule, batches):
    """A program's step and its stages' turns, in milliseconds, and its plan."""
    path = f"{model}.plan.json"
    text = subprocess.run(
        ["lwcc", model, f"--batch={batches * WIDTH}", f"--gpus={stages}",
         f"--machine={machine}", "--strategy=pipeline", f"--schedule={schedule}",
         f"--stages={stages}", f"--micro-batches={batches}", "--search-seconds=0",
         "--explain", "--emit=plan", "-o", path],
        check=True, text=True, stdout=subprocess.PIPE).stdout
    with open(path) as file:
        plan = json.load(file)
    step = re.search(r"^  pipeline \* +(\d+\.\d+) ", text, re.M)
    turns = re.findall(r"^  stage\d+ +[\d.]+ +\d+ +([\d.]+) +([\d.]+) +([\d.]+) ", text, re.M)
    return float(step[1]), [[float(time) for time in row] for row in turns], plan


def played(plan, turns, by_layer):
    """The milliseconds of a plan's turns if nothing but the order delays them."""
    queues = [[re.fullmatch(r"stage(\d+)\[(\d+)\] ?(\w*)", task).groups() for task in lane]
              for lane in plan["order"].values()]
    apart = any(phase == "weight" for lane in queues for *_, phase in lane)
    handed, free = {}, [0] * len(queues)
    moved = True
    while moved:
        moved = False
        for lane, queue in enumerate(queues):
            while queue:
                stage, batch, phase = int(queue[0][0]), queue[0][1], queue[0][2] or "forward"
                before = {"forward": [(stage - 1, "forward")] if stage else [],
                          "backward": [(stage, "forward")]
                          + [(stage + 1, "backward")] * (stage + 1 < len(turns)),
                          "weight": [(stage, "backward")]}[phase]
                if any((*key, batch) not in handed for key in before):
                    break
                start = max([free[lane], *(handed[(*key, batch)] for key in before)])
                forward, backward, weight = turns[stage]
                layers = sum(layer.startswith("fc") for layer in plan["groups"][f"stage{stage}"])
                length, behind = {"forward": (forward, 0), "weight": (weight, 0),
                                  "backward": (backward, 0)}[phase]
                if phase == "backward" and not apart:
                    length += weight
                    behind = weight / max(1, layers) if by_layer else weight
                free[lane] = start + length
                handed[(stage, phase, batch)] = free[lane] - behind
                queue.pop(0)
                moved = True
    assert not any(queues), "the order has a cycle"
    return max(free)


def rows(batch_counts, device_counts, folder):
    """Prints a row a pipeline. Of each schedule the per cent by which steps are off
    those played, and longer than by the formula of handing on, of equal stages."""
    model, machine = f"{folder}/mlp.onnxtext", f"{folder}/machine.json"
    write_machine(machine)
    print("| schedule | S | M | program | played | | handed on | published | off |\n|---|---|---|---|---|---|---|---|---|")
    worst = {name: ([], []) for name in SCHEDULES}
    for batches in batch_counts:
        write_model(model, batches * WIDTH)
        for schedule, (chunks, handed_on, published, least) in SCHEDULES.items():
            for stages in device_counts:
                equal = LAYERS % (stages * chunks) == 0
                if (batches < least(stages) or schedule == "interleaved" and batches % stages
                        or stages * chunks > LAYERS):
                    continue
                step, turns, plan = predicted(model, machine, stages, schedule, batches)
                # Of the device that has most to do.
                device = max(sum(sum(turns[int(stage)]) for stage in
                                 set(re.findall(r"stage(\d+)", " ".join(lane))))
                             for lane in plan["order"].values())
                first, by_layer = played(plan, turns, False), played(plan, turns, True)
                near = min(max(step, first), by_layer)
                kind = ("" if first == by_layer else "B" if step < first * 1.00001 else
                        "BW" if step > by_layer * 0.99999 else "some BW")
                off = 100 * (step / near - 1)
                worst[schedule][0].append(abs(off))
                known = ["", ""]
                if equal:
                    known = [f(stages) if f else "" for f in (handed_on, published)]
                    if handed_on:
                        formula = batches * device + known[0] * device / 3
                        worst[schedule][1].append(100 * (step / formula - 1))
                bubbles = [f"{(time - batches * device) / (device / 3):.3f}"
                           for time in (step, near)]
                print(f"| {schedule} | {stages} | {batches} | {' | '.join(bubbles)} | {kind} | "
                      f"{known[0]} | {known[1]} | {off:+.3f} % |", flush=True)
    return worst


def measured(rounds=4, width=512, layers=8, batches=8, samples=64):
    """A pipeline on two CPU devices: its step as predicted and as measured."""
    import predict  # which needs packages that the rest does without
    with tempfile.TemporaryDirectory(prefix="bubbles-") as folder:
        model, plan = f"{folder}/mlp.onnxtext", f"{folder}/plan.json"
        batch, told, errors = batches * samples, [], []
        write_model(model, batch, width, layers)
        predict.lwcc(model, batch, 2, "", "--strategy=pipeline", "--schedule=1f1b",
                     "--stages=2", f"--micro-batches={batches}", "--emit=plan", "-o", plan)
        predict.lwcc(model, batch, 2, "", f"--plan={plan}", "-o", f"{folder}/trainer")

        def tell():
            costs = predict.profile(model, samples, 2, folder)
            told.append(predict.predicted_step(model, batch, 2, costs, plan))

        tell()
        print("| predicted, ms | of calls that were measured | measured, ms | error |\n"
              "|---|---|---|---|")
        for _ in range(rounds):
            took = predict.step_of(f"{folder}/trainer", 40)
            tell()
            (before, _), (behind, share) = told[-2:]
            step = (before + behind) / 2
            errors.append(step / took - 1)
            print(f"| {step:.2f} | {share} % | {took:.2f} | {errors[-1]:+.1%} |", flush=True)
        print(f"\nmedian error {statistics.median(errors):+.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("batches", nargs="*", type=int, metavar="M")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--measured", action="store_true")
    args = parser.parse_args()
    if args.measured:
        return measured()
    if args.quick:
        counts, devices = [8, 16], [2, 4, 8]
    else:
        counts, devices = args.batches or range(2, 33), range(2, 9)
    with tempfile.TemporaryDirectory(prefix="bubbles-") as folder:
        worst = rows(counts, devices, folder)
    print("\n| schedule | rows | off played, at most | longer than handed on | shorter |\n"
          "|---|---|---|---|---|")
    for schedule, (offs, longer) in worst.items():
        beside = (f"{max(longer):+.3f} % | {min(longer):+.3f} %" if longer else " | ")
        print(f"| {schedule} | {len(offs)} | {max(offs):.3f} % | {beside} |")


if __name__ == "__main__":
    main()
