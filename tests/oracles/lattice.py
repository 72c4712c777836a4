"""Plain twins of the kernels in `shoal/kernels/lattice.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np


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


def small_groups(weights, k):
    lost = np.array([0 if weight >= k else weight for weight in weights], np.int64)
    return np.array([weight >= k for weight in weights], np.bool_), lost, int(lost.sum())


def lost_rows(weights, good, kept):
    kept = iter(kept)
    lost = np.array([w - (next(kept) if g else 0) for w, g in zip(weights, good, strict=True)], np.int64)
    return lost, int(lost.sum())


def shortfall(keys, lost, levels, fields, gain, most):
    penalty = 0.0
    for g in range(len(lost)):
        for level, (word, shift, mask, start, size) in zip(levels, fields.tolist(), strict=True):
            code = (int(keys[word, g]) >> shift) & mask
            penalty += gain[start + level * size + code] * lost[g]
    dropped = int(sum(lost))
    return dropped, penalty if dropped <= most else np.inf


def least_shortfall(keys, lost, levels, fields, gains, counts, floors):
    own = least = 0.0
    for j, (word, shift, mask, _, _) in enumerate(fields.tolist()):
        level = int(levels[j])
        nodes = gains.nodes[gains.first[j, level] : gains.first[j, level + 1]].tolist()
        for below in range(level + 1):
            place = gains.place[j, level] + below * len(nodes)
            floors[j, below] = sum(
                int(lost[g]) * gains.least[place + nodes.index((int(keys[word, g]) >> shift) & mask)]
                for g in range(len(lost))
            )
        own += floors[j, level]
        least += min(floors[j, : level + 1])
    return int(sum(lost)), own, least


def raise_below(values, strides, levels, floors):
    for below in itertools.product(*(range(level + 1) for level in levels)):
        index = sum(int(level * stride) for level, stride in zip(below, strides, strict=True))
        values[index] = max(values[index], sum(floors[j, level] for j, level in enumerate(below)))


def climb_open(levels, top, strides, least, more, most):
    while True:
        higher = [j for j in range(len(levels)) if levels[j] < top[j]]
        at = {j: int(levels @ strides + strides[j]) for j in higher}
        higher = [j for j in higher if least[at[j]] + more[at[j]] <= most]
        if not higher:
            return
        levels[min(higher, key=lambda j: (least[at[j]], j))] += 1


def descend_open(levels, steps, strides, least, more, most):
    now, found = [int(level) for level in levels], []
    while True:
        index = sum(level * int(stride) for level, stride in zip(now, strides, strict=True))
        if least[index] + more[index] <= most:
            found.append(index)
        lower = [j for j, level in enumerate(now) if level]
        if not lower:
            return np.array(found, np.int64)
        now[max(lower, key=lambda j: (steps[j, now[j] - 1], -j))] -= 1


def raise_box(values, strides, low, high, floor):
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        index = sum(int(level * stride) for level, stride in zip(levels, strides, strict=True))
        values[index] = max(values[index], floor)


def next_open(order, at, least, more, most):
    places = (p for p in range(at, len(order)) if least[order[p]] + more[order[p]] <= most)
    return next(places, len(order))


def smallest_below(known, sizes, count, levels):
    below = [c for c in range(count) if all(known[c] <= levels)]
    return min(below, key=lambda c: sizes[c], default=-1)
