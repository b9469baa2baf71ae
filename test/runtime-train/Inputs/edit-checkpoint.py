"""Checks a checkpoint of lwcc-fake-trainer, then replaces its weights."""
import json
import os
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

folder, exported = sys.argv[1:]
model = load_file(os.path.join(folder, "model.safetensors"))
optim = load_file(os.path.join(folder, "optim.safetensors"))
state = json.load(open(os.path.join(folder, "state.json")))

assert {name: value.shape for name, value in model.items()} == {
    "fc.weight": (4, 16), "fc.bias": (4,), "norm.running_mean": (1,)}, model
assert {name: value.shape for name, value in optim.items()} == {
    "fc.weight.momentum": (4, 16), "fc.bias.momentum": (4,)}, optim
assert state["step"] == 5 and state["epoch"] == 0 and state["position"] == 40, state
with safe_open(os.path.join(folder, "model.safetensors"), "numpy") as file:
    assert file.metadata()["model"] == "fake.onnx"

# The export must contain what is in the checkpoint.
raw = open(exported, "rb").read()
assert raw[:4] == b"HEAD" and raw[-4:] == b"TAIL"
assert raw[4:-4] == model["fc.weight"].tobytes() + model["fc.bias"].tobytes()

model["fc.weight"] = np.arange(64, dtype=np.float32).reshape(4, 16)
save_file(model, os.path.join(folder, "model.safetensors"))
