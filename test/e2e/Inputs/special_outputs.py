"""Checks outputs that are links, devices, pipes or cannot be written.

  special_outputs.py FOLDER [--program] COMMAND...   {} stands for the output

Devices and pipes are written into and stay what they are. A link stays, and the file that
it points to is replaced. No other file appears. Devices are made in FOLDER if the system
allows it. With --program the output is a program, which must be executable if it is a
file. Every run must write the same bytes.
"""

import os
import shutil
import stat
import subprocess
import sys
import threading


def kind(path):
    return stat.S_IFMT(os.lstat(path).st_mode)


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    program = command[0] == "--program"
    command = command[program:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)

    def run(path):
        before = {name: kind(name) for name in os.listdir()}
        result = subprocess.run([word.replace("{}", path) for word in command],
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        after = {name: kind(name) for name in os.listdir()}
        for name, was in before.items():
            assert after.pop(name) == was, f"{path}: {name} is something else"
        return result, after

    def succeed(path, appears=None):
        result, new = run(path)
        assert result.returncode == 0, (path, result.stderr)
        assert list(new) == ([appears] if appears else []), (path, new)

    succeed("file", appears="file")
    with open("file", "rb") as file:
        wanted = file.read()
    assert wanted and (not program or os.access("file", os.X_OK))

    def check(path):
        with open(path, "rb") as file:
            assert file.read() == wanted, f"{path} has other contents"

    # Files: replaced, also behind links; permissions stay.
    with open("target", "w") as file:
        file.write("old")
    os.chmod("target", 0o640)
    os.symlink("target", "link")
    os.symlink("link", "chain")
    os.symlink("nothing", "dangling")
    for link in ("link", "chain"):
        succeed(link)
        check("target")
    assert os.stat("target").st_mode & 0o666 == 0o640
    succeed("dangling", appears="nothing")
    check("nothing")

    # A pipe: its reader gets everything.
    os.mkfifo("pipe")
    for path in ("pipe", "link to pipe"):
        if path != "pipe":
            os.symlink("pipe", path)
        got = []
        reader = threading.Thread(
            target=lambda: got.append(open("pipe", "rb").read()))
        reader.start()
        succeed(path)
        reader.join()
        assert got == [wanted], f"{path} gave other bytes"

    # Devices: /dev/null accepts everything, /dev/full nothing.
    try:
        os.mknod("null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod("full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        open("null", "w").close()
    except OSError:
        print("no devices can be made here")
    else:
        succeed("null")
        os.symlink("null", "link to null")
        succeed("link to null")
        result, new = run("full")
        assert result.returncode == 1 and not new
        assert "error: cannot write full: No space left" in result.stderr

    # Outputs that cannot be written: an error, and nothing else changes.
    os.mkdir("folder")
    for path in ("folder", "file/inside", "nowhere/file"):
        result, new = run(path)
        assert result.returncode == 1 and not new, path
        assert f"error: cannot write {path}: " in result.stderr, result.stderr
    print("good")


if __name__ == "__main__":
    main()
