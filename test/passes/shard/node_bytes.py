"""Checks the bytes that enter each node: node_bytes.py EXPLAINED NODES BYTES.

EXPLAINED is what --explain prints of a data-parallel program. What is not for
parameters (the loss) is at most a kilobyte.
"""

import re
import sys
from collections import Counter


def entering(explained):
    """The bytes of a step that enter each node, by its name."""
    bytes_of = Counter()
    for source, target, count in re.findall(
            r"^  from (\S+) to (\S+): ([\d,]+) bytes", explained, re.M):
        homes = [name.split(".")[0] if "." in name else "node0"
                 for name in (source, target)]
        if homes[0] != homes[1]:
            bytes_of[homes[1]] += int(count.replace(",", ""))
    return bytes_of


def main():
    nodes, expected = int(sys.argv[2]), int(sys.argv[3])
    found = entering(open(sys.argv[1]).read())
    assert len(found) == nodes, found
    for node, count in found.items():
        assert expected <= count <= expected + 1024, (node, count, expected)


if __name__ == "__main__":
    main()
