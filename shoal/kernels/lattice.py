"""Mappings of full-domain generalization: rolling up packed rows, what a mapping drops, bounds over boxes.

A row is one or more 64-bit words with a bit field per column. The node that a code shows at a level is named by
its first code, which has room in the same field, so a mapping is rolled up from any of its specializations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.support.arrays import FloatVector, IntVector, LongMatrix


class Gains(NamedTuple):
    """How much more a row loses at least if it is suppressed, by what a mapping above shows of it.

    The nodes of column j at a level are ``nodes[first[j, level] : first[j, level + 1]]``, named by their first codes.
    For each of them, ``least[place[j, level] + below * (number of nodes) + node]`` is what a row inside it gains at
    least if it is shown at the level `below`.
    """

    nodes: IntVector
    first: LongMatrix
    least: FloatVector
    place: LongMatrix


@njit(cache=True, nogil=True)
def roll_up(keys, weights, before, after, fields, single, table, rolled, slots, merged, total, numbers):
    """Merge rows that become equal when columns rise from levels `before` to levels `after`; return how many
    are left.

    ``fields[j]`` is word, shift, mask, start, size of column j: its code is ``(keys[word, row] >> shift) & mask``,
    and ``table[start + level * size + code]`` its node at a level; a level of one node (``single[j, level]``)
    needs no lookup. The rest are buffers: `merged` and `total` receive the keys and summed weights in order of
    first appearance, `numbers` row -> merged row; `rolled` and `slots` are scratch, `slots` of at least 65,536 and
    4 x rows entries. Expected O(rows x risen columns). Indexes are unsigned, because numba asks of others, each time,
    whether they count from the end.
    """
    words = keys.shape[0]
    rows = np.uint64(keys.shape[1])
    for w in range(words):
        keep = ~np.uint64(0)
        for j in range(len(fields)):
            if before[j] != after[j] and fields[j, 0] == w:
                keep &= ~(np.uint64(fields[j, 2]) << np.uint64(fields[j, 1]))
        source, target = keys[w], rolled[w]
        for row in range(rows):
            target[row] = source[row] & keep
    for j in range(len(fields)):
        if before[j] != after[j] and not single[j, after[j]]:
            source = keys[fields[j, 0]]
            target = rolled[fields[j, 0]]
            shift = np.uint64(fields[j, 1])
            mask = np.uint64(fields[j, 2])
            nodes = table[fields[j, 3] + after[j] * fields[j, 4] :]
            for row in range(rows):
                target[row] |= np.uint64(nodes[(source[row] >> shift) & mask]) << shift
    golden = np.uint64(0x9E3779B97F4A7C15)
    one = np.uint64(1)
    bits = np.uint64(10)
    while bits < 13 and rows > one << bits:
        bits += one
    slots[: np.int64(one << bits)] = -1
    found = np.uint64(0)
    firsts = merged[0]
    for row in range(rows):
        if found + found >= one << bits:
            bits += np.uint64(2) if bits < 15 else one
            slots[: np.int64(one << bits)] = -1
            for known in range(found):
                mixed = firsts[known] * golden
                for w in range(1, words):
                    mixed = ((mixed ^ (mixed >> np.uint64(29))) + merged[w, known]) * golden
                at = mixed >> (np.uint64(64) - bits)
                while slots[at] >= 0:
                    at = (at + one) & ((one << bits) - one)
                slots[at] = known
        key = rolled[0, row]
        mixed = key * golden
        for w in range(1, words):
            mixed = ((mixed ^ (mixed >> np.uint64(29))) + rolled[w, row]) * golden
        at = mixed >> (np.uint64(64) - bits)
        while True:
            if slots[at] < 0:
                slots[at] = found
                for w in range(words):
                    merged[w, found] = rolled[w, row]
                total[found] = weights[row]
                numbers[row] = found
                found += one
                break
            other = np.uint64(slots[at])
            if firsts[other] == key:
                same = True
                for w in range(1, words):
                    same = same and merged[w, other] == rolled[w, row]
                if same:
                    total[other] += weights[row]
                    numbers[row] = other
                    break
            at = (at + one) & ((one << bits) - one)
    return np.int64(found)


@njit(cache=True, nogil=True)
def small_groups(weights, k):
    """Return which groups have k rows, the rows of the others, and the sum of these. O(groups)."""
    good = np.empty(len(weights), np.bool_)
    lost = np.empty(len(weights), np.int64)
    dropped = 0
    for g in range(len(weights)):
        good[g] = weights[g] >= k
        lost[g] = 0 if weights[g] >= k else weights[g]
        dropped += lost[g]
    return good, lost, dropped


@njit(cache=True, nogil=True)
def lost_rows(weights, good, kept):
    """Return how many rows of each group are lost, and their sum, if so many of each good group are kept. O(groups)."""
    lost = weights.copy()
    dropped = 0
    at = 0
    for g in range(len(weights)):
        if good[g]:
            lost[g] -= kept[at]
            at += 1
        dropped += lost[g]
    return lost, dropped


@njit(cache=True, nogil=True)
def shortfall(keys, lost, levels, fields, gain, most):
    """Return how many rows are lost, and how much more it costs to drop than to show them.

    ``lost[g]`` rows of group g are dropped; ``gain[start + level * size + code]`` is the additional loss of a dropped
    row in this column. The second number is infinite if more than `most` rows are lost.
    O(groups + groups with losses x columns).
    """
    dropped = 0
    for g in range(len(lost)):
        dropped += lost[g]
    if dropped > most:
        return dropped, np.inf
    penalty = 0.0
    for g in range(len(lost)):
        if lost[g]:
            each = 0.0
            for j in range(len(fields)):
                code = (keys[fields[j, 0], g] >> np.uint64(fields[j, 1])) & np.uint64(fields[j, 2])
                each += gain[fields[j, 3] + levels[j] * fields[j, 4] + np.int64(code)]
            penalty += each * lost[g]
    return dropped, penalty


@njit(cache=True, nogil=True)
def least_shortfall(keys, lost, levels, fields, gains, counts, floors):
    """Bound how much more than they show the specializations of a mapping lose by dropped rows, column by column.

    ``lost[g]`` rows of group g, whichever they are, are dropped in each of them. ``counts`` has a zero for each code
    of any column, and is left so. ``floors[j, level]`` receives what dropped rows lose more in column j, if a
    specialization shows it at this level.
    Returns how many rows are lost, the sum of `floors` at the mapping's own levels, and the sum of the least of each
    column. O((groups with losses + nodes x levels) x columns).
    """
    dropped = 0
    some = 0
    for g in range(len(lost)):
        dropped += lost[g]
        some += lost[g] != 0
    rows = np.empty(some + 1, np.uint64)
    some = 0
    for g in range(len(lost)):
        rows[some] = g
        some += lost[g] != 0
    own = 0.0
    least = 0.0
    for j in range(len(fields)):
        level = levels[j]
        begin, end = gains.first[j, level], gains.first[j, level + 1]
        many = end - begin
        found = gains.least[gains.place[j, level] : gains.place[j, level] + (level + 1) * many]
        if many == 1:
            for below in range(level + 1):
                floors[j, below] = dropped * found[below]
        else:
            for below in range(level + 1):
                floors[j, below] = 0.0
            word = keys[fields[j, 0]]
            shift = np.uint64(fields[j, 1])
            mask = np.uint64(fields[j, 2])
            for at in range(some):
                counts[(word[rows[at]] >> shift) & mask] += lost[rows[at]]
            for node in range(many):
                held = counts[gains.nodes[begin + node]]
                if held:
                    counts[gains.nodes[begin + node]] = 0
                    for below in range(level + 1):
                        floors[j, below] += held * found[below * many + node]
        lowest = floors[j, level]
        own += lowest
        for below in range(level):
            lowest = min(lowest, floors[j, below])
        least += lowest
    return dropped, own, least


@njit(cache=True, nogil=True)
def raise_below(values, strides, levels, floors):
    """Raise the value of every specialization of a mapping to at least the sum over columns of ``floors[j, level]``,
    in place. O(specializations), with the last column innermost.
    """
    columns = len(strides)
    at = np.zeros(columns, np.int64)
    before = np.zeros(columns + 1)  # the sum over the columns before each
    index = 0
    j = -1
    last = columns - 1
    while True:
        for i in range(j + 1, last):
            before[i + 1] = before[i] + floors[i, at[i]]
        for step in range(levels[last] + 1):
            floor = before[last] + floors[last, step]
            if values[index + step] < floor:
                values[index + step] = floor
        j = last - 1
        while j >= 0 and at[j] == levels[j]:
            index -= levels[j] * strides[j]
            at[j] = 0
            j -= 1
        if j < 0:
            return
        at[j] += 1
        index += strides[j]
        before[j + 1] = before[j] + floors[j, at[j]]


@njit(cache=True, nogil=True)
def climb_open(levels, top, strides, least, more, most):
    """Raise columns of a mapping, one level at a time, as long as it has ``least + more`` of at most `most` then; each
    time the column after which `least` is lowest. In place. O(levels x columns).
    """
    index = 0
    for j in range(len(levels)):
        index += levels[j] * strides[j]
    while True:
        best = -1
        for j in range(len(levels)):
            if levels[j] < top[j]:
                higher = index + strides[j]
                fits = least[higher] + more[higher] <= most
                if fits and (best < 0 or least[higher] < least[index + strides[best]]):
                    best = j
        if best < 0:
            return
        levels[best] += 1
        index += strides[best]


@njit(cache=True, nogil=True)
def descend_open(levels, steps, strides, least, more, most):
    """Lower a mapping to the bottom, each time the column whose step (``steps[j, level]``, from a level to the next) is
    largest. Return the numbers of the mappings on the way that have ``least + more`` of at most `most`.

    O(levels x columns).
    """
    now = levels.copy()
    index = 0
    height = 0
    for j in range(len(now)):
        index += now[j] * strides[j]
        height += now[j]
    found = np.empty(height + 1, np.int64)
    many = 0
    while True:
        if least[index] + more[index] <= most:
            found[many] = index
            many += 1
        best = -1
        for j in range(len(now)):
            if now[j] and (best < 0 or steps[j, now[j] - 1] > steps[best, now[best] - 1]):
                best = j
        if best < 0:
            return found[:many]
        now[best] -= 1
        index -= strides[best]


@njit(cache=True, nogil=True)
def raise_box(values, strides, low, high, floor):
    """Raise every value of a lattice inside the box of levels ``low..high`` to at least `floor`, in place.

    O(box), with the last column innermost.
    """
    columns = len(strides)
    at = low.copy()
    index = 0
    for j in range(columns):
        index += at[j] * strides[j]
    last = columns - 1
    while True:
        for step in range(high[last] - low[last] + 1):
            if values[index + step] < floor:
                values[index + step] = floor
        j = last - 1
        while j >= 0 and at[j] == high[j]:
            index -= (high[j] - low[j]) * strides[j]
            at[j] = low[j]
            j -= 1
        if j < 0:
            return
        at[j] += 1
        index += strides[j]


@njit(cache=True, nogil=True)
def next_open(order, at, least, more, most):
    """Return the first position in `order`, from `at` on, whose mapping has ``least + more`` of at most `most`.

    The length of `order` if there is none. O(positions passed).
    """
    while at < len(order) and least[order[at]] + more[order[at]] > most:
        at += 1
    return at


@njit(cache=True, nogil=True)
def smallest_below(known, sizes, count, levels):
    """Return which of the first `count` known mappings is a specialization of `levels` with the fewest groups."""
    best = -1
    for c in range(count):
        if best >= 0 and sizes[c] >= sizes[best]:
            continue
        below = True
        for j in range(len(levels)):
            if known[c, j] > levels[j]:
                below = False
                break
        if below:
            best = c
    return best
