"""`Sampled`: what a table or its release says about risk if it is a sample of a population; each part computed once."""

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
    """Population uniqueness, individual risk and minimal uniques, before or after."""

    evidence: Evidence
    after: bool
    """The published rows are the sample; else the original, as if its quasi-identifiers were published as they are."""

    # --- population uniqueness ----------------------------------------------------------------------------

    @property
    def why_no_estimates(self) -> str | None:
        """Why nothing can be estimated about the population, or None."""
        why = self._why_no_classes(people=True)
        return requires(int(self.sizes.sum()), self.evidence.population_size) if why is None else why

    @cached_property
    def estimates(self) -> Estimates:
        """How many rows are unique in the population, by all estimators."""
        why, people = self.why_no_estimates, self.evidence.population_size
        if why is not None or people is None:
            raise DataError(f"population uniqueness cannot be estimated: {why}")
        return estimate_uniques(self.sizes, people)

    @property
    def sizes(self) -> LongVector:
        """How many people each class has: equal rows, or people with equal rows, if these can be followed."""
        if self.after:
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

    def _why_no_classes(self, *, people: bool) -> str | None:
        """Return why classes do not say how many people are alike. `people`: those who can be followed are counted."""
        why, evidence, table = self._why_unseen, self.evidence, self.evidence.table
        if why is not None:
            return why
        followed = people and (evidence.persons.followed or (table is not None and table.counting.followed))
        several = (table is not None and not table.counting.adds_up) or (
            self.after and evidence.owners.person is not None
        )
        return SEVERAL if several and not followed else None

    @property
    def _why_unseen(self) -> str | None:
        """Why nobody knows which rows are alike, or who has them."""
        evidence, table = self.evidence, self.evidence.table
        if not self.after:
            return "needs the original table" if table is None else None if table.rows_known else UNSEEN
        if not evidence.classes_tell:
            return "the size of an equivalence class does not say who can be found in this release"
        return f"people cannot be counted: {evidence.owners.unknown}" if evidence.owners.unknown else None

    # --- individual risk ----------------------------------------------------------------------------------

    @property
    def why_no_weights(self) -> str | None:
        """Why there is no individual risk, or None."""
        why = self._why_no_classes(people=False)
        if why is not None:
            return why
        table = self.evidence.table
        known = self.evidence.survey if self.after else None if table is None else table.survey_weights
        if known is not None:
            return None
        if self.after and table is not None and table.kept.weights is not None:
            return "the release shows no survey weights that can be read"
        return 'needs survey weights: a column with role = "weight" in the policy'

    @cached_property
    def individual(self) -> IndividualRisk:
        """The individual risk of each row."""
        self._need(self.why_no_weights, "individual risk")
        weights, published = self.evidence.survey, self.evidence.published
        classes = published.class_of, published.classes
        if not self.after:
            weights, classes = self.evidence.original.survey_weights, self._classes_before
        assert weights is not None
        return individual_risk(*classes, weights)

    # --- minimal uniques ----------------------------------------------------------------------------------

    @property
    def why_no_sets(self) -> str | None:
        """Why minimal uniques cannot be found, or None."""
        why, evidence, published = self._why_unseen, self.evidence, self.evidence.published
        if why is not None or not self.after:
            return why
        if int(evidence.sizes.min(initial=2)) > 1:
            return None
        if len(published.class_of) < published.rows:
            return UNSEEN
        if not published.in_ranges:
            return "needs the original table, to tell the values of each published cell"
        return None

    @cached_property
    def minimal_uniques(self) -> SinglingOut:
        """The minimal uniques of up to four columns."""
        self._need(self.why_no_sets, "who is singled out by few columns")
        if not self.after:
            return minimal_uniques_of(self.evidence.original)
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


def warn_of_rare_weights(evidence: Evidence) -> tuple[str, ...]:
    """Warn of published survey weights that few rows share: they may tell who somebody is."""
    shown, least = evidence.survey, max(evidence.k, 2)
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
