"""Plain twins of the kernels in `shoal/kernels/people.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def rows_by_group(group_of, groups, person):
    own = [[row for row in range(len(group_of)) if group_of[row] == g] for g in range(groups)]
    start = np.cumsum([0, *map(len, own)])
    ascending = all(sorted(people) == people for people in ([person[row] for row in rows] for rows in own))
    return np.array([row for rows in own for row in rows], np.int64), start.astype(np.int64), ascending


def count_people(order, start, person):
    return np.array([len({person[row] for row in order[a:b]}) for a, b in pairwise(start)], np.int64)


def once_per_person(order, start, person, codes, values):
    first = {}
    for g, (a, b) in enumerate(pairwise(start)):
        for row in order[a:b]:
            first.setdefault((g, person[row], codes[row]), (row, g))
    rows, groups = zip(*first.values(), strict=True) if first else ((), ())
    return np.array(rows, np.int64), np.array(groups, np.int32)
