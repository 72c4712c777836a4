"""Distances between records of mixed columns, and how many records satisfy a predicate."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

BLOCK = 1024
"""Rows that are compared at a time, so that they stay in the cache while all targets are compared with them."""


@njit(cache=True, nogil=True)
def _add_distances(row, value, is_number, unit, start, own, total):
    """Write the distance of each row of a block to a value in one column, and add it to the total."""
    if not is_number:
        for i in range(len(total)):
            d = np.int32(unit) if row[start + i] != value else np.int32(0)
            own[i] = d
            total[i] += d
    elif value < 0:
        for i in range(len(total)):
            d = np.int32(unit) if row[start + i] >= 0 else np.int32(0)
            own[i] = d
            total[i] += d
    else:
        for i in range(len(total)):
            place = row[start + i]
            d = np.int32(place - value)
            d = np.int32(-d) if d < 0 else d
            d = np.int32(unit) if place < 0 else d
            own[i] = d
            total[i] += d


@njit(cache=True, nogil=True)
def _least(total, own, out):
    """Return the least of total minus own; `out` is room for them."""
    least = np.int32(2147483647)
    for i in range(len(total)):
        d = np.int32(total[i] - own[i])
        out[i] = d
        least = d if d < least else least
    return least


@njit(cache=True, nogil=True)
def nearest_rows(rows, is_number, unit, targets, left_out, nothing, best, which):
    """Write, per target, the least distance to a row and the first row that has it.

    ``rows[columns, rows]`` and ``targets[columns, targets]`` hold places, -1 for null; a column adds at most `unit`:
    the difference of numbers, `unit` for different categories, and for null against a value. ``best[sets, targets]``
    and `which` are about all columns first, and then about all columns but each of `left_out`. `best` holds the
    least distances so far. `nothing` is a zero per row of a block. O(targets x rows x columns).
    """
    width, many = rows.shape
    block = len(nothing)
    own = np.empty((width, block), np.int32)
    total = np.empty(block, np.int32)
    rest = np.empty(block, np.int32)
    for start in range(0, many, block):
        size = min(block, many - start)
        for t in range(targets.shape[1]):
            total[:] = 0
            for j in range(width):
                _add_distances(rows[j], targets[j, t], is_number[j], unit, start, own[j, :size], total[:size])
            for s in range(len(left_out) + 1):
                less = nothing[:size] if s == 0 else own[left_out[s - 1], :size]
                least = _least(total[:size], less, rest[:size])
                if least < best[s, t]:
                    best[s, t] = least
                    for i in range(size):
                        if rest[i] == least:
                            which[s, t] = start + i
                            break


@njit(cache=True, nogil=True)
def count_satisfying(codes, column, low, high, most, count, first):
    """Write how many rows satisfy each predicate, and the first that does, -1 for none. Counting may stop above `most`.

    ``codes[columns, rows]`` hold the values. A predicate says of some columns, ``column[predicates, conditions]``, that
    the value lies between `low` and `high`; a column -1 ends it. O(predicates x rows x conditions).
    """
    rows = codes.shape[1]
    block = 4096
    for start in range(0, rows, block):
        stop = min(start + block, rows)
        for p in range(len(column)):
            if count[p] > most:
                continue
            for row in range(start, stop):
                satisfied = True
                for c in range(column.shape[1]):
                    j = column[p, c]
                    if j < 0:
                        break
                    code = codes[j, row]
                    if code < low[p, c] or code > high[p, c]:
                        satisfied = False
                        break
                if satisfied:
                    count[p] += 1
                    if first[p] < 0:
                        first[p] = row
