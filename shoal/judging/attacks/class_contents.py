"""What the rows of each class of a release truly have, and how many of their values were guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.judging.attacks.rerun import how_to_tell_owners
from shoal.judging.linking.consistency import People
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.statements import Links
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, LongMatrix, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Truth(Brief):
    """What the rows of each class truly have."""

    class_of: LongVector
    """Row of the original -> class; -1 if it is suppressed."""
    sizes: LongVector
    width: LongMatrix
    """``[classes, columns]`` how many values a cell covers."""
    keys: tuple[LongVector, ...]
    """Per column, the class and the value of each pair that occurs, as one number, ascending."""
    counts: tuple[LongVector, ...]
    """Per column, how many rows have it."""
    covered: tuple[BoolVector, ...]
    """Per column, whether the cell covers the value."""
    domains: tuple[int, ...]
    """Per column, how many values there are."""

    @classmethod
    def of(cls, evidence: Evidence) -> Truth:
        """Find out who is in which class: the maker knows it; else it must follow from the cells."""
        published, table = evidence.published, evidence.original
        own = np.full(table.rows, -1, np.int64)
        if evidence.owner is not None:
            own[evidence.owner] = published.class_of
        else:
            people = People.in_table(table)
            links = Links.of(published, people)
            if len(np.unique(links.row)) < len(links.row):
                raise DataError(
                    "which row is whose does not follow from the release, so guesses cannot be compared with the "
                    f"truth: {how_to_tell_owners()}"
                )
            mine = np.full(len(links.weight), -1, np.int64)
            mine[links.row] = links.class_of
            own = mine[people.row_of]
        rows = np.flatnonzero(own >= 0)
        domains = tuple(attribute.hierarchy.size for attribute in table.attributes)
        pairs = [
            np.unique(own[rows] * size + table.quasi.narrow[j][rows], return_counts=True)
            for j, size in enumerate(domains)
        ]
        keys, counts = (tuple(one[at].astype(np.int64) for one in pairs) for at in (0, 1))
        low, high = published.cell_ranges
        width = (high - low + 1).astype(np.int64)
        if published.sets is not None:
            width = np.diff(published.sets.start)[: width.size].reshape(width.shape)
        covered = tuple(
            (low[own // size, j] <= own % size) & (own % size <= high[own // size, j])
            for j, (own, size) in enumerate(zip(keys, domains, strict=True))
        )
        return cls(own, published.sizes, width, keys, counts, covered, domains)

    @property
    def coarse(self) -> NDArray[np.bool_]:
        """``[classes, columns]`` the cell is not a single value."""
        return np.asarray(self.width > 1)

    def as_matrix(self, j: int) -> FloatMatrix:
        """``[classes, values]`` how many rows of a class have each value of a column."""
        found = np.zeros((len(self.sizes), self.domains[j]))
        found.ravel()[self.keys[j]] = self.counts[j]
        return found

    def at(self, j: int, classes: LongVector, codes: LongVector) -> LongVector:
        """Return how many rows of these classes have these values."""
        wanted = classes * self.domains[j] + codes
        place = np.minimum(np.searchsorted(self.keys[j], wanted), len(self.keys[j]) - 1)
        return np.where(self.keys[j][place] == wanted, self.counts[j][place], 0)

    def spread(
        self, j: int, rows: LongVector, without: tuple[LongVector, LongVector] | None = None
    ) -> FloatVector:
        """Return how many values of each class are guessed right if so many rows are spread evenly over the values that
        the cell covers. `without` names pairs of class and value of which one row was guessed already.
        """
        counts = self.counts[j].copy()
        if without is not None:
            wanted = without[0] * self.domains[j] + without[1]
            counts[np.isin(self.keys[j], wanted)] -= 1
        number = self.keys[j] // self.domains[j]
        width = self.width[:, j]
        whole, part = (rows // width)[number], (rows % width / width)[number]
        right = (np.minimum(counts, whole) + part * (counts > whole)) * self.covered[j]
        found: FloatVector = np.bincount(number, right, len(self.sizes)).astype(np.float64)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Score(Brief):
    """How many generalized cells of a column were guessed, per class."""

    rows: FloatVector
    """How many there are."""
    right: FloatVector
    blind: FloatVector

    @classmethod
    def of(cls, truth: Truth, j: int, right: FloatVector, blind: FloatVector) -> Score:
        """Leave out cells that are single values."""
        coarse = truth.coarse[:, j]
        return cls((truth.sizes * coarse).astype(np.float64), right * coarse, blind * coarse)

    @property
    def cells(self) -> int:
        """How many there are in all."""
        return int(self.rows.sum())
