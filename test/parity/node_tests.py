"""Gives ONNX's own node tests to lwcc: each passes or is refused, none is wrong.

  node_tests.py [--lwcc-run=PROGRAM] [--filter=TEXT] [--jobs=N] [--keep=DIR] [--docs]

The cases are those of the onnx package (onnx.backend.test). Each becomes a network of one
sample: its inputs are data, its outputs are the scores, and `predict` says what they are.
Where the test is of training, a parameter of zeros is added to the outputs and trained for
one step without momentum, whose length makes it what was added to. Losses are read from
the log of a step.

An operator may need some inputs while compiling. So a refused case is given once more with
its integers in the file, then with all but the first input in it, then with all.

A case passes if all outputs are those of the test within its own tolerances. It is refused
if lwcc says why, with exit code 1. All else is WRONG or CRASHED, and so is the exit code.
Ends with a line `N passed, M failed`; a refusal is neither.
"""

import argparse
import csv
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from ml_dtypes import finfo
from onnx import helper
from safetensors.numpy import load_file

from node_network import FLOAT, HALVES, INT64, Network, array_of

LOSSES = ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
# What is stored in the file, one way after the other.
WAYS = ["data", "integers stored", "all but one stored", "all stored"]
# Judged by ONNX Runtime, which takes the corners of the whole extent, as PyTorch does; the
# tests take those of one that scales have not rounded.
BY_RUNTIME = ("test_resize_downsample_scales_linear_align_corners",
              "test_resize_downsample_scales_cubic_align_corners")
# What no other way of giving the inputs changes.
HOPELESS = r"the operator .* is not supported; |uses opset|has the element type"


class Refused(Exception):
    """lwcc said why, with exit code 1."""


class Broken(Exception):
    """WRONG or CRASHED, and what is."""


# Running ----------------------------------------------------------------------


def call(command):
    """Runs lwcc-run; raises what it did wrong."""
    result = subprocess.run(command, text=True, errors="replace", timeout=120,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode == 0:
        return
    reasons = re.findall(r"error: (.*)", result.stdout)
    if result.returncode != 1 or not reasons:
        raise Broken(f"CRASHED with exit code {result.returncode}: "
                     f"{result.stdout.strip()[-300:]}")
    raise Refused(reasons[0])


def is_real(value):
    array = array_of(value)
    return array is not None and array.dtype.kind not in "iub"


def flat(value):
    """All numbers of an output, as float32 has them; infinity for what is no number."""
    if isinstance(value, list):
        return np.concatenate([flat(each) for each in value] or [np.zeros(0)])
    array = array_of(value)
    if array is None:
        return np.full(np.size(value), np.inf)
    with np.errstate(all="ignore"):
        return array.astype(np.float32).astype(np.float64).reshape(-1)


def tolerance(case, value):
    """The test's own relative one, but not less than what the rounding of its type makes
    of each operation: lwcc computes in float32."""
    arrays = map(array_of, value if isinstance(value, list) else [value])
    halves = [a.dtype for a in arrays if a is not None and a.dtype.name in HALVES]
    return max([case.rtol, *(2 * float(finfo(dtype).eps) for dtype in halves)])


def least(case, expected):
    """The test's own absolute tolerance. What a Fourier transform adds up to zero is its
    rounding, which is relative to the largest of its results: where the exact result is
    zero, ONNX's files have 1.9e-7."""
    if not case.name.startswith(("test_dft", "test_stft")):
        return case.atol
    return max(case.atol, np.finfo(np.float32).eps * np.abs(expected).max())


def compare(case, name, actual, value):
    expected = flat(value)
    if len(actual) != len(expected):
        raise Broken(f"WRONG: {name} has {len(actual)} elements, not {len(expected)}")
    if case.name.startswith("test_bernoulli"):
        return compare_draws(actual, flat(case.data_sets[0][0][0]))
    close = np.isclose(actual, expected, rtol=tolerance(case, value),
                       atol=least(case, expected), equal_nan=True)
    if not close.all():
        at = int(np.argmin(close))
        raise Broken(f"WRONG: {name} has {np.sum(~close)} of {len(close)} elements wrong, "
                     f"such as {actual[at]:.7g} instead of {expected[at]:.7g}")


def compare_draws(actual, chances):
    """Zeros and ones of lwcc's own random numbers, as many as may be expected."""
    deviation = np.sqrt(np.sum(chances * (1 - chances)))
    if not np.isin(actual, (0, 1)).all():
        raise Broken("WRONG: what is drawn is neither 0 nor 1")
    if not abs(actual.sum() - chances.sum()) < 4 * deviation:
        raise Broken(f"WRONG: {actual.sum():g} ones are drawn instead of {chances.sum():g}")


def outputs_of(case):
    """Names and values of the outputs."""
    if case.name in BY_RUNTIME:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        given = zip(case.model.graph.input, case.data_sets[0][0])
        case.data_sets[0] = (case.data_sets[0][0], session.run(
            None, {info.name: value for info, value in given}))
    return [(info.name, value) for info, value in zip(case.model.graph.output,
                                                      case.data_sets[0][1])]


def run_case(case, stored, program, folder):
    """The outputs of inference."""
    net = Network(case, stored)
    wanted = outputs_of(case)
    rows = net.rows(wanted)
    # One parameter, as there is nothing to train without, and a number of the data.
    rows += [net.store("parameter", np.ones((1, 1), np.float32)), "extra"]
    path = net.save(folder, net.node("Concat", rows, "all.scores", axis=1))
    out = os.path.join(folder, "out.csv")
    call([program, path, "--loss=mse", "--", "predict", f"--data={folder}", "-o", out])
    with open(out) as file:
        numbers = np.array(list(csv.reader(file))[1][1:], np.float64)
    expected = np.concatenate([flat(value) for _, value in wanted] + [[1, 0]])
    if len(numbers) != len(expected):
        raise Broken(f"WRONG: {len(numbers)} numbers, not {len(expected)}")
    at = 0
    for name, value in wanted:
        count = len(flat(value))
        compare(case, name, numbers[at:at + count], value)
        at += count


def train_step(program, path, folder, *flags):
    """One step of SGD; the loss, and the parameters behind it."""
    log, kept = os.path.join(folder, "log.jsonl"), os.path.join(folder, "kept")
    compiled, trained = (flags[:flags.index("--")], flags[flags.index("--") + 1:])
    call([program, path, *compiled, "--", f"--data={folder}", "--steps=1", "--momentum=0",
          "--weight-decay=0", "--no-shuffle", f"--log={log}", f"--checkpoint-dir={kept}",
          "--checkpoint-every=1", *trained])
    with open(log) as lines:
        [loss] = [r["loss"] for r in map(json.loads, lines) if "loss" in r and "lr" in r]
    [saved] = glob.glob(f"{kept}/step-*/model.safetensors")
    return loss, load_file(saved)


def run_training(case, stored, program, folder):
    """The first output in training; others, such as running statistics, are PyTorch's. The
    loss is the mean square of what it and zeros are together, so that a step of half its
    size makes of the zeros what it is, negated."""
    net = Network(case, stored)
    name, value = outputs_of(case)[0]
    [scores] = net.row(name, value)
    count = len(flat(value))
    zeros = net.store("zeros", np.zeros((1, count), np.float32))
    extra = net.node("Mul", ["extra", net.store("nothing", np.zeros(1, np.float32))], "none")
    sum_ = net.node("Add", [net.node("Add", [scores, zeros], "with.zeros"), extra], "scores")
    path = net.save(folder, sum_)
    np.save(os.path.join(folder, "targets.npy"), np.zeros((1, count), np.float32))
    _, state = train_step(program, path, folder, "--loss=mse", "--", f"--lr={count / 2}")
    actual = -state["zeros"].reshape(-1).astype(np.float64)
    ratio = drawn_share(case)
    if ratio:
        given = flat(case.data_sets[0][0][0])
        kept = np.isclose(actual, given / (1 - ratio), rtol=case.rtol)
        if not (kept | (actual == 0)).all() or kept.all() or not kept.any():
            raise Broken(f"WRONG: {name} is no dropout of {ratio}")
    else:
        compare(case, name, actual, value)


def drawn_share(case):
    """The share of zeros of a dropout in training, whose places are lwcc's own; else 0."""
    given = case.data_sets[0][0]
    training = case.model.graph.node[0].op_type == "Dropout" and len(given) == 3
    return float(given[1]) if training else 0


def run_loss(case, stored, program, folder):
    """The loss of a step that moves nothing; its labels are the labels of the data."""
    graph = case.model.graph
    scores, labels = [array_of(v) for v in case.data_sets[0][0][:2]]
    net = Network(case, lambda position, value: True)
    del net.initializers[:2]
    count, net.arrays = len(scores), {}
    net.inputs = [helper.make_tensor_value_info("images", FLOAT, [count, scores[0].size]),
                  helper.make_tensor_value_info(graph.input[1].name, INT64, labels.shape)]
    shape = net.store("scores.shape", np.array(scores.shape, np.int64))
    zero = net.store("parameter", np.zeros(1, np.float32))
    before = [helper.make_node("Reshape", ["images", shape], ["shaped"], name="shaped"),
              helper.make_node("Add", ["shaped", zero], [graph.input[0].name], name="scores")]
    net.nodes = before + list(graph.node)
    path = net.save(folder, graph.output[0].name)
    np.save(os.path.join(folder, "images.npy"), scores.reshape(count, -1).astype(np.float32))
    np.save(os.path.join(folder, "labels.npy"), labels.astype(np.int64))
    ignored = [f"--ignore-index={a.i}" for n in graph.node for a in n.attribute
               if a.name == "ignore_index"][:1]
    loss, _ = train_step(program, path, folder, "--", "--lr=0", *ignored)
    compare(case, graph.output[0].name, np.array([loss]), case.data_sets[0][1][0])


def judge(case, args):
    """(passed, refused, WRONG or CRASHED; the way or the reason)"""
    nodes = case.model.graph.node
    training = any(a.name == "training_mode" and a.i for n in nodes for a in n.attribute)
    run = (run_loss if any(node.op_type in LOSSES for node in nodes) else
           run_training if training or drawn_share(case) else run_case)
    ways = [lambda position, value: False,
            lambda position, value: not is_real(value),
            lambda position, value: position > 0,
            lambda position, value: True]
    said, tried = None, []
    for way, stored in zip(WAYS, ways):
        flags = [stored(i, value) for i, value in enumerate(case.data_sets[0][0])]
        if flags in tried:
            continue
        tried.append(flags)
        with tempfile.TemporaryDirectory(prefix="lwcc-node-") as folder:
            if args.keep:
                folder = os.path.join(args.keep, case.name, way.replace(" ", "-"))
                os.makedirs(folder, exist_ok=True)
            try:
                run(case, stored, args.lwcc_run, folder)
                return "passed", way
            except Refused as error:
                reason = str(error).replace(folder, "DATA")
            except Broken as error:
                word, _, text = str(error).partition(" ")
                return word.strip(":"), f"({way}) {text}"
            except subprocess.TimeoutExpired:
                return "CRASHED", f"({way}) it took longer than two minutes"
            # What is said of the operator, not of data; where all is known, it is of other
            # code than what a network runs.
            if way != WAYS[-1] or said is None:
                said = reason if "node '" in reason or said is None else said
        if re.search(HOPELESS, reason) or run is run_loss:
            break
    return "refused", said


# Tables -----------------------------------------------------------------------


def operator_of(case, bases):
    """The operator that a case is of, also where it is written as a function."""
    base = re.sub(r"_expanded.*$", "", case.name)
    return bases.get(base, case.model.graph.node[0].op_type)


def short(reason):
    """A reason without the case's own names and numbers."""
    reason = re.sub(r"^(node '.*?' \(\w+\) in )?case\.onnx: ", "", reason)
    reason = re.sub(r"^the operator .* is not supported; .*", "is not an operator of lwcc", reason)
    reason = re.sub(r"'[^']*'", "'...'", reason.split(";")[0])
    reason = re.sub(r"\[[^]]*\]", "[...]", reason)
    reason = re.sub(r"\b(FLOAT\d\w*|U?INT\d+|STRING|number \d+)", "TYPE", reason)
    return re.sub(r"\b\d+", "N", reason).replace("|", "").strip()


def table(results):
    """Markdown: what of each operator passes, and why the rest is refused."""
    by_operator = defaultdict(list)
    for operator, verdict, text in results:
        by_operator[operator].append((verdict, text))
    none, lines = [], []
    for operator, entries in sorted(by_operator.items()):
        passed = [text for verdict, text in entries if verdict == "passed"]
        if not passed and all("is not supported; " in text and "the operator" in text
                              for _, text in entries):
            none.append(f"{operator} ({len(entries)})")
            continue
        of_data = sum(way in WAYS[:3] for way in passed)
        why = Counter(short(text) for verdict, text in entries if verdict == "refused")
        reasons = "; ".join(f"{count}: {reason}" for reason, count in why.most_common())
        lines.append(f"| {operator} | {of_data} | {len(passed) - of_data} | "
                     f"{len(entries) - len(passed)} | {reasons} |")
    total = Counter(verdict for _, verdict, _ in results)
    return "\n".join([
        f"{len(results)} cases: {total['passed']} pass, {total['refused']} are refused, "
        f"{len(results) - total['passed'] - total['refused']} are wrong.", "",
        "| operator | pass | pass while compiling | refused | why |", "|---|---|---|---|---|",
        *lines, *(["", "Operators that lwcc does not have, and how many cases they have: "
                   + ", ".join(none) + "."] if none else [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--filter", default="", help="only cases whose names match this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="leave models and data in this folder")
    parser.add_argument("--docs", action="store_true", help="print a table in markdown")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ["OMP_NUM_THREADS"] = "1"  # of the trainers: they run side by side
    from onnx.backend.test.case.node import collect_testcases  # takes ten seconds
    cases = collect_testcases(None)
    bases = {case.name: case.model.graph.node[0].op_type for case in cases
             if "_expanded" not in case.name}
    cases = [case for case in cases if re.search(args.filter, case.name)]
    results = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for case, (verdict, text) in zip(cases, pool.map(lambda c: judge(c, args), cases)):
            results.append((operator_of(case, bases), verdict, text))
            if not args.docs or verdict.isupper():
                print(f"{verdict:8}{results[-1][0]}  {case.name}: {text}", flush=True)
    if args.docs:
        print(table(results))
    passed = sum(verdict == "passed" for _, verdict, _ in results)
    failed = sum(verdict.isupper() for _, verdict, _ in results)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main())
