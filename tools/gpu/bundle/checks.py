"""Whether results are right: operators, and the losses of whole networks.

An operator check is a process of ops-check-cuda for each of its parts. A
program's losses are compared with those recorded of PyTorch in double
precision: they may be FACTOR times as far off as PyTorch's in single precision
or the CPU target's are, whichever is farther, since normalized batches of eight
amplify rounding (of programs in tf32: as PyTorch's with operands rounded to
tf32). --deterministic must give the same bits twice, and, where the record says
so, once more when it is stopped in the middle and resumed; and, of several devices,
when each is run by a process of its own. All this is small, so several run at a time;
nothing here is timed.
"""

import concurrent.futures
import glob
import json
import math
import os
import re
import tempfile

import work

FACTOR = 4.0
# A GPU may cut operands off where PyTorch's stand-in rounds them, which does not
# average out: one in the last place of tf32 is allowed for that.
SLACK = {"fp32": 1e-6, "tf32": 2.0 ** -10}
FIRST_LOSS = {"fp32": 1e-5, "tf32": 2.0 ** -10}
SHORTEST = 3.0  # seconds without which nothing is begun
LONGEST = 90.0  # seconds of one process


def check_operators(name, programs, report, budget):
    result = programs.run("ops-check-cuda", name,
                          timeout=min(LONGEST, budget.left())).within(LONGEST)
    counts = re.search(r"^(\d+) checks, (\d+) failed$", result.output, re.M)
    total, failed = map(int, counts.groups()) if counts else (1, 1)
    if result.trouble() and not failed:
        failed = 1
    report.count(True, total - failed)
    report.count(False, failed)
    report.record("operators", name=name, good=not failed, checks=total,
                  failed=failed, seconds=result.seconds, trouble=result.trouble(),
                  output=result.output if failed else "")
    lines = [f"operators {name}: {total} checks, {failed} failed"]
    if failed:
        lines[0] = f"**FAIL** {lines[0]} {result.trouble()}"
        lines += ["    " + line for line in result.output.splitlines()[-20:]]
    report.say("\n".join(lines))


class Failed(Exception):
    pass


def losses_of(name, expected, bundle, programs, gpus, budget, flags=(), count=None):
    """Of all steps, or, of a run that is resumed, of the last `count`; and its notes."""
    count = count or expected["steps"]
    devices = ",".join(str(d % gpus) for d in range(expected.get("devices", 1)))
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        result = programs.run(
            name, f"--data={bundle}/{expected.get('data', 'data')}", f"--steps={expected['steps']}",
            "--no-shuffle", f"--lr={expected['lr']}",
            f"--momentum={expected['momentum']}",
            f"--weight-decay={expected['weight_decay']}",
            f"--seed={expected['seed']}", f"--log={log}", *flags,
            timeout=min(LONGEST, budget.left()), LWCC_DEVICES=devices
        ).within(LONGEST)
        if result.trouble():
            raise Failed(result.trouble(), result.output)
        with open(log) as lines:
            records = [json.loads(line) for line in lines]
    losses = [r["loss"] for r in records if "loss" in r and "lr" in r]
    if len(losses) != count:
        raise Failed(f"{len(losses)} losses, not {count}",
                     result.output)
    return losses, result.notes()


def resumed(name, expected, bundle, programs, gpus, budget):
    """The losses of a run that is stopped in the middle and goes on from its checkpoint."""
    half = expected["steps"] // 2
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--deterministic", f"--checkpoint-dir={folder}", f"--checkpoint-every={half}")
        first, _ = losses_of(name, dict(expected, steps=half), bundle, programs, gpus, budget,
                             flags)
        rest, _ = losses_of(name, expected, bundle, programs, gpus, budget,
                            (*flags, "--resume=auto"), expected["steps"] - half)
    return first + rest


def distance(losses, reference):
    return max((abs(a - b) / max(abs(b), 1e-30) if math.isfinite(a) else math.inf)
               for a, b in zip(losses, reference))


def check_losses(name, expected, bundle, programs, gpus, report, budget):
    precision = expected["precision"]
    if not programs.has(name):
        return report.fail("losses", name, "was not built")
    try:
        def losses(*flags):
            return losses_of(name, expected, bundle, programs, gpus, budget, flags)
        got, notes = losses()
        bits = [losses("--deterministic")[0] for _ in range(2)]
        if expected.get("resume"):
            bits.append(resumed(name, expected, bundle, programs, gpus, budget))
        if expected.get("devices", 1) > 1:  # each by a process of its own
            bits.append(losses("--deterministic", f"--ranks={expected['devices']}")[0])
    except Failed as failure:
        return report.fail("losses", name, *failure.args)
    truth = expected["double"]
    first = distance(got[:1], truth[:1])
    far = distance(got, truth)
    peers = ("tf32",) if precision == "tf32" else ("single", "cpu")
    peer = max(distance(expected[each], truth) for each in peers)
    same = all(losses == bits[0] for losses in bits)
    good = (first <= FIRST_LOSS[precision] and far <= FACTOR * peer + SLACK[precision]
            and same)
    report.count(good)
    report.record("losses", name=name, precision=precision, good=good, first=first,
                  far=far, peer=peer, same_bits=same, losses=got,
                  deterministic=bits, notes=notes)
    report.say(f"| {name} | {precision} | {first:.1e} | {far:.1e} | "
               f"{distance(expected['cpu'], truth):.1e} | {peer:.1e} | "
               f"{'yes' if same else 'NO'} | {'pass' if good else '**FAIL**'} |" + "".join(
                   "\n    " + note.strip() for note in notes))


def expectations(bundle):
    """By name; first what everything else builds on."""
    entries = {}
    for path in glob.glob(os.path.join(bundle, "expected", "*.json")):
        with open(path) as file:
            entries[os.path.basename(path)[:-len(".json")]] = json.load(file)
    return sorted(entries.items(), key=lambda entry: (
        entry[1]["precision"], entry[1].get("devices", 1) > 1, entry[0]))


def run_checks(bundle, programs, gpus, report, budget, jobs):
    tasks = []
    if programs.has("ops-check-cuda"):
        listed = programs.run("ops-check-cuda", "--list",
                              timeout=min(LONGEST, budget.left()))
        tasks = [(f"operators {name}", check_operators,
                  (name, programs, report, budget))
                 for name in listed.output.split()]
    else:
        report.fail("operators", "ops-check-cuda", "was not built")
    tasks += [(f"losses {name}", check_losses,
               (name, expected, bundle, programs, gpus, report, budget))
              for name, expected in expectations(bundle)]
    report.say("\n| program | precision | first loss | losses | CPU target | "
               "peers | same bits | result |\n"
               "|---|---|---|---|---|---|---|---|")

    def perform(task):
        name, function, arguments = task
        if budget.left() < SHORTEST:
            return report.omit(name)
        try:
            function(*arguments)
        except work.OutOfTime:
            report.omit(name)
        except Exception as error:  # of ours; the other checks go on
            report.fail("check", name, f"{type(error).__name__}: {error}")

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(perform, tasks))
