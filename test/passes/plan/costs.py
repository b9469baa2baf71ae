"""Solves --emit=costs independently: costs.py COSTS.json PLAN.json.

Dynamic programming over the groups of a chain of layers. The minimum must be the cost of
the plan that `layerwise` found, to the last bits, and no plan that differs from it in one
group may be cheaper.
"""

import json
import sys


def main():
    with open(sys.argv[1]) as file:
        costs = json.load(file)
    with open(sys.argv[2]) as file:
        layers = json.load(file)["layers"]
    groups = costs["groups"]
    edges = {(e["from"], e["to"]): e["seconds"] for e in costs["edges"]}
    assert all(b == a + 1 for a, b in edges), "expected a chain"

    def edge(a, i, j):
        width = len(groups[a + 1]["tilings"])
        return edges[a, a + 1][i * width + j] if (a, a + 1) in edges else 0

    best = groups[0]["seconds"]
    for a in range(len(groups) - 1):
        best = [min(best[i] + edge(a, i, j) for i in range(len(best))) + own
                for j, own in enumerate(groups[a + 1]["seconds"])]

    def degrees(name):
        return [layers[name].get(d, 1) for d in "nchwk"]

    choice = [g["tilings"].index(degrees(g["layers"][0])) for g in groups]

    def total(choice):
        return (sum(g["seconds"][i] for g, i in zip(groups, choice)) +
                sum(edge(a, choice[a], choice[a + 1])
                    for a in range(len(groups) - 1)))

    found = total(choice)
    assert abs(found - min(best)) <= 1e-12 * found, (found, min(best))
    for g, group in enumerate(groups):
        for i in range(len(group["tilings"])):
            assert total(choice[:g] + [i] + choice[g + 1:]) >= found * (1 - 1e-12)
    print(f"{len(groups)} groups, {sum(len(g['tilings']) for g in groups)} "
          "tilings: the plan is the cheapest")


if __name__ == "__main__":
    main()
