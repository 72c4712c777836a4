"""What coarse rows can have been, by trying everything: the plain twin of `shoal/judging/linking/refining_cells.py`.

A tree is a list of levels; each level maps a leaf to the name of its node. A class is the level and the name of each
of its cells, and its number of rows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from math import log


def recode(rows, trees, k, states):
    """Publish, state by state, all groups of k rows; return ``[(state, cells, rows)]`` and the rows that are left."""
    left, classes = list(rows), []
    for state in states:
        groups = Counter(show(row, trees, state) for row in left)
        for cells, count in groups.items():
            if count >= k:
                classes.append((state, cells, count))
        left = [row for row in left if groups[show(row, trees, state)] < k]
    return classes, left


def show(row, trees, state):
    return tuple(tree[level][value] for tree, level, value in zip(trees, state, row, strict=True))


def possible(classes, trees):
    """Return, per coarse class, what its rows can have been at the finest level: ``[(class, combinations)]``."""
    finest = tuple(min(levels) for levels in zip(*(state for state, _, _ in classes), strict=True))
    leaves = [sorted(tree[0]) for tree in trees]
    found = []
    for state, cells, count in classes:
        if state == finest:
            continue
        allowed, everything = set(), set()
        for row in itertools.product(*leaves):
            if show(row, trees, state) != cells:
                continue
            everything.add(show(row, trees, finest))
            if not any(
                other != state and below(other, state) and show(row, trees, other) == shown
                for other, shown, _ in classes
            ):
                allowed.add(show(row, trees, finest))
        found.append(((state, cells, count), allowed or everything, everything))
    return found


def below(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


def shares(classes, trees):
    """Return, per column, the share of each finest node among cells of its level, each counted once more."""
    finest = [min(levels) for levels in zip(*(state for state, _, _ in classes), strict=True)]
    found = []
    for j, tree in enumerate(trees):
        counts = dict.fromkeys(tree[finest[j]].values(), 1)
        for state, cells, count in classes:
            if state[j] == finest[j]:
                counts[cells[j]] += count
        total = sum(counts.values())
        found.append({name: count / total for name, count in counts.items()})
    return found


def likeliest(classes, trees, k):
    """Return the largest logarithm of a likelihood of any assignment of whole rows, None if none keeps to fewer than k
    rows of each finer group."""
    finest = tuple(min(levels) for levels in zip(*(state for state, _, _ in classes), strict=True))
    states = {state for state, _, _ in classes}
    published = {(state, cells) for state, cells, _ in classes}
    inside = {
        show(row, trees, finest): row for row in itertools.product(*(sorted(tree[0]) for tree in trees))
    }
    priors = shares(classes, trees)
    given = possible(classes, trees)
    ways = [
        list(itertools.combinations_with_replacement(sorted(allowed), own[2])) for own, allowed, _ in given
    ]
    best = None
    for chosen in itertools.product(*ways):
        groups = Counter()
        for (own, _, _), combinations in zip(given, chosen, strict=True):
            for state in states:
                if state != own[0] and below(state, own[0]):
                    for combination in combinations:
                        shown = show(inside[combination], trees, state)
                        if (state, shown) not in published:
                            groups[state, shown] += 1
        if all(count < k for count in groups.values()):
            value = sum(
                log(prior[name])
                for combinations in chosen
                for combination in combinations
                for prior, name in zip(priors, combination, strict=True)
            )
            best = value if best is None else max(best, value)
    return best
