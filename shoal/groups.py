"""`Groups`: many groups of rows at once, as privacy models see them: sizes and sensitive histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.table import Attribute


@dataclass(frozen=True, eq=False)
class Histograms:
    """The values of one sensitive column in each group, sparse.

    Group g holds ``value[start[g]:start[g+1]]`` (codes, ascending), each ``count`` times.
    """

    start: LongVector
    value: IntVector
    count: LongVector


@dataclass(frozen=True, eq=False)
class Groups:
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

    `weights` counts rows that stand for several equal ones.
    """
    from shoal.kernels.grouping import histograms

    if weights is None:
        weights = np.ones(len(group_of), np.int64)
    inside = group_of >= 0
    if not inside.all():
        group_of, weights, sensitive_codes = group_of[inside], weights[inside], sensitive_codes[inside]
    size = np.bincount(group_of, weights=weights, minlength=groups).astype(np.int64)
    columns = tuple(
        Histograms(*histograms(group_of, groups, np.ascontiguousarray(sensitive_codes[:, j]), weights))
        for j in range(len(attributes))
    )
    return Groups(size, columns, tuple(totals), attributes)
