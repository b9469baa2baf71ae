"""The losses of numbers against PyTorch: losses.py FOLDER.

A small network is trained for some steps with each loss, on one device, on several, and
in micro-batches, on data of which some targets are missing. The losses are PyTorch's.
"""

import json
import os
import sys

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../parity"))
from trainer import Settings, train  # noqa: E402

INPUTS, WIDTH, BATCH, STEPS = 5, 8, 6, 8
SETTINGS = Settings(BATCH, STEPS, 0.05, 0.9, 1e-3)
LOSSES = {
    "bce": torch.nn.functional.binary_cross_entropy_with_logits,
    "mse": torch.nn.functional.mse_loss,
    "l1": torch.nn.functional.l1_loss,
    "huber": torch.nn.functional.huber_loss,
}
PLANS = [[], ["--gpus=3", "--strategy=data"], ["--gpus=2", "--strategy=model"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=2", "--stages=2"]]


def weights(outputs):
    random = np.random.RandomState(outputs)
    shapes = {"w1": (WIDTH, INPUTS), "b1": (WIDTH,), "w2": (outputs, WIDTH),
              "b2": (outputs,)}
    return {name: random.uniform(-0.7, 0.7, shape).astype(np.float32)
            for name, shape in shapes.items()}


def write_model(path, outputs, sigmoid):
    last = "z" if sigmoid else "y"
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["a"], "a", transB=1),
             helper.make_node("Relu", ["a"], ["r"], "r"),
             helper.make_node("Gemm", ["r", "w2", "b2"], [last], last, transB=1)]
    if sigmoid:
        nodes.append(helper.make_node("Sigmoid", [last], ["y"], "y"))
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", outputs])],
        [numpy_helper.from_array(w, name) for name, w in weights(outputs).items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                           ir_version=8), path)


def write_data(folder, outputs, bce):
    os.makedirs(folder, exist_ok=True)
    random = np.random.RandomState(7)
    x = random.normal(size=(BATCH * STEPS, INPUTS)).astype(np.float32)
    y = random.normal(size=(BATCH * STEPS, outputs)).astype(np.float32)
    y = (y > 0).astype(np.float32) if bce else 2 * y
    y[random.uniform(size=y.shape) < 0.15] = np.nan  # which do not count
    np.save(f"{folder}/images.npy", x)
    np.save(f"{folder}/targets.npy", y)
    return torch.from_numpy(x).double(), torch.from_numpy(y).double()


def trained(initial, loss_of):
    """The losses of the steps in double precision, and the weights behind them;
    `loss_of(weights, samples)` is that of one step."""
    w = {name: torch.from_numpy(a).double().requires_grad_()
         for name, a in initial.items()}
    optimizer = torch.optim.SGD(w.values(), SETTINGS.lr, SETTINGS.momentum,
                                weight_decay=SETTINGS.weight_decay)
    losses = []
    for step in range(STEPS):
        value = loss_of(w, slice(step * BATCH, (step + 1) * BATCH))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, {name: a.detach().numpy() for name, a in w.items()}


def check_plans(what, path, flags, data, expected):
    """Trains under each plan, and ends if one is not as expected; how many."""
    wanted, learnt = expected
    for plan in PLANS:
        found, state = train(["lwcc-run", path, f"--batch={BATCH}", *flags, *plan, "--"],
                             data, SETTINGS)
        worst = max(abs(a - b) / abs(b) for a, b in zip(found, wanted))
        for name, w in learnt.items():
            worst = max(worst, np.abs(state[name].reshape(w.shape) - w).max())
        if not worst < 1e-5:
            sys.exit(f"{what} {plan}: off by {worst}\n" + json.dumps([found, wanted]))
    return len(PLANS)


def expected(loss, outputs, x, y):
    def loss_of(w, part):
        out = torch.relu(x[part] @ w["w1"].T + w["b1"]) @ w["w2"].T + w["b2"]
        given = ~torch.isnan(y[part])
        return LOSSES[loss](out[given], y[part][given])
    return trained(weights(outputs), loss_of)


def main():
    folder = sys.argv[1]
    compared = 0
    for loss in LOSSES:
        for outputs in 1, 3:
            path, data = f"{folder}/{loss}{outputs}.onnx", f"{folder}/{loss}{outputs}"
            # A Sigmoid at the end belongs to the loss.
            sigmoid = loss == "bce" and outputs == 3
            write_model(path, outputs, sigmoid)
            x, y = write_data(data, outputs, loss == "bce")
            compared += check_plans(f"{loss} of {outputs}", path,
                                    [] if sigmoid else [f"--loss={loss}"], data,
                                    expected(loss, outputs, x, y))
    print(compared, "trainings as PyTorch's")


if __name__ == "__main__":
    main()
