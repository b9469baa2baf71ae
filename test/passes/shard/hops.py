"""Checks the order of an exchange over groups of nodes: hops.py SHARDED SHAPE.

SHARDED is a program of the form `sharded`, SHAPE that of a part of one weight
alone. Whatever devices sum for owners comes before the first update, and all
that they will pass on before the first transfer that does so: a lane that waits
for another one holds back what is behind it.
"""

import re
import sys


def main():
    text, shape = open(sys.argv[1]).read(), sys.argv[2]
    step = text[text.index("@train_step"):text.index("@evaluate")]
    sums, updates, passings = [], [], []  # when they are
    new, fetched, relays = set(), {}, set()
    pattern = rf"(%\w+)(?:, %\w+)* = train\.(sum|sgd|transfer)\((%\w+).*-> \(?tensor<{shape},"
    for time, (result, op, operand) in enumerate(re.findall(pattern, step)):
        if op == "sum":
            sums.append(time)
        elif op == "sgd":
            updates.append(time)
            new.add(result)
        elif operand in new:
            fetched[result] = time
        elif operand in fetched:
            relays.add(operand)
            passings.append(time)
    assert max(sums) < min(updates), (sums, updates)
    last = max(fetched[relay] for relay in relays)
    assert last < min(passings), (last, passings)


if __name__ == "__main__":
    main()
