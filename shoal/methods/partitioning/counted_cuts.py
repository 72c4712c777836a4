"""Mondrian's cuts for whoever has counts and not rows, such as the driver of a cluster: which box is cut where, and
which box a row is in. The cuts are those of the method, so the boxes are, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.coding import Attribute
from shoal.coding.groups import Groups, Histograms
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import BoxCuts
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

Cuts = tuple[IntVector, IntVector, IntVector]
"""Column, first and last code of the cut of each box; column -1: the box stays whole."""


@dataclass(frozen=True, eq=False, repr=False)
class BoxCounts(Brief):
    """How many rows of each box have each code, and each code together with each sensitive value."""

    codes: NDArray[np.int64]
    """``[boxes, codes]``; the codes of all columns are numbered consecutively, from ``losses.shape[j, START]`` on."""
    values: tuple[NDArray[np.int64], ...] = ()
    """Per sensitive column ``[boxes, codes, values]``; not needed for plain k."""


def chosen_cuts(
    how: BoxCuts,
    counts: BoxCounts,
    losses: Losses,
    requirements: Requirements,
    sensitive: Sequence[Attribute] = (),
    totals: Sequence[LongVector] = (),
) -> Cuts:
    """Return the cut of each box: the best one after which both sides satisfy the requirements.

    `totals` counts the values of the sensitive columns in the whole table. Not for ``strict = false``, which depends on
    the order of rows, nor for people with several rows, whom counts of rows do not tell apart.
    """
    from shoal.kernels.cuts import cuts_of_histograms

    if not how.strict:
        raise ValueError("cuts with strict = false depend on the order of rows")
    k = max(requirements.k, 1)
    column, first, last = cuts_of_histograms(counts.codes, losses, k, True, how.by_width)
    if requirements.only_k:
        return column[:, 0], first[:, 0], last[:, 0]
    chosen = (
        np.full(len(column), -1, np.int32),
        np.zeros(len(column), np.int32),
        np.zeros(len(column), np.int32),
    )
    waiting = np.arange(len(column))
    for choice in range(column.shape[1]):
        waiting = waiting[column[waiting, choice] >= 0]
        if not len(waiting):
            break
        cuts = column[waiting, choice], first[waiting, choice], last[waiting, choice]
        groups = _sides(counts, losses, waiting, cuts, sensitive, totals)
        good: BoolVector = np.all(requirements.holds_in(groups).reshape(-1, 2), axis=1)
        for own, cut in zip(chosen, cuts, strict=True):
            own[waiting[good]] = cut[good]
        waiting = waiting[~good]
    return chosen


def _sides(
    counts: BoxCounts,
    losses: Losses,
    boxes: LongVector,
    cuts: Cuts,
    sensitive: Sequence[Attribute],
    totals: Sequence[LongVector],
) -> Groups:
    """Return both sides of a cut of each box as groups: inside, outside, inside, .."""
    from shoal.kernels.losses import SIZE, START

    starts, sizes = losses.shape[:, START], losses.shape[:, SIZE]
    own = [
        (box, slice(start + a, start + z + 1), slice(start, start + size))
        for box, start, size, a, z in zip(
            boxes, starts[cuts[0]], sizes[cuts[0]], cuts[1], cuts[2], strict=True
        )
    ]

    def both(table: NDArray[np.int64]) -> NDArray[np.int64]:
        inside = np.stack([table[box, taken].sum(axis=0) for box, taken, _ in own])
        whole = np.stack([table[box, all_].sum(axis=0) for box, _, all_ in own])
        return np.stack([inside, whole - inside], axis=1).reshape(2 * len(own), *inside.shape[1:])

    columns = []
    for values in counts.values:
        dense = both(values)
        side, value = np.nonzero(dense)
        start = np.concatenate([[0], np.cumsum(np.bincount(side, minlength=len(dense)))]).astype(np.int64)
        columns.append(Histograms(start, value.astype(np.int32), dense[side, value]))
    return Groups(both(counts.codes), tuple(columns), tuple(totals), tuple(sensitive))


@dataclass
class CutTree:
    """The cuts that were made; nodes that were not cut are the boxes."""

    column: list[int] = field(default_factory=lambda: [-1])
    first: list[int] = field(default_factory=lambda: [0])
    last: list[int] = field(default_factory=lambda: [0])
    inside: list[int] = field(default_factory=lambda: [-1])
    outside: list[int] = field(default_factory=lambda: [-1])

    def cut(self, node: int, column: int, first: int, last: int) -> tuple[int, int]:
        """Cut a box, and return the nodes of both sides: the rows whose code is inside, and the others."""
        born = len(self.column), len(self.column) + 1
        self.column[node], self.first[node], self.last[node] = column, first, last
        self.inside[node], self.outside[node] = born
        for _ in born:
            for own, value in zip(
                (self.column, self.first, self.last, self.inside, self.outside),
                (-1, 0, 0, -1, -1),
                strict=True,
            ):
                own.append(value)
        return born

    @property
    def boxes(self) -> list[int]:
        """The nodes that were not cut; those that lie close in the tree are close in the list."""
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if self.column[node] < 0:
                found.append(node)
            else:
                waiting += [self.outside[node], self.inside[node]]
        return found

    def box_of(self, codes: IntMatrix) -> IntVector:
        """Return the node that is the box of each row. O(rows x depth)."""
        from shoal.kernels.cuts import walk_cuts

        arrays = (self.column, self.first, self.last, self.inside, self.outside)
        found: IntVector = walk_cuts(codes, *(np.array(own, np.int32) for own in arrays))
        return found
