"""`Sampled`: what a table and its release say about risk if they are a sample of a population.

Before means the original as if its quasi-identifiers were published as they are, after means the published rows. Each
part is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.coding.followed_people import crowds
from shoal.errors import DataError
from shoal.judging.linking.individual_risk import IndividualRisk, individual_risk
from shoal.judging.linking.suda import LARGEST, SinglingOut, find_minimal_uniques
from shoal.judging.linking.uniqueness import Estimates, estimate_uniques, requires
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.judging.linking.evidence import Evidence

SEVERAL = "some people have several rows, and it counts rows as people"
UNSEEN = "the rows of the table are on Spark, and it needs them one by one"


@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Brief):
    """Population uniqueness, individual risk and minimal uniques, before and after."""

    evidence: Evidence

    # --- population uniqueness ----------------------------------------------------------------------------

    def why_no_estimates(self, *, after: bool) -> str | None:
        """Return why nothing can be estimated about the population, or None."""
        why = self._why_no_classes(after=after, people=True)
        if why is None:
            why = requires(int(self.sizes(after=after).sum()), self.evidence.population_size)
        return why

    def estimates(self, *, after: bool) -> Estimates:
        """Return how many rows are unique in the population, by all estimators."""
        return self._estimates_after if after else self._estimates_before

    @cached_property
    def _estimates_before(self) -> Estimates:
        return self._estimate(after=False)

    @cached_property
    def _estimates_after(self) -> Estimates:
        return self._estimate(after=True)

    def _estimate(self, *, after: bool) -> Estimates:
        why, people = self.why_no_estimates(after=after), self.evidence.population_size
        if why is not None or people is None:
            raise DataError(f"population uniqueness cannot be estimated: {why}")
        return estimate_uniques(self.sizes(after=after), people)

    def sizes(self, *, after: bool) -> LongVector:
        """Return how many people each class has: equal rows, or people with equal rows, if these can be followed."""
        if after:
            return self.evidence.sizes
        table, (number, count) = self.evidence.original, self._classes_before
        if table.counting.followed:
            return np.bincount(crowds(number, table.counting.owner)).astype(np.int64)
        return np.bincount(number, minlength=count).astype(np.int64)

    @cached_property
    def _classes_before(self) -> tuple[IntVector, int]:
        """Row of the original -> class, and how many there are."""
        number, first = self.evidence.original.number_rows(as_read=True)
        return number, len(first)

    def _why_no_classes(self, *, after: bool, people: bool) -> str | None:
        """Return why classes do not say how many people are alike. `people`: those who can be followed are counted."""
        evidence, table = self.evidence, self.evidence.table
        followed = people and (evidence.persons.followed or (table is not None and table.counting.followed))
        if not after and table is None:
            return "needs the original table"
        if not after and table is not None and not table.rows_known:
            return UNSEEN
        if after and not evidence.classes_tell:
            return "the size of an equivalence class does not say who can be found in this release"
        if after and evidence.owners.unknown:
            return f"people cannot be counted: {evidence.owners.unknown}"
        several = (table is not None and not table.counting.adds_up) or (
            after and evidence.owners.person is not None
        )
        return SEVERAL if several and not followed else None

    # --- individual risk ----------------------------------------------------------------------------------

    def why_no_weights(self, *, after: bool) -> str | None:
        """Return why there is no individual risk, or None."""
        why = self._why_no_classes(after=after, people=False)
        if why is not None:
            return why
        table = self.evidence.table
        known = self.evidence.survey if after else None if table is None else table.survey_weights
        if known is not None:
            return None
        if after and table is not None and table.kept.weights is not None:
            return "the release shows no survey weights that can be read"
        return 'needs survey weights: a column with role = "weight" in the policy'

    def individual(self, *, after: bool) -> IndividualRisk:
        """Return the individual risk of each row."""
        return self._individual_after if after else self._individual_before

    @cached_property
    def _individual_before(self) -> IndividualRisk:
        self._need(self.why_no_weights(after=False), "individual risk")
        weights = self.evidence.original.survey_weights
        assert weights is not None
        return individual_risk(*self._classes_before, weights)

    @cached_property
    def _individual_after(self) -> IndividualRisk:
        self._need(self.why_no_weights(after=True), "individual risk")
        assert self.evidence.survey is not None
        published = self.evidence.published
        return individual_risk(published.class_of, published.classes, self.evidence.survey)

    @cached_property
    def rare_weights(self) -> tuple[str, ...]:
        """Warn of published survey weights that few rows share: they may tell who somebody is."""
        shown, least = self.evidence.survey, max(self.evidence.k, 2)
        if shown is None:
            return ()
        _, number, rows = np.unique(shown, return_inverse=True, return_counts=True)
        rare = int(np.count_nonzero(rows[number] < least))
        if not rare:
            return ()
        return (
            f"{rare:,} of {len(shown):,} published rows have a survey weight that fewer than {least} rows share. No "
            "requirement protects weights: whoever knows how they were computed may recognize people. Round the "
            "weights, or leave them out",
        )

    # --- minimal uniques ----------------------------------------------------------------------------------

    def why_no_sets(self, *, after: bool) -> str | None:
        """Return why minimal uniques cannot be found, or None."""
        evidence, table = self.evidence, self.evidence.table
        if not after:
            return "needs the original table" if table is None else None if table.rows_known else UNSEEN
        published = evidence.published
        if not evidence.classes_tell:
            return "the size of an equivalence class does not say who can be found in this release"
        if evidence.owners.unknown:
            return f"people cannot be counted: {evidence.owners.unknown}"
        if int(evidence.sizes.min(initial=2)) > 1:
            return None
        if len(published.class_of) < published.rows:
            return UNSEEN
        if not published.in_ranges:
            return "needs the original table, to tell the values of each published cell"
        return None

    def minimal_uniques(self, *, after: bool) -> SinglingOut:
        """Return the minimal uniques of up to four columns."""
        return self._uniques_after if after else self._uniques_before

    @cached_property
    def _uniques_before(self) -> SinglingOut:
        self._need(self.why_no_sets(after=False), "who is singled out by few columns")
        return minimal_uniques_of(self.evidence.original)

    @cached_property
    def _uniques_after(self) -> SinglingOut:
        self._need(self.why_no_sets(after=True), "who is singled out by few columns")
        evidence, published = self.evidence, self.evidence.published
        width = len(published.attributes)
        if int(evidence.sizes.min(initial=2)) > 1:
            # A row that is unique in some columns is unique in all of them; here is none.
            none = np.zeros(published.rows), np.zeros(published.rows, np.int32), np.zeros(width)
            return SinglingOut((), *none, 0, int(evidence.sizes.sum()), min(LARGEST, width))
        person = evidence.owners.person
        cells = self._cells()
        if person is not None:
            return find_minimal_uniques(
                [column[published.class_of] for column in cells], published.rows, person=person
            )
        found = find_minimal_uniques(cells, published.classes, heads=published.sizes)
        return SinglingOut(
            found.sets,
            found.scores[published.class_of],
            found.fewest[published.class_of],
            found.contribution,
            found.people,
            found.of,
            found.largest,
        )

    def _cells(self) -> Sequence[NDArray[Any]]:
        """Number what the cells of each class show, column by column."""
        from shoal.kernels.grouping import distinct_rows

        published = self.evidence.published
        columns = range(len(published.attributes))
        low, high = published.cell_ranges
        return [distinct_rows([low[:, column], high[:, column]])[0] for column in columns]

    @staticmethod
    def _need(why: str | None, what: str) -> None:
        if why is not None:
            raise DataError(f"{what} cannot be known: {why}")


def minimal_uniques_of(table: CodedTable, largest: int = LARGEST) -> SinglingOut:
    """Return the minimal uniques of a table's quasi-identifiers."""
    person = None if table.counting.adds_up else table.counting.owner
    return find_minimal_uniques(table.quasi.narrow, table.rows, largest=largest, person=person)
