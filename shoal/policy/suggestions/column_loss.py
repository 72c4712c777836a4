"""What a column would lose: by itself, in a release that has only this quasi-identifier, and together with others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.coding.hierarchy import Hierarchy, build
from shoal.coding.hierarchy.kinds import Spec
from shoal.errors import ShoalError
from shoal.io import factorize
from shoal.support.arrays import FloatVector


@dataclass(frozen=True)
class OwnLoss:
    """What a hierarchy loses by itself (LM, 0 to 1)."""

    alone: float
    """If every published cell must be that of k rows, and nothing else is asked."""
    levels: tuple[float, ...]
    """If all values are shown at a level: each between the values and the top, from fine to coarse."""
    together: float | None = None
    """In a release of all quasi-identifiers by Mondrian; None if that is not known."""
    rows: int = 0
    """How many rows that release has."""


def own_loss(values: pl.Series, spec: Spec, k: int) -> OwnLoss | None:
    """Return what the hierarchy of a column loses by itself; None if it does not fit the values.

    Values of fewer than k rows are joined as far down in the hierarchy as possible. O(n + values x levels).
    """
    numbers, distinct = factorize(values)
    try:
        hierarchy = build(distinct, spec)
    except ShoalError:
        return None
    rows = np.zeros(hierarchy.size)
    np.add.at(rows, hierarchy.locate(distinct), np.bincount(numbers, minlength=len(distinct)))
    total, others = max(float(rows.sum()), 1.0), max(hierarchy.size - 1, 1)
    wide = (hierarchy.high - hierarchy.low)[1:-1] / others
    return OwnLoss(loss_alone(hierarchy, rows, k), tuple(float(rows @ level) / total for level in wide))


def loss_alone(hierarchy: Hierarchy, rows: FloatVector, k: int) -> float:
    """Return what a hierarchy loses (LM, 0 to 1) if every published cell must be that of k rows; `rows` by code."""
    k = min(k, int(rows.sum()) + 1)  # as good as any larger one, which may be too large for a float
    lost = _free(rows, k) if hierarchy.free else _nodes(hierarchy, rows, k)
    return lost / max(float(rows.sum()), 1.0)


def _free(rows: FloatVector, k: int) -> float:
    """Return the loss where any neighbours may be joined: of ranges that are closed as soon as they have k rows."""
    lost, start, inside, last = 0.0, 0, 0.0, (0, 0.0)
    for code, count in enumerate(rows):
        inside += count
        if inside >= k:
            lost += inside * (code - start)
            last = (start, inside)
            start, inside = code + 1, 0.0
    if inside:  # what is left joins the range before
        begun, before = last
        end = len(rows) - 1
        lost += before * (end - (start - 1)) + inside * (end - begun)
    return lost / max(len(rows) - 1, 1)


def _nodes(hierarchy: Hierarchy, rows: FloatVector, k: int) -> float:
    """Return the loss where rows are joined in nodes: level by level, nodes of fewer than k rows are shown as the node
    above, together with one of their neighbours there if they are still too few.
    """
    starts, counts = np.arange(hierarchy.size), rows
    lost = np.zeros(hierarchy.size)
    for level in range(1, hierarchy.height + 1):
        above = np.unique(hierarchy.low[level])
        first = np.searchsorted(starts, above)
        share = (hierarchy.high[level][above] - above) / max(hierarchy.size - 1, 1)
        own = np.repeat(share, np.diff(np.append(first, len(starts))))
        enough = (counts >= k) | (counts == 0)
        few = np.add.reduceat(np.where(enough, 0.0, counts), first)
        below = np.add.reduceat(np.where(enough, lost, 0.0), first)
        dearest = np.where(enough & (counts > 0), counts * own - lost, np.inf)
        joining = np.minimum.reduceat(dearest, first)
        whole = np.add.reduceat(counts, first)
        lone = (few > 0) & (few < k)
        lost = below + few * share + np.where(lone & np.isfinite(joining), joining, 0.0)
        lost = np.where(lone & ~np.isfinite(joining), whole * share, lost)
        starts, counts = above, whole
    return float(lost.sum())
