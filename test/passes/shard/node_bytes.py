"""Checks the bytes that enter each node: node_bytes.py EXPLAINED NODES BYTES.

EXPLAINED is what --explain prints of a data-parallel program. What is not for
parameters (the loss) is at most a kilobyte.
"""

import re
import sys
from collections import Counter

text, nodes, expected = open(sys.argv[1]).read(), int(sys.argv[2]), int(sys.argv[3])
entering = Counter()
for source, target, count in re.findall(
        r"^  from (\S+) to (\S+): ([\d,]+) bytes", text, re.M):
    homes = [name.split(".")[0] if "." in name else "node0"
             for name in (source, target)]
    if homes[0] != homes[1]:
        entering[homes[1]] += int(count.replace(",", ""))
assert len(entering) == nodes, entering
for node, count in entering.items():
    assert expected <= count <= expected + 1024, (node, count, expected)
