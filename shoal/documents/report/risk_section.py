"""Risk of re-identification before and after, and how many people are in classes of which size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.population import count_with_population
from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.subject import Subject
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import Traced
from shoal.judging.linking.persons import find_persons
from shoal.judging.linking.reidentification import Risk, assess
from shoal.release.published import Published
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.brief import Brief
from shoal.support.wording import format_count

STEPS = (1, 2, 4, 10, 20, 100)
"""Limits of class sizes in the chart, as multiples of k."""


@dataclass(frozen=True, eq=False, repr=False)
class Risks(Brief):
    """Risks before and after; `after` is None if the size of a class does not say who can be found."""

    before: Risk
    after: Risk | None
    unique_before: int
    """People whose quasi-identifiers were unique."""
    sizes_before: LongVector
    """Person -> people with the same quasi-identifiers. Who has several rows counts once for each class that shows one,
    here and below."""
    sizes_after: LongVector
    """Published row -> rows with identical quasi-identifiers; if rows are generalized separately, person -> number of
    candidates that the strongest linkage adversary leaves. Empty if columns were shuffled against each other, or if no
    linkage attack could run."""


def risks_of(subject: Subject, tried: list[TriedAttack]) -> Risks:
    """Assess the original as if it were published, and the release. O(rows)."""
    raw, published = Evidence.of_original(subject.table).published, subject.published
    several = not subject.table.counting.adds_up
    own, crowds = raw.sizes[raw.class_of], raw.sizes
    if several:
        persons = find_persons(subject.table.counting.owner if subject.persons.followed else None)
        own_rows = np.arange(raw.rows, dtype=np.int32)
        crowds = Evidence(raw, subject.table, Traced(own_rows), persons=persons).sizes
        own = np.repeat(crowds, crowds)
    after = None
    if subject.classes_tell:
        sizes = (
            published.sizes[published.class_of] if not several else np.repeat(subject.sizes, subject.sizes)
        )
        after = subject.risk
    else:
        chances = _find_linkage_chances(tried) if published.rows_intact else np.zeros(0)
        sizes = np.round(1.0 / chances[chances > 0]).astype(np.int64)
    before = assess(raw, subject.table, population=_raw_crowd(subject.table, raw), sizes=crowds)
    return Risks(before, after, int((crowds == 1).sum()), own, sizes)


def _find_linkage_chances(tried: list[TriedAttack]) -> FloatVector:
    """Return the probability that each person is found, for the strongest linkage attack that could run."""
    linked = [one.exposure for one in tried if one.exposure and one.exposure.attack == Linkage.name]
    return linked[-1].chances if linked else np.zeros(0)


def _raw_crowd(table: CodedTable, raw: Published) -> LongVector | None:
    """Count the people of the population with exactly the values of each class."""
    from shoal.kernels.grouping import distinct

    if table.context.population is None:
        return None
    tuples, people, _ = count_with_population(table)
    number, first = distinct(np.asfortranarray(np.concatenate([tuples, raw.cell_ranges[0]])))
    counts = np.zeros(len(first), np.int64)
    counts[number[: len(tuples)]] = people
    return np.maximum(counts[number[len(tuples) :]], raw.sizes)


def size_bins(
    risks: Risks, k: int, named: tuple[str, str] = ("row", "rows")
) -> tuple[list[str], FloatVector, FloatVector]:
    """Divide people by the size of their class: names of the bins, shares of people before and after.

    The first bins are what k forbids: unique rows, and fewer than k. `named` is one member of a class, and several.
    """
    largest = int(max(risks.sizes_before.max(initial=1), risks.sizes_after.max(initial=1)))
    limits = sorted({1, 2, *(k * step for step in STEPS if k * step <= largest)})
    before, after = (
        np.bincount(np.searchsorted(limits, sizes, side="right") - 1, minlength=len(limits))
        for sizes in (risks.sizes_before, risks.sizes_after)
    )
    ends = [*limits, 0]
    names = [_between(first, ends[at + 1] - 1, named) for at, first in enumerate(limits)]
    return names, before / max(before.sum(), 1), after / max(after.sum(), 1)


def _between(first: int, last: int, named: tuple[str, str]) -> str:
    if last < 0:
        return f"{format_count(first, *named)} or more"
    if first == last:
        return format_count(first, *named)
    return f"{first:,} to {last:,} {named[1]}"
