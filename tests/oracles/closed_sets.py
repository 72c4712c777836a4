"""Plain twins of the kernels in `shoal/kernels/closed_sets.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import combinations


def closure(start, heads, component):
    """All components that can be reached."""
    found, new = set(), {int(component)}
    while new:
        found |= new
        new = {int(other) for c in new for other in heads[start[c] : start[c + 1]]} - found
    return found


def closure_weights(start, heads, weight, most):
    return [
        min(sum(int(weight[c]) for c in closure(start, heads, origin)), most + 1)
        for origin in range(len(weight))
    ]


def most_removed(item_start, items, profit, start, heads, weight, most, tries, begin, end, removed, limit):
    """Try all choices of items, however many steps that takes."""
    for u in range(begin, end):
        own = {int(items[i]): int(profit[i]) for i in range(item_start[u], item_start[u + 1])}
        best = 0
        for size in range(len(own) + 1):
            for chosen in combinations(own, size):
                together = set().union(*(closure(start, heads, c) for c in chosen))
                if sum(int(weight[c]) for c in together) <= most:
                    best = max(best, sum(own.get(c, 0) for c in together))
        removed[u] = limit[u] = best
