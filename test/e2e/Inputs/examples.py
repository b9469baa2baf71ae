"""Runs the scripts of examples/ in the current folder: examples.py SOURCE.

All of them, and those are the ones that examples/README.md names.
"""

import os
import re
import subprocess
import sys


def main():
    folder = os.path.join(sys.argv[1], "examples")
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".sh"))
    # Scripts call their Python `python`: this one.
    own = os.path.dirname(sys.executable)
    environment = {**os.environ, "PATH": f"{own}:{os.environ['PATH']}"}
    for name in scripts:
        print(f"== {name.removesuffix('.sh')}", flush=True)
        subprocess.run(["sh", os.path.join(folder, name)], check=True, env=environment,
                       stderr=subprocess.STDOUT)
    with open(os.path.join(folder, "README.md")) as file:
        if sorted(set(re.findall(r"\((\w+\.sh)\)", file.read()))) != scripts:
            sys.exit("examples/README.md names other scripts")
    print("all of examples/README.md")


if __name__ == "__main__":
    main()
