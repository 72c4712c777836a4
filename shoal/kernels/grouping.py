"""Grouping of equal rows by hashing packed keys, and sparse histograms per group."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import IntMatrix, IntVector, LongVector


def distinct(matrix: IntMatrix) -> tuple[IntVector, LongVector]:
    """Number equal rows alike, 0, 1, .. by first appearance; return row -> number, and each number's first row.

    Expected O(rows x columns): rows are packed into 64-bit keys and hashed; columns that do not fit into one
    key are packed in several rounds.
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
    """Number equal keys alike by first appearance: key's position -> number, and each number's first position."""
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
def histograms(group_of, groups, codes, weights):
    """Count the codes in each group: start of each group's run, then code and count, codes ascending in a run.

    Two counting sorts, by code and then, stably, by group: O(rows + groups + codes).
    """
    rows = len(codes)
    highest = 0
    for row in range(rows):
        if codes[row] > highest:
            highest = codes[row]
    by_code = np.zeros(highest + 2, np.int64)
    for row in range(rows):
        by_code[codes[row] + 1] += 1
    for code in range(highest + 1):
        by_code[code + 1] += by_code[code]
    order = np.empty(rows, np.int64)
    for row in range(rows):
        order[by_code[codes[row]]] = row
        by_code[codes[row]] += 1
    fill = np.zeros(groups + 1, np.int64)
    for row in range(rows):
        fill[group_of[row] + 1] += 1
    for g in range(groups):
        fill[g + 1] += fill[g]
    sorted_rows = np.empty(rows, np.int64)
    for i in range(rows):
        row = order[i]
        sorted_rows[fill[group_of[row]]] = row
        fill[group_of[row]] += 1
    start = np.zeros(groups + 1, np.int64)
    value = np.empty(rows, np.int32)
    count = np.empty(rows, np.int64)
    used = 0
    previous_group = -1
    for i in range(rows):
        row = sorted_rows[i]
        if used and group_of[row] == previous_group and value[used - 1] == codes[row]:
            count[used - 1] += weights[row]
        else:
            previous_group = group_of[row]
            value[used] = codes[row]
            count[used] = weights[row]
            used += 1
            start[previous_group + 1] += 1
    for g in range(groups):
        start[g + 1] += start[g]
    return start, value[:used].copy(), count[:used].copy()
