"""Trains models of scikit-learn as skl2onnx exports them, and compares them with what
scikit-learn makes of the same data.

  scikit.py [--lwcc-run=PROGRAM] [--jobs=N]

Networks (MLPClassifier, MLPRegressor) are trained by scikit-learn itself, a step for each
batch. Linear models, which it fits in other ways, are trained by their formulas in double
precision; it then says what they predict. Each is trained on one device, and under plans
for several, one of them random (lwcc must be on the PATH); the losses of all steps and the predictions of the exported file (by ONNX
Runtime) must be right to 1e-5. The last line is `N passed, M failed`.
"""

import argparse
import os
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.linear_model import (LinearRegression, LogisticRegression, Ridge,
                                  SGDClassifier, SGDRegressor)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler,
                                   StandardScaler)

from grid_plans import random_plan
from trainer import Settings, TrainerError, train
from workers import results

BATCH, FEATURES, CLASSES, TARGETS = 12, 8, 4, 3
SETTINGS = Settings(BATCH, 5, 0.05, 0.9, 0.0)
COUNT = BATCH * SETTINGS.steps
PLANS = [[], ["--gpus=3", "--strategy=data"], ["--gpus=2", "--strategy=model"]]
TOLERANCE = 1e-5


def data_of(kind):
    """Samples, and classes or numbers."""
    random = np.random.RandomState(7)
    samples = random.uniform(-1, 2, (COUNT, FEATURES)).astype(np.float32)
    wanted = {"classes": random.randint(0, CLASSES, COUNT),
              "two": random.randint(0, 2, COUNT),
              "numbers": random.normal(size=(COUNT, TARGETS)),
              "number": random.normal(size=COUNT),
              "several": random.randint(0, 2, (COUNT, TARGETS))}[kind]
    return samples, wanted


#===--- scikit-learn as the judge -------------------------------------------------------#


def softmax_loss(scores, classes):
    """The mean, and its gradient by the scores."""
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    shares = shifted / shifted.sum(1, keepdims=True)
    rows = np.arange(len(classes))
    gradient = shares.copy()
    gradient[rows, classes] -= 1
    return -np.log(shares[rows, classes]).mean(), gradient / len(classes)


def sigmoid_loss(score, classes):
    """Of two classes, by the score of the second."""
    share = 1 / (1 + np.exp(-score[:, 0]))
    loss = -np.log(np.where(classes == 1, share, 1 - share)).mean()
    return loss, ((share - classes) / len(classes))[:, None]


def squared_loss(output, targets):
    difference = output - targets.reshape(output.shape)
    return (difference ** 2).mean(), 2 * difference / difference.size


def train_linear(model, samples, wanted, loss_of):
    """Losses of SGD with momentum on coef_ and intercept_, which it leaves in `model`."""
    estimator = model[-1] if hasattr(model, "steps") else model
    rows = samples.astype(np.float64)
    if hasattr(model, "steps"):
        rows = model[:-1].transform(rows)
    weight = np.atleast_2d(estimator.coef_).astype(np.float32).astype(np.float64)
    bias = np.atleast_1d(estimator.intercept_).astype(np.float32).astype(np.float64)
    speed, losses = [0.0, 0.0], []
    for first in range(0, COUNT, BATCH):
        x = rows[first:first + BATCH]
        loss, gradient = loss_of(x @ weight.T + bias, wanted[first:first + BATCH])
        losses.append(loss)
        for i, change in enumerate((gradient.T @ x, gradient.sum(0))):
            speed[i] = SETTINGS.momentum * speed[i] + change
        weight, bias = weight - SETTINGS.lr * speed[0], bias - SETTINGS.lr * speed[1]
    estimator.coef_ = weight.reshape(np.shape(estimator.coef_))
    estimator.intercept_ = bias.reshape(np.shape(estimator.intercept_))
    return losses


def train_network(model, samples, wanted):
    """Losses of scikit-learn's own steps. One at next to no rate has made the weights."""
    # It halves squares, and adds up the losses of what may be true at once.
    factor = (2 if isinstance(model, MLPRegressor) else
              1 / TARGETS if wanted.ndim > 1 else 1)
    rate = SETTINGS.lr * factor
    model._optimizer.learning_rate = model._optimizer.learning_rate_init = rate
    model._optimizer.velocities = [np.zeros_like(v) for v in model._optimizer.velocities]
    losses = []
    for first in range(0, COUNT, BATCH):
        batch = slice(first, first + BATCH)
        model.partial_fit(samples[batch].astype(np.float64), wanted[batch])
        losses.append(model.loss_ * factor)
    return losses


def network(kind, **more):
    return kind(hidden_layer_sizes=(16, 6), solver="sgd", learning_rate_init=1e-30,
                momentum=SETTINGS.momentum, nesterovs_momentum=False, alpha=0.0,
                batch_size=BATCH, shuffle=False, random_state=3, **more)


# By name: the model, its data, and how it is trained.
MODELS = {
    "mlp": (lambda: network(MLPClassifier), "classes", train_network),
    "mlp_tanh": (lambda: network(MLPClassifier, activation="tanh"), "classes", train_network),
    "mlp_two": (lambda: network(MLPClassifier, activation="logistic"), "two", train_network),
    "mlp_several": (lambda: network(MLPClassifier), "several", train_network),
    # Of several numbers skl2onnx writes a wrong shape.
    "mlp_regressor": (lambda: network(MLPRegressor), "number", train_network),
    "logistic": (LogisticRegression, "classes", softmax_loss),
    "logistic_two": (LogisticRegression, "two", sigmoid_loss),
    "sgd_two": (lambda: SGDClassifier(loss="log_loss", random_state=3), "two", sigmoid_loss),
    "linear": (LinearRegression, "numbers", squared_loss),
    "ridge": (Ridge, "numbers", squared_loss),
    "sgd_regressor": (lambda: SGDRegressor(random_state=3), "number", squared_loss),
    "pipeline": (lambda: make_pipeline(
        StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), Normalizer(),
        LogisticRegression()), "classes", softmax_loss),
    "scaled_ridge": (lambda: make_pipeline(StandardScaler(), Ridge()), "numbers",
                     squared_loss),
}


#===--- lwcc ----------------------------------------------------------------------------#


def compare(path, plan, args, folder, truth):
    """None, or what is wrong."""
    samples, losses, outputs = truth
    out = os.path.join(folder, "trained.onnx")
    command = [args.lwcc_run, path, f"--batch={BATCH}", *plan, "--",
               f"--export-onnx={out}"]
    if os.path.exists(out):
        os.remove(out)
    own, _ = train(command, folder, SETTINGS)
    worst = max(abs(a - b) / max(abs(b), 1) for a, b in zip(own, losses))
    if not worst <= TOLERANCE:
        return f"losses off by {worst:.1e}"
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    found = session.run(None, {session.get_inputs()[0].name: samples})[-1]
    if isinstance(found, list):  # of ZipMap: by class
        found = np.array([[row[key] for key in sorted(row)] for row in found])
    worst = np.abs(found.reshape(outputs.shape) - outputs).max()
    return None if worst <= TOLERANCE * 10 else f"predictions off by {worst:.1e}"


def run_model(job):
    name, args = job
    warnings.filterwarnings("ignore")
    os.environ["OMP_NUM_THREADS"] = "1"
    make, kind, how = MODELS[name]
    samples, wanted = data_of(kind)
    model = make()
    rows = []
    with tempfile.TemporaryDirectory(prefix="lwcc-scikit-") as folder:
        if how is train_network:
            classes = {"classes": np.arange(CLASSES), "two": [0, 1],
                       "several": np.arange(TARGETS)}.get(kind)
            model.partial_fit(samples.astype(np.float64), wanted,
                              **({} if classes is None else {"classes": classes}))
        else:
            model.fit(samples, wanted)
        path = os.path.join(folder, f"{name}.onnx")
        with open(path, "wb") as file:
            file.write(to_onnx(model, samples[:1]).SerializeToString())
        np.save(os.path.join(folder, "images.npy"), samples)
        is_labels = kind in ("classes", "two")
        np.save(os.path.join(folder, "labels.npy" if is_labels else "targets.npy"),
                wanted.astype(np.int64 if is_labels else np.float32))
        if how is train_network:
            for weights in (model.coefs_, model.intercepts_):
                for w in weights:
                    w[...] = w.astype(np.float32)
            losses = train_network(model, samples, wanted)
        else:
            losses = train_linear(model, samples, wanted, how)
        predict = getattr(model, "predict_proba", model.predict)
        truth = samples, losses, np.asarray(predict(samples.astype(np.float64)))
        for plan in [*PLANS, random_plan(path, [], BATCH, name, f"{path}.plan.json")]:
            try:
                wrong = compare(path, plan, args, folder, truth)
            except TrainerError as error:
                wrong = str(error)[-600:]
            shown = "a random plan" if plan not in PLANS else " ".join(plan)
            rows.append((name, shown or "one device", wrong))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--lwcc-run", default="lwcc-run", metavar="PROGRAM")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    rows = []
    for found in results(run_model, [(name, args) for name in args.names or MODELS],
                         args.jobs):
        rows += found
        for name, plan, wrong in found:
            print(f"{'WRONG' if wrong else 'equal'} {name}, {plan}"
                  + (f": {wrong}" if wrong else ""), flush=True)
    failed = sum(row[2] is not None for row in rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
