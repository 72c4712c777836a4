"""The charts of a report. Each comes with a description in words and with its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import FloatMatrix, FloatVector
from shoal.reporting.bins import label
from shoal.reporting.drawing import AFTER, BEFORE, NEUTRAL, canvas, svg_of
from shoal.reporting.parts import Chart, Table

if TYPE_CHECKING:
    from shoal.comparing import Comparison, Trial

WIDTH = 8.2
"""Inches."""
HATCH = "////"
"""Marks what was before, so that the two can be told apart without colours."""


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
    """Say the most important of a chart with two bars per label."""
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
    """Draw what every release of a comparison loses, and how far the adversary gets with it."""
    title = "Risk and loss of the releases that were compared"
    done = [
        trial for trial in comparison.trials if trial.risk is not None and np.isfinite(comparison.loss(trial))
    ]
    best = comparison.frontier()
    with canvas(WIDTH, 4.2) as figure:
        plot = figure.add_subplot()
        good = [trial for trial in done if trial.withstands]
        _dots(plot, comparison, [t for t in done if not t.withstands], "x", NEUTRAL, "does not withstand")
        _dots(plot, comparison, [t for t in good if t not in best], "o", NEUTRAL, "withstands")
        _dots(plot, comparison, best, "D", AFTER, "on the frontier")
        points = [(_value(comparison, trial), float(trial.risk or 0.0)) for trial in best]
        plot.step([x for x, _ in points], [y for _, y in points], where="post", color=AFTER, lw=1)
        for trial, point in zip(best, points, strict=True):
            plot.annotate(label(titled(trial)), point, xytext=(5, 5), textcoords="offset points", size=8)
        plot.set_xlabel(f"loss ({comparison.measure})")
        plot.set_ylabel("people found by the adversary")
        plot.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        figure.legend(loc="outside upper right", ncols=3)
        words = (
            f"{len(done):,} releases were compared, {len(good):,} withstand the adversary, and {len(best):,} are on "
            "the frontier: no other has less risk for no more loss. " + _best_words(comparison)
        )
        svg = svg_of(figure, key, title, words)
    rows = [
        (
            titled(trial), f"{_value(comparison, trial):.4g}", f"{trial.risk:.4g}",
            f"{trial.suppressed:,}", f"{trial.classes:,}",
            "frontier" if trial in best else "withstands" if trial.withstands else "no",
        )
        for trial in sorted(done, key=comparison.loss)
    ]  # fmt: skip
    head = ("method", f"loss ({comparison.measure})", "risk", "rows left out", "classes", "withstands")
    return Chart(title, words, svg, Table(f"Numbers of the chart: {title}", head, rows))


def _dots(
    plot: Any, comparison: Comparison, trials: Sequence[Trial], marker: str, colour: str, words: str
) -> None:
    if trials:
        x, y = [_value(comparison, trial) for trial in trials], [trial.risk for trial in trials]
        plot.plot(x, y, marker, color=colour, label=words, linestyle="none")


def _value(comparison: Comparison, trial: Trial) -> float:
    return float(trial.measures[comparison.measure])


def titled(trial: Trial) -> str:
    """Name a trial, with its k."""
    return trial.label if trial.k is None else f"{trial.label}, k = {trial.k}"


def _best_words(comparison: Comparison) -> str:
    best = comparison.best()
    return "" if best is None else f"The best by the policy's measure is {titled(best)}."


def _percent(plot: Any, largest: float) -> None:
    plot.set_xlim(0, min(max(largest * 1.04, 0.01), 1.12))
    plot.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
    plot.xaxis.grid(visible=True, color=NEUTRAL, alpha=0.3, linewidth=0.5)
    plot.set_axisbelow(True)


def _share(value: float) -> str:
    return f"{value:.1%}"
