"""What rotations of rings explain of the rows that are published, ring by ring and row by row."""

from __future__ import annotations

from collections import Counter


def count_fitting(rings, shown, k):
    """Return how many rows the first rotation explains, and which rings one of the k rotations explains.

    Each ring lists (class of the cell, value of the person) in its order; `shown` lists what the rows show: (class,
    value). A rotation gives each person the cell of the person so many places before them.
    """
    there = Counter(shown)
    predicted = Counter()
    explained = []
    for number, ring in enumerate(rings):
        fits = False
        for turn in range(k):
            guess = Counter((ring[(at - turn) % len(ring)][0], ring[at][1]) for at in range(len(ring)))
            if turn == 0:
                predicted += guess
            fits = fits or all(there[pair] >= many for pair, many in guess.items())
        if fits:
            explained.append(number)
    return sum(min(there[pair], many) for pair, many in predicted.items()), explained
