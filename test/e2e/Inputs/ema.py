"""Averages of weights against those of torch.optim.swa_utils: ema.py MODEL FOLDER.

The weights of every step are those of a program without averages, whose checkpoints
PyTorch averages. Under each plan the weights must be near those, and the averages near
PyTorch's; validation and the exported model are of the averages.
"""

import os
import re
import subprocess
import sys

import numpy as np
import torch
from safetensors.numpy import load_file
from torch.optim.swa_utils import get_ema_multi_avg_fn

STEPS, DECAY = 8, 0.75
PLANS = [[], ["--gpus=3", "--strategy=data"], ["--gpus=4", "--strategy=model"],
         ["--gpus=2", "--strategy=pipeline", "--micro-batches=4"]]


def run(model, compiled, *told):
    command = ["lwcc-run", model, "--batch=16", *compiled, "--", "--data=synthetic",
               "--deterministic", "--threads=2", "--lr=0.02", *told]
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stdout}")
    return result.stdout


def tensors(folder, step):
    return load_file(os.path.join(folder, f"step-{step:06}", "model.safetensors"))


def validated(text):
    return re.search(r"(?:validation|evaluation): (loss.*top-1.*%)", text)[1]


def apart(ours, theirs):
    return max(np.abs(ours[name] - theirs[name]).max() for name in theirs)


def main():
    model, folder = sys.argv[1:]
    plain = f"{folder}/plain"
    run(model, [], "--epochs=0", f"--checkpoint-dir={folder}/first")
    run(model, [], f"--steps={STEPS}", f"--checkpoint-dir={plain}", "--checkpoint-every=1",
        "--checkpoint-keep=20")
    first = tensors(f"{folder}/first", 0)
    names = sorted(first)
    averages = [torch.from_numpy(first[name].copy()) for name in names]
    update = get_ema_multi_avg_fn(DECAY)
    for step in range(1, STEPS + 1):
        now = tensors(plain, step)
        update(averages, [torch.from_numpy(now[name]) for name in names], step)
    expected = {f"{name}.average": value.numpy() for name, value in zip(names, averages)}

    for number, plan in enumerate(PLANS):
        kept, onnx = f"{folder}/kept{number}", f"{folder}/averages{number}.onnx"
        ema = [f"--ema={DECAY}", *plan]
        text = run(model, ema, f"--steps={STEPS}", f"--checkpoint-dir={kept}",
                   "--val-data=synthetic", f"--export-onnx={onnx}")
        ours = tensors(kept, STEPS)
        assert set(ours) == set(now) | set(expected), "other tensors are kept"
        assert apart(ours, now) < 1e-6, f"{plan}: the weights differ"
        assert apart(ours, expected) < 1e-6, f"{plan}: the averages differ"
        assert apart(now, {name: expected[f"{name}.average"] for name in names}) > 1e-3
        # The exported model, without averages of its own, gives what was validated.
        exported = subprocess.run(
            ["lwcc-run", onnx, "--batch=16", "--", "evaluate", "--data=synthetic"], text=True,
            stdout=subprocess.PIPE, check=True).stdout
        resumed = subprocess.run(
            ["lwcc-run", model, "--batch=16", *ema, "--", "evaluate", "--data=synthetic",
             f"--resume={kept}"], text=True, stdout=subprocess.PIPE, check=True).stdout
        assert validated(text) == validated(exported) == validated(resumed), text + exported
    # Two halves are the whole; averages begin with the weights that are taken over.
    run(model, [f"--ema={DECAY}"], f"--steps={STEPS // 2}", f"--checkpoint-dir={folder}/halves")
    run(model, [f"--ema={DECAY}"], f"--steps={STEPS}", f"--checkpoint-dir={folder}/halves",
        "--resume=auto")
    whole, halves = tensors(f"{folder}/kept0", STEPS), tensors(f"{folder}/halves", STEPS)
    assert all((whole[name] == halves[name]).all() for name in whole), "halves differ"
    run(model, [f"--ema={DECAY}"], "--epochs=0", f"--checkpoint-dir={folder}/begun",
        f"--init-from={plain}/step-{STEPS:06}/model.safetensors")
    begun = tensors(f"{folder}/begun", 0)
    assert all((begun[f"{name}.average"] == now[name]).all() for name in names)
    print(f"{len(PLANS)} plans with PyTorch's averages")


if __name__ == "__main__":
    main()
