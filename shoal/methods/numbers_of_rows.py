"""How many rows people show whose rows can be followed: that number is published, so enough people must share it."""

from __future__ import annotations

import numpy as np

from shoal.support.arrays import LongVector

_ENOUGH = 3
"""Of people with equally many rows, so many times as many as must share a number decide; the others keep their rows."""


def fewest_left_out(often: LongVector, least: int) -> LongVector:
    """Return how many rows each person shows, at most as many as they have, such that at least `least` people share
    every number but 0, and as few rows as possible are left out. O(numbers x least^2), plus sorting people.

    `often` says how many rows people have; of those with equally many, the first ones are the first to lose rows.
    People are sorted by it. Whoever has more rows shows no fewer than others: two people who do not could swap. So
    people who share a number are neighbours, and the first of them keeps all rows; `least` to twice as many share it,
    because more could be split in two. A beginning of the order may show nothing at all.
    """
    order = np.argsort(often, kind="stable")
    numbers, first, counts = np.unique(often[order], return_index=True, return_counts=True)
    some = np.minimum(counts, _ENOUGH * max(least, 1))
    chosen = np.concatenate([np.arange(start, start + own) for start, own in zip(first, some, strict=True)])
    shown = _choose_numbers(often[order][chosen], max(least, 1))
    # Those who were not looked at join people of their number who keep all rows; there are some, or the others could.
    kept = np.repeat(numbers, counts)
    kept[chosen] = shown
    found = np.empty_like(often)
    found[order] = kept
    return found


def _choose_numbers(often: LongVector, least: int) -> LongVector:
    """Return how many rows of each person to publish. People are sorted by their number of rows."""
    people = len(often)
    sums = np.concatenate([[0], np.cumsum(often)])
    cost = sums.astype(np.float64)  # as if all of the first people showed nothing
    begin = np.zeros(people + 1, np.int64)
    nobody = np.ones(people + 1, np.bool_)
    for end in range(least, people + 1):
        starts = np.arange(max(end - 2 * least + 1, 0), end - least + 1)
        costs = cost[starts] + sums[end] - sums[starts] - (end - starts) * often[starts]
        best = int(np.argmin(costs))
        if costs[best] < cost[end]:
            cost[end], begin[end], nobody[end] = costs[best], starts[best], False
    shown = np.zeros(people, np.int64)
    end = people
    while end > 0 and not nobody[end]:
        start = int(begin[end])
        shown[start:end] = often[start]
        end = start
    return shown
