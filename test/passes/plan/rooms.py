"""Checks the include rules of passes/plan: rooms.py REPOSITORY.

README.md there has a table of rooms; a room includes only rooms above it in the
table. Besides, only some files look at MLIR, and README.md names them.
"""

import pathlib
import re
import sys

# What a room may include besides rooms: plain C++.
PLAIN = ("ir/json/", "ir/place/", "ir/InputFile.h", "ir/Size.h",
         "passes/shard/Box.h", "passes/shard/Updates.h")
LLVM = "llvm/"


def main():
    root = pathlib.Path(sys.argv[1])
    folder = root / "passes" / "plan"
    readme = (folder / "README.md").read_text()
    rooms = re.findall(r"^\| `(\w+)/` \|", readme, re.MULTILINE)
    found = sorted(p.name for p in folder.iterdir() if p.is_dir())
    mistakes = []
    if sorted(rooms) != found:
        mistakes.append(f"README.md names the rooms {rooms}, there are {found}")
    with_mlir = {pathlib.Path(name).stem for name in
                 re.findall(r"`(?:model/)?(\w+\.cpp)`",
                            re.search(r"files look at MLIR:.*?\n\n", readme,
                                      re.DOTALL)[0])}
    for file in sorted(folder.rglob("*")):
        if file.suffix not in (".h", ".cpp") or file.parent == folder:
            continue
        name = file.relative_to(folder)
        allowed = rooms[:rooms.index(file.parent.name) + 1]
        for include in re.findall(r'#include "(.*)"', file.read_text()):
            room = re.match(r"passes/plan/(\w+)/", include)
            if room:
                if room[1] not in allowed:
                    mistakes.append(f"{name} includes {include}: its room is "
                                    f"above {room[1]} in README.md")
                elif (pathlib.Path(include).stem in ("BuildGraph", "Call",
                                                     "ReadProgram")
                      and file.stem not in with_mlir):
                    mistakes.append(f"{name} includes {include}, which brings "
                                    "MLIR along")
            elif (not include.startswith((LLVM,) + PLAIN)
                  and file.stem not in with_mlir):
                mistakes.append(f"{name} includes {include}: planning is plain "
                                "C++ but for what README.md names")
    if mistakes:
        sys.exit("\n".join(mistakes))


main()
