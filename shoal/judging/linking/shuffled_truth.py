"""How many rows of a release with columns shuffled within buckets are not true? Columns are matched by their groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.coding import CodedTable
from shoal.io.coded import Codes
from shoal.judging.linking.consistency import People
from shoal.judging.linking.pinned import count_missing_values
from shoal.judging.linking.row_search import Boxes, Search, join_rows
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, IntVector


def count_false_shuffled(
    published: Published, original: CodedTable, columns: Sequence[tuple[Codes, IntVector]]
) -> int:
    """Return how many rows cannot be true: the most over groups of columns that were shuffled as a unit.

    `columns` are the codes before and after of each sensitive column, and of all plain columns as one.
    """
    from shoal.kernels.closures import bounds
    from shoal.kernels.grouping import distinct

    boxes = published.cells
    assert boxes is not None
    people = join_rows(original, [before for before, _ in columns])
    low, high = (
        np.column_stack([end[published.class_of], *(after for _, after in columns)])
        for end in (boxes.low, boxes.high)
    )
    bucket, first = distinct(np.asfortranarray(published.part_of[:, None]))
    hull_low, hull_high = (
        np.column_stack([bounds(np.ascontiguousarray(column), bucket, len(first))[end] for column in ends.T])
        for end, ends in enumerate((low, high))
    )
    unread = boxes.unread[published.class_of]
    units = _units(published, len(columns) - 1)
    return max(
        count_missing_values(units, people.codes, people.weight, bucket, low, high),
        *(
            _count_false_units(unit, people, bucket, (low, high), (hull_low, hull_high), unread)
            for unit in units
        ),
    )


def _units(published: Published, sensitive: int) -> list[list[int]]:
    """Return the columns that were shuffled as a unit: quasi-identifiers, sensitive columns, all plain ones as one."""
    quasi = len(published.attributes)
    together = [list(columns) for columns in published.layout.shuffling.groups(quasi)]
    alone = []
    for j in range(sensitive):
        place = published.layout.shuffling.place(j)
        if place >= 0:
            together[place].append(quasi + j)
        else:
            alone.append([quasi + j])
    return [*together, *alone, [quasi + sensitive]]


def _count_false_units(
    columns: list[int],
    people: People,
    bucket: IntVector,
    shown_boxes: Boxes,
    hulls: Boxes,
    unread: BoolVector,
) -> int:
    """Match what a group of columns shows with original rows that fit the bucket, or any if too many do."""
    from shoal.kernels.grouping import distinct

    low, high = (end[:, columns] for end in shown_boxes)
    shown = np.column_stack([low, high, unread])
    for places in (bucket, np.zeros_like(bucket)):
        source_of, first = distinct(np.asfortranarray(np.column_stack([places, shown]).astype(np.int32)))
        size = np.bincount(source_of, minlength=len(first)).astype(np.int64)
        begin, end = low[first], high[first]
        if places is bucket:
            own = people
            begin, end = (hull[bucket[first]] for hull in hulls)
            begin[:, columns], end[:, columns] = low[first], high[first]
        else:
            number, some = distinct(np.asfortranarray(people.codes[:, columns]))
            weight = np.bincount(number, people.weight, len(some)).astype(np.int64)
            flat = [np.zeros(int(people.codes[:, j].max(initial=0)) + 2, np.int32) for j in columns]
            own = People.over(
                np.asfortranarray(people.codes[some][:, columns]), np.ones(len(columns)), flat, weight
            )
        begin[unread[first], 0], end[unread[first], 0] = 1, 0
        found = Search(own, (begin, end))
        if found.complete:
            return len(bucket) - found.count_matched(size)
    return 0
