"""Damages an exec program and checks that its verifier sees it.

  mutants.py PROGRAM.mlir [--swaps=N]

Every event that is dropped (its record or one of its waits), every transfer that
is dropped and every buffer that is moved onto another one of its device that is
alive at the same time must be rejected by `lwcc-opt --exec-verify-schedule`.
(Swapped calls may be harmless; test/unit/passes/ScheduleMutationTest.cpp judges
those with a brute force.) Prints how many mutants of each kind there were, and a
last line `N rejected, M missed`.
"""

import collections
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def rejected(lines):
    result = subprocess.run(
        ["lwcc-opt", "--exec-verify-schedule", "-o", "/dev/null", "-"],
        input="".join(lines), text=True, capture_output=True)
    return result.returncode == 1 and "error:" in result.stderr


def mutants(lines):
    """(kind, line number, lines) of every mutant."""
    for number, line in enumerate(lines):
        kind = re.match(r'\s*exec\.(record|wait|call "transfer")', line)
        if kind:
            yield (f"dropped {kind[1]}", number,
                   lines[:number] + lines[number + 1:])
    # A result of a call, moved to where an operand of the call lies.
    offsets = {}
    for number, line in enumerate(lines):
        buffer = re.match(r"\s*exec\.buffer \w+ (@\S+) .* on (@\S+) at (\d+)",
                          line)
        if buffer:
            offsets[buffer[1]] = (number, buffer[2], int(buffer[3]))
    for line in lines:
        call = re.match(r'\s*exec\.call "(conv\w*|matmul|concat)" '
                        r"\[(.*?)\] -> \[(.*?)\]", line)
        if not call:
            continue
        ins, outs = (re.findall(r"@[^,\]\s]+", group) for group in call.groups()[1:])
        for name in ins[:1]:
            if name in offsets and outs[0] in offsets:
                number, device, _ = offsets[outs[0]]
                other = offsets[name]
                if other[1] == device and name != outs[0]:
                    moved = re.sub(r"at \d+", f"at {other[2]}", lines[number])
                    yield ("moved buffer", number,
                           lines[:number] + [moved] + lines[number + 1:])


def main():
    with open(sys.argv[1]) as file:
        lines = file.readlines()
    if rejected(lines):
        sys.exit("the program is rejected as it is")
    found = list(mutants(lines))
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda m: rejected(m[2]), found))
    counts = collections.Counter(kind for kind, _, _ in found)
    for kind, count in sorted(counts.items()):
        print(f"{count} {kind}")
    missed = [m for m, verdict in zip(found, verdicts) if not verdict]
    for kind, number, _ in missed:
        print(f"MISSED {kind}: line {number + 1}: {lines[number].strip()}")
    print(f"{len(found) - len(missed)} rejected, {len(missed)} missed")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
