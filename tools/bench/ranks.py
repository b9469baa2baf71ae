"""What four ranks send each other, and how long they wait for it.

  ranks.py [--bytes=lenet5:64,alexnet:32] [--overlap=alexnet:32] [--rate=1gbit]
           [--other=owt] [--rounds=3] [--steps=6] [--work=DIR] [--only=bytes|overlap]

NAME:BATCH is a network of test/models/make_models.py, at its full size. The ranks run
in four network namespaces, joined by a bridge (test/parity/rank_team.py), which needs
root and iproute2.

Bytes: those of a step that `lwcc --explain` predicts, those that a trainer of one
process counts between its devices, and those that the kernel counts at the interfaces
of the ranks, with all headers and acknowledgements: of a long run less a short one.

Overlap: each rank sends through a token bucket of --rate (tc's tbf). A data parallel
step of ours, and of PyTorch's DistributedDataParallel with gloo in the same namespaces,
of the same network, batch and number of threads, which is one a rank; runs of both in
turns; and of our program with a barrier: nothing of parameters is exchanged before all
ranks have all gradients. Ratios are the other's step to ours (above 1: ours is
quicker). Beside them: what sending alone takes, by the bytes of the busiest rank. Then
the same under --other, a strategy that may send less, against DDP's step. lwcc must be
on the PATH, the machine idle.
"""

import argparse
import json
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "test", "parity"))
from rank_team import (MODELS, Namespaces, RankError, Ranks, compiled,  # noqa: E402
                       model_file, run, table)

RANKS = 4
BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def names_and_batches(text):
    return [(name, int(batch)) for name, batch in
            (item.rsplit(":", 1) for item in text.split(","))]


def trainer_of(name, batch, strategy, work):
    """The program, and the bytes that each rank sends in a step, as lwcc predicts."""
    program, said = compiled(model_file(name, work, "full"), batch,
                             f"{work}/{name}-{batch}-{strategy}",
                             f"--strategy={strategy}", "--explain", gpus=RANKS)
    sent = {}
    for source, count in re.findall(r"^  from gpu(\d+) to gpu\d+: ([\d,]+) bytes", said,
                                    re.M):
        sent[int(source)] = sent.get(int(source), 0) + int(count.replace(",", ""))
    return program, sent


#  Bytes

def counted_in_one(program, work):
    """Bytes of a step between the devices of one process, as the runtime counts."""
    log = f"{work}/one.log"
    run([program, "--benchmark=1", "--threads=4", f"--log={log}"])
    with open(log) as lines:
        return json.loads(lines.readlines()[-1])["moved_bytes"]


def sent_in(program, steps, network):
    """Bytes that each rank has sent in a training of so many steps."""
    before = [network.count(rank, "tx_bytes") for rank in range(RANKS)]
    with Ranks([program, "--data=synthetic", f"--steps={steps}", "--threads=4"], RANKS,
               network, "net") as team:
        team.finish()
    return [network.count(rank, "tx_bytes") - before[rank] for rank in range(RANKS)]


def bytes_row(name, batch, strategy, args, network):
    program, predicted = trainer_of(name, batch, strategy, args.work)
    counted = counted_in_one(program, args.work)
    few, many = (sent_in(program, steps, network) for steps in (2, 2 + args.steps))
    kernel = [(b - a) / args.steps for a, b in zip(few, many)]
    ratios = [kernel[rank] / count for rank, count in predicted.items()]
    total = sum(predicted.values())
    return [name, batch, strategy, f"{total:,}", f"{counted:,}", f"{sum(kernel):,.0f}",
            f"**{sum(kernel) / total:.4f}**" if total else "-",
            f"{min(ratios, default=1):.4f}..{max(ratios, default=1):.4f}"]


def measure_bytes(args, network):
    rows = []
    for name, batch in names_and_batches(args.bytes):
        for strategy in ("data", "layerwise"):
            rows.append(bytes_row(name, batch, strategy, args, network))
    print(table(("network", "batch", "strategy", "bytes a step, predicted",
                 "in one process", "by the kernel", "kernel/predicted",
                 "of each rank"), rows), flush=True)


#  Overlap

def updates_last(text):
    """The text of a scheduled module whose step has all that copy lanes do for updates,
    and what needs it, behind all else."""
    lines = text.splitlines(keepends=True)
    copying = {name for name, place in re.findall(
        r'^(#tiling\d*) = .* on\[<"([\w.]+)">\]>$', text, re.M)
        if re.search(r"[.](sync|small)$", place)}
    begin = next(i for i, line in enumerate(lines) if "@train_step(" in line) + 1
    end = next(i for i in range(begin, len(lines)) if lines[i].lstrip().startswith("return"))
    parts, late = ([], []), set()
    for line in lines[begin:end]:
        made, _, rest = line.rpartition(" = train.")
        tiling = re.search(r"train.tiling = (#tiling\d*)", line)
        is_late = (tiling and tiling[1] in copying and " update" in line
                   or late.intersection(re.findall(r"%[\w#]+", rest or line)))
        if is_late:
            late.update(re.findall(r"%\w+", made))
        parts[bool(is_late)].append(line)
    return "".join(lines[:begin] + parts[0] + parts[1] + lines[end:])


def with_barrier(text):
    """The text of an exec program whose copy lanes begin with updates, which come last,
    when all devices have done the last computation of the step."""
    lines = text.splitlines(keepends=True)
    begin = next(i for i, line in enumerate(lines) if "exec.sequence @train_step" in line) + 1
    first = next(i for i in range(begin, len(lines)) if re.search(
        r" on @\S+[.](sync|small) for .* update", lines[i]))
    last = {}
    for line in lines[begin:first]:
        if event := re.match(r" *exec.record (@\S+) on (@\S+[.]compute)$", line):
            last[event[2]] = event[1]
    lanes = dict.fromkeys(re.findall(r" on (@\S+[.](?:sync|small))", text))
    waits = [f"      exec.wait {event} on {lane}\n" for event in last.values()
             for lane in lanes]
    return "".join(lines[:first] + waits + lines[first:])


def changed(path, change, to):
    with open(path) as file:
        text = change(file.read())
    with open(to, "w") as file:
        file.write(text)


def programs_of(name, batch, args):
    """Commands that run the data parallel program, as it is and with a barrier."""
    stem = f"{args.work}/{name}-{batch}"
    command = ["lwcc", model_file(name, args.work, "full"), f"--batch={batch}",
               f"--gpus={RANKS}", "--target=cpu", "--strategy=data"]
    run([*command, "--stop-after=exec", f"--weights={stem}.weights", "-o", f"{stem}.mlir"])
    run([*command, "--stop-after=scheduled", "-o", f"{stem}-scheduled.mlir"])
    changed(f"{stem}-scheduled.mlir", updates_last, f"{stem}-late.mlir")
    run(["lwcc-opt", f"{stem}-late.mlir", "--train-to-exec", "--exec-plan-memory",
         "-o", f"{stem}-exec.mlir"])
    changed(f"{stem}-exec.mlir", with_barrier, f"{stem}-barrier.mlir")
    return [["lwcc-run", f"{stem}{kind}.mlir", f"--weights={stem}.weights", "--"]
            for kind in ("", "-barrier")]


def worker(name, batch, steps):
    """A rank of PyTorch's; the first prints its median step."""
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch.nn.parallel import DistributedDataParallel
    sys.path.insert(0, MODELS)
    from networks import build, inputs

    torch.set_num_threads(1)
    rank = int(os.environ["LWCC_RANK"])
    dist.init_process_group("gloo", rank=rank, world_size=RANKS,
                            init_method="tcp://" + os.environ["LWCC_ADDRESS"])
    network, shape = build(name, "full")
    images = inputs(network, shape, batch // RANKS)
    labels = torch.randint(0, 10, (batch // RANKS,))
    parallel = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(parallel.parameters(), 1e-3, 0.9, weight_decay=5e-4,
                                fused=True)
    times = []
    for _ in range(steps // 2 + steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(parallel(images), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps({"median_s": statistics.median(times[-steps:])}))
    dist.destroy_process_group()


def step_of_pytorch(name, batch, args, network):
    command = [sys.executable, os.path.abspath(__file__), f"--overlap={name}:{batch}",
               "--worker", f"--steps={args.steps}"]
    with Ranks(command, RANKS, network, OMP_NUM_THREADS="1",
               GLOO_SOCKET_IFNAME="eth0") as team:
        team.finish(280)
        return json.loads(team.said(0, "out").splitlines()[-1])["median_s"]


def step_of_ours(command, args, network):
    log = f"{args.work}/ours.log"
    with Ranks([*command, f"--benchmark={args.steps}", f"--threads={RANKS}", "--lr=0.001",
                "--momentum=0.9", "--weight-decay=5e-4", f"--log={log}"], RANKS, network,
               "net") as team:
        team.finish(280)
    with open(log) as lines:
        return json.loads(lines.readlines()[-1])["median_s"]


def milliseconds(times):
    return (f"{1e3 * statistics.median(times):.0f} "
            f"({1e3 * min(times):.0f}..{1e3 * max(times):.0f})")


def alone(sent, args):
    """Milliseconds that the busiest rank needs to send all it has to."""
    number, unit = re.fullmatch(r"([\d.]+)([kmg]bit)", args.rate).groups()
    return f"{8e3 * max(sent.values()) / (float(number) * BITS[unit]):.0f}"


def ratio(others, ours):
    ratios = [b / a for a, b in zip(ours, others)]
    return f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}..{max(ratios):.2f})"


def overlap_rows(name, batch, args, network):
    """Rows of the table: data parallelism, and the other strategy."""
    _, sent = trainer_of(name, batch, "data", args.work)
    other, less = trainer_of(name, batch, args.other, args.work)
    commands = [*programs_of(name, batch, args), [other]]
    steps = [[] for _ in range(4)]
    for _ in range(args.rounds):
        for command, step in zip(commands, steps):
            step.append(step_of_ours(command, args, network))
        steps[3].append(step_of_pytorch(name, batch, args, network))
        print(f"{name}:{batch}: " + ", ".join(f"{step[-1]:.3f} s" for step in steps),
              file=sys.stderr, flush=True)
    ours, barrier, others, theirs = steps
    return [[name, batch, "data", alone(sent, args), milliseconds(ours),
             milliseconds(barrier), ratio(barrier, ours), milliseconds(theirs),
             ratio(theirs, ours)],
            [name, batch, args.other, alone(less, args), milliseconds(others), "", "",
             milliseconds(theirs), ratio(theirs, others)]]


def measure_overlap(args, network):
    try:
        network.limit(args.rate)
    except (RankError, OSError) as error:
        print(f"overlap is left out: no token bucket: {error}")
        return
    rows = [row for name, batch in names_and_batches(args.overlap)
            for row in overlap_rows(name, batch, args, network)]
    print(table(("network", "batch", "strategy", f"sending alone at {args.rate}, ms",
                 "lwcc, ms a step", "with a barrier", "ratio", "PyTorch DDP, gloo",
                 "ratio"), rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bytes", default="lenet5:64,alexnet:32", metavar="NAME:BATCH,..")
    parser.add_argument("--overlap", default="alexnet:32", metavar="NAME:BATCH,..")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--other", default="owt", metavar="STRATEGY")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--only", choices=("bytes", "overlap"))
    parser.add_argument("--work", default=os.path.join(
        os.environ.get("LWCC_BUILD", "build"), "ranks"),
        help="folder for models and trainers")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        (name, batch), = names_and_batches(args.overlap)
        return worker(name, batch, args.steps)
    if why := Namespaces.why_not():
        print(f"no network namespaces here: {why}")
        return 1
    args.work = os.path.abspath(args.work)
    os.makedirs(args.work, exist_ok=True)
    with Namespaces(RANKS) as network:
        if args.only != "overlap":
            measure_bytes(args, network)
        if args.only != "bytes":
            measure_overlap(args, network)
    return 0


if __name__ == "__main__":
    sys.exit(main())
