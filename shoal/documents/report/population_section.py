"""What a private report says about the table as a sample: estimates, individual risk, whom few columns single out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.documents.report.report_parts import Fold, Part, Section, Table, Words
from shoal.documents.report.subject import Subject
from shoal.judging.linking.sampled import minimal_uniques_of
from shoal.judging.linking.suda import SinglingOut, size_for
from shoal.judging.linking.uniqueness import Estimate
from shoal.support.wording import format_count, percent

MOST_SETS = 2000
"""At most so many sets of columns are looked at."""
TOLD = 20
"""So many sets, and rows, are listed."""


def build_population_section(subject: Subject) -> Section:
    """Return the section. It is about single people, so only the private edition has it."""
    parts = [*_estimates(subject), *_individual(subject), *_list_minimal_uniques(subject)]
    return Section("sample", "Risk as a sample of the population", parts)


def _estimates(subject: Subject) -> Iterator[Part]:
    people = subject.population_size
    if people is None:
        yield Words(
            "The policy does not say how many people could be in the table ([population] size), so how many rows are "
            "unique in the population is not estimated."
        )
        return
    whys = [own.why_no_estimates for own in subject.as_samples]
    found = [None if why else own.estimates for own, why in zip(subject.as_samples, whys, strict=True)]
    if all(one is None for one in found):
        yield Words(f"How many rows are unique in the population is not estimated: {whys[0]}.")
        return
    known = next(one for one in found if one is not None)
    rows = []
    for each in (*known.all, known.rule):
        cells = [
            _cell(one[each.name]) if one is not None else f"not known: {why}"
            for one, why in zip(found, whys, strict=True)
        ]
        rows.append((TITLES.get(each.name, each.name), each.assumes, *cells))
    ranges = [
        "" if one is None else f"{percent(one.range[0])} to {percent(one.range[1])}" if one.proven is None
        else f"{percent(one.range[1])}, for sure: {one.proven}"
        for one in found
    ]  # fmt: skip
    rows.append(("range", "the lowest and the highest answer", *ranges))
    title = "Share of rows that are unique in the population, by estimate"
    yield Table(title, ("estimator", "assumes", "before", "after"), rows)
    yield Words(
        f"All estimators take the table for a random sample of the {people:,} people of the population. They are often "
        "off by a factor of two, and more if the sample is small: use the range, and never one number alone."
    )


TITLES = {"pitman": "Pitman", "zayatz": "Zayatz", "snb": "SNB", "dankar": "rule of Dankar and others"}


def _cell(one: Estimate) -> str:
    return percent(one.share) if one.refused is None else one.refused


def _individual(subject: Subject) -> Iterator[Part]:
    if subject.table.kept.weights is None and subject.survey is None:
        return
    whys = [own.why_no_weights for own in subject.as_samples]
    risks = [None if why else own.individual for own, why in zip(subject.as_samples, whys, strict=True)]
    rows = [
        (
            title,
            *(
                f"not known: {why}" if one is None else shown(getattr(one, name))
                for one, why in zip(risks, whys, strict=True)
            ),
        )
        for title, name, shown in (
            ("highest risk of a row", "highest", percent),
            ("average risk of a row", "mean", percent),
            ("re-identifications to expect if all rows are tried", "expected", lambda value: f"{value:,.1f}"),
        )
    ]
    yield Table(
        "Individual risk by survey weights (Benedetti and Franconi)", ("figure", "before", "after"), rows
    )
    yield Words(
        "It assumes that the weights of each class add up to the people of the population who share its "
        "quasi-identifiers. Weights are published as they are, and a rare weight may itself identify people."
    )


def _list_minimal_uniques(subject: Subject) -> Iterator[Part]:
    table = subject.table
    names = [attribute.name for attribute in table.attributes]
    found = minimal_uniques_of(table, size_for(len(names), MOST_SETS))
    size = format_count(found.largest, "quasi-identifier")
    share = percent(found.people / max(found.of, 1))
    yield Words(
        f"Before: at most {size} of the original single out {found.people:,} of "
        f"{format_count(found.of, 'person', 'people')} ({share}). After: {_after(subject)}."
    )
    if not found.people:
        return
    sets = [
        (
            " + ".join(names[column] for column in one.columns),
            f"{one.people:,}",
            percent(one.people / found.of),
        )
        for one in sorted(found.sets, key=lambda one: -one.people)[:TOLD]
    ]
    title = "Minimal combinations of columns that single people out, in the original"
    yield Table(title, ("columns", "people", "share of people"), sets)
    yield Words(
        "In a minimal combination nobody else has the same values, while without any one of its columns somebody has. "
        "A person may have several."
    )
    columns = [
        (name, percent(share))
        for name, share in sorted(
            zip(names, found.contribution.tolist(), strict=True), key=lambda one: -one[1]
        )
    ]
    yield Table(
        "How much each column contributes to SUDA scores, in the original",
        ("column", "share of all scores"),
        columns,
    )
    title = "Rows of the original with the highest SUDA scores"
    head = ("row of the original, from 0", "score", "fewest columns that single it out")
    yield Fold(title, (Table(title, head, _highest(found), fit="keep"),))


def _highest(found: SinglingOut) -> list[tuple[str, str, str]]:
    order = np.argsort(-found.scores, kind="stable")[:TOLD]
    return [(f"{row:,}", f"{found.scores[row]:,.0f}", f"{found.fewest[row]}") for row in order.tolist()]


def _after(subject: Subject) -> str:
    _, after = subject.as_samples
    why = after.why_no_sets
    if why is not None:
        return f"not known, because {why}" if why.startswith(("the ", "people ")) else f"not known: it {why}"
    found = after.minimal_uniques
    return f"{found.people:,} of {found.of:,} ({percent(found.people / max(found.of, 1))})"
