"""Whether a release is true of its original, next to what its policy or its method allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.roles import REMOVED
from shoal.judging.linking.truth import Truth, truth_of
from shoal.judging.models.hybrid_k import false_shares
from shoal.methods import METHODS
from shoal.release.received.read_record import read_method
from shoal.release.render import bucket_name
from shoal.release.verdict import TRUTHFUL, Verdict
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.judging.case import Case


@dataclass(frozen=True, eq=False, repr=False)
class Truthfulness(Brief):
    """The comparison of a release with its original; empty if that is not known."""

    case: Case

    @cached_property
    def truth(self) -> Truth | None:
        """How many published rows cover no original row of their own; None without the original. Where a release may
        have been made in several ways, it is false only if it is false in each of them, however unlikely.
        """
        case = self.case
        if case.table is None:
            return None
        crowd, ways = case.crowd, case.policy.perturbations
        found = [
            truth_of(own.published, case.table, case.sheet, own.owner, crowd, ways) for own in case.readings
        ]
        if case.other_readings.loosest is not None:
            found.append(truth_of(case.other_readings.loosest, case.table, case.sheet, None, crowd, ways))
        return min(found, key=lambda truth: (truth.least, truth.invented, truth.most))

    @cached_property
    def most_false_rows(self) -> int:
        """How many rows may be false: each has a false cell at least, and the policy may allow a share of cells."""
        case = self.case
        budgets = false_shares(case.requirements.models)
        if not budgets and case.origin.record is not None:
            made = read_method(case.origin.record)
            budgets = [getattr(made, "budget", 0.0)] if made.false_cells.how else []
        elif not budgets and self._policy_relocates:
            budgets = [getattr(case.policy.build_method(), "budget", 0.0)]
        share = min(budgets, default=0.0)
        return int(np.floor(share * case.original.rows * len(case.original.attributes) + 1e-9))

    @property
    def _policy_relocates(self) -> bool:
        name = self.case.policy.method.name
        return name in METHODS and bool(METHODS[name].false_cells.how)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether the release is true, if the number of false rows can be decided. If not everything can be compared,
        a release can be refuted, but not found true.
        """
        truth = self.truth
        allowed = 0 if truth is None else self.most_false_rows
        if truth is None or (truth.least <= allowed < truth.most and not truth.invented):
            return ()
        holds = truth.most <= allowed and not truth.invented
        if holds and truth.in_part:
            return ()
        return (Verdict(TRUTHFUL, allowed, truth.least, holds, truth.words, higher_is_safer=False),)

    def notes(self) -> Iterator[str]:
        """Yield what a reader should know about the comparison."""
        truth, case = self.truth, self.case
        if truth is None:
            return
        origin = case.origin
        if origin.record is None and origin.release is None and self._policy_relocates and truth.least:
            yield (
                f"up to {self.most_false_rows:,} rows may be false by the policy; whether the method of the "
                "policy made this "
                "release is not known without its record"
            )
        unknown = [
            name
            for name in case.policy.perturbations
            if name in case.sheet.columns and name not in case.perturbation_verdicts
        ]
        if unknown:
            yield (
                f"not judged: whether {', '.join(unknown)} shows what the policy permits. Only its maker knows whose "
                "each row is"
            )
        if truth.unlike:
            yield f"columns that the release holds in another type were not compared: {', '.join(truth.unlike)}"
        if truth.missing:
            yield f"the release lacks columns of the original: {', '.join(truth.missing)}"
        added = self._find_additional(case.original)
        if added:
            yield f"the original lacks columns of the release, so they were not compared: {', '.join(added)}"
        if not self.verdicts:
            yield self._not_judged(truth)

    def _find_additional(self, original: CodedTable) -> list[str]:
        """Return the published columns that the original lacks."""
        removed = [name for role in REMOVED for name in self.case.policy.names(role)]
        known = (*original.release_columns, *removed, bucket_name(original.taken))
        return [name for name in self.case.sheet.columns if name not in known]

    def _not_judged(self, truth: Truth) -> str:
        """Say why there is no verdict."""
        if truth.in_part and truth.most <= self.most_false_rows:
            why = "some columns were not compared"
            if truth.shuffled:
                why = "each group of columns that was shuffled within buckets was compared by itself"
            return f"not judged: whether the release is truthful. It was not refuted, but {why}"
        why = "classes overlap so much that the exact number takes too long"
        if truth.foreign:
            why = (
                f"cells of {', '.join(truth.foreign)} are not in the hierarchies, so they may cover any value"
            )
        return (
            f"not judged: whether the release is truthful. Between {truth.least:,} and {truth.most:,} of its rows "
            f"cover no original row of their own: {why}"
        )
