#!/usr/bin/env python3
"""Checks that files of code have one job, as far as their length tells.

  tools/check_lengths.py [--root DIR]

A file of more than MOST lines is split, or the comment at its top says why it is
one thought: a sentence with "Long because". Lists every file that does neither,
and those that give a reason which they no longer need.
"""
import argparse
import os
import re
import sys

MOST = 400
KINDS = (".cpp", ".h", ".cu", ".cuh", ".td", ".py", ".sh")
REASON = re.compile(r'(?<!")long because', re.I)  # not in quotes, as above


def sources(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders
                            if not each.startswith(("build", ".")))
        for name in sorted(names):
            if name.endswith(KINDS):
                yield os.path.relpath(os.path.join(folder, name), root)


def comment_at_top(lines):
    """The comment before the first line of code, as one line of words."""
    words, quoted = [], False
    for line in lines:
        quotes = line.count('"""')
        if not (quoted or quotes or line.startswith(("//", "#!", "# "))
                or line.strip() in ("#", "")):
            break
        quoted ^= quotes % 2 == 1
        words.append(line.strip(' /#"\n'))
    return " ".join(words)


def check(root):
    problems, count = [], 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines = file.readlines()
        count += 1
        reason = REASON.search(comment_at_top(lines))
        if len(lines) > MOST and not reason:
            problems.append(f"{path}: {len(lines)} lines; split it, or say at its top why it is "
                            "one thought (\"Long because ...\")")
        elif reason and len(lines) <= MOST:
            problems.append(f"{path}: says why it is long, with {len(lines)} lines")
    return count, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    count, problems = check(parser.parse_args().root)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{count} files; none of more than {MOST} lines without a reason")


if __name__ == "__main__":
    main()
