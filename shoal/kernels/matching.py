"""Matching of published rows with original ones that they cover, for each kept value by itself."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.consistency import assign_units


@njit(cache=True, nogil=True)
def unmatched(own_start, own, their_start, their, start, links, classes, people, first, last):
    """Return how many published rows cannot be given an original row of their own, for the values ``first..last - 1``.

    ``own[own_start[v]:own_start[v + 1]]`` are the classes of the published rows with value v, and `their` lists the
    distinct rows that original rows with value v are, likewise. A row of class g covers the distinct rows
    ``links[start[g]:start[g + 1]]``. There is one flow per value, along the links between its classes and its rows, so
    memory is that of a value. O(links of the classes of each value), and the flows.
    """
    local = np.full(people, -1, np.int32)  # distinct row -> its number among those of the value
    place = np.full(classes, -1, np.int32)
    lost = np.int64(0)
    for value in range(first, last):
        begin, end = own_start[value], own_start[value + 1]
        rows = np.empty(their_start[value + 1] - their_start[value], np.int32)
        demand = np.zeros(len(rows), np.int64)
        many = 0
        for at in range(their_start[value], their_start[value + 1]):
            row = their[at]
            if local[row] < 0:
                local[row] = many
                rows[many] = row
                many += 1
            demand[local[row]] += 1
        sources = np.empty(end - begin, np.int32)
        supply = np.zeros(end - begin, np.int64)
        count = 0
        for at in range(begin, end):
            g = own[at]
            if place[g] < 0:
                place[g] = count
                sources[count] = g
                count += 1
            supply[place[g]] += 1
        begins = np.zeros(count + 1, np.int64)
        ends = np.empty(max(4 * count, 16), np.int32)
        used = 0
        for s in range(count):
            g = sources[s]
            place[g] = -1
            if used + start[g + 1] - start[g] > len(ends):
                more = np.empty(2 * len(ends) + start[g + 1] - start[g], np.int32)
                more[:used] = ends[:used]
                ends = more
            for link in range(start[g], start[g + 1]):
                # Always written, but kept only if it counts: most rows do not have the value.
                ends[used] = local[links[link]]
                used += ends[used] >= 0
            begins[s + 1] = used
        for at in range(many):
            local[rows[at]] = -1
        order = np.argsort(begins[1:] - begins[:-1], kind="mergesort")
        lost += end - begin - assign_units(begins, ends[:used], supply[:count], demand[:many], order).sum()
    return lost
