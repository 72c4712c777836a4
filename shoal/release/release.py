"""`Release`: what a method proposes to publish. Rendering, shuffling and writing live in publish.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.release.layout import CLASSES, Classes, ProposedBuckets
from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.coding import CodedTable


@dataclass(frozen=True, eq=False, repr=False)
class ValueSets(Brief):
    """Sets of codes instead of ranges, for methods that publish them: one list per region and attribute.

    The set of region r in attribute a is ``codes[start[r * attributes + a] : start[r * attributes + a + 1]]``,
    ascending.
    """

    start: LongVector
    codes: IntVector


@dataclass(frozen=True, eq=False, repr=False)
class Release(Brief):
    """What a method proposes to publish, row by row in the order of its table."""

    region_of: IntVector
    """Row -> region; -1 for a suppressed row."""
    low: IntMatrix
    """``[regions, quasi-identifiers]`` first code of each cell. Every range must be publishable:
    a node of the hierarchy, or any range where the hierarchy is free (see `Hierarchy.lift`)."""
    high: IntMatrix
    """``[regions, quasi-identifiers]`` last code of each cell."""
    levels: tuple[int, ...] | None = None
    """For full-domain releases, the level of each quasi-identifier; cells are named by it."""
    sets: ValueSets | None = None
    """Only if a method publishes value sets; `low` and `high` are then their ends."""
    layout: Classes | ProposedBuckets = CLASSES
    """Buckets, for permuting methods."""
    relocated: bool = False
    """Some rows may show cells that do not cover their values."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the method reports about its work, for the run record: mappings checked, bounds, .."""


def closures(table: CodedTable, group_of: IntVector, groups: int) -> tuple[IntMatrix, IntMatrix]:
    """Return the smallest publishable cell range that covers the rows of each group, per quasi-identifier.

    Rows with group -1 are ignored; every group must have a row. O(rows x quasi-identifiers).
    """
    import numpy as np

    from shoal.kernels.closures import bounds

    low = np.empty((groups, len(table.attributes)), np.int32)
    high = np.empty_like(low)
    for index, attribute in enumerate(table.attributes):
        ends = bounds(np.ascontiguousarray(table.quasi.narrow[index], np.int32), group_of, groups)
        low[:, index], high[:, index] = attribute.hierarchy.lift(*ends)
    return low, high
