"""Predicted steps against measured ones, on the GPU if there is one, else CPU.

  predict.py [MODEL:BATCH ...] [--gpus=1,2] [--rounds=3] [--steps=8]
  predict.py --layers MODEL:BATCH [--gpus=2] [--strategy=data]
  (default: lenet5:256 lenet5:64 alexnet:64 vgg11:32 alexnet:128 resnet18:32)

MODEL is a file, or a name that test/models/make_models.py knows (made with small
images, by the Python that runs this). For each model, batch and number of
devices: `lwcc profile` measures the calls, plans are made by these; strategies
that come to the same plan are one. Then, in turns, every plan's trainer runs,
four times forth and back, for a second or at least --steps steps. After each
round the calls are measured afresh, and a prediction is the mean of those before
and behind the round: a shared machine's speed moves between minutes by more than
a prediction may be wrong by. A plan's own program was measured only if all of
its layers are cut alike. Prints the median predicted and measured milliseconds
of every plan and the median of the rounds' errors; their mean over the plans,
Kendall's tau of both orders (over all, and among the plans of one model), and
how much slower the chosen plan (auto) is than any other, in the median of the
rounds.

--layers: the same by layer and phase, for one plan, from the predicted trace
(--emit=trace) and the trainer's (--trace). lwcc must be on the PATH, the machine
idle. One GPU stands for several where there are fewer than devices. Not run on a
GPU yet.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

from models import model_file
from rank import tau

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "test", "parity"))
from mixed_plan import mixed_plan  # noqa: E402

STRATEGIES = ["single", "single --lanes=2", "data", "model", "owt", "layerwise",
              *(f"layerwise --search-dimensions={cut}" for cut in ("h", "w", "k")),
              "pipeline", "mixed", "auto"]
HEAD = ("| model | batch | devices | plan | predicted, ms | measured, ms | error "
        "| calls' time measured |\n" + "|---" * 8 + "|")


def list_gpus():
    """As the driver does, a line each."""
    try:
        lines = subprocess.run(["nvidia-smi", "-L"], text=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
    except FileNotFoundError:
        return []
    return [line for line in lines if line.startswith("GPU")]


GPUS = list_gpus()
TARGET = "--target=" + ("cuda" if GPUS else "cpu")


def lwcc(model, batch, gpus, costs, *more):
    return subprocess.run(
        ["lwcc", model, TARGET, f"--batch={batch}", f"--gpus={gpus}",
         f"--costs={costs}", *more],
        check=True, text=True, stdout=subprocess.PIPE).stdout


def profile(model, batch, gpus, folder, micro_batches=()):
    """A new file of costs; also of calls on one of so many micro-batches."""
    costs = os.path.join(tempfile.mkdtemp(dir=folder), "costs.json")
    for samples in [batch, *(batch // count for count in micro_batches)]:
        subprocess.run(
            ["lwcc", "profile", model, TARGET, f"--batch={samples}",
             f"--gpus={gpus}", "-o", costs],
            check=True, stderr=subprocess.DEVNULL)
    return costs


def plan_of(strategy, model, batch, gpus, costs, folder):
    """A plan file. What stands behind the strategy's name are flags."""
    path = os.path.join(folder, strategy.replace(" ", "") + ".json")
    name, *flags = strategy.split()
    if name == "mixed":
        with open(path, "w") as out:
            json.dump(mixed_plan(model, gpus), out)
    else:
        lwcc(model, batch, gpus, costs, f"--strategy={name}", *flags,
             "--emit=plan", "-o", path)
    return path


def decided_by(plan):
    """What of two plan files is equal if both are one plan."""
    with open(plan) as text:
        content = json.load(text)
    return content["layers"], content.get("order")


def step_of(trainer, steps):
    """The median step, milliseconds."""
    log = trainer + ".log"
    subprocess.run([trainer, f"--benchmark={steps}", f"--log={log}"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        return json.loads(lines.readlines()[-1])["median_s"] * 1e3


def predicted_step(model, batch, gpus, costs, plan):
    """Milliseconds, and the per cent of the calls' time that was measured."""
    text = lwcc(model, batch, gpus, costs, f"--plan={plan}", "--explain",
                "--stop-after=exec", "-o", plan + ".mlir")
    line = re.search(r"predicted step of this program: ([\d.]+) ms.* "
                     r"(\d+) % measured", text)
    return float(line[1]), int(line[2])


def compare(what, gpus, args, folder, strategies=STRATEGIES):
    """[(strategies, predicted ms, measured ms, error, measured of each round)]
    of a model's plans."""
    model, batch = what
    micro_batches = sorted({int(count) for strategy in strategies for count in
                            re.findall(r"--micro-batches=(\d+)", strategy)})
    costs = profile(model, batch, gpus, folder, micro_batches)
    plans = {}  # file: the strategies that come to it
    for strategy in strategies if gpus > 1 else ["single"]:
        plan = plan_of(strategy, model, batch, gpus, costs, folder)
        same = next((p for p in plans if decided_by(p) == decided_by(plan)), plan)
        plans.setdefault(same, []).append(strategy)
    for plan in plans:
        lwcc(model, batch, gpus, costs, f"--plan={plan}", "-o",
             plan.removesuffix(".json"))
    told, took, shares = defaultdict(list), defaultdict(list), {}

    def tell():
        """By the latest costs."""
        for plan in plans:
            step, shares[plan] = predicted_step(model, batch, gpus, costs, plan)
            told[plan].append(step)

    tell()
    for _ in range(args.rounds):
        times = defaultdict(list)
        for plan in 2 * [*plans, *reversed(plans)]:
            steps = max(args.steps, round(1000 / told[plan][-1]))
            times[plan].append(step_of(plan.removesuffix(".json"), steps))
        for plan in plans:
            took[plan].append(statistics.median(times[plan]))
        costs = profile(model, batch, gpus, folder, micro_batches)
        tell()
    for plan in plans:  # of both sides of each round
        told[plan] = [(a + b) / 2 for a, b in zip(told[plan], told[plan][1:])]
    name = os.path.basename(model).split(".")[0]
    result = []
    for plan, names in plans.items():
        predicted, measured = map(statistics.median, (told[plan], took[plan]))
        error = statistics.median(
            p / m - 1 for p, m in zip(told[plan], took[plan]))
        result.append((names, predicted, measured, error, took[plan]))
        print(f"| {name} | {batch} | {gpus} | {', '.join(names)} "
              f"| {predicted:.2f} | {measured:.2f} | {error:+.1%} "
              f"| {shares[plan]} % |", flush=True)
    return result


def by_layer(path):
    """{(layer, phase): milliseconds a step}, all lanes and devices."""
    with open(path) as trace:
        events = [e for e in json.load(trace)["traceEvents"] if e["ph"] == "X"]
    steps = len({e["args"]["step"] for e in events})
    sums = defaultdict(float)
    for e in events:
        sums[e["args"]["layer"], e["cat"]] += e["dur"] / 1e3 / steps
    return sums


def layers(what, gpus, args, folder):
    model, batch = what
    costs = profile(model, batch, gpus, folder)
    trainer, predicted, measured = (
        os.path.join(folder, name) for name in ("trainer", "p.json", "m.json"))
    plan = plan_of(args.strategy, model, batch, gpus, costs, folder)
    lwcc(model, batch, gpus, costs, f"--plan={plan}", "-o", trainer)
    lwcc(model, batch, gpus, costs, f"--plan={plan}", "--emit=trace", "-o",
         predicted)
    subprocess.run([trainer, f"--benchmark={args.steps}",
                    f"--trace={measured}"], check=True,
                   stdout=subprocess.DEVNULL)
    told, real = by_layer(predicted), by_layer(measured)
    print("| layer | phase | predicted, ms | measured, ms |\n|---|---|---|---|")
    for key in told:
        print(f"| {key[0]} | {key[1]} | {told[key]:.3f} | {real[key]:.3f} |")
    print(f"| all | | {sum(told.values()):.3f} | {sum(real.values()):.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", metavar="MODEL:BATCH",
                        default=["lenet5:256", "lenet5:64", "alexnet:64",
                                 "vgg11:32", "alexnet:128", "resnet18:32"])
    parser.add_argument("--gpus", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--strategy", default="data")
    args = parser.parse_args()
    if 0 < len(GPUS) < max(map(int, args.gpus.split(","))):
        os.environ["LWCC_DEVICES"] = ",".join("0" * 64)
    with tempfile.TemporaryDirectory() as folder:
        what = [(model_file(model, folder, "small"), int(batch))
                for model, batch in (item.rsplit(":", 1) for item in args.what)]
        if args.layers:
            for one in what:
                layers(one, int(args.gpus.split(",")[-1]), args, folder)
            return
        print(HEAD)
        every, taus, losses = [], [], []
        for one in what:
            for gpus in map(int, args.gpus.split(",")):
                rows = compare(one, gpus, args, folder)
                every += rows
                if gpus == 1:
                    continue
                taus.append(tau(rows))
                chosen = next(row[4] for row in rows if "auto" in row[0])
                losses.append(max(statistics.median(
                    a / b for a, b in zip(chosen, row[4])) for row in rows) - 1)
    errors = [abs(row[3]) for row in every]
    print(f"\n{len(every)} pairs: mean error {statistics.mean(errors):.1%}, at "
          f"most {max(errors):.1%}; Kendall's tau {tau(every):.3f}")
    if taus:
        print(f"among the plans of a model: tau {statistics.mean(taus):.2f} in "
              f"the mean; the chosen plan is {statistics.mean(losses):.1%} "
              f"slower than the best one measured, at most {max(losses):.1%}")


if __name__ == "__main__":
    main()
