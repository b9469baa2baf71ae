"""Runs what README.md tells its reader to run, in the README's order.

  readme.py ROOT FOLDER

FOLDER becomes the reader's home with a clone in it: links to what ROOT holds, to
the build whose lwcc is on the PATH, and to what tools/setup.sh installed
($LWCC_DEPS). Every fenced `python` block is written to
the file that its first line names (`# NAME.py`); every fenced `sh` block is run
in one and the same shell, which stops at the first command that fails. A block
under a comment `<!-- not run: REASON -->` is not run; of its commands every
--flag must be one that the program's --help lists.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"((?:<!--.*?-->\s*\n)?)^```(\w+)\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)


def make_clone(root, build, deps, folder):
    shutil.rmtree(folder, ignore_errors=True)
    clone = folder / "clone"
    clone.mkdir(parents=True)
    for entry in root.iterdir():
        if not entry.name.startswith((".", "build", "try")):
            (clone / entry.name).symlink_to(entry)
    (clone / "build").symlink_to(build)
    (folder / ".local/share").mkdir(parents=True)
    (folder / ".local/share/lwcc").symlink_to(deps)
    return clone


def commands(block):
    for line in block.replace("\\\n", " ").splitlines():
        words = line.split("#")[0].split()
        if words:
            yield words


def check_flags(block, programs, clone, environment):
    """Checks that each command's program exists and knows its flags."""
    for words in commands(block):
        program = programs.get(words[0], words[0])
        if "/" in program:
            program = str(clone / program)
        helped = subprocess.run([program, "--help"], text=True,
                                capture_output=True, env=environment)
        if helped.returncode:
            sys.exit(f"{program} --help: code {helped.returncode}")
        for word in words[1:]:
            flag = word.split("=")[0]
            if flag.startswith("--") and not re.search(
                    rf"{re.escape(flag)}(?![\w-])", helped.stdout):
                sys.exit(f"{words[0]} has no flag {flag}")


def main():
    root, folder = (Path(name).resolve() for name in sys.argv[1:])
    build = Path(shutil.which("lwcc")).resolve().parents[1]
    deps = Path(os.environ["LWCC_DEPS"]).resolve()
    text = (root / "README.md").read_text()
    clone = make_clone(root, build, deps, folder)
    environment = dict(os.environ, HOME=str(folder))

    script, unmarked, checked, written = [], 0, [], {}
    for comment, language, block in FENCE.findall(text):
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", block)
            if not name:
                sys.exit("a python block does not name its file:\n" + block)
            written[name[1]] = block
        elif language != "sh":
            continue
        elif comment.startswith("<!-- not run:"):
            checked.append(block)
        else:
            unmarked += 1
            script.append(f"echo '--- block {unmarked}'\n{block}")
    (clone / "try").mkdir()
    for name, block in written.items():
        (clone / "try" / name).write_text(block)

    # The shell must find lwcc as the README says, not on the tests' PATH. Trainers choose their
    # threads as the reader's do.
    outside = dict(environment)
    for name in ("OMP_NUM_THREADS", "GOMP_SPINCOUNT"):
        outside.pop(name, None)
    outside["PATH"] = os.pathsep.join(
        entry for entry in os.environ["PATH"].split(os.pathsep)
        if not (Path(entry) / "lwcc").exists())
    ran = subprocess.run(["bash", "-euxo", "pipefail", "-c", "\n".join(script)],
                         cwd=clone, env=outside)
    if ran.returncode:
        sys.exit(f"the README's commands end with code {ran.returncode}")
    # This program is compiled only by a block that is not run; its flags are those of every
    # trainer.
    trainers = {"./mynet-gpu": "try/mynet"}
    for block in checked:
        check_flags(block, trainers, clone, environment)
    print(f"{unmarked} blocks run, {len(checked)} checked, "
          f"{len(written)} Python files used")
    unused = [name for name in written
              if not re.search(rf"^python {name}", "\n".join(script), re.MULTILINE)]
    if unused:
        sys.exit(f"never run: {', '.join(unused)}")


if __name__ == "__main__":
    main()
