"""The Pareto frontier of risk and loss as an SVG picture that is readable without colours."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.documents.pages.scatter import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Point, scatter
from shoal.documents.pages.svg import SOFT, figure, standalone, text
from shoal.pipeline.comparison.comparison import Comparison
from shoal.pipeline.comparison.trial import Trial

TITLE = "Risk and loss of the releases that satisfy the policy"


def frontier_svg(compared: Comparison) -> str:
    """Draw every release that satisfies the policy as a file of its own."""
    return standalone(frontier_drawing(compared, "frontier"))


def select_drawable(compared: Comparison) -> list[Trial]:
    """Return the trials that can be drawn: they satisfy the policy, and their risk and loss are known."""
    infinite = float("inf")
    return [t for t in compared.trials if t.holds and t.risk is not None and compared.loss(t) < infinite]


def frontier_drawing(compared: Comparison, key: str, description: str = "") -> str:
    """Draw every release that satisfies the policy by its risk and its loss, with the name of each one on the Pareto
    frontier, for a page that has the tokens; `key` makes its addresses unique there.
    """
    shown, frontier = select_drawable(compared), compared.frontier()
    if not shown:
        return _draw_nothing(key)
    points, ks = _points(compared, shown, frontier), compared.ks
    steps = sorted((trial.risk or 0.0, trial.measures[compared.measure]) for trial in frontier)
    loss = f"loss ({compared.measure})" if compared.lower_is_better else compared.measure
    risk = "risk: expected share of people whose row is found"
    parts, height = scatter(
        points,
        Axis.over(risk, [point.x for point in points], LEFT, WIDTH - RIGHT, _percent),
        Axis.over(loss, [point.y for point in points], HEIGHT - BOTTOM, TOP, "{:g}".format),
        ["withstands" if k is None else f"k = {k}" for k in ks],
        steps,
        crosses="does not withstand" if any(not trial.withstands for trial in shown) else "",
    )
    words = description or f"{len(shown)} releases, {len(frontier)} of them on the Pareto frontier."
    return figure(key, TITLE, words, *parts, viewBox=f"0 0 {WIDTH} {height}", class_="wide")


def _points(compared: Comparison, shown: Sequence[Trial], frontier: Sequence[Trial]) -> list[Point]:
    return [
        Point(
            trial.risk or 0.0,
            trial.measures[compared.measure],
            name_trial(trial),
            trial.label,
            compared.ks.index(trial.k) if trial.withstands else None,
            any(trial is own for own in frontier),
        )
        for trial in shown
    ]


def _draw_nothing(key: str) -> str:
    words = "no release satisfies the policy"
    said = text(words, x=WIDTH / 2, y=40, font_size=14, text_anchor="middle", fill=SOFT)
    return figure(key, TITLE, "There is nothing to draw.", said, viewBox=f"0 0 {WIDTH} 70", class_="wide")


def name_trial(trial: Trial) -> str:
    """Name a trial, with its k."""
    return trial.label if trial.k is None else f"{trial.label}, k = {trial.k}"


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
