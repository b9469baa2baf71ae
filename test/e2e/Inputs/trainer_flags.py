"""trainer_flags.py HELP MODEL: checks that lwcc knows each flag of the trainer's help."""

import re
import subprocess
import sys

with open(sys.argv[1]) as file:
    flags = re.findall(r"^  --([a-z-]+)", file.read(), re.M)
assert "lr" in flags and "export-onnx" in flags, flags
flags = [f"--{flag}" for flag in flags if flag not in ("help", "version")]
text = subprocess.run(["lwcc", sys.argv[2], *flags], stderr=subprocess.PIPE,
                      text=True).stderr
for flag in flags:
    assert f"error: {flag} is a flag of the trainer" in text, flag
