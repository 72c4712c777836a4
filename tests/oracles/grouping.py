"""Plain twins of the kernels in `shoal/kernels/grouping.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def distinct(matrix):
    seen = {}
    numbers = [seen.setdefault(tuple(row), len(seen)) for row in matrix.tolist()]
    first = [numbers.index(number) for number in range(len(seen))]
    return np.array(numbers, np.int32), np.array(first, np.int64)


def distinct_rows(columns, rows=None):
    cells = list(zip(*(column.tolist() for column in columns), strict=True)) if columns else [()] * rows
    seen = {}
    numbers = [seen.setdefault(row, len(seen)) for row in cells]
    return np.array(numbers, np.int32), np.array(
        [numbers.index(number) for number in range(len(seen))], np.int64
    )


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


def merge_histograms(start, value, count, numbers, groups, codes):
    group_of = np.repeat(numbers, np.diff(start))
    return histograms(group_of, groups, value, count)


def kept_histograms(start, value, count, good):
    kept = [g for g in range(len(good)) if good[g]]
    pieces = [slice(start[g], start[g + 1]) for g in kept]
    ends = np.cumsum([0, *(start[g + 1] - start[g] for g in kept)])
    return (
        np.array(ends, np.int64),
        np.array([code for piece in pieces for code in value[piece]], np.int32),
        np.array([number for piece in pieces for number in count[piece]], np.int64),
    )


def group_sizes(group_of, groups, weights):
    return np.array(
        [
            sum(int(w) for g, w in zip(group_of, weights, strict=True) if g == wanted)
            for wanted in range(groups)
        ],
        np.int64,
    )


def by_value(values, of, count):
    start = [sum(value < limit for value in values) for limit in range(count + 1)]
    found = [of[row] for row in sorted(range(len(values)), key=lambda row: (values[row], row))]
    return np.array(start, np.int64), np.array(found, np.int32)
