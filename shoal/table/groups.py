"""`Groups`: many groups of rows at once, as privacy models see them: sizes and sensitive histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.brief import Brief

if TYPE_CHECKING:
    from shoal.table import Attribute


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(Brief):
    """The values of one sensitive column in each group, sparse.

    Group g holds ``value[start[g]:start[g+1]]`` (codes, ascending), each ``count`` times.
    """

    start: LongVector
    value: IntVector
    count: LongVector


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Brief):
    """Candidate or published groups, any number of them; what a group model needs and nothing more."""

    size: LongVector
    """``[groups]`` rows in each."""
    sensitive: tuple[Histograms, ...]
    """One per sensitive column."""
    totals: tuple[LongVector, ...]
    """Per sensitive column, how often each code occurs in the whole table."""
    attributes: tuple[Attribute, ...]
    """The sensitive columns."""

    def __len__(self) -> int:
        return len(self.size)


def group(
    group_of: IntVector,
    groups: int,
    sensitive_codes: IntMatrix,
    attributes: tuple[Attribute, ...],
    totals: Sequence[LongVector],
    weights: LongVector | None = None,
) -> Groups:
    """Make `Groups` from a group number per row. Rows with number -1 are in no group. O(rows + groups).

    `weights` (positive) counts rows that stand for several equal ones. A search that asks often does well to
    sort its rows by their sensitive code once: that saves each call a sort.
    """
    from shoal.kernels.grouping import group_sizes, histograms

    if weights is None:
        weights = np.ones(len(group_of), np.int64)
    columns = tuple(
        Histograms(*histograms(group_of, groups, np.ascontiguousarray(sensitive_codes[:, j]), weights))
        for j in range(len(attributes))
    )
    return Groups(group_sizes(group_of, groups, weights), columns, tuple(totals), attributes)
