"""Plain twins of the kernels in `shoal/kernels/closeness.py`, written to be read and not to be fast."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


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


def level_keepable(start, value, count, size, low, totals, most):
    levels, whole = len(low), int(sum(totals))
    keep = []
    for g in range(len(size)):
        inside = list(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))

        def moved(rows, inside=inside):
            """At least this share of so many rows of the group is not where the table has it."""
            shared = Fraction(0)
            for level in range(levels):
                for node in {int(low[level, code]) for code, _ in inside}:
                    own = sum(int(c) for code, c in inside if low[level, code] == node)
                    table = sum(int(c) for code, c in enumerate(totals) if low[level, code] == node)
                    shared += min(Fraction(own, rows), Fraction(table, whole))
            return 1 - shared / levels

        keep.append(max((rows for rows in range(1, size[g] + 1) if moved(rows) <= most + 1e-8), default=0))
    return np.array(keep, np.int64)
