"""CPU training speed and memory against PyTorch, in one alternating run.

  speed.py [NAME:BATCH ...] [--rounds=N] [--steps=N] [--threads=N] [--size=small]
  (default: alexnet:64 resnet50:16 alexnet:8 lenet5:64)
  speed.py --lanes [NAME:BATCH ...]
  (default: eight networks at batches 1 to 256)
  speed.py --per-sample [NAME:BATCH ...]
  (default: lenet5:64 mlp:64)

Run it with the oracle's Python and lwcc on the PATH, on an otherwise idle
machine. Each round runs the trainer (--benchmark), PyTorch in NCHW and PyTorch
in channels-last (gpt and vit_s16: by torch.compile), one after the other, each
in a process of its own with the same threads, batch, loss and optimizer (SGD,
momentum 0.9, weight decay 5e-4; PyTorch's fused one). PyTorch's allocator is
tuned so that it keeps its pages, which is worth 10 to 40 % to it. A figure is
the median over the rounds of each round's median step; the ratio is the better
PyTorch's time to the trainer's (above 1: the trainer is faster), its spread the
least and the largest ratio of a round. Memory is the trainer's peak resident
size over that of the better PyTorch's process, and over the same less what
importing PyTorch takes.

With --lanes each round runs our own program of one lane and that of
`lwcc --lanes=auto`, in turns. Where auto declines lanes, both are the same, and
nothing is measured; with --declined, that of --lanes=2 is. The costs that auto
goes by are measured first (`lwcc profile`). The ratio is one lane's time to
that of lanes (above 1: lanes are faster). No Python beside the standard
library's runs.

With --per-sample the other program is the one of `--micro-batches=BATCH`, which
calls each kernel once for every sample, as Caffe's convolutions do, against which
FiLayer (ICANN 2018) measured 1.58 to 2.19. Networks without batch normalization.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

from models import model_file

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "..", "test", "models")
LAYOUTS = ("nchw", "channels_last")
# Networks of attention have no use for the second; these are compiled by PyTorch.
COMPILED = ("gpt", "vit_s16")
WAYS = LAYOUTS + ("compiled",)
ALLOCATOR = dict(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(1 << 40))


def peak_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def pytorch(name, batch, layout, size, steps, threads):
    """The worker process: prints the median step and its peak memory."""
    import torch
    import torch.nn.functional as F
    sys.path.insert(0, MODELS)
    from networks import build, inputs

    imported = peak_memory()
    torch.set_num_threads(threads)
    network, shape = build(name, size)
    memory = (torch.channels_last if layout == "channels_last"
              else torch.contiguous_format)
    network = network.to(memory_format=memory)
    images = inputs(network, shape, batch)
    if images.dim() == 4:
        images = images.to(memory_format=memory)
    of_tokens = shape if hasattr(network, "tokens") else ()
    labels = torch.randint(0, 10, (batch, *of_tokens)).flatten()
    forward = torch.compile(network) if layout == "compiled" else network
    optimizer = torch.optim.SGD(network.parameters(), 1e-3, 0.9,
                                weight_decay=5e-4, fused=True)
    times = []
    for _ in range(max(2, steps // 5) + steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(forward(images).flatten(0, -2), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    print(json.dumps({"median_s": statistics.median(times[-steps:]),
                      "peak_resident_bytes": peak_memory(),
                      "imported_bytes": imported}))


def run_pytorch(name, batch, layout, args):
    output = subprocess.run(
        [sys.executable, os.path.abspath(__file__), f"{name}:{batch}",
         f"--worker={layout}", f"--size={args.size}", f"--steps={args.steps}",
         f"--threads={args.threads}"],
        env={**os.environ, **ALLOCATOR, "OMP_NUM_THREADS": str(args.threads)},
        check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(output.splitlines()[-1])


def run_trainer(trainer, args):
    log = trainer + ".jsonl"
    subprocess.run([trainer, f"--benchmark={args.steps}", "--lr=0.001",
                    "--momentum=0.9", "--weight-decay=5e-4",
                    f"--threads={args.threads}", f"--log={log}"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(log) as lines:
        return json.loads(lines.readlines()[-1])


def compile_trainer(name, batch, args, *flags):
    """The trainer, and what lwcc says about it (--explain)."""
    model = model_file(name, args.work, args.size)
    stem = os.path.splitext(os.path.basename(name))[0]
    trainer = os.path.join(args.work, "-".join(
        [f"{stem}-b{batch}", *(flag.strip("-").replace("=", "")
                               for flag in flags if "/" not in flag)]))
    said = subprocess.run(
        ["lwcc", model, "--target=cpu", f"--batch={batch}", *flags, "-o",
         trainer], check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    return trainer, said.stdout + said.stderr


def milliseconds(runs):
    times = [1e3 * run["median_s"] for run in runs]
    return (f"{statistics.median(times):.2f} "
            f"({min(times):.2f}..{max(times):.2f})")


def measure(name, batch, args):
    """One row of the table."""
    trainer, _ = compile_trainer(name, batch, args)
    layouts = ("nchw", "compiled") if name in COMPILED else LAYOUTS
    ours, theirs = [], {layout: [] for layout in layouts}
    for _ in range(args.rounds):
        ours.append(run_trainer(trainer, args))
        for layout in layouts:
            theirs[layout].append(run_pytorch(name, batch, layout, args))
    best = min(layouts, key=lambda layout: statistics.median(
        run["median_s"] for run in theirs[layout]))
    ratios = [b["median_s"] / a["median_s"] for a, b in zip(ours, theirs[best])]
    median = (statistics.median(run["median_s"] for run in theirs[best])
              / statistics.median(run["median_s"] for run in ours))
    memory = max(run["peak_resident_bytes"] for run in ours)
    whole = min(run["peak_resident_bytes"] for run in theirs[best])
    net = min(run["peak_resident_bytes"] - run["imported_bytes"]
              for run in theirs[best])
    return [name, str(batch), milliseconds(ours),
            *(milliseconds(theirs[layout]) for layout in layouts),
            f"**{median:.2f}** ({min(ratios):.2f}..{max(ratios):.2f})",
            f"{memory / whole:.2f}", f"{memory / net:.2f}"]


def profile(name, batch, args):
    """Measures the model's calls with all threads, and with half of them; so
    many steps of each program as lwcc takes by itself."""
    costs = os.path.join(args.work, "lanes-costs.json")
    subprocess.run(["lwcc", "profile", model_file(name, args.work, args.size),
                    "--target=cpu", f"--batch={batch}", "--gpus=2",
                    f"--rounds={min(3, args.rounds)}", "-o", costs],
                   check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return costs


def measure_lanes(name, batch, args):
    """One row of the table of --lanes, or of --per-sample."""
    costs = args.costs or profile(name, batch, args)
    one, _ = compile_trainer(name, batch, args,
                             f"--micro-batches={batch}" if args.per_sample
                             else "--lanes=1")
    several, said = compile_trainer(name, batch, args, "--lanes=auto",
                                    f"--costs={costs}", "--explain")
    lines = said.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("lanes: "))
    why = lines[at].removeprefix("lanes: ")
    bound = lines[at + 1].split(":")[0].strip()
    # Where auto takes one lane, both programs of --lanes are the same.
    if why.startswith("none") and not args.per_sample:
        if not args.declined:
            return [name, str(batch), "", "", "", why, bound]
        several, _ = compile_trainer(name, batch, args, "--lanes=2")
    runs = {one: [], several: []}
    for _ in range(args.rounds):
        for trainer, done in runs.items():
            done.append(run_trainer(trainer, args))
    ratios = [a["median_s"] / b["median_s"]
              for a, b in zip(runs[one], runs[several])]
    return [name, str(batch), milliseconds(runs[one]),
            milliseconds(runs[several]),
            f"**{statistics.median(ratios):.3f}** "
            f"({min(ratios):.3f}..{max(ratios):.3f})", why, bound]


LANE_NETWORKS = ("lenet5", "mlp", "alexnet", "vgg11", "resnet18", "googlenet",
                 "squeezenet1_1", "mobilenet_v2")
LANE_BATCHES = (1, 4, 16, 64, 256)
DEFAULTS = {
    "lanes": [f"{name}:{batch}" for name in LANE_NETWORKS for batch in LANE_BATCHES],
    "per_sample": ["lenet5:64", "mlp:64"],
    "pytorch": ["alexnet:64", "resnet50:16", "alexnet:8", "lenet5:64"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", metavar="NAME:BATCH")
    parser.add_argument("--lanes", action="store_true",
                        help="compare with our own program of several lanes")
    parser.add_argument("--per-sample", action="store_true",
                        help="compare it with a call for every sample")
    parser.add_argument("--declined", action="store_true",
                        help="measure two lanes where --lanes=auto takes one")
    parser.add_argument("--costs", help="measured costs for --lanes, instead "
                        "of measuring them")
    parser.add_argument("--size", choices=("full", "small"), default="full",
                        help="of the images")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int,
                        default=len(os.sched_getaffinity(0)))
    parser.add_argument("--work", default=os.path.join(
        os.environ.get("LWCC_BUILD", "build"), "speed"),
        help="folder for models and trainers")
    parser.add_argument("--worker", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    lanes = args.lanes or args.per_sample
    default = DEFAULTS["per_sample" if args.per_sample else
                       "lanes" if args.lanes else "pytorch"]
    what = [(name, int(batch)) for name, batch in
            (item.rsplit(":", 1) for item in args.what or default)]
    if args.worker:
        (name, batch), = what
        return pytorch(name, batch, args.worker, args.size, args.steps, args.threads)
    os.makedirs(args.work, exist_ok=True)
    columns = (("model", "batch", "a call per sample, ms a step" if args.per_sample
                else "one lane, ms a step", "--lanes=auto, ms", "ratio", "--lanes=auto",
                "bound") if lanes else
               ("model", "batch", "lwcc, ms a step", "PyTorch NCHW",
                "PyTorch channels-last or compiled", "ratio to the better one",
                "peak memory", "without PyTorch's import"))
    row = measure_lanes if lanes else measure
    print(f"{args.threads} threads, {args.rounds} rounds of {args.steps} steps; "
          "median (least..largest)")
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    for name, batch in what:
        print("| " + " | ".join(row(name, batch, args)) + " |", flush=True)


if __name__ == "__main__":
    main()
