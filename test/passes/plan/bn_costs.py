"""The saving of local statistics: bn_costs.py GLOBAL.json LOCAL.json.

Prints, of the first group of layers in two files of --emit=costs, the layers, and for each
tiling how many microseconds less it costs in the second file.
"""

import json
import sys


def main():
    groups = []
    for path in sys.argv[1:]:
        with open(path) as file:
            groups.append(json.load(file)["groups"][0])
    print(*groups[0]["layers"])
    for tiling, *seconds in zip(groups[0]["tilings"],
                                *(group["seconds"] for group in groups)):
        print(f"{' '.join(map(str, tiling))}: {1e6 * (seconds[0] - seconds[1]):.0f}"
              " us saved by local statistics")


if __name__ == "__main__":
    main()
