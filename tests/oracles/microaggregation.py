"""Plain twins of the kernels in `shoal/kernels/microaggregation.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np


def mdav(points, labels, weights, starts, k):
    total = points.shape[1] if len(points) else labels.shape[1]
    left = list(range(total))
    groups = []

    def between(row, other):
        numbers = sum((float(c[row]) - float(c[other])) ** 2 for c in points)
        return numbers + sum(float(w) for c, w in zip(labels, weights, strict=True) if c[row] != c[other])

    def from_centre(row):
        far = 0.0
        for column in points:
            far += (float(column[row]) - sum(float(column[i]) for i in left) / len(left)) ** 2
        for j, column in enumerate(labels):
            # A label is a corner of a simplex with edges of this squared length; the centre lies inside.
            corners = range(starts[j + 1] - starts[j])
            centre = [sum(column[i] == a for i in left) / len(left) for a in corners]
            off = sum(((column[row] == a) - centre[a]) ** 2 for a in corners)
            far += 0.5 * float(weights[j]) * off
        return far

    def take(seed):
        others = sorted((i for i in left if i != seed), key=lambda i: (between(seed, i), i))
        groups.append([seed, *others[: k - 1]])
        left[:] = [i for i in left if i not in groups[-1]]

    while len(left) >= 2 * k:
        twice = len(left) >= 3 * k
        away = {i: from_centre(i) for i in left}
        far = max(left, key=lambda i: (round(away[i], 9), -i))
        take(far)
        if twice:
            take(max(left, key=lambda i: (round(between(far, i), 9), -i)))
    groups.append(list(left))
    out = np.zeros(total, np.int32)
    for number_, members in enumerate(groups):
        out[members] = number_
    return out


def best_cuts(values, k):
    total = len(values)

    def cost(cuts):
        ends = [*cuts[1:], total]
        parts = [values[a:b] for a, b in zip(cuts, ends, strict=True)]
        return sum(sum((v - sum(part) / len(part)) ** 2 for v in part) for part in parts)

    choices = [
        (0, *cuts)
        for many in range(total)
        for cuts in itertools.combinations(range(1, total), many)
        if all(b - a >= k for a, b in pairwise((0, *cuts, total)))
    ]
    return np.array(min(choices, key=cost), np.int64)
