"""Do two ways to tell how long plans take agree on their order?"""

import math
from itertools import combinations


def tau(rows):
    """Kendall's tau-b of the second and the third column of rows: 1 if their orders
    agree, -1 if they are opposite. Pairs that are equal in both count for nothing."""
    pairs = [(a[1] - b[1], a[2] - b[2]) for a, b in combinations(rows, 2)]
    agreed = (sum(x * y > 0 for x, y in pairs) - sum(x * y < 0 for x, y in pairs))
    apart = math.prod(sum(pair[i] != 0 for pair in pairs) for i in (0, 1))
    return agreed / math.sqrt(apart) if apart else 1.0
