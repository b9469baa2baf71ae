"""What groups of samples save: bn_costs.py GLOBAL.json GROUPS.json.

Of the first group of layers in two files of --emit=costs, prints the layers, how many
microseconds less they cost in the second file if they are not cut, and how many more than
that are saved where only samples are cut.
"""

import json
import sys


def main():
    groups = []
    for path in sys.argv[1:]:
        with open(path) as file:
            groups.append(json.load(file)["groups"][0])
    assert groups[0]["layers"] == groups[1]["layers"]
    print(*groups[0]["layers"])
    saved = {tuple(tiling): 1e6 * (before - after)
             for tiling, before, after in zip(groups[0]["tilings"],
                                              *(group["seconds"] for group in groups))}
    uncut = saved[1, 1, 1, 1, 1]
    print(f"no cut: {uncut:.0f} us saved by groups")
    for tiling, microseconds in saved.items():
        if tiling[0] > 1 and max(tiling[1:]) == 1:
            print(f"{' '.join(map(str, tiling))}: {microseconds - uncut:.0f} us more")


if __name__ == "__main__":
    main()
