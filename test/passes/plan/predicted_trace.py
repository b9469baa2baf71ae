"""Checks a predicted trace against its program.

  predicted_trace.py TRACE.json PROGRAM.mlir

Every call of the training step is there once, on its lane and in its order, and
no two of a lane overlap.
"""

import json
import re
import sys
from collections import defaultdict

events = json.load(open(sys.argv[1]))["traceEvents"]
names = {e["tid"]: e["args"]["name"] for e in events
         if e["name"] == "thread_name"}
found = defaultdict(list)
for e in events:
    if e["ph"] == "X":
        found[names[e["tid"]]].append(e)

program = open(sys.argv[2]).read()
step = re.search(r"exec.sequence @train_step \{(.*?)\n    \}", program, re.S)[1]
wanted = defaultdict(list)
for callee, lane in re.findall(r'exec.call "(\w+)".* on @([\w.]+) for', step):
    wanted[lane].append(callee)
assert wanted and set(wanted) <= set(names.values()), names
for lane, callees in wanted.items():
    calls = found[lane]
    assert [e["name"] for e in calls] == callees, lane
    assert [e["args"]["call"] for e in calls] == list(range(len(calls)))
    for a, b in zip(calls, calls[1:]):
        assert a["ts"] + a["dur"] <= b["ts"] + 0.002, (a, b)
