"""check_trace.py EXEC TRACE STEPS: a trace holds the calls of the program, lane
by lane in its order, once in each of STEPS steps, on the lanes' tracks."""
import collections
import json
import re
import sys

program, trace, steps = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), int(sys.argv[3])

lanes = re.findall(r"exec\.lane \w+ @(\S+) on @gpu(\d+)", program)
body = program[program.index("exec.sequence @train_step"):].split("exec.sequence", 2)[1]
expected = collections.defaultdict(list)
for callee, lane, layer, phase in re.findall(
        r'exec\.call "(\w+)" .*? on @(\S+) for "([^"]*)" (\w+)', body):
    expected[lane].append((callee, phase, layer))

events = trace["traceEvents"]
names = {e["tid"]: (e["args"]["name"], str(e["pid"])) for e in events if e["name"] == "thread_name"}
assert [names[tid] for tid in sorted(names)] == lanes, (names, lanes)

calls = collections.defaultdict(list)
for e in events:
    if e["ph"] == "X":
        assert str(e["pid"]) == names[e["tid"]][1], e
        calls[e["args"]["step"], names[e["tid"]][0]].append(e)
assert len({step for step, _ in calls}) == steps
for (step, lane), found in calls.items():
    assert [(e["name"], e["cat"], e["args"]["layer"]) for e in found] == expected[lane], (step, lane)
    assert [e["args"]["call"] for e in found] == list(range(len(found)))
    for e, following in zip(found, found[1:]):
        assert e["ts"] + e["dur"] <= following["ts"] + 1e-6, (e, following)
assert len(calls) == steps * len(expected)
print(*(f"{lane}: {len(expected[lane])} calls" for lane, _ in lanes if expected[lane]), sep="\n")
