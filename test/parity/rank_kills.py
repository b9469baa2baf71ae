"""Kills a rank of four at a random moment, again and again: the others end, and say why.

  rank_kills.py [--kills=100] [--first=SEED] [--transports=shm,tcp] [--resume-every=10]

Each time four ranks train with checkpoints, and one, rank 0 or another, gets SIGKILL at
a random moment, also while they start; every fifth time SIGSTOP. Then

- each other rank ends within 12 s with exit code 75 and names the lost one on standard
  error. While ranks start (LWCC_START_SECONDS=8), 1 and a message will do.
- nothing is left running, and no shared memory
- the latest checkpoint is whole: a training goes on from it for two steps
- every --resume-every-th time it goes on for ten steps: as that program in one, two and
  four ranks, and as programs for one, two and eight devices in as many ranks. The losses
  are those of a training that nothing ended, within 1e-6, relatively.

The programs take turns: data parallel, and a pipeline. Prints counts and the longest
time; failures with their seeds. Ends with exit code 1 where there is one.
"""

import argparse
import glob
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from rank_team import LOST, RankError, Ranks, compiled, losses_of, model_file, table, train

MODEL, BATCH, GPUS = "lenet5", 64, 4
STEPS, EVERY = 1500, 20
OTHERS = (1, 2, 8)  # devices of programs that go on
START_SECONDS, PATIENCE = 8, 12
GOAL = 1e-6
FIRST_STEP = f"step 1/{STEPS}"
# Of checkpoints, too: with so many threads programs for four devices agree bitwise.
FLAGS = ["--data=synthetic", "--lr=0.001", "--seed=3", "--deterministic", "--threads=4"]


def shared_memory(pids):
    """The shared memory that is there and was made by one of these processes: segments,
    and files that nobody has in its memory."""
    with open("/proc/sysvipc/shm") as file:
        fields = [line.split() for line in file.readlines()[1:]]
    segments = {each[1] for each in fields if int(each[4]) in pids}
    files = {name for name in os.listdir("/dev/shm") if name.startswith("ucx_")}
    for path in glob.glob("/proc/[0-9]*/maps") if files else ():
        try:
            with open(path) as file:
                text = file.read()
        except OSError:
            continue  # gone meanwhile
        files -= {name for name in files if name in text}
    return segments | files


class Programs:
    """The programs that are killed, those that go on as well, and what they should
    have computed."""
    def __init__(self, folder):
        model = model_file(MODEL, folder)

        def program(what):
            gpus, plan = what
            return compiled(model, BATCH, f"{folder}/{plan}-{gpus}", f"--strategy={plan}",
                            gpus=gpus)[0]
        plans = [(GPUS, "data"), (GPUS, "pipeline"), *((gpus, "data") for gpus in OTHERS)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            data, pipeline, *others = pool.map(program, plans)
        self.killed = {"data": data, "pipeline": pipeline}
        self.others = dict(zip(OTHERS, others))
        self.losses = {}
        for plan, program in self.killed.items():
            log = f"{folder}/{plan}.log"
            train([program, *FLAGS, f"--steps={STEPS}", f"--log={log}"])
            self.losses[plan] = losses_of(log)


def await_moment(rng, team):
    """A third of them while the ranks start, the others behind the first step."""
    if rng.random() < 0.33:
        time.sleep(rng.uniform(0, 0.5))
        return
    until = time.monotonic() + PATIENCE
    while FIRST_STEP not in team.said(0, "out") and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 1.5))


def check_message(team, name, code, victim, others_said):
    """What is wrong with how a rank has ended, or ""."""
    said = team.said(name)
    if code is None:
        return f"rank {name} still runs"
    if code == LOST:
        named = re.search(rf"rank {victim}\b[^\n]*was lost", said)
        return "" if named else f"rank {name} does not name rank {victim}: {said!r}"
    if code == 1 and FIRST_STEP not in team.said(0, "out"):
        # Rank 0 says why, or each where rank 0 is gone.
        return "" if re.search(r"rank \d+|did not come", others_said) else (
            f"rank {name} ends without a word: {said!r}")
    return f"rank {name} ends with exit code {code}: {said!r}"


def strike(programs, seed, plan, transport, checkpoints):
    """One training and its end. Returns what was struck, the codes, and the seconds
    until all had ended."""
    rng = random.Random(seed)
    victim, stops = rng.randrange(GPUS), seed % 5 == 0
    command = [programs.killed[plan], *FLAGS, f"--steps={STEPS}",
               f"--checkpoint-dir={checkpoints}", f"--checkpoint-every={EVERY}"]
    with Ranks(command, GPUS, None, transport,
               LWCC_START_SECONDS=str(START_SECONDS)) as team:
        await_moment(rng, team)
        if any(each.poll() is not None for each in team.processes.values()):
            raise RankError(f"ended before it was killed\n{team.everything()}")
        team.processes[victim].send_signal(signal.SIGSTOP if stops else signal.SIGKILL)
        start = time.monotonic()
        codes = team.wait(2 * PATIENCE, but=[victim])
        seconds = time.monotonic() - start
        team.processes[victim].kill()
        team.processes[victim].wait()
        all_said = "\n".join(team.said(name) for name in codes)
        wrong = [check_message(team, name, code, victim, all_said)
                 for name, code in codes.items()]
        if seconds > PATIENCE:
            wrong.append(f"all had ended after {seconds:.1f} s")
        if left := team.left():
            wrong.append(f"{len(left)} processes are left")
        if memory := shared_memory({each.pid for each in team.processes.values()}):
            wrong.append(f"shared memory is left: {memory}")
        if any(wrong):
            raise RankError("; ".join(filter(None, wrong)) + "\n" + team.everything())
    what = f"{'SIGSTOP' if stops else 'SIGKILL'}, rank {'0' if victim == 0 else '1-3'}"
    return what, codes, seconds


def go_on(program, ranks, transport, checkpoints, steps, folder):
    """The losses of so many steps behind the latest checkpoint, which stays."""
    copy = f"{folder}/copy"
    shutil.copytree(checkpoints, copy)
    latest = max(int(path[-6:]) for path in glob.glob(f"{copy}/step-*"))
    train([program, *FLAGS, f"--steps={latest + steps}", f"--checkpoint-dir={copy}",
           "--resume=auto", f"--log={folder}/log"], ranks, None, transport)
    shutil.rmtree(copy)
    losses = losses_of(f"{folder}/log")
    os.remove(f"{folder}/log")
    if min(losses) != latest + 1 or len(losses) != steps:
        raise RankError(f"went on with the steps {sorted(losses)} behind {latest}")
    return losses


def check_resumed(programs, plan, transport, checkpoints, folder, wholly):
    """The largest relative distance of the losses after going on from a checkpoint."""
    cases = [(programs.killed[plan], ranks, 10) for ranks in (1, 2, 4)] + [
        (programs.others[gpus], gpus, 10) for gpus in OTHERS]
    worst = 0.0
    for program, ranks, steps in cases if wholly else [(programs.killed[plan], 1, 2)]:
        for step, loss in go_on(program, ranks, transport, checkpoints, steps,
                                folder).items():
            wanted = programs.losses[plan][step]
            worst = max(worst, abs(loss - wanted) / abs(wanted))
    if worst > GOAL:
        raise RankError(f"losses that are {worst:.1e} away")
    return worst


def check_all(args, folder):
    programs = Programs(folder)
    longest, resumed, worst, failed = Counter(), 0, 0.0, 0
    counts, codes = Counter(), {}
    for number in range(args.kills):
        seed, plan = args.first + number, ("data", "pipeline")[number % 2]
        transport = args.transports[number // 2 % len(args.transports)]
        with tempfile.TemporaryDirectory(dir=folder) as own:
            checkpoints = f"{own}/checkpoints"
            try:
                what, ended, seconds = strike(programs, seed, plan, transport, checkpoints)
                counts[what] += 1
                longest[what] = max(longest[what], seconds)
                codes.setdefault(what, Counter()).update(ended.values())
                if glob.glob(f"{checkpoints}/step-*"):
                    wholly = seed % args.resume_every == 0
                    distance = check_resumed(programs, plan, transport, checkpoints, own,
                                             wholly)
                    worst, resumed = max(worst, distance), resumed + wholly
            except RankError as error:
                failed += 1
                print(f"FAIL seed {seed}, {plan}, {transport}: {error}", flush=True)
    print(table(("struck", "times", "exit codes of the others", "longest, s"), [
        (what, counts[what],
         ", ".join(f"{code}: {n}" for code, n in sorted(codes[what].items())),
         f"{longest[what]:.1f}") for what in sorted(counts)]))
    print(f"{resumed} wholly resumed, losses at most {worst:.1e} away")
    print(f"{args.kills - failed} of {args.kills} kills as they should be, all others gone "
          f"after {max(longest.values(), default=0):.1f} s at most")
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--transports", default="shm,tcp",
                        type=lambda text: text.split(","))
    parser.add_argument("--resume-every", type=int, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lwcc-kills-") as folder:
        return check_all(args, folder)


if __name__ == "__main__":
    sys.exit(main())
