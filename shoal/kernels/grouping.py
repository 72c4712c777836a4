"""Grouping of equal rows by hashing packed keys, and sparse histograms per group."""

from __future__ import annotations

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.kernels.compiled import njit


def distinct(matrix: IntMatrix) -> tuple[IntVector, LongVector]:
    """Give equal rows one number, 0, 1, .. by first appearance; return row -> number, and each number's first row.

    Expected O(rows x columns): rows are packed into 64-bit keys and hashed, in several rounds if one key has no room
    for all columns.
    """
    rows, columns = matrix.shape
    numbers = np.zeros(rows, np.int32)
    first = np.zeros(min(rows, 1), np.int64)
    column = 0
    while column < columns and rows:
        keys = numbers.astype(np.uint64)
        room = (1 << 63) // max(len(first), 1)
        packed = 0
        while column < columns:
            values = matrix[:, column]
            lowest = int(values.min())
            span = int(values.max()) - lowest + 1
            if packed and span > room:
                break
            if span > 1:
                pack(keys, np.ascontiguousarray(values), lowest, span)
            room //= span
            packed += 1
            column += 1
        numbers, first = number(keys)
    return numbers, first


@njit(cache=True, nogil=True)
def pack(keys, values, lowest, span):
    """Append a digit to each key: ``key = key * span + (value - lowest)``, in place."""
    for row in range(len(keys)):
        keys[row] = keys[row] * np.uint64(span) + np.uint64(values[row] - lowest)


@njit(cache=True, nogil=True)
def number(keys):
    """Give equal keys one number, by first appearance: key's position -> number, and each number's first position."""
    rows = len(keys)
    bits = 4
    while (1 << bits) < 2 * min(rows, 1 << 16):
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    numbers = np.empty(rows, np.int32)
    first = np.empty(max(rows, 1), np.int64)
    found = 0
    for row in range(rows):
        if 2 * found > len(slots):
            bits += 2
            slots = np.full(1 << bits, -1, np.int32)
            mask = np.uint64(len(slots) - 1)
            for known in range(found):
                spread = keys[first[known]] * np.uint64(0x9E3779B97F4A7C15)
                at = (spread >> np.uint64(64 - bits)) & mask
                while slots[at] >= 0:
                    at = (at + np.uint64(1)) & mask
                slots[at] = known
        mask = np.uint64(len(slots) - 1)
        key = keys[row]
        at = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)) & mask
        while True:
            known = slots[at]
            if known < 0:
                slots[at] = found
                first[found] = row
                numbers[row] = found
                found += 1
                break
            if keys[first[known]] == key:
                numbers[row] = known
                break
            at = (at + np.uint64(1)) & mask
    return numbers, first[:found].copy()


@njit(cache=True, nogil=True)
def group_sizes(group_of, groups, weights):
    """Sum the weights of each group; rows of group -1 are ignored. O(rows + groups)."""
    size = np.zeros(groups, np.int64)
    for row in range(len(group_of)):
        if group_of[row] >= 0:
            size[group_of[row]] += weights[row]
    return size


@njit(cache=True, nogil=True)
def histograms(group_of, groups, codes, weights):
    """Count the codes in each group: start of each group's run, then code and count, codes ascending in a run.

    Rows of group -1 are ignored; weights are positive. O(rows + groups + codes): a dense count if that needs
    few more cells than there are rows; else a counting sort by code (skipped if the rows are already in that
    order), after which each group's codes arrive ascending and equal ones one after the other.
    """
    rows = len(codes)
    highest = 0
    ascending = True
    for row in range(rows):
        ascending &= codes[row] >= highest
        highest = max(highest, codes[row])
    start = np.zeros(groups + 1, np.int64)
    width = np.int64(highest) + 1
    if groups * width <= 4 * rows:
        cells = np.zeros(groups * width, np.int64)
        for row in range(rows):
            if group_of[row] >= 0:
                cells[group_of[row] * width + codes[row]] += weights[row]
        value = np.empty(rows + 1, np.int32)
        count = np.empty(rows + 1, np.int64)
        used = 0
        for g in range(groups):
            for code in range(width):
                # Always written, but kept only if it counts: without a branch this is several times faster.
                value[used] = code
                count[used] = cells[g * width + code]
                used += count[used] > 0
            start[g + 1] = used
        return start, value[:used], count[:used]

    if not ascending:
        slot = np.zeros(width + 1, np.int64)
        for row in range(rows):
            slot[codes[row] + 1] += 1
        for code in range(width):
            slot[code + 1] += slot[code]
        group_by_code = np.empty(rows, np.int32)
        sorted_codes = np.empty(rows, np.int32)
        weight_by_code = np.empty(rows, np.int64)
        for row in range(rows):
            at = slot[codes[row]]
            slot[codes[row]] = at + 1
            group_by_code[at] = group_of[row]
            sorted_codes[at] = codes[row]
            weight_by_code[at] = weights[row]
        group_of, codes, weights = group_by_code, sorted_codes, weight_by_code
    latest = np.empty(groups, np.int32)
    for g in range(groups):
        latest[g] = -1
    for row in range(rows):
        g = group_of[row]
        if g >= 0:
            start[g + 1] += latest[g] != codes[row]
            latest[g] = codes[row]
    for g in range(groups):
        start[g + 1] += start[g]
    value = np.empty(start[groups], np.int32)
    count = np.zeros(start[groups], np.int64)
    end = np.empty(groups, np.int64)
    for g in range(groups):
        end[g] = start[g] - 1
        latest[g] = -1
    for row in range(rows):
        g = group_of[row]
        if g >= 0:
            end[g] += latest[g] != codes[row]
            latest[g] = codes[row]
            value[end[g]] = codes[row]
            count[end[g]] += weights[row]
    return start, value, count
