#!/usr/bin/env python3
"""Checks how the C++ code is written: its layout and what clang-tidy says.

  tools/style.py [--files=N] [--all] [--fix]

clang-format looks at every file; with --fix it mends them. clang-tidy takes
seconds a file and looks at those that were changed since the last commit but
one, at most N of them (12); with --all at every one. What is good is remembered
in $LWCC_BUILD/style (default build/) and not looked at again until the file, the
header of its name or .clang-tidy changes; so --all may be stopped and run again.
The last line is `N passed, M failed`.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("LWCC_BUILD", os.path.join(ROOT, "build"))
SEEN = os.path.join(BUILD, "style")
# omp.h, which clang has only with a runtime of its own.
COMPILER_HEADERS = subprocess.run(["g++", "-print-file-name=include"], text=True,
                                  stdout=subprocess.PIPE).stdout.strip()


def git(*arguments):
    result = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    return result.stdout.split("\n")[:-1] if result.returncode == 0 else []


def sources():
    """Paths below the root: what git knows or could be given; without git (an
    archive), everything outside of build folders."""
    kinds = (".cpp", ".h", ".cu", ".cuh")
    found = git("ls-files", "-co", "--exclude-standard")
    if not found:
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [each for each in folders if not each.startswith(("build", "."))]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted({path for path in found if path.endswith(kinds) and
                   os.path.exists(os.path.join(ROOT, path))})


def check_layout(files, fix):
    """The files whose layout is not clang-format's."""
    command = ["clang-format-22", *(["-i"] if fix else ["--dry-run", "-Werror"])]
    result = subprocess.run([*command, *files], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    bad = sorted({line.split(":")[0] for line in result.stderr.split("\n")
                  if ": error: " in line})
    if result.returncode and not bad:
        sys.exit(f"style.py: clang-format-22 failed: {result.stderr.strip()}")
    for path in bad:
        print(f"{path}: not laid out by clang-format-22 (tools/style.py --fix)")
    return bad


def state_of(path):
    digest = hashlib.sha256()
    for part in (path, os.path.splitext(path)[0] + ".h", ".clang-tidy"):
        full = os.path.join(ROOT, part)
        if os.path.exists(full):
            with open(full, "rb") as file:
                digest.update(file.read() + b"\0")
    return digest.hexdigest()


def memory_of(path):
    return os.path.join(SEEN, path.replace("/", "+"))


def is_known(path):
    try:
        with open(memory_of(path)) as file:
            return file.read() == state_of(path)
    except FileNotFoundError:
        return False


def tidy(path):
    """What clang-tidy says of a file, "" if nothing."""
    state = state_of(path)
    result = subprocess.run(["clang-tidy-22", "--quiet", "--warnings-as-errors=*", "-p", SEEN,
                             f"--extra-arg=-idirafter{COMPILER_HEADERS}", path], cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode:
        return result.stdout.strip() or result.stderr.strip()
    with open(memory_of(path), "w") as file:
        file.write(state)
    return ""


def check_names(files, every, most):
    """How many of the files clang-tidy has something against."""
    # How each file would be compiled by itself, without what g++ has precompiled:
    # clang cannot read that, and a file has to include what it uses. Generated
    # headers are those of the build.
    alone = os.path.join(SEEN, "alone")
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", alone, "-DLWCC_UNITY=OFF",
                    "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(alone, "compile_commands.json")) as file:
        commands = json.loads(file.read().replace(alone, BUILD))
    built = {os.path.relpath(entry["file"], ROOT) for entry in commands}
    with open(os.path.join(SEEN, "compile_commands.json"), "w") as file:
        json.dump(commands, file)
    changed = set(git("diff", "--name-only", "HEAD~1")) | set(
        git("ls-files", "-o", "--exclude-standard"))
    todo = [path for path in files if path.endswith(".cpp") and path in built and
            (every or path in changed) and not is_known(path)]
    found = len(todo)
    if not every:
        todo = todo[:most]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for path, complaint in zip(todo, pool.map(tidy, todo)):
            if complaint:
                bad += 1
                print(f"{path}: clang-tidy-22:\n{complaint}")
    left = f"; {found - len(todo)} more are changed" if found > len(todo) else ""
    print(f"clang-tidy: looked at {len(todo)} files{left}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=12,
                        help="how many of the changed files clang-tidy looks at")
    parser.add_argument("--all", action="store_true", help="clang-tidy looks at every file")
    parser.add_argument("--fix", action="store_true", help="mend the layout")
    arguments = parser.parse_args()
    files = sources()
    unlike = check_layout(files, arguments.fix)
    bad = check_names(files, arguments.all, arguments.files)
    # clang-tidy is one check, however many files it has come to.
    failed = len(unlike) + bad
    print(f"{len(files) - len(unlike) + (bad == 0)} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
