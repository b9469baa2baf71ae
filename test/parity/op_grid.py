"""Trains every case of the operator grid and compares it with PyTorch.

  op_grid.py [--lwcc-run=PROGRAM] [--filter=TEXT] [--jobs=N] [--keep=DIR]
             [--turns=N] [--plans=N]
  op_grid.py --check-oracle     (the oracle's forward pass against ONNX Runtime)

Two steps of SGD per case; the two losses, and every parameter and running
statistic afterwards, must be those of the oracle in double precision: losses
within 1e-5, each tensor within 1e-4 of the largest change that it underwent
(plus the rounding of its own magnitude). Then one step with a NaN in the first
image, whose label does not count: NaN must be where it is in the oracle, and
nowhere else; where it reaches the loss, the trainer must end because of it.
With --turns each kernel of a convolution or pooling meets as many widths and sizes
(grid_cases.py). With --plans each case trains again under so many random plans on 2 to
6 devices (grid_plans.py; lwcc must be on the PATH), each of which is counted.
Ends with a line `N passed, M failed`.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import torch
from onnx import helper

from grid_case import CLASSES, FLOAT, INT64
from grid_cases import all_cases
from grid_plans import random_plan
from onnx_torch import Oracle
from test_oracle import runtime_logits
from trainer import Data, Settings, TrainerError, run_oracle, train

SETTINGS = [Settings(0, 2, 0.25, 0.9, 0.01, nesterov=False, seed=3),
            Settings(0, 2, 0.25, 0.5, 0.0, nesterov=True, seed=4)]
IGNORED = 2  # the label that a loss may ignore
# Taken at many irregular places by a product with zeros and ones, which spreads NaN.
SPREADING = {"Col2Im", "GatherND", "Resize", "ScatterND", "Upsample"}
# The oracle runs in one thread at a time: Python's literal_eval, which reads .npy headers, is not
# safe among threads. Only the trainers run in parallel.
ORACLE = threading.Lock()


def input_shape(model):
    dims = model.graph.input[0].type.tensor_type.shape.dim
    return [d.dim_value for d in dims]


def tokens_of(model):
    """What the integers of its input are below; 0: its input is floats."""
    return int(model.doc_string or 0)


def draw_images(model, count, random):
    shape = (count, *input_shape(model)[1:])
    if tokens_of(model):
        return random.randint(0, tokens_of(model), shape)
    return random.uniform(-1, 1, shape).astype(np.float32)


def write_data(folder, model, poisoned=False):
    """Two batches of random rows, or of grey pictures, or of integers."""
    shape = input_shape(model)
    random = np.random.RandomState(len(model.graph.name))
    images = draw_images(model, 2 * shape[0], random)
    if tokens_of(model):
        pass
    elif len(shape) == 4:
        images = images[:, 0]
    else:
        images = images.reshape(len(images), -1)
    if poisoned:
        images[0].flat[images[0].size // 2] = np.nan
    labels = random.randint(0, CLASSES, len(images))
    if poisoned:
        labels[labels == IGNORED] = 0  # only the poisoned image is ignored
    labels[0], labels[-1] = IGNORED, IGNORED
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels.astype(np.int64))


def differences(losses, state, truth_losses, truth, start):
    """The differences from the oracle, one phrase each."""
    for step, (a, b) in enumerate(zip(losses, truth_losses)):
        if not abs(a - b) <= 1e-5 * max(1.0, abs(b)):
            yield f"loss of step {step + 1} is {a:.7g}, not {b:.7g}"
    for name, wanted in truth.items():
        if name not in state:
            yield f"{name} is not in the checkpoint"
            continue
        actual = state[name].astype(np.float64)
        if actual.size != wanted.size:
            yield f"{name} has shape {actual.shape}, not {wanted.shape}"
            continue
        change = np.abs(wanted - start[name]).max()
        error = np.abs(actual.reshape(wanted.shape) - wanted).max()
        if not error <= 1e-4 * change + 5e-7 * np.abs(wanted).max():
            yield f"{name} is off by {error:.2g} after a change of {change:.2g}"


def run_case(model, args, settings, plan=0, itself=False):
    """Phrases that say how a case differs; none if it passes. Under a random plan, if
    its number is not 0; `itself`: the oracle in single precision does."""
    name = f"{model.graph.name} plan {plan}"
    with tempfile.TemporaryDirectory(prefix="lwcc-grid-") as folder:
        folder = args.keep and os.path.join(
            args.keep, re.sub(r"[^\w.]+", "_", name)) or folder
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        write_data(folder, model)
        shape = input_shape(model)
        settings = Settings(**{**vars(settings), "batch": shape[0]})
        with ORACLE:
            oracle = Oracle(model, torch.float64, settings.seed)
            start = {k: v.copy() for k, v in oracle.state().items()}
            truth = run_oracle(oracle, Data(folder, shape[1:]), settings)
        still = np.array_equal(oracle.state()["p"], start["p"])
        if still and settings.weight_decay == 0:
            return ["the case has no gradient: it tests nothing"]
        if itself:
            with ORACLE:
                single = Oracle(model, torch.float32, settings.seed)
                losses = run_oracle(single, Data(folder, shape[1:]), settings)
            return list(differences(losses, single.state(), truth,
                                    oracle.state(), start))
        try:
            # A case need not look like a classifier to the importer.
            own = any(node.op_type.endswith("Loss") for node in model.graph.node)
            flags = [] if own else ["--loss=cross-entropy"]
            if plan:
                flags += random_plan(path, flags, shape[0], name,
                                     os.path.join(folder, "plan.json"))
            losses, state = train([args.lwcc_run, path, *flags, "--"], folder,
                                  settings)
        except TrainerError as error:
            return [str(error).strip()]
        except subprocess.CalledProcessError as error:
            return [error.stderr.strip()]
        return list(differences(losses, state, truth, oracle.state(), start))


def judged(model, args, settings, plan):
    """As run_case. A step that is too long multiplies what is rounded: a case that
    fails in single precision, whoever computes it, or in nothing but losses behind such a
    step, is tried again at a tenth of the rate, and at a hundredth."""
    wrong = run_case(model, args, settings, plan, args.against_itself)
    for slower in (10, 100):
        if not wrong or args.against_itself:
            break
        later = all(re.match(r"loss of step [^1]", phrase) for phrase in wrong)
        if not later and not run_case(model, args, settings, itself=True):
            break
        slow = Settings(**{**vars(settings), "lr": settings.lr / slower})
        wrong = run_case(model, args, slow, plan)
    return wrong


def with_ignored_label(model):
    """The case with a loss that ignores a label, so that what is NaN in one
    image does not reach the loss; None if the operator set has no such loss."""
    if any(i.name == "labels" for i in model.graph.input):
        return model
    if model.opset_import[0].version < 12:
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    logits = copy.graph.output[0]
    copy.graph.node.append(helper.make_node(
        "SoftmaxCrossEntropyLoss", [logits.name, "labels"], ["loss"],
        ignore_index=IGNORED))
    copy.graph.input.append(helper.make_tensor_value_info(
        "labels", INT64, [input_shape(model)[0]]))
    copy.graph.output[0].CopyFrom(
        helper.make_tensor_value_info("loss", FLOAT, []))
    return copy


def spreads(model):
    return any(node.op_type in SPREADING for node in model.graph.node)


def beside_padding(model, name, shape):
    """Which elements of a convolution's weights may meet zeros of its padding."""
    mask = np.zeros(shape, bool)
    for node in model.graph.node:
        if node.op_type != "Conv" or node.input[1] != name:
            continue
        values = {a.name: list(a.ints) for a in node.attribute if a.ints}
        kernel = shape[2:]
        pads = values.get("pads", [0] * 2 * len(kernel))
        for axis, size in enumerate(kernel):
            taps = np.arange(size) * values.get("dilations", [1] * len(kernel))[axis]
            outside = (taps < pads[axis]) | (taps[-1] - taps < pads[axis + len(kernel)])
            mask |= outside.reshape([-1 if d == axis + 2 else 1 for d in range(len(shape))])
    return mask


def nan_differences(state, truth, model):
    """Tensors that lack a NaN, and tensors with a NaN too many."""
    # A convolution may or may not multiply the zeros of its padding: the gradient of its weights
    # may have more NaN than the oracle's, and fewer where a tap meets such zeros.
    spread = {n.input[1] for n in model.graph.node if n.op_type == "Conv"}
    # A place that lies outside of an image, or was brought back to its border, has a
    # gradient of 0, which PyTorch multiplies, or not.
    places = {n.input[1] for n in model.graph.node if n.op_type == "GridSample"}
    for name, wanted in truth.items():
        actual = np.isnan(state[name]).reshape(wanted.shape)
        wanted = np.isnan(wanted)
        missing = wanted & ~actual & ~beside_padding(model, name, wanted.shape)
        if name in places:
            continue
        if missing.any():
            yield f"with a NaN in the data, {name} has too few: " \
                  f"{actual.sum()} instead of {wanted.sum()}"
        elif (actual & ~wanted).any() and name not in spread and not spreads(model):
            yield f"with a NaN in the data, {name} has too many: " \
                  f"{actual.sum()} instead of {wanted.sum()}"


def run_poisoned(model, args, settings):
    """Runs a case like run_case, with a NaN in the first image."""
    model = with_ignored_label(model)
    if model is None or tokens_of(model):
        return []
    with tempfile.TemporaryDirectory(prefix="lwcc-grid-") as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save(model, path)
        write_data(folder, model, poisoned=True)
        shape = input_shape(model)
        settings = Settings(**{**vars(settings), "batch": shape[0], "steps": 1})
        with ORACLE:
            oracle = Oracle(model, torch.float32, settings.seed)
            [loss] = run_oracle(oracle, Data(folder, shape[1:]), settings)
        try:
            losses, state = train([args.lwcc_run, path, "--"], folder, settings)
        except TrainerError as error:
            expected = ("the loss is nan at step 1" in str(error)
                        and (np.isnan(loss) or spreads(model)))
            return [] if expected else [str(error).strip()]
        if np.isnan(loss):
            return [f"with a NaN in the data, the loss is {losses[0]}, not nan"]
        return list(nan_differences(state, oracle.state(), model))


def check_oracle(model):
    """Runs a case like run_case, in ONNX Runtime; None if that lacks something."""
    if model.opset_import[0].version > 26:  # the newest that it knows
        return None
    for node in model.graph.node:
        even = any(a.name == "size" and a.i % 2 == 0 for a in node.attribute)
        plain = node.op_type == "Mod" and not any(a.name == "fmod" and a.i
                                                  for a in node.attribute)
        drawn = node.op_type.startswith(("Random", "Bernoulli"))
        # Only a note has the divisor.
        divided = node.op_type == "AveragePool" and node.metadata_props
        if (plain or drawn or divided or "labels" in node.input
                or node.op_type == "LRN" and even):
            return None
    shape = input_shape(model)
    torch.manual_seed(0)
    images = torch.from_numpy(draw_images(model, shape[0], np.random.RandomState(0)))
    actual = Oracle(model, torch.float32, dropout=False).run(images).detach()
    absorbed = {"Softmax": torch.softmax, "LogSoftmax": torch.log_softmax}
    if model.graph.node[-1].op_type in absorbed:
        actual = absorbed[model.graph.node[-1].op_type](actual, 1)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    expected = runtime_logits(copy, images)
    error = np.abs(actual.numpy() - expected).max() / max(np.abs(expected).max(), 1)
    return [] if error < 2e-5 else [f"logits differ by {error:.1e}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--filter", default="", help="only names with this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="leave models and data in this folder")
    parser.add_argument("--turns", type=int, default=1,
                        help="of widths and sizes: 12 are all")
    parser.add_argument("--plans", type=int, default=0,
                        help="random plans of each case, beside one device")
    parser.add_argument("--check-oracle", action="store_true",
                        help="compare the oracle with ONNX Runtime instead")
    parser.add_argument("--against-itself", action="store_true",
                        help="the oracle in single precision instead of a "
                        "trainer: shows that the tolerances are fair")
    parser.add_argument("--verbose", action="store_true", help="name every case")
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # of the trainers: they run side by side

    cases = [(group, model, number, plan)
             for number, (group, model) in enumerate(all_cases(args.turns))
             if args.filter.lower() in model.graph.name.lower()
             for plan in range(args.plans + 1)]

    def judge(case):
        group, model, number, plan = case
        try:
            if args.check_oracle:
                wrong = check_oracle(model)
            else:
                settings = SETTINGS[number % len(SETTINGS)]
                wrong = judged(model, args, settings, plan)
                if not args.against_itself and not plan:
                    wrong += run_poisoned(model, args, settings)
        except Exception as error:  # a case must not end the others
            wrong = [f"{type(error).__name__}: {error}"]
        return group, model.graph.name + (f", plan {plan}" if plan else ""), wrong

    passed, failed = Counter(), Counter()
    with ThreadPoolExecutor(args.jobs) as pool:
        for done, (group, name, wrong) in enumerate(pool.map(judge, cases), 1):
            if done % 500 == 0:
                print(f"{done:,} of {len(cases):,}", file=sys.stderr, flush=True)
            if wrong is None:
                continue
            (failed if wrong else passed)[group] += 1
            if wrong or args.verbose:
                print(f"{'FAIL' if wrong else 'ok  '} {name}"
                      + "".join(f"\n     {w}" for w in wrong), flush=True)
    for group in dict.fromkeys(group for group, *_ in cases):
        print(f"{group}: {passed[group]} passed, {failed[group]} failed")
    print(f"{passed.total()} passed, {failed.total()} failed")
    return failed.total() != 0


if __name__ == "__main__":
    sys.exit(main())
