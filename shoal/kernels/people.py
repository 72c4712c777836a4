"""How many different people a group of rows has, and how many of them show a value."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def rows_by_group(group_of, groups, person):
    """List the rows of one group after the other, in their order, without those of group -1.

    Return the rows, where each group begins, and whether the numbers of people ascend within every group, so that all
    rows of a person in a group are neighbours. O(rows + groups).
    """
    start = np.zeros(groups + 1, np.int64)
    for row in range(len(group_of)):
        if group_of[row] >= 0:
            start[group_of[row] + 1] += 1
    for g in range(groups):
        start[g + 1] += start[g]
    order = np.empty(start[groups], np.int64)
    at = start[:-1].copy()
    latest = np.full(groups, -1, np.int64)
    ascending = True
    for row in range(len(group_of)):
        g = group_of[row]
        if g >= 0:
            order[at[g]] = row
            at[g] += 1
            ascending &= person[row] >= latest[g]
            latest[g] = person[row]
    return order, start, ascending


@njit(cache=True, nogil=True)
def count_people(order, start, person):
    """Count the different people of each group: the changes of owner along its rows. O(rows + groups)."""
    groups = len(start) - 1
    size = np.zeros(groups, np.int64)
    for g in range(groups):
        latest = np.int64(-1)
        for at in range(start[g], start[g + 1]):
            own = np.int64(person[order[at]])
            size[g] += own != latest
            latest = own
    return size


@njit(cache=True, nogil=True)
def once_per_person(order, start, person, codes, values):
    """Keep one row for each value that a person shows in a group: the first. Return the rows, in their order, and the
    group of each. Codes are below `values`. O(rows + groups + values).
    """
    groups = len(start) - 1
    seen = np.full(values, -1, np.int64)
    kept = np.empty(len(order), np.int64)
    group_of = np.empty(len(order), np.int32)
    found = 0
    run = np.int64(-1)
    for g in range(groups):
        latest = np.int64(-1)
        for at in range(start[g], start[g + 1]):
            row = order[at]
            if person[row] != latest:
                latest = np.int64(person[row])
                run += 1
            if seen[codes[row]] != run:
                seen[codes[row]] = run
                kept[found] = row
                group_of[found] = g
                found += 1
    return kept[:found].copy(), group_of[:found].copy()
