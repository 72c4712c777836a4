"""Which distinct original rows lie in the box of codes that a published row covers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.consistency import People, within_sets
from shoal.release.published import Published
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.machine.threads import PIECE, one_after_another

LINKS = 1 << 25
"""How many pairs of distinct rows that match are held at most, and two more per row of a large table; beyond it there
are bounds instead of a count."""
AT_ONCE = 1 << 14
"""How many classes look for their matching rows at a time."""
EXACT = 1e6
"""The weight of kept values in the tree over original rows: they must be equal, so it splits by them first."""
Boxes = tuple[IntMatrix, IntMatrix]
"""The lowest and the highest code of each box, in each column."""


def join_rows(original: CodedTable, more: Sequence[IntVector]) -> People:
    """Return the distinct original rows, further columns included; the tree splits by these first."""
    codes = np.column_stack([original.quasi.wide, *more]).astype(np.int32, copy=False)
    scale = [*People.scales(original.attributes), *(EXACT for _ in more)]
    cuts = [
        *People.cuts(original.attributes),
        *(np.zeros(int(one.max(initial=0)) + 2, np.int32) for one in more),
    ]
    return People.over(np.asfortranarray(codes), np.array(scale), cuts)


class Search:
    """The distinct original rows inside each box, as long as there are not too many."""

    def __init__(
        self,
        people: People,
        boxes: Boxes,
        published: Published | None = None,
        class_of: IntVector | None = None,
    ) -> None:
        low, high = boxes
        sets = None if published is None or published.cells is None else published.cells.sets
        quasi = 0 if published is None else len(published.attributes)
        self.people = people
        starts, links = [np.zeros(1, np.int64)], []
        total = 0
        most = LINKS if len(people.row_of) <= PIECE else LINKS + 2 * len(people.row_of)

        def inside(begin: int) -> tuple[LongVector, IntVector]:
            part = slice(begin, begin + AT_ONCE)
            start, found = people.inside(low[part], high[part])
            if sets is None:
                return start, found
            places = np.arange(len(low)) if class_of is None else class_of
            return within_sets(people, sets, start, found, quasi, places[part])

        begins = range(0, len(low), AT_ONCE)
        for start, found in one_after_another(inside, begins) if len(begins) > 1 else map(inside, begins):
            starts.append(start[1:] + total)
            links.append(found)
            total += len(found)
            if total > most:
                break
        self.start = np.concatenate(starts)
        self.links = np.concatenate([np.zeros(0, np.int32), *links])
        self.complete = len(self.start) == len(low) + 1

    def count_matched(self, size: LongVector) -> int:
        """Return how many of the rows that each box stands for can be given an original row, among the boxes that were
        searched.
        """
        from shoal.kernels.consistency import assign_units

        order = np.argsort(np.diff(self.start), kind="stable")
        sizes, weights = size[: len(self.start) - 1].astype(np.int64), self.people.weight.astype(np.int64)
        return int(assign_units(self.start, self.links, sizes, weights, order).sum())
