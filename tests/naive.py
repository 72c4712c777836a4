"""Plain references: one same-named twin for every kernel, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def distinct(matrix):
    seen = {}
    numbers = [seen.setdefault(tuple(row), len(seen)) for row in matrix.tolist()]
    first = [numbers.index(number) for number in range(len(seen))]
    return np.array(numbers, np.int32), np.array(first, np.int64)


def pack(keys, values, lowest, span):
    keys[:] = [int(key) * span + int(value) - lowest for key, value in zip(keys, values, strict=True)]


def number(keys):
    return distinct(np.asarray(keys).reshape(-1, 1))


def histograms(group_of, groups, codes, weights):
    start, value, count = [0], [], []
    for g in range(groups):
        inside = {}
        for number, code, weight in zip(group_of, codes, weights, strict=True):
            if number == g:
                inside[int(code)] = inside.get(int(code), 0) + int(weight)
        for code in sorted(inside):
            value.append(code)
            count.append(inside[code])
        start.append(len(value))
    return np.array(start, np.int64), np.array(value, np.int32), np.array(count, np.int64)


def bounds(codes, group_of, groups):
    members = [
        [code for code, g in zip(codes, group_of, strict=True) if g == wanted] for wanted in range(groups)
    ]
    low = [min(m, default=np.iinfo(np.int32).max) for m in members]
    high = [max(m, default=-1) for m in members]
    return np.array(low, np.int32), np.array(high, np.int32)
