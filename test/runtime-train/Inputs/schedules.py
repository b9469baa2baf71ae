"""schedules.py FOLDER: the learning rates of whole trainings, against PyTorch's schedulers.

Trains with lwcc-fake-trainer in one piece, and in three that resume each other,
one of them in the middle of an epoch, and compares the rates that --log has,
step by step. Plateaus get the validations of the log.
"""
import json
import os
import subprocess
import sys

import numpy as np
import torch
from torch.optim import lr_scheduler as torch_lr

EPOCHS, PER_EPOCH, LR = 12, 5, 0.4
folder = sys.argv[1]


def write(name, images, shift):
    os.makedirs(f"{folder}/{name}")
    labels = np.arange(images) % 4
    pixels = np.zeros((images, 4, 4), np.float32)
    pixels[np.arange(images), labels] = 1
    np.save(f"{folder}/{name}/images.npy", pixels)
    np.save(f"{folder}/{name}/labels.npy", (labels + shift) % 4)


def train(name, flags):
    subprocess.run(["lwcc-fake-trainer", f"--data={folder}/train",
                    f"--checkpoint-dir={folder}/{name}", f"--log={folder}/{name}.jsonl",
                    f"--val-data={folder}/val", f"--epochs={EPOCHS}", *flags],
                   check=True, stdout=subprocess.DEVNULL)


def log(name):
    with open(f"{folder}/{name}.jsonl") as lines:
        records = [json.loads(line) for line in lines]
    rates = {record["step"]: record["lr"] for record in records if "lr" in record}
    validations = {record["step"]: record for record in records if "val_loss" in record}
    return [rates[step + 1] for step in range(len(rates))], validations


def expected(make, by_epoch, validations):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=LR, momentum=0.9)
    scheduler = make(optimizer)
    rates = []
    for step in range(EPOCHS * PER_EPOCH):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        ends = (step + 1) % PER_EPOCH == 0
        if isinstance(scheduler, torch_lr.ReduceLROnPlateau):
            if ends:
                metric = "val_loss" if scheduler.mode == "min" else "val_top1"
                scheduler.step(validations[step + 1][metric])
        elif (ends or not by_epoch) and step + 1 < EPOCHS * PER_EPOCH:
            scheduler.step()
    return rates


CASES = {
    "step": (["--sched=step", "--decay-epochs=3", "--decay-rate=0.3"],
             lambda o: torch_lr.StepLR(o, 3, 0.3), True),
    "multistep": (["--sched=multistep", "--decay-milestones=2,7,8"],
                  lambda o: torch_lr.MultiStepLR(o, [2, 7, 8], 0.1), True),
    "cosine": (["--sched=cosine", "--min-lr=0.01"],
               lambda o: torch_lr.CosineAnnealingLR(o, EPOCHS, 0.01), True),
    "warmup": (["--warmup-steps=17", "--warmup-lr=0.01"],
               lambda o: torch_lr.LinearLR(o, 0.01 / LR, 1, 17), False),
    "onecycle": (["--sched=onecycle"],
                 lambda o: torch_lr.OneCycleLR(o, LR, epochs=EPOCHS, cycle_momentum=False,
                                               steps_per_epoch=PER_EPOCH), False),
    "onecycle-odd": (["--sched=onecycle", "--pct-start=0.4321", "--div-factor=7",
                      "--final-div-factor=31"],
                     lambda o: torch_lr.OneCycleLR(
                         o, LR, total_steps=EPOCHS * PER_EPOCH, pct_start=0.4321,
                         div_factor=7, final_div_factor=31, cycle_momentum=False), False),
    "plateau": (["--sched=plateau", "--plateau-patience=1", "--decay-rate=0.5",
                 "--min-lr=0.03"],
                lambda o: torch_lr.ReduceLROnPlateau(o, factor=0.5, patience=1, min_lr=0.03),
                True),
    "plateau-top1": (["--sched=plateau", "--plateau-patience=3", "--best=val_top1"],
                     lambda o: torch_lr.ReduceLROnPlateau(o, mode="max", patience=3), True),
}

write("train", PER_EPOCH * 8, 0)
write("val", 16, 1)  # the better it learns, the higher is this loss
for name, (flags, make, by_epoch) in CASES.items():
    flags = [*flags, f"--lr={LR}"]
    train(name, flags)
    rates, validations = log(name)
    wanted = expected(make, by_epoch, validations)
    assert len(rates) == len(wanted), (name, len(rates))
    for step, (got, want) in enumerate(zip(rates, wanted)):
        assert abs(got - want) <= 1e-6 * want, (name, step, got, want)
    assert len(set(rates)) > 1, name
    train(name + "-parts", [*flags, "--steps=23"])
    for last in (45, EPOCHS * PER_EPOCH):
        train(name + "-parts", ["--resume=auto", f"--steps={last}"])
    assert log(name + "-parts")[0] == rates, name
print(f"{len(CASES)} schedules are PyTorch's, in one piece and in three")
