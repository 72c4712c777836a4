"""The sections of a report about usefulness: losses, distributions, associations, count queries, the frontier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.comparing.plot import titled
from shoal.hierarchy.kinds import parsed
from shoal.measures import MEASURES
from shoal.measures.evaluate import public_measures
from shoal.measures.queries import QueryError
from shoal.reporting.bins import Bins, bins_of
from shoal.reporting.charts import bars, before_and_after, frontier, matrices
from shoal.reporting.gate import Gate
from shoal.reporting.parts import Chart, Fold, Grid, Part, Section, Table, Words
from shoal.reporting.plain import plain_distributions, release_distributions
from shoal.reporting.spread import Spread, correlations
from shoal.reporting.subject import Subject
from shoal.wording import counted, number

if TYPE_CHECKING:
    from shoal.comparing import Comparison
    from shoal.run import Progress

SELECTIVITIES = (0.01, 0.05, 0.1, 0.25)
QUERIES = 300
MOST_ASSOCIATED = 10
"""Columns in the chart of associations."""
RISKS = ("risk-", "unique-")


def columns_in_bins(subject: Subject) -> list[Bins]:
    """Choose bins for the quasi-identifiers and the sensitive columns."""
    table, gate = subject.table, subject.gate
    plans = {plan.name: plan for plan in subject.policy.plans(table.columns, of_release=True)}
    return [
        bins_of(attribute, counts, gate, made_from_data=parsed(plans[attribute.name].hierarchy).names_values)
        for attribute, counts in zip(
            (*table.attributes, *table.sensitive), (*table.value_counts, *table.sensitive_counts), strict=True
        )
    ]


def losses(subject: Subject) -> Section:
    """Return the information loss of each column, and the measures."""
    known = {name: value for name, value in subject.losses.items() if value == value}
    parts: list[Part] = []
    if known:
        parts.append(
            Words(
                "The loss of a cell is the share of the other values of its column that it could also stand for: 0% "
                "for a single value, 100% for a cell that says nothing."
            )
        )
        parts.append(
            bars(
                "losses", "Information loss per column (LM)", list(known), np.array(list(known.values())),
                "share lost", "column",
            )
        )  # fmt: skip
    else:
        parts.append(
            Words(
                "Some cells of the release are not in the policy's hierarchies, so no loss can be computed."
            )
        )
    told = subject.measures
    if subject.gate.public:
        told = public_measures(told, levels=subject.tells_levels, people=subject.gate.several)
    rows = [
        (name, number(value), MEASURES[name].summary)
        for name, value in told.items()
        if value == value and not name.startswith(RISKS)
    ]
    parts.append(Table("Measures of loss", ("measure", "value", "what it is"), rows))
    return Section("losses", "What was lost", parts)


def distributions(subject: Subject, bins: list[Bins]) -> list[Section]:
    """Compare the distribution of each column, and the associations between columns, before and after."""
    if subject.published.low is None or not subject.published.rows:
        return []
    gate, quasi = subject.gate, len(subject.table.attributes)
    spread = Spread(subject.table, subject.published, bins[:quasi] if gate.public else bins)
    parts: list[Part] = [
        Words(
            "A cell of the release that covers several values counts for each of them in equal parts. "
            + (_public_words(gate) if gate.public else "")
        )
    ]
    found = [(own, spread.before(column), spread.after(column)) for column, own in enumerate(spread.bins)]
    if not gate.tells_before:
        found = []
        parts.append(Words(gate.why))
    if not gate.public:
        found += plain_distributions(subject)
    charts: list[Chart] = []
    for number_, (own, before, after) in enumerate(found):
        used = (before > 0) | (after > 1e-9)
        kept = [label for label, there in zip(own.labels, used, strict=True) if there]
        charts.append(
            before_and_after(
                f"column{number_}", f"Distribution of {own.column}", kept,
                gate.steps(before[used]) / max(subject.table.rows, 1),
                after[used] / max(subject.published.rows, 1),
                "share of rows", first=own.column,
            )
        )  # fmt: skip
    if gate.public:
        charts += _as_published(subject)
    parts.append(Grid(charts))
    sections = [Section("distributions", "Distributions before and after", parts)]
    if len(spread.bins) > 1 and gate.tells_before:
        sections.append(_associations(subject, spread))
    return sections


def _as_published(subject: Subject) -> Iterator[Chart]:
    """Show the columns that are published as they are."""
    for number_, (own, rows) in enumerate(release_distributions(subject)):
        used = rows > 0
        kept = [label for label, there in zip(own.labels, used, strict=True) if there]
        yield bars(
            f"published{number_}", f"Distribution of {own.column} in the release", kept,
            rows[used] / max(subject.published.rows, 1), "share of rows", own.column,
        )  # fmt: skip


def _public_words(gate: Gate) -> str:
    k = gate.k
    if not gate.tells_before:
        return "In this public edition, only columns that are published as they are are shown, as the release has them."
    return (
        f"In this public edition, values that fewer than {k:,} people of the original have are joined with others, and "
        f"counts of the original are rounded to multiples of {k:,}. Sensitive and plain columns are published as they "
        "are, so only their distribution in the release is shown."
    )


def _associations(subject: Subject, spread: Spread) -> Section:
    names = [bins.column for bins in spread.bins]
    secret = {attribute.name for attribute in subject.table.sensitive}
    before, after = spread.associations()
    if len(names) > MOST_ASSOCIATED:
        # Show the columns with the strongest associations before.
        strength = np.where(np.eye(len(names), dtype=bool), 0, before).max(axis=0)
        chosen = np.sort(np.argsort(-strength, kind="stable")[:MOST_ASSOCIATED])
        names = [names[column] for column in chosen]
        before, after = before[np.ix_(chosen, chosen)], after[np.ix_(chosen, chosen)]
    parts: list[Part] = [
        Words(
            "Cramér's V says how strongly two columns are associated, over the bins of the charts above: 0 not at "
            "all, 1 if one determines the other. Generalization blurs associations, so they are usually weaker after."
        ),
        matrices("associations", "Associations between columns (Cramér's V)", names, before, after),
    ]
    if subject.gate.public and secret:
        parts.append(
            Words(
                "The release hides how sensitive columns are associated with others, so they are left out here."
            )
        )
    lines = [
        (f"{a} and {b}", f"{old:.2f}", f"{new:.2f}" if new == new else "-")
        for a, b, old, new in correlations(subject.table, subject.published)
        if old == old and not (subject.gate.public and secret & {a, b})
    ]
    if lines:
        head = ("columns", "before", "after")
        parts.append(Table("Rank correlation of numbers and dates (Spearman)", head, lines))
    return Section("associations", "Correlations before and after", parts)


def queries(subject: Subject, progress: Progress) -> Section | None:
    """Run count queries on the release and on the original.

    Not for the public: errors are relative to exact counts of the original, and few people decide the smallest of
    these.
    """
    if subject.gate.public:
        return None
    if subject.published.low is None or not subject.published.rows:
        return None
    rows, medians = [], []
    for place, selectivity in enumerate(SELECTIVITIES):
        progress("questions", 0.8 + 0.1 * place / len(SELECTIVITIES))
        asked = QueryError(queries=QUERIES, selectivity=selectivity)
        errors = asked.errors(subject)
        medians.append(errors.median)
        rows.append((f"{selectivity:.0%} of rows", errors.median, errors.mean))
    if not np.isfinite(medians).all():
        return None
    chart = bars(
        "questions", "Median relative error of count queries", [row[0] for row in rows], np.array(medians),
        "relative error", "query finds about",
    )  # fmt: skip
    means = [(name, f"{median:.1%}", f"{mean:.1%}") for name, median, mean in rows]
    table = Table(chart.table.caption, ("query finds about", "median", "mean"), means)
    return Section(
        "questions",
        "Answers to count queries",
        (
            Words(
                f"{QUERIES:,} random queries of each size, such as how many people are in an age range and in a "
                "region, were run on the release and on the original. The release answers as if the rows of a class "
                "were spread evenly over the values that it covers."
            ),
            replace(chart, table=table),
        ),
    )


def compared(comparison: Comparison, gate: Gate, *, levels: bool = True) -> Section:
    """Show the frontier of a comparison. Why a method failed may name values, so the public edition does not show
    it."""
    parts: list[Part] = []
    public, best = gate.public, comparison.best()
    if best is not None:
        parts.append(
            Words(f"The best release by the policy's measure that withstands its adversary: {titled(best)}.")
        )
    if public and not public_measures({comparison.measure: 0.0}, levels=levels):
        parts.append(
            Words(
                f"The measure {comparison.measure} reveals exact counts or extremes of the original, so only the "
                "private edition shows the frontier."
            )
        )
    elif not gate.tells_crowds:
        parts.append(
            Words(
                "The risk of other releases follows from whose their rows are, so only the private edition shows it."
            )
        )
    else:
        parts.append(frontier("frontier", comparison))
    refused = [
        (titled(trial), trial.status, *(() if public else (trial.reason,)))
        for trial in comparison.trials
        if trial.status != "done"
    ]
    if refused:
        head = ("method", "what happened") if public else ("method", "what happened", "why")
        table = Table("Methods without a release", head, refused)
        parts.append(Fold(f"Methods that made no release ({counted(len(refused), 'trial')})", (table,)))
    return Section("frontier", "Other releases", parts)
