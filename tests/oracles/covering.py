"""Plain twins of the kernels in `shoal/kernels/covering.py`, written to be read and not to be fast."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from tests.oracles.expansion import _added, _closure, _smallest_cell
from tests.oracles.followed import _covers


def hulls(slots, low, high, first, last, skip, losses):
    hull, costliest = [], []
    for a, b in zip(first, last, strict=True):
        own = slice(slots[a], slots[b])
        hull.append([*low[own].min(axis=0), *high[own].max(axis=0)])
        cells = zip(low[own].tolist(), high[own].tolist(), strict=True)
        prices_of = [
            [_smallest_cell(losses, j, *ends)[2] for j, ends in enumerate(zip(a, b, strict=True))]
            for a, b in cells
        ]
        costliest.append(np.max(prices_of, axis=0))
    return np.array(hull, np.int32), np.array(costliest)


def _take_in(losses, low, high, row):
    low[:], high[:], _ = _closure(losses, [low.tolist(), high.tolist(), [int(code) for code in row]])


def cover_each(
    codes, slots, changed, low, high, covered, first, last, skip, box, hull, costliest, losses, k, begin, end
):
    grown = 0
    for u in range(begin, end):
        open_cells = [s for s in range(len(low)) if not _covers(low[s], high[s], codes[u])]
        costs = [(_added(losses, low[s], high[s], codes[u]), s) for s in open_cells]
        costs = sorted(cost for cost in costs if cost[0] is not None)
        for _, s in costs[: max(k - covered[u], 0)]:
            before = [_covers(low[s], high[s], row) for row in codes]
            _take_in(losses, low[s], high[s], codes[u])
            covered += np.array([_covers(low[s], high[s], row) for row in codes]) & ~np.array(before)
            grown += 1
    return grown


def open_sets(
    codes, slots, changed, low, high, component, members, starts, first, last, skip, hull, costliest, losses
):
    grown = 0
    owner = np.repeat(np.arange(len(codes)), np.diff(slots))
    for begin, end in pairwise(starts):
        pairs = [
            (s, u) for u in members[begin:end] for s in range(len(low)) if component[owner[s]] != component[u]
        ]
        if any(_covers(low[s], high[s], codes[u]) for s, u in pairs):
            continue
        costs = [(_added(losses, low[s], high[s], codes[u]), s, u) for s, u in pairs]
        costs = [cost for cost in costs if cost[0] is not None]
        if costs:
            _, s, u = min(costs)
            _take_in(losses, low[s], high[s], codes[u])
            grown += 1
    return grown


def join_components(
    codes, slots, owner, changed, low, high, over, over_start, region_of, within, within_start, component,
    first, last, skip, box, losses, k, look, who,
):  # fmt: skip
    grown = 0
    component = component.copy()
    gained = np.zeros(len(codes), int)
    for u in who:
        while True:
            mine = list(over[over_start[u] : over_start[u + 1]])
            matches = gained[u] + sum(component[owner[s]] == component[u] for s in mine)
            if matches >= k:
                break
            own = range(slots[u], slots[u + 1])
            steps = []
            others = {int(component[owner[s]]) for s in mine} - {int(component[u])}
            for v in [v for v in range(len(codes)) if component[v] in others]:
                gain = sum(component[owner[s]] == component[v] for s in mine)
                steps += [(_added(losses, low[s], high[s], codes[v]), gain, s, v, v) for s in own]
            for s in own:
                inside = within[within_start[region_of[s]] : within_start[region_of[s] + 1]]
                for v in inside.tolist():
                    gain = 1 + (component[u] != component[v]) * sum(
                        component[owner[c]] == component[v] for c in mine
                    )
                    for cell in range(slots[v], slots[v + 1]):
                        if not _covers(low[cell], high[cell], codes[u]):
                            steps.append((_added(losses, low[cell], high[cell], codes[u]), gain, cell, u, v))
            steps = [
                (Fraction(cost) / min(gain, k - matches), *rest)
                for cost, gain, *rest in steps
                if cost is not None
            ]
            if not steps:
                break
            _, cell, taken, v = min(steps)
            _take_in(losses, low[cell], high[cell], codes[taken])
            gained[taken] += 1
            component[component == component[v]] = component[u]
            grown += 1
    return grown
