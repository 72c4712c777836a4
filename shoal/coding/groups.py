"""`Groups`: many groups of rows at once, as privacy models see them: sizes and sensitive histograms.

Where a person may have several rows, sizes and histograms count people: a group's size is the number of different
people who have a row in it, and a value's count is the number of those who show it in at least one of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.support.arrays import IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.coding import Attribute


@dataclass(frozen=True, eq=False, repr=False)
class Histograms(Brief):
    """The values of one sensitive column in each group, sparse.

    Group g holds ``value[start[g]:start[g+1]]`` (codes, ascending), each ``count`` times.
    """

    start: LongVector
    value: IntVector
    count: LongVector

    def __iter__(self) -> Iterator[LongVector | IntVector]:
        return iter((self.start, self.value, self.count))

    @classmethod
    def of(cls, counts: LongVector) -> Histograms:
        """Return those of one group, from how often it has each code."""
        value = np.flatnonzero(counts)
        return cls(np.array([0, len(value)]), value.astype(np.int32), counts[value])


@dataclass(frozen=True, eq=False, repr=False)
class Shared(Brief):
    """Rows of which some belong to the same person."""

    rows: LongVector
    """``[groups]`` rows in each."""
    people: int
    """How many people the whole table has."""


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Brief):
    """Candidate or published groups, any number of them; what a group model needs and nothing more."""

    size: LongVector
    """``[groups]`` people in each. A row is a person of its own, unless the table says whose it is."""
    sensitive: tuple[Histograms, ...]
    """One per sensitive column."""
    totals: tuple[LongVector, ...]
    """Per sensitive column, how many people of the whole table have each code."""
    attributes: tuple[Attribute, ...]
    """The sensitive columns."""
    shared: Shared | None = None
    """What is different if some people have several rows; None: every row is a person of its own."""
    units: tuple[Groups, ...] = ()
    """The same rows with the groups that people belong to in the place of people, one per kind, such as households."""
    placed: tuple[IntVector, IntVector | LongVector | None] | None = None
    """The group of each of some rows of the table, and these rows (None: all), if a rule needs them: with earlier
    releases, who is in a group matters, not only how many."""

    @property
    def rows(self) -> LongVector:
        """``[groups]`` rows in each."""
        return self.size if self.shared is None else self.shared.rows

    def everybody(self, column: int) -> int:
        """Return how many people the whole table has; `column` is a sensitive column."""
        return int(self.totals[column].sum()) if self.shared is None else self.shared.people

    def mass(self, column: int) -> LongVector:
        """Return the sum of the counts of each group in a sensitive column. A person with two values counts twice."""
        if self.shared is None:
            return self.size
        own = self.sensitive[column]
        total = np.concatenate(([0], np.cumsum(own.count)))
        found: LongVector = total[own.start[1:]] - total[own.start[:-1]]
        return found

    def __len__(self) -> int:
        return len(self.size)


def group(
    group_of: IntVector,
    groups: int,
    sensitive_codes: IntMatrix,
    attributes: tuple[Attribute, ...],
    totals: Sequence[LongVector],
    weights: LongVector | None = None,
    person: IntVector | None = None,
    people: int = 0,
) -> Groups:
    """Make `Groups` from a group number per row. Rows with number -1 are in no group. O(rows + groups).

    `person`, if given, says whose each row is, and `people` how many people the whole table has: then people are
    counted. That takes a sort, unless the numbers of people ascend within each group.

    `weights` (positive) counts rows that stand for several equal ones. A search that asks often does well to
    sort its rows by their sensitive code once: that saves each call a sort.
    """
    from shoal.kernels.grouping import group_sizes, histograms

    if person is not None:
        rows = group_sizes(group_of, groups, np.ones(len(group_of), np.int64) if weights is None else weights)
        return _of_people(group_of, groups, sensitive_codes, attributes, totals, person, Shared(rows, people))
    if weights is None:
        weights = np.ones(len(group_of), np.int64)
    columns = tuple(
        Histograms(*histograms(group_of, groups, np.ascontiguousarray(sensitive_codes[:, j]), weights))
        for j in range(len(attributes))
    )
    return Groups(group_sizes(group_of, groups, weights), columns, tuple(totals), attributes)


def _of_people(
    group_of: IntVector,
    groups: int,
    sensitive_codes: IntMatrix,
    attributes: tuple[Attribute, ...],
    totals: Sequence[LongVector],
    person: IntVector,
    shared: Shared,
) -> Groups:
    from shoal.kernels.grouping import histograms
    from shoal.kernels.people import count_people, once_per_person, rows_by_group

    order, start, neighbours = rows_by_group(group_of, groups, person)
    if not neighbours:
        by_person = np.argsort(person, kind="stable")
        order, start, _ = rows_by_group(group_of[by_person], groups, person[by_person])
        order = by_person[order]
    columns = []
    for j, attribute in enumerate(attributes):
        codes = np.ascontiguousarray(sensitive_codes[:, j])
        rows, group_of_row = once_per_person(order, start, person, codes, attribute.hierarchy.size)
        ones = np.ones(len(rows), np.int64)
        columns.append(Histograms(*histograms(group_of_row, groups, codes[rows], ones)))
    return Groups(count_people(order, start, person), tuple(columns), tuple(totals), attributes, shared)
