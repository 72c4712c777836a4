"""Plain references: one same-named twin for every kernel, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import pairwise

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


def group_sizes(group_of, groups, weights):
    return np.array(
        [sum(int(w) for g, w in zip(group_of, weights, strict=True) if g == wanted) for wanted in range(groups)],
        np.int64,
    )


def top_counts(start, count, many):
    runs = [sorted(count[a:b].tolist(), reverse=True) for a, b in pairwise(start)]
    largest = [max(run, default=0) for run in runs]
    return np.array(largest, np.int64), np.array([sum(run[:many]) for run in runs], np.int64)


def group_entropies(start, count, size):
    entropies = []
    for g in range(len(size)):
        shares = [c / size[g] for c in count[start[g] : start[g + 1]]]
        entropies.append(-sum(share * np.log(share) for share in shares))
    return np.array(entropies, np.float64)


def level_distances(start, value, count, size, low, totals):
    """Li et al. 2007: what each node has too much of is sent up; a node settles what its children can."""
    levels, codes = low.shape
    whole = int(sum(totals))
    distances = []
    for g in range(len(size)):
        if size[g] == 0 or whole == 0:
            distances.append(np.inf)
            continue
        inside = dict(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))
        extra = {
            code: Fraction(int(inside.get(code, 0)), int(size[g])) - Fraction(int(totals[code]), whole)
            for code in range(codes)
        }
        cost = Fraction(0)
        for level in range(1, levels + 1):
            children = {}
            for node, amount in extra.items():
                parent = int(low[level, node]) if level < levels else 0
                children.setdefault(parent, []).append(amount)
            for amounts in children.values():
                positive = sum(amount for amount in amounts if amount > 0)
                negative = -sum(amount for amount in amounts if amount < 0)
                cost += Fraction(level, levels) * min(positive, negative)
            extra = {parent: sum(amounts) for parent, amounts in children.items()}
        distances.append(float(cost))
    return np.array(distances)


def ordered_distances(start, value, count, size, totals):
    whole = int(sum(totals))
    places = [code for code in range(len(totals)) if totals[code] > 0]
    distances = []
    for g in range(len(size)):
        if size[g] == 0 or whole == 0:
            distances.append(np.inf)
            continue
        inside = dict(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))
        ahead, crossing = Fraction(0), Fraction(0)
        for code in places:
            ahead += Fraction(int(inside.get(code, 0)), int(size[g])) - Fraction(int(totals[code]), whole)
            crossing += abs(ahead)
        distances.append(float(crossing / max(len(places) - 1, 1)))
    return np.array(distances)


def roll_up(keys, weights, before, after, fields, single, table, rolled, slots, merged, total, numbers):
    seen = {}
    for row in range(keys.shape[1]):
        cells = [int(word) for word in keys[:, row]]
        for j, (word, shift, mask, start, size) in enumerate(fields.tolist()):
            if before[j] != after[j]:
                code = (int(keys[word, row]) >> shift) & mask
                node = 0 if single[j, after[j]] else int(table[start + after[j] * size + code])
                cells[word] += (node - code) << shift
        number = seen.setdefault(tuple(cells), len(seen))
        if number == len(seen) - 1 and number not in numbers[:row]:
            merged[:, number], total[number] = cells, 0
        numbers[row] = number
        total[number] += weights[row]
    return len(seen)


def shortfall(keys, weights, good, levels, fields, gain, most):
    dropped, penalty = 0, 0.0
    for g in range(len(weights)):
        if not good[g]:
            dropped += int(weights[g])
            for level, (word, shift, mask, start, size) in zip(levels, fields.tolist(), strict=True):
                code = (int(keys[word, g]) >> shift) & mask
                penalty += gain[start + level * size + code] * weights[g]
    return dropped, penalty if dropped <= most else np.inf


def raise_box(values, strides, low, high, floor):
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        index = sum(int(level * stride) for level, stride in zip(levels, strides, strict=True))
        values[index] = max(values[index], floor)


def cheapest(additive, penalty):
    sums = [a + b for a, b in zip(additive, penalty, strict=True)]
    return sums.index(min(sums)) if min(sums) < np.inf else 0


def smallest_below(known, sizes, count, levels):
    below = [c for c in range(count) if all(known[c] <= levels)]
    return min(below, key=lambda c: sizes[c], default=-1)
