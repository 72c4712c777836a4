"""What all clusterings share: equal rows are one item, and a tree of boxes holds the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.methods.loss_tables import losses_of
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.kernels.losses import Losses

LEAF = 16
"""Items in a leaf of the tree of boxes."""


@dataclass(frozen=True, eq=False, repr=False)
class Items(Brief):
    """Distinct rows of a table, in the codes that occur."""

    codes: NDArray[Any]
    """``[items, columns]``, row-major; the codes of a column are numbered from 0 without gaps."""
    item_of: IntVector
    """Row of the table -> item."""
    count: LongVector
    """Rows of each item."""
    losses: Losses
    """What ranges of these codes lose."""

    def plant_tree(self) -> tuple[NDArray[Any], LongVector, LongVector, Any]:
        """Return the codes in the order of a tree of boxes, that order, row -> position in it, and the tree.

        O(items x columns x log items).
        """
        from shoal.kernels.neighbours import plant

        order, tree = plant(self.codes, self.losses, LEAF)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return np.ascontiguousarray(self.codes[order]), order, place[self.item_of], tree

    def of(self, rows: LongVector) -> Items:
        """Return the items of some rows; rows are numbered by their positions in `rows`. O(rows log rows)."""
        used, item_of, count = np.unique(self.item_of[rows], return_inverse=True, return_counts=True)
        return Items(np.ascontiguousarray(self.codes[used]), item_of.astype(np.int32), count, self.losses)


def collapse(table: CodedTable, measure: str) -> Items:
    """Collapse equal rows, and look up what each range loses. O(rows x columns + sum of squared domains)."""
    from shoal.kernels.grouping import distinct

    item_of, first = distinct(table.quasi.wide)
    present = [np.flatnonzero(counts) for counts in table.value_counts]
    kind = np.uint16 if max((len(codes) for codes in present), default=0) <= 1 << 16 else np.int32
    codes = np.empty((len(first), len(table.attributes)), kind)
    for j, own in enumerate(present):
        codes[:, j] = np.searchsorted(own, table.quasi.wide[first, j])
    losses = losses_of(table, measure, present)
    return Items(codes, item_of, np.bincount(item_of, minlength=len(first)).astype(np.int64), losses)
