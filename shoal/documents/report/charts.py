"""The charts of a report. Each comes with a description in words and with its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shoal.documents.pages.svg import Bars, bar_chart, element, triangle
from shoal.documents.report.bins import label
from shoal.documents.report.report_parts import Chart, Table
from shoal.pipeline.comparison.frontier_plot import frontier_drawing, name_trial
from shoal.support.arrays import FloatMatrix, FloatVector

if TYPE_CHECKING:
    from shoal.pipeline.comparison import Comparison

SHORT = 18
"""Characters of a column's name at a matrix."""


def before_and_after(
    key: str,
    title: str,
    labels: Sequence[str],
    shares: tuple[FloatVector, FloatVector],
    axis: str,
    first: str,
) -> Chart:
    """Draw pairs of horizontal bars: shares from 0 to 1, before and after."""
    before, after = shares
    words = _in_words(labels, before, after)
    groups = (
        Bars(f"before ({axis})", before.tolist(), [_share(value) for value in before], filled=False),
        Bars("after", after.tolist(), [_share(value) for value in after]),
    )
    svg = bar_chart(key, title, words, [label(name) for name in labels], groups)
    rows = [(name, _share(b), _share(a)) for name, b, a in zip(labels, before, after, strict=True)]
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", (first, "before", "after"), rows))


def _in_words(labels: Sequence[str], before: FloatVector, after: FloatVector) -> str:
    """Return the main points of a chart with two bars per label."""
    if not len(labels):
        return "There is nothing to show. "
    top, shown = int(np.argmax(before)), int(np.argmax(after))
    moved = 0.5 * float(np.abs(before - after).sum())
    return (
        f"Largest before: {label(labels[top])} with {before[top]:.1%}. "
        f"Largest after: {label(labels[shown])} with {after[shown]:.1%}. "
        f"The two differ by {moved:.1%} in all. "
    )


def bars(key: str, title: str, labels: Sequence[str], values: FloatVector, axis: str, first: str) -> Chart:
    """Draw one horizontal bar per label, shares from 0 up."""
    largest = int(np.argmax(values)) if len(values) else 0
    words = (
        f"Largest: {label(labels[largest])} with {_share(values[largest])}." if len(labels) else "Nothing."
    )
    shares = [_share(value) for value in values]
    svg = bar_chart(
        key, title, words, [label(name) for name in labels], [Bars(axis, values.tolist(), shares)]
    )
    rows = list(zip(labels, shares, strict=True))
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", (first, axis), rows))


def matrices(key: str, title: str, names: Sequence[str], before: FloatMatrix, after: FloatMatrix) -> Chart:
    """Draw two triangles of squares side by side, the darker the stronger, with the numbers inside."""
    lower = np.tril_indices(len(names), -1)
    drift = np.abs(after - before)[lower]
    words = (
        f"The strength of the association between two columns changes by {drift.mean():.2f} on average, and by "
        f"{drift.max():.2f} at most."
    )
    short = [own if len(own) <= SHORT else own[: SHORT - 1] + "…" for own in map(label, names)]
    panels = [
        triangle(f"{key}-{when}", f"{title}, {when}", words, when, short, matrix.tolist())
        for when, matrix in (("before", before), ("after", after))
    ]
    rows = [
        (f"{names[j]} and {names[i]}", f"{before[i, j]:.2f}", f"{after[i, j]:.2f}")
        for i, j in zip(lower[0].tolist(), lower[1].tolist(), strict=True)
    ]
    head = ("columns", "before", "after")
    drawn = element("div", *panels, class_="pair")
    return Chart(title, words, drawn, Table(f"Numbers of the chart: {title}", head, rows))


def frontier(key: str, comparison: Comparison) -> Chart:
    """Draw the loss of every release of a comparison, and how far the adversary gets with it."""
    title = "Risk and loss of the releases that were compared"
    known = [
        trial for trial in comparison.trials if trial.risk is not None and np.isfinite(comparison.loss(trial))
    ]
    good = [trial for trial in known if trial.withstands]
    best = comparison.frontier()
    chosen = comparison.best()
    words = (
        f"{len(known):,} releases were compared, {len(good):,} withstand the adversary, and {len(best):,} are on "
        "the Pareto frontier: no release here has both lower risk and lower loss. "
    )
    words += "" if chosen is None else f"The best by the policy's measure is {name_trial(chosen)}."
    svg = frontier_drawing(comparison, key, words)
    rows = [
        (
            name_trial(trial), f"{trial.measures[comparison.measure]:.4g}", f"{trial.risk:.4g}",
            f"{trial.suppressed:,}", f"{trial.classes:,}",
            "frontier" if trial in best else "yes" if trial.withstands else "no",
        )
        for trial in sorted(known, key=comparison.loss)
    ]  # fmt: skip
    head = ("method", f"loss ({comparison.measure})", "risk", "rows suppressed", "classes", "withstands")
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", head, rows))


def _share(value: float) -> str:
    return f"{value:.1%}"
