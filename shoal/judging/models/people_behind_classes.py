"""The people behind a class: those of the release, and those of a population, counted or estimated from its size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.models.keys import Key
from shoal.judging.models.model import GroupModel, Monotone
from shoal.judging.models.overall import Seen
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.coding.groups import Groups
    from shoal.judging.linking.evidence import Evidence

Ends = IntMatrix | NDArray[np.int64]
"""The first or the last codes of boxes."""
UNKNOWN = (
    "the population is not known, so only people of the release count: name it, or its size ([population])"
)
UNREADABLE = (
    "cells are lists, or not in the hierarchies, so only people of the release count, and not the population"
)


def share_of(table: CodedTable) -> float | None:
    """Return the share of the population that is in the table; None if nobody knows its size."""
    size = table.context.population_size
    return None if not size else table.counting.everyone / size


def people_of(evidence: Evidence) -> int:
    """Return how many people the table has, as far as the evidence tells: those of the original, else those of the
    release with the suppressed rows that are known.
    """
    if evidence.table is not None:
        return evidence.table.counting.count
    if evidence.owners.person is not None:
        return len(np.unique(evidence.owners.person))
    return evidence.published.rows + evidence.published.suppressed


def seen_by(evidence: Evidence, by: str) -> Seen | str:
    """Return the classes as an adversary sees them, or why nobody can know. Where the population cannot be counted, its
    people are at least those of the release, so risks are upper bounds.
    """
    if evidence.owners.unknown:
        return evidence.owners.unknown
    if evidence.published.in_buckets:
        return "columns were shuffled within buckets, so classes do not say whose a row is"
    try:
        sizes = evidence.sizes
    except DataError as error:
        return str(error)
    if by == "prosecutor":
        return Seen(sizes)
    table = evidence.table
    if table is not None and table.context.population is not None:
        crowd = evidence.population_sizes
        return Seen(sizes, note=UNREADABLE) if crowd is None else Seen(sizes, crowd)
    size = evidence.population_size
    if size is None:
        return Seen(sizes, note=UNKNOWN)
    return Seen(sizes, None, min(people_of(evidence) / size, 1.0))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InPopulation(GroupModel, Brief):
    """Enough people of the population match every class, as a rule over groups of rows for searches.

    A class shows at least the smallest cells over its rows, so everybody who lies in these matches it. Monotone: the
    cells of a union cover those of its parts.
    """

    name: ClassVar[str] = "in-population"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    summary: ClassVar[str] = "at least so many people of the population match every class"
    key: ClassVar[Key] = Key("k_map", summary)
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    needs_owners: ClassVar[bool] = False

    least: int
    because: str
    codes: tuple[IntMatrix, IntMatrix]
    """Of the table, and of the people of the population."""
    table: CodedTable

    @classmethod
    def of(cls, table: CodedTable, least: int, because: str) -> InPopulation | None:
        """Return the rule for a table; None if one person is enough: everybody of the table is in the population."""
        people = table.context.population
        assert people is not None
        if least < 2:
            return None
        return cls(least=least, because=because, codes=(table.quasi.wide, people), table=table)

    @property
    def title(self) -> str:
        """Name the model that asks for it."""
        return self.because

    @property
    def threshold(self) -> float:
        """How many people."""
        return float(self.least)

    @cached_property
    def _crowd(self) -> Counted:
        return Counted(self.codes[1])

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return how many people match each group, `least` if there are more."""
        sizes = groups.size.astype(np.float64)
        small = np.flatnonzero((groups.size < self.least) & (groups.size > 0))
        if not len(small):
            return sizes
        assert groups.placed is not None, "this search does not say which rows a group has"
        group_of, rows = groups.placed
        place = np.full(len(groups) + 1, -1, np.int32)
        place[small] = np.arange(len(small), dtype=np.int32)
        own = place[group_of]
        inside = np.flatnonzero(own >= 0)
        row: LongVector = inside if rows is None else rows[inside].astype(np.int64)
        low, high = smallest_cells(self.table, row, own[inside], len(small))
        sizes[small] = np.maximum(self._crowd.within(low, high, self.least), sizes[small])
        return sizes

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups match enough people of the population. Groups that are large enough are not compared."""
        return np.asarray(self.score_groups(groups) >= self.least)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more people than the population."""
        people = len(self.codes[1])
        if self.least <= people:
            return None
        return f"no release can satisfy {self.title}: it takes {self.least:,} people, and the population has {people:,}"


def smallest_cells(
    table: CodedTable, rows: LongVector, group_of: IntVector, groups: int
) -> tuple[IntMatrix, IntMatrix]:
    """Return the smallest publishable ranges over the rows of each group. Every group has a row."""
    from shoal.kernels.closures import bounds

    low = np.empty((groups, len(table.attributes)), np.int32)
    high = np.empty_like(low)
    for j, attribute in enumerate(table.attributes):
        codes = np.ascontiguousarray(table.quasi.narrow[j][rows], np.int32)
        low[:, j], high[:, j] = attribute.hierarchy.lift(*bounds(codes, group_of.astype(np.int32), groups))
    return low, high


class Counted:
    """The people of a population, sorted so that those who match a class are counted fast."""

    def __init__(self, codes: IntMatrix) -> None:
        from shoal.kernels.grouping import distinct

        number, first = distinct(codes)
        self.weights = np.bincount(number, minlength=len(first)).astype(np.int64)
        rows = codes[first]
        self.lead = int(np.argmax([len(np.unique(column)) for column in rows.T])) if rows.size else 0
        order = np.argsort(rows[:, self.lead], kind="stable") if rows.size else np.arange(len(rows))
        self.rows = np.ascontiguousarray(rows[order], np.int32)
        self.weights = self.weights[order]

    def within(self, low: Ends, high: Ends, most: int = 2**62) -> LongVector:
        """Count the people in each box of codes, up to `most`."""
        from shoal.kernels.crowds import people_within

        if not self.rows.shape[1]:
            return np.full(len(low), int(self.weights.sum()), np.int64)
        column = self.rows[:, self.lead]
        begin = np.searchsorted(column, low[:, self.lead], side="left")
        end = np.searchsorted(column, high[:, self.lead], side="right")
        found: LongVector = people_within(
            self.rows,
            self.weights,
            np.ascontiguousarray(low, np.int32),
            np.ascontiguousarray(high, np.int32),
            begin.astype(np.int64),
            end.astype(np.int64),
            most,
        )
        return found
