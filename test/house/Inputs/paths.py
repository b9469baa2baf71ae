"""Finds paths in documents that lead nowhere.

  paths.py ROOT FILE.md ...

A path is a link's target, or a word in `code` that contains a slash and begins
with a folder of ROOT, or "../"; or one that ends like a source file. It must exist
below ROOT or beside the document; a word without a slash must be the name of
some file below ROOT. `DIR/{a,b}.h` names two files, `*` stands for any name.
What is generated (build/ and what a reader makes) is not looked for.
"""

import glob
import os
import re
import subprocess
import sys

SOURCE = re.compile(r"[\w./{},*+-]+\.(cpp|h|cu|cuh|td|def|py|sh|test|mlir|json|md|cmake|svg)")
GENERATED = ("build", "try", "digits", "mydata", "photos", "checkpoints", "model.",
             "mynet", "export.py", "arrays.py", "use.py", "plan.json", "costs.json", "images.npy", "labels.npy")


def documents_paths(text):
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from (link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose)
                if "://" not in link and not link.startswith("#"))
    for code in re.findall(r"`([^`]+)`", prose):
        yield from code.split()


def alternatives(path):
    """DIR/{a,b}.h is DIR/a.h and DIR/b.h."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [rest for word in found[1].split(",")
            for rest in alternatives(path[:found.start()] + word + path[found.end():])]


def main():
    root, missing = sys.argv[1], []
    listed = subprocess.run(["git", "-C", root, "ls-files"], text=True,
                            capture_output=True).stdout.splitlines()
    if not listed:  # no repository: what lies there
        listed = [os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names]
    names = {os.path.basename(path) for path in listed}
    folders = {path.split("/")[0] for path in listed if "/" in path}
    count = 0
    for document in sys.argv[2:]:
        beside = os.path.dirname(document)
        with open(document) as file:
            text = file.read()
        for word in documents_paths(text):
            word = word.strip(",.:;()").split(":")[0]
            first = word.split("/")[0]
            path = "/" in word and (first in folders or first == "..")
            if not path and not SOURCE.fullmatch(word):
                continue
            if word.startswith(GENERATED) or word.startswith(("/", "~", "$", "-")):
                continue
            count += 1
            for one in alternatives(word):
                if "/" not in one and one in names:
                    continue
                if not (glob.glob(os.path.join(root, one))
                        or glob.glob(os.path.join(beside, one))):
                    missing.append(f"{os.path.relpath(document, root)}: {one}")
    print("\n".join(missing + [f"{count} paths, {len(missing)} lead nowhere"]))
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
