"""The charts of a report. Each comes with a description in words and with its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import FloatMatrix, FloatVector
from shoal.reporting.bins import label
from shoal.reporting.drawing import AFTER, BEFORE, NEUTRAL, canvas, drawing, svg_of
from shoal.reporting.parts import Chart, Table

if TYPE_CHECKING:
    from shoal.comparing import Comparison, Trial

WIDTH = 8.2
"""Inches."""
HATCH = "////"
"""Marks the bars before, so that readers can distinguish the two without colours."""


def before_and_after(
    key: str,
    title: str,
    labels: Sequence[str],
    before: FloatVector,
    after: FloatVector,
    axis: str,
    *,
    first: str = "",
    note: str = "",
) -> Chart:
    """Draw pairs of horizontal bars, shares from 0 to 1."""
    with canvas(WIDTH, 0.9 + 0.42 * len(labels)) as figure:
        plot = figure.add_subplot()
        at = np.arange(len(labels))
        plot.barh(at - 0.2, before, 0.38, color="none", edgecolor=BEFORE, hatch=HATCH, label="before")
        plot.barh(at + 0.2, after, 0.38, color=AFTER, label="after")
        plot.set_yticks(at, [label(name) for name in labels])
        plot.set_ylim(len(labels) - 0.4, -0.6)
        _percent(plot, max([0.01, *before, *after]))
        plot.set_xlabel(axis)
        figure.legend(loc="outside upper right", ncols=2)
        words = _in_words(labels, before, after) + note
        svg = svg_of(figure, key, title, words)
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
    with canvas(WIDTH, 0.8 + 0.32 * len(labels)) as figure:
        plot = figure.add_subplot()
        at = np.arange(len(labels))
        drawn = plot.barh(at, values, 0.62, color=AFTER)
        plot.bar_label(drawn, [_share(value) for value in values], padding=3)
        plot.set_yticks(at, [label(name) for name in labels])
        plot.set_ylim(len(labels) - 0.4, -0.6)
        _percent(plot, max([0.01, *values]) * 1.1)
        plot.set_xlabel(axis)
        largest = int(np.argmax(values)) if len(values) else 0
        words = (
            f"Largest: {label(labels[largest])} with {_share(values[largest])}."
            if len(labels)
            else "Nothing."
        )
        svg = svg_of(figure, key, title, words)
    rows = [(name, _share(value)) for name, value in zip(labels, values, strict=True)]
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", (first, axis), rows))


def matrices(key: str, title: str, names: Sequence[str], before: FloatMatrix, after: FloatMatrix) -> Chart:
    """Draw two triangles of squares side by side, the darker the stronger, with the numbers inside."""
    count = len(names)
    with canvas(WIDTH, 1.3 + 0.36 * count) as figure:
        for panel, (when, matrix) in enumerate((("before", before), ("after", after))):
            plot = figure.add_subplot(1, 2, panel + 1)
            for i in range(count):
                for j in range(i):
                    strength = float(matrix[i, j])
                    plot.barh(i, 0.94, 0.94, left=j - 0.47, color=AFTER, alpha=0.08 + 0.72 * strength)
                    plot.text(j, i, f"{strength:.2f}", ha="center", va="center", size=8)
            plot.set_xlim(-0.6, count - 1.4)
            plot.set_ylim(count - 0.4, 0.4)
            plot.set_xticks(
                range(count - 1), [label(name)[:18] for name in names[:-1]], rotation=40, ha="right"
            )
            plot.set_yticks(range(1, count), [label(name)[:18] for name in names[1:]] if panel == 0 else [])
            plot.set_title(when)
            plot.tick_params(length=0)
            for side in plot.spines.values():
                side.set_visible(False)
        lower = np.tril_indices(count, -1)
        drift = np.abs(after - before)[lower]
        words = (
            f"The strength of the association between two columns changes by {drift.mean():.2f} on average, and by "
            f"{drift.max():.2f} at most."
        )
        svg = svg_of(figure, key, title, words)
    rows = [
        (f"{names[j]} and {names[i]}", f"{before[i, j]:.2f}", f"{after[i, j]:.2f}")
        for i, j in zip(lower[0].tolist(), lower[1].tolist(), strict=True)
    ]
    return Chart(
        title, words, svg, Table(f"Numbers of the chart: {title}", ("columns", "before", "after"), rows)
    )


def frontier(key: str, comparison: Comparison) -> Chart:
    """Draw the loss of every release of a comparison, and how far the adversary gets with it."""
    from shoal.comparing.plot import GRID, INK, frontier_figure

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
    words += "" if chosen is None else f"The best by the policy's measure is {titled(chosen)}."
    with drawing():
        svg = svg_of(frontier_figure(comparison), key, title, words)
    # Its own colours are for white paper.
    svg = svg.replace(INK, "currentColor").replace(GRID, f"{NEUTRAL}4d")
    rows = [
        (
            titled(trial), f"{trial.measures[comparison.measure]:.4g}", f"{trial.risk:.4g}",
            f"{trial.suppressed:,}", f"{trial.classes:,}",
            "frontier" if trial in best else "yes" if trial.withstands else "no",
        )
        for trial in sorted(known, key=comparison.loss)
    ]  # fmt: skip
    head = ("method", f"loss ({comparison.measure})", "risk", "rows suppressed", "classes", "withstands")
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", head, rows))


def titled(trial: Trial) -> str:
    """Name a trial, with its k."""
    return trial.label if trial.k is None else f"{trial.label}, k = {trial.k}"


def _percent(plot: Any, largest: float) -> None:
    plot.set_xlim(0, min(max(largest * 1.04, 0.01), 1.12))
    plot.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
    plot.xaxis.grid(visible=True, color=NEUTRAL, alpha=0.3, linewidth=0.5)
    plot.set_axisbelow(True)


def _share(value: float) -> str:
    return f"{value:.1%}"
