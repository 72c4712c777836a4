"""The sections of a report about usefulness: losses, distributions, associations, count queries, the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.documents.report.bins import Bins, bins_of
from shoal.documents.report.charts import bars, before_and_after, frontier, matrices
from shoal.documents.report.distributions import Spread, correlations
from shoal.documents.report.plain_columns import plain_distributions
from shoal.documents.report.report_parts import Chart, Fold, Grid, Part, Section, Table, Words
from shoal.documents.report.subject import Subject
from shoal.judging.measures import MEASURES
from shoal.judging.measures.count_queries import QueryError
from shoal.pipeline.comparison.frontier_plot import name_trial
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    from shoal.pipeline.comparison import Comparison
    from shoal.support.run import Progress

SELECTIVITIES = (0.01, 0.05, 0.1, 0.25)
QUERIES = 300
MOST_ASSOCIATED = 10
"""Columns in the chart of associations."""
RISKS = ("risk-", "unique-")


def columns_in_bins(subject: Subject) -> list[Bins]:
    """Choose bins for the quasi-identifiers and the sensitive columns."""
    table, gate, policy = subject.table, subject.gate, subject.policy
    return [
        bins_of(
            attribute,
            counts,
            gate,
            made_from_data=parse_hierarchy(policy.column_plans[attribute.name].hierarchy).names_values,
        )
        for attribute, counts in zip(
            (*table.attributes, *table.sensitive), (*table.value_counts, *table.sensitive_counts), strict=True
        )
    ]


def losses(subject: Subject) -> Section:
    """Return the information loss of each column, and the measures."""
    known = {name: value for name, value in subject.losses.items() if value == value}
    words = "Some cells of the release are not in the policy's hierarchies, so no loss can be computed."
    if known:
        words = (
            "The loss of a cell is the share of the other values of its column that it could also stand for: 0% "
            "for a single value, 100% for a cell that says nothing."
        )
    measures = {name: value for name, value in subject.measures.items() if value == value}
    return losses_section(words, known, "Information loss per column (LM)", measures, "Measures of loss")


def losses_section(
    words: str, losses: Mapping[str, float], title: str, measures: Mapping[str, float], caption: str
) -> Section:
    """Return the section of an edition: the loss of each column that is known, and the measures of utility."""
    parts: list[Part] = [Words(words)]
    if losses:
        values = np.array(list(losses.values()))
        parts.append(bars("losses", title, list(losses), values, "share lost", "column"))
    rows = [
        (name, number(value), MEASURES[name].summary)
        for name, value in measures.items()
        if name in MEASURES and not name.startswith(RISKS)
    ]
    parts.append(Table(caption, ("measure", "value", "what it is"), rows))
    return Section("losses", "What was lost", parts)


def distributions(subject: Subject, bins: list[Bins]) -> list[Section]:
    """Compare the distribution of each column, and the associations between columns, before and after."""
    if not subject.published.readable or not subject.published.rows:
        return []
    spread = Spread(subject.table, subject.published, bins)
    parts: list[Part] = [
        Words("A cell of the release that covers several values counts for each of them in equal parts.")
    ]
    found = [(own, spread.before(column), spread.after(column)) for column, own in enumerate(spread.bins)]
    found += plain_distributions(subject)
    charts: list[Chart] = []
    for number_, (own, before, after) in enumerate(found):
        used = (before > 0) | (after > 1e-9)
        kept = [label for label, there in zip(own.labels, used, strict=True) if there]
        charts.append(
            before_and_after(
                f"column{number_}", f"Distribution of {own.column}", kept,
                (before[used] / max(subject.table.rows, 1), after[used] / max(subject.published.rows, 1)),
                "share of rows", own.column,
            )
        )  # fmt: skip
    parts.append(Grid(charts))
    sections = [Section("distributions", "Distributions before and after", parts)]
    if len(spread.bins) > 1:
        sections.append(_associations(subject, spread))
    return sections


def _associations(subject: Subject, spread: Spread) -> Section:
    names = [bins.column for bins in spread.bins]
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
    lines = [
        (f"{a} and {b}", f"{old:.2f}", f"{new:.2f}" if new == new else "-")
        for a, b, old, new in correlations(subject.table, subject.published)
        if old == old
    ]
    if lines:
        head = ("columns", "before", "after")
        parts.append(Table("Rank correlation of numbers and dates (Spearman)", head, lines))
    return Section("associations", "Correlations before and after", parts)


def queries(subject: Subject, progress: Progress) -> Section | None:
    """Run count queries on the release and on the original."""
    if not subject.published.readable or not subject.published.rows:
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


def build_comparison_section(comparison: Comparison) -> Section:
    """Show the frontier of a comparison."""
    parts: list[Part] = []
    best = comparison.best()
    if best is not None:
        parts.append(
            Words(
                f"The best release by the policy's measure that withstands its adversary: {name_trial(best)}."
            )
        )
    parts.append(frontier("frontier", comparison))
    refused = [(name_trial(one), one.status, one.reason) for one in comparison.trials if one.status != "done"]
    if refused:
        table = Table("Methods without a release", ("method", "what happened", "why"), refused)
        parts.append(Fold(f"Methods that made no release ({format_count(len(refused), 'trial')})", (table,)))
    return Section("frontier", "Other releases", parts)
