"""What cells say by being minimal, by trying every list of rows: the plain twin of `possible_tables.py`.

`publish` takes a list of values, and returns the cell that each of them gets.
"""

from __future__ import annotations

import itertools
from collections import Counter


def learn(values, domain, publish):
    """Return how many tables give the same release, and per cell, value and m, how likely more than m rows have it."""
    wanted = Counter(publish(list(values)))
    found, total, tables = Counter(), 0, set()
    for other in itertools.product(domain, repeat=len(values)):
        cells = publish(list(other))
        if Counter(cells) != wanted:
            continue
        total += 1
        tables.add(tuple(sorted(other)))
        inside = Counter(zip(cells, other, strict=True))
        found.update((cell, value, m) for (cell, value), many in inside.items() for m in range(many))
    return len(tables), {key: many / total for key, many in found.items()}


def score(values, cells, chances, domain):
    """Return the share of the values in generalized cells that are guessed, and how many are certain."""
    truth, right, certain, generalized = Counter(zip(cells, values, strict=True)), 0.0, 0, 0
    for cell, rows in Counter(cells).items():
        if cell in domain:
            continue
        generalized += rows
        every = {(value, m): chances.get((cell, value, m), 0.0) for value in domain for m in range(rows)}
        certain += sum(chance > 1 - 1e-9 for chance in every.values())
        right += pick(every, rows, lambda value, m, cell=cell: truth[cell, value] > m)
    return (right / generalized if generalized else None), certain


def pick(chances, rows, holds):
    """Choose so many of the likeliest statements; of equally likely ones, each with the same chance."""
    left, right = rows, 0.0
    for chance in sorted({round(one, 9) for one in chances.values()}, reverse=True):
        ties = [key for key, one in chances.items() if round(one, 9) == chance]
        taken = min(left, len(ties))
        right += taken * sum(holds(*key) for key in ties) / len(ties)
        left -= taken
    return right
