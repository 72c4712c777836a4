"""Plain twins of the kernels in `shoal/kernels/bucket_posterior.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
import math


def share_values(first, mass, begin, count, logs, most, out):
    at = 0
    for b in range(len(first) - 1):
        people, values = first[b + 1] - first[b], begin[b + 1] - begin[b]
        if people == 0 or values == 0:
            continue
        fit = [[math.exp(logs[at + i * values + v]) for v in range(values)] for i in range(people)]
        mine = [float(one) for one in mass[first[b] : first[b + 1]]]
        counts = [int(one) for one in count[begin[b] : begin[b + 1]]]
        choices = math.prod(one + 1 for one in counts)
        exact = choices <= most and all(one == 1 for one in mine) and sum(counts) == people
        found = assign(fit, counts) if exact else balance(fit, mine, counts)
        for i in range(people):
            for v in range(values):
                out[at + i * values + v] = found[i][v]
        at += people * values


def assign(fit, counts):
    """Try every assignment of the values to the people."""
    people, total = len(fit), 0.0
    found = [[0.0] * len(counts) for _ in fit]
    values = [v for v, many in enumerate(counts) for _ in range(many)]
    for given in set(itertools.permutations(values)):
        weight = math.prod(fit[i][given[i]] for i in range(people))
        total += weight
        for i in range(people):
            found[i][given[i]] += weight
    return [[one / total for one in row] for row in found]


def balance(fit, mass, counts):
    """Scale rows and columns in turn, 50 times."""
    now = [list(row) for row in fit]
    for _ in range(50):
        away = max(abs(sum(row) - many) for row, many in zip(now, mass, strict=True))
        now = [[one * many / sum(row) for one in row] for row, many in zip(now, mass, strict=True)]
        sums = [sum(row[v] for row in now) for v in range(len(counts))]
        now = [[row[v] * counts[v] / sums[v] for v in range(len(counts))] for row in now]
        if away < 1e-6:
            break
    return [[one * many / sum(row) for one in row] for row, many in zip(now, mass, strict=True)]
