"""Checks the example of passes/README.md: readme.py README.md LWCC-OPT.

The first code block is a program in the form imported. After the passes of each
form, the lines of that form's block must be in the output, in their order; "..."
stands for anything within a line, and spaces for one or more.
"""

import re
import subprocess
import sys

FORMS = {
    "imported": [],
    "differentiated": ["-train-add-loss", "-train-split-modes",
                       "-train-autodiff", "-train-decompose", "-canonicalize",
                       "-cse", "-train-fuse", "-canonicalize",
                       "-train-phases"],
    "planned": ["-train-plan=strategy=data gpus=2"],
    "sharded": ["-train-shard", "-train-phases"],
    "scheduled": ["-train-schedule"],
    "exec": ["-train-to-exec", "-exec-plan-memory", "-exec-verify-schedule"],
}


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    blocks = dict(re.findall(r"\*\*(\w+)\.\*\*.*?```mlir\n(.*?)```", text,
                             re.DOTALL))
    assert list(blocks) == list(FORMS), f"blocks: {list(blocks)}"
    program = blocks["imported"]
    for form, passes in FORMS.items():
        result = subprocess.run(
            [sys.argv[2], *passes, f"-lwcc-verify-form=form={form}"],
            input=program, text=True, capture_output=True)
        if result.returncode:
            sys.exit(f"{form}: {result.stderr}")
        program, rest = result.stdout, result.stdout
        for line in blocks[form].splitlines() if passes else []:
            pattern = ".*".join(
                r"\s+".join(map(re.escape, part.split()))
                for part in re.split(r"\s*\.\.\.\s*", line.strip()))
            found = re.search(pattern, rest)
            if not found:
                sys.exit(f"{form}: not found (behind the lines before it): "
                         f"{line}\n{program}")
            rest = rest[found.end():]
        print(f"{form}: as the README shows it")


if __name__ == "__main__":
    main()
