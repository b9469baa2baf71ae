"""Checks what --explain says of a pipeline: its program's step is no longer than its
turns, played without transfers."""

import re
import sys

text = sys.stdin.read()
program = float(re.search(r"^  pipeline \* +([\d.]+) ", text, re.M)[1])
turns = float(re.search(r"^bubbles, of a step of ([\d.]+) ms:", text, re.M)[1])
if program > turns * 1.0001:
    sys.exit(f"the program takes {program} ms, its turns {turns} ms")
