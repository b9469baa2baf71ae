#!/usr/bin/env python3
"""Checks that the rooms of the source tree include each other one way only.

A room is a folder, or a file that has a place of its own. ROOMS lists them from
the lowest to the highest: a room includes only rooms that stand before it, and
of those only what its row says. A row names rooms (a name stands for all rooms
below it, too), and the libraries of FOREIGN.

    tools/check_includes.py                check; every broken rule is a line
    tools/check_includes.py --graph        which room includes which, as Graphviz
    tools/check_includes.py --graph=mermaid

What is checked: the #include lines of the sources, not those of tests, which
may include everything. What a header brings along counts only for NEVER: those
rooms must not even see a library through what they include.
"""

import argparse
import collections
import os
import re
import sys

FOREIGN = ["llvm", "mlir", "onnx", "nlohmann", "dnnl", "cuda"]

# Room, and what it may include of what stands before it.
ROOMS = [
    # What a generated program links.
    ("runtime/core", ""),
    ("runtime/exchange", "runtime/core"),
    ("runtime/cpu", "runtime/core runtime/exchange dnnl"),
    ("runtime/cuda", "runtime/core runtime/exchange cuda"),
    ("runtime/emit", "runtime/core runtime/cpu runtime/cuda"),
    ("runtime/train/files", "runtime/core nlohmann"),
    ("runtime/train/state", "runtime/core runtime/train"),
    ("runtime/train/data", "runtime/core runtime/train"),
    ("runtime/train/report", "runtime/core runtime/train"),
    ("runtime/train/loop", "runtime/core runtime/train"),
    ("runtime/train/ranks", "runtime/core runtime/exchange runtime/train"),
    ("runtime/train/cli", "runtime/core runtime/train"),
    # The forms of a program.
    ("ir", "llvm"),
    ("ir/json", "ir llvm nlohmann"),
    ("ir/place", "ir llvm"),
    ("ir/train", "ir llvm mlir runtime/core"),
    ("ir/exec", "ir llvm mlir runtime/core"),
    ("ir/Precompiled", "ir/train llvm mlir"),
    ("frontend", "ir runtime/core llvm mlir onnx"),
    # From one form to the next. How an operator is cut is known below planning,
    # which asks for it; the checks of forms are known to the passes that keep
    # them.
    ("passes/Passes", "ir llvm mlir"),
    ("passes/differentiate", "ir passes llvm mlir"),
    ("passes/shard", "ir passes llvm mlir"),
    ("passes/plan/machine", "ir llvm"),
    ("passes/plan/minsum", "llvm"),
    ("passes/plan/hypergraph", "llvm"),
    ("passes/plan/model", "ir passes llvm mlir"),
    ("passes/plan/price", "ir passes llvm"),
    ("passes/plan/solve", "ir passes llvm"),
    ("passes/plan", "ir passes llvm mlir nlohmann"),
    ("passes/verify", "ir passes/Passes llvm mlir"),
    ("passes/schedule", "ir passes/Passes passes/verify llvm mlir"),
    ("passes/memory", "ir passes/Passes passes/verify llvm mlir"),
    ("passes/Pipeline", "passes llvm mlir"),
    ("codegen", "ir llvm mlir"),
    # Programs. They link nothing of the runtime but what writes files, and what
    # executes a program without a compiler.
    ("tools/report", "ir passes/plan llvm"),
    ("tools/driver", "ir frontend passes codegen tools/report llvm mlir "
                     "runtime/core runtime/train/files"),
    ("tools/lwcc", "ir frontend passes codegen tools/driver llvm mlir"),
    ("tools/lwcc-opt", "ir passes tools/driver llvm mlir"),
    ("tools/lwcc-translate", "ir frontend codegen tools/driver llvm mlir"),
    ("tools/lwcc-run", "ir passes codegen tools/driver runtime llvm mlir"),
    ("tools/planner-bench", "ir passes tools/driver llvm mlir"),
]

# Not even through what they include: the runtime is built without LLVM, and
# prices, machines and solvers are tested without MLIR.
NEVER = [
    ("runtime", "llvm mlir onnx"),
    ("passes/plan/machine", "mlir"),
    ("passes/plan/minsum", "mlir"),
    ("passes/plan/hypergraph", "mlir"),
    ("passes/plan/price", "mlir"),
    ("passes/plan/solve", "mlir"),
    ("tools/report", "mlir"),
    ("ir/json", "mlir"),
    ("ir/place", "mlir"),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inc", ".def")
TOP = sorted({room.split("/")[0] for room, _ in ROOMS})


def covers(room, path):
    """Whether a room of this name holds a path, or is above the room that does."""
    return path == room or path.startswith((room + "/", room + "."))


def room_of(path):
    """The rank of the room that holds a file: the longest name wins."""
    ranks = [i for i, (room, _) in enumerate(ROOMS) if covers(room, path)]
    return max(ranks, key=lambda i: len(ROOMS[i][0]), default=None)


def library_of(include):
    for library in FOREIGN:
        if re.match(rf"{library}(/|\w*\.h)|{library}\w*/", include):
            return library
    if re.match(r"cu(dnn|blas)\w*\.h|nvtx3/", include):
        return "cuda"
    return None


def sources(root):
    """The #includes of every source file, by its path."""
    includes = {}
    for top in TOP:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for file in sorted(files):
                if file.endswith(SOURCES):
                    path = os.path.join(folder, file)
                    with open(path, encoding="utf-8") as text:
                        includes[os.path.relpath(path, root)] = INCLUDE.findall(
                            text.read())
    return includes


def seen_through(includes, start):
    """The libraries that a file sees, each with the file that includes it."""
    seen, found, todo = {start}, {}, [start]
    while todo:
        file = todo.pop()
        for include in includes[file]:
            if library := library_of(include):
                found.setdefault(library, file)
            elif include in includes and include not in seen:
                seen.add(include)
                todo.append(include)
    return found


def is_ours(include):
    return include.split("/")[0] in TOP and "/" in include


def check(includes):
    problems = []
    for file, names in includes.items():
        rank = room_of(file)
        if rank is None:
            problems.append(f"{file}: lies in no room; ROOMS needs a row")
            continue
        room, row = ROOMS[rank]
        allowed = row.split()
        for include in names:
            library = library_of(include)
            if library:
                if library not in allowed:
                    problems.append(f"{file}: {room} does not include {library} "
                                    f"({include})")
                continue
            if not is_ours(include):
                continue
            other = room_of(include)
            if other == rank:
                continue
            if other is None:
                problems.append(f"{file}: {include} lies in no room")
            elif other > rank:
                problems.append(f"{file}: includes {include}, but {room} stands "
                                f"below {ROOMS[other][0]}")
            elif not any(covers(name, include) for name in allowed):
                problems.append(f"{file}: {room} does not include "
                                f"{ROOMS[other][0]} ({include})")
        for above, libraries in NEVER:
            if covers(above, file):
                for library, through in seen_through(includes, file).items():
                    if library in libraries.split() and through != file:
                        problems.append(
                            f"{file}: {above} must not see {library}, which it "
                            f"does through {through}")
    return problems


def edges(includes):
    """How many #includes lead from one room to another."""
    count = collections.Counter()
    for file, names in includes.items():
        for include in filter(is_ours, names):
            pair = room_of(file), room_of(include)
            if None not in pair and pair[0] != pair[1]:
                count[pair] += 1
    return sorted(count.items())


def graphviz(includes):
    """Higher rooms above lower ones; an arrow that leads up is red."""
    used = sorted({room_of(f) for f in includes} - {None})
    lines = ["digraph rooms {", '  node [shape=box, fontname="sans-serif"];']
    for top in TOP:
        lines += [f'  subgraph "cluster_{top}" {{', f'    label="{top}";']
        lines += [f'    "{ROOMS[i][0]}";' for i in used if covers(top, ROOMS[i][0])]
        lines.append("  }")
    for (a, b), n in edges(includes):
        up = ", color=red" if b > a else ""
        lines.append(f'  "{ROOMS[a][0]}" -> "{ROOMS[b][0]}" [label={n}{up}];')
    return "\n".join([*lines, "}"])


def mermaid(includes):
    used = sorted({room_of(f) for f in includes} - {None})
    lines = ["flowchart TD"]
    for top in TOP:
        lines.append(f"  subgraph {top}-house[{top}]")
        lines += [f'    r{i}["{ROOMS[i][0]}"]' for i in used
                  if covers(top, ROOMS[i][0])]
        lines.append("  end")
    for (a, b), n in edges(includes):
        arrow = "==" if b > a else "--"
        lines.append(f"  r{a} {arrow}>|{n}| r{b}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))), help="of the source tree")
    parser.add_argument("--graph", nargs="?", const="dot",
                        choices=["dot", "mermaid"],
                        help="print which room includes which")
    options = parser.parse_args()
    includes = sources(options.root)
    if not includes:
        sys.exit(f"{options.root}: holds no sources")
    if options.graph:
        print((graphviz if options.graph == "dot" else mermaid)(includes))
        return
    problems = check(includes)
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(includes)} files in {len(ROOMS)} rooms; no room includes one "
          f"above it")


if __name__ == "__main__":
    main()
