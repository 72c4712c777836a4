"""Plain twins of the kernels in `shoal/kernels/consistency.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.followed import _covers


def plant_boxes(codes, scale, cuts, starts):
    """A single leaf: every tree must give the same answers as this one."""
    if len(codes) == 0:
        nothing = np.zeros(0, np.int32)
        return nothing, nothing, nothing, nothing, np.zeros((0, 2 * codes.shape[1]), np.int32)
    box = np.concatenate([codes.min(axis=0), codes.max(axis=0)]).reshape(1, -1)
    one = np.ones(1, np.int32)
    return np.arange(len(codes), dtype=np.int32), 0 * one, len(codes) * one, one, box.astype(np.int32)


def rows_inside(codes, first, last, skip, box, low, high):
    lists = [
        [row for row in range(len(codes)) if _covers(a, b, codes[row])]
        for a, b in zip(low, high, strict=True)
    ]
    start = np.cumsum([0, *map(len, lists)])
    return start.astype(np.int64), np.array([row for found in lists for row in found], np.int32)


def assign_units(start, links, supply, demand, order):
    """One unit after the other, each along any augmenting path."""
    flow = np.zeros(len(links), np.int64)
    source = np.repeat(np.arange(len(supply)), np.diff(start))

    def augment(g, seen):
        for edge in range(start[g], start[g + 1]):
            row = links[edge]
            if row in seen:
                continue
            seen.add(row)
            if flow[links == row].sum() < demand[row]:
                flow[edge] += 1
                return True
            for other in np.flatnonzero((links == row) & (flow > 0)):
                if augment(source[other], seen):
                    flow[other] -= 1
                    flow[edge] += 1
                    return True
        return False

    for g in order:
        for _ in range(supply[g]):
            augment(g, set())
    return flow
