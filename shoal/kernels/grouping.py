"""Grouping of equal rows by hashing packed keys, and sparse histograms per group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiled import njit
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.machine.threads import PIECE, in_threads, processors

AHEAD = 64
"""Rows that look for their number at a time."""


def distinct(matrix: IntMatrix) -> tuple[IntVector, LongVector]:
    """Give equal rows one number, 0, 1, .. by first appearance; return row -> number, and each number's first row.

    Expected O(rows x columns): rows are packed into 64-bit keys and hashed, in several rounds if one key has no room
    for all columns.
    """
    return distinct_rows([matrix[:, column] for column in range(matrix.shape[1])], len(matrix))


def distinct_rows(columns: Sequence[NDArray[Any]], rows: int | None = None) -> tuple[IntVector, LongVector]:
    """Number equal rows as `distinct` does, from columns of any integer type."""
    rows = len(columns[0]) if rows is None else rows
    numbers: IntVector | None = None
    first = np.zeros(min(rows, 1), np.int64)
    column = 0
    while column < len(columns) and rows:
        room = (1 << 63) // max(len(first), 1)
        digits: list[tuple[NDArray[Any], int, int]] = []
        while column < len(columns):
            values = columns[column]
            lowest = int(values.min())
            span = int(values.max()) - lowest + 1
            if digits and span > room:
                break
            digits.append((values, lowest, span))
            room //= span
            column += 1
        numbers, first = _numbered(_packed(numbers, digits, rows))
    return np.zeros(rows, np.int32) if numbers is None else numbers, first


def _numbered(keys: NDArray[np.uint64]) -> tuple[IntVector, LongVector]:
    """Number equal keys as `number` does, in threads if they are many: each numbers a part, and then the distinct keys
    of all parts are numbered, in the order of the parts. Not if most keys are different: that would be twice the work.
    """
    threads = processors()
    if threads < 2 or len(keys) <= 4 * PIECE or len(number(keys[:PIECE])[1]) > 0.75 * PIECE:
        found: tuple[IntVector, LongVector] = number(keys)
        return found
    step = -(-len(keys) // threads)
    starts = range(0, len(keys), step)
    parts = in_threads(lambda start: number(keys[start : start + step]), starts)
    rows = np.concatenate([first + start for (_, first), start in zip(parts, starts, strict=True)])
    joint, first_of = number(keys[rows])
    ends = np.cumsum([0, *(len(first) for _, first in parts)])
    numbers = np.empty(len(keys), np.int32)

    def place(part: int) -> None:
        own, start = joint[ends[part] : ends[part + 1]], starts[part]
        np.take(own, parts[part][0], out=numbers[start : start + step], mode="clip")

    in_threads(place, range(len(parts)))
    return numbers, rows[first_of]


def _packed(
    numbers: IntVector | None, digits: Sequence[tuple[NDArray[Any], int, int]], rows: int
) -> NDArray[np.uint64]:
    """Return one key per row: its number, if it has one, then a digit for each column. In pieces: columns become int32
    on the way, and each thread is the first to use its part of the memory."""
    keys = np.empty(rows, np.uint64)

    def fill(start: int) -> None:
        part = slice(start, start + PIECE)
        keys[part] = 0 if numbers is None else numbers[part]
        for values, lowest, span in digits:
            if span > 1:
                pack(keys[part], np.ascontiguousarray(values[part], np.int32), lowest, span)

    in_threads(fill, range(0, len(keys), PIECE))
    return keys


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
    # Keys lie in the table, too: to look them up by their first row would miss the cache twice more.
    slots = np.full(1 << bits, -1, np.int32)
    held = np.empty(1 << bits, np.uint64)
    numbers = np.empty(rows, np.int32)
    first = np.empty(max(rows, 1), np.int64)
    # Some rows look at their slots before any of them is numbered, so that the processor waits for many at once.
    seen = np.empty(AHEAD, np.int32)
    theirs = np.empty(AHEAD, np.uint64)
    found = 0
    for begin in range(0, rows, AHEAD):
        end = min(begin + AHEAD, rows)
        while 2 * (found + AHEAD) > len(slots):
            bits += 2
            slots = np.full(1 << bits, -1, np.int32)
            held = np.empty(1 << bits, np.uint64)
            mask = np.uint64(len(slots) - 1)
            for known in range(found):
                key = keys[first[known]]
                at = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)) & mask
                while slots[at] >= 0:
                    at = (at + np.uint64(1)) & mask
                slots[at], held[at] = known, key
        mask = np.uint64(len(slots) - 1)
        for row in range(begin, end):
            at = ((keys[row] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)) & mask
            seen[row - begin] = slots[at]
            theirs[row - begin] = held[at]
        for row in range(begin, end):
            key = keys[row]
            if seen[row - begin] >= 0 and theirs[row - begin] == key:
                numbers[row] = seen[row - begin]
                continue
            at = ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)) & mask
            while True:
                known = slots[at]
                if known < 0:
                    slots[at], held[at] = found, key
                    first[found] = row
                    numbers[row] = found
                    found += 1
                    break
                if held[at] == key:
                    numbers[row] = known
                    break
                at = (at + np.uint64(1)) & mask
    return numbers, first[:found].copy()


@njit(cache=True, nogil=True)
def by_value(values, of, count):
    """Sort what rows have by a value of theirs below `count`: where each value begins, and `of` in that order.

    O(rows + values).
    """
    start = np.zeros(count + 1, np.int64)
    for row in range(len(values)):
        start[values[row] + 1] += 1
    for value in range(count):
        start[value + 1] += start[value]
    at = start[:count].copy()
    found = np.empty(len(values), np.int32)
    for row in range(len(values)):
        value = values[row]
        found[at[value]] = of[row]
        at[value] += 1
    return start, found


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


@njit(cache=True, nogil=True)
def merge_histograms(start, value, count, numbers, groups, codes):
    """Count the codes in groups of groups, as `histograms` does; ``numbers[g]`` is the new group of group g.

    O(groups + values + codes): a dense count if that needs few more cells than there are values; else new groups
    one after the other, each of which counts its values over all codes and picks up those it has, sorted.
    """
    entries = len(value)
    merged_start = np.zeros(groups + 1, np.int64)
    merged_value = np.empty(entries + 1, np.int32)
    merged_count = np.empty(entries + 1, np.int64)
    used = 0
    if groups * codes <= 8 * entries:
        cells = np.zeros(groups * codes, np.int64)
        for g in range(len(numbers)):
            # Unsigned, because numba asks of other indexes, each time, whether they count from the end.
            place = np.uint64(numbers[g] * codes)
            for i in range(np.uint64(start[g]), np.uint64(start[g + 1])):
                cells[place + np.uint64(value[i])] += count[i]
        kept = np.uint64(0)
        cell = np.uint64(0)
        for n in range(groups):
            for code in range(codes):
                # Always written, but kept only if it counts: without a branch this is several times faster.
                merged_value[kept] = code
                merged_count[kept] = cells[cell]
                kept += np.uint64(cells[cell] > 0)
                cell += np.uint64(1)
            merged_start[n + 1] = kept
        used = np.int64(kept)
        return merged_start, merged_value[:used].copy(), merged_count[:used].copy()
    first = np.zeros(groups + 1, np.int64)
    for g in range(len(numbers)):
        first[numbers[g] + 1] += 1
    for n in range(groups):
        first[n + 1] += first[n]
    order = np.empty(len(numbers), np.int32)
    for g in range(len(numbers)):
        order[first[numbers[g]]] = g
        first[numbers[g]] += 1
    held = np.zeros(codes, np.int64)
    seen = np.empty(codes + 1, np.int32)
    at = 0
    for n in range(groups):
        many = 0
        while at < first[n]:
            for i in range(start[order[at]], start[order[at] + 1]):
                code = value[i]
                seen[many] = code
                many += held[code] == 0
                held[code] += count[i]
            at += 1
        seen[:many].sort()
        for i in range(many):
            merged_value[used] = seen[i]
            merged_count[used] = held[seen[i]]
            held[seen[i]] = 0
            used += 1
        merged_start[n + 1] = used
    return merged_start, merged_value[:used].copy(), merged_count[:used].copy()


@njit(cache=True, nogil=True)
def kept_histograms(start, value, count, good):
    """Leave out the histograms of groups that are not good. O(groups + values)."""
    groups = 0
    used = 0
    for g in range(len(good)):
        if good[g]:
            groups += 1
            used += start[g + 1] - start[g]
    kept_start = np.zeros(groups + 1, np.int64)
    kept_value = np.empty(used, np.int32)
    kept_count = np.empty(used, np.int64)
    groups = 0
    at = np.uint64(0)
    for g in range(len(good)):
        if good[g]:
            for i in range(np.uint64(start[g]), np.uint64(start[g + 1])):
                kept_value[at] = value[i]
                kept_count[at] = count[i]
                at += np.uint64(1)
            groups += 1
            kept_start[groups] = at
    return kept_start, kept_value, kept_count
