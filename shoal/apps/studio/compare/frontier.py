"""Where the points of a comparison stand in the drawing of risk against loss, and where their labels find room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.documents.pages.scatter import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Box, names_of, short
from shoal.pipeline.comparison import Comparison, Trial


@dataclass(frozen=True)
class Point:
    """A release in the drawing."""

    place: int
    """Of the trial in the comparison."""
    x: float
    y: float
    label: str
    words: str
    """What a screen reader says."""
    text_x: float
    text_y: float
    anchor: str
    crowded: bool
    """There is no room for its label: it is shown only while somebody points at it."""
    frontier: bool
    withstands: bool
    series: int
    """Which of the several k it is of, from 0."""


@dataclass(frozen=True)
class Drawing:
    """Risk against loss: risk to the right, loss upwards, so that better releases are at the lower left."""

    points: tuple[Point, ...]
    across: tuple[tuple[float, str], ...]
    """Ticks of the risk."""
    up: tuple[tuple[float, str], ...]
    """Ticks of the loss."""
    steps: str
    """The frontier as an SVG path."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw_frontier(compared: Comparison, places: Sequence[int]) -> Drawing | None:
    """Return the drawing of all releases that satisfy the policy and have a risk; None if there are none.

    `places` are the numbers of the trials of the comparison, as pages know them.
    """
    shown = _trials_with_risk(compared, places)
    if not shown:
        return None
    across = Axis.over("risk", [one.risk for one in shown], LEFT, WIDTH - RIGHT, "{:.4g} %".format)
    up = Axis.over("loss", [one.loss for one in shown], HEIGHT - BOTTOM, TOP, "{:.4g}".format)
    best = {id(trial): (trial.risk or 0.0, trial.measures[compared.measure]) for trial in compared.frontier()}
    at = [(across.at(one.risk), up.at(one.loss)) for one in shown]
    # The frontier gets the best places for its labels.
    boxes = names_of([one.label for one in shown], at, [id(one.trial) in best for one in shown])
    points = []
    for number, (one, (x, y)) in enumerate(zip(shown, at, strict=True)):
        text_x, text_y, anchor = _label_at(x, y, boxes.get(number))
        points.append(
            Point(
                place=one.place, x=round(x, 1), y=round(y, 1), label=short(one.label),
                words=_words(compared, one), text_x=text_x, text_y=text_y, anchor=anchor, crowded=number not in boxes,
                frontier=id(one.trial) in best, withstands=one.trial.withstands,
                series=compared.ks.index(one.trial.k),
            )
        )  # fmt: skip
    return Drawing(
        tuple(points),
        tuple((round(across.at(tick), 1), across.write(100 * tick)) for tick in across.ticks()),
        tuple((round(up.at(tick), 1), up.write(tick)) for tick in up.ticks()),
        _steps(sorted((across.at(risk), up.at(loss)) for risk, loss in best.values())),
    )


@dataclass(frozen=True, eq=False)
class _Shown:
    """A trial with a release that satisfies the policy and has a risk."""

    place: int
    trial: Trial
    risk: float
    loss: float
    """Its value of the measure of the comparison."""
    label: str


def _trials_with_risk(compared: Comparison, places: Sequence[int]) -> list[_Shown]:
    """Return the trials to draw, from the left to the right, as the keyboard reaches them."""
    several = len(compared.ks) != 1
    shown = [
        _Shown(
            place,
            trial,
            trial.risk,
            float(trial.measures[compared.measure]),
            f"{trial.label}, k = {trial.k}" if several and trial.k is not None else trial.label,
        )
        for place, trial in zip(places, compared.trials, strict=True)
        if trial.holds and trial.risk is not None and math.isfinite(compared.loss(trial))
    ]
    return sorted(shown, key=lambda one: (one.risk, -one.loss))


def _label_at(x: float, y: float, box: Box | None) -> tuple[float, float, str]:
    """Return where the label of a point begins or ends: in its box, or next to the point if there is no room."""
    begin, _, end, floor = (x + 10, y, x - 10, y + 8) if box is None else box
    left = x > WIDTH / 2 if box is None else end <= x
    return round(end if left else begin, 1), round(floor - 4, 1), "end" if left else "start"


def _steps(corners: list[tuple[float, float]]) -> str:
    """Return steps through the corners, from the left to the right."""
    path = [f"H{x:.1f}V{y:.1f}" for x, y in corners[1:]]
    return "".join([f"M{corners[0][0]:.1f} {corners[0][1]:.1f}", *path]) if corners else ""


def _words(compared: Comparison, one: _Shown) -> str:
    return f"{one.label}: risk {one.risk:.2%}, {compared.measure} {one.loss:.4g}" + (
        "" if one.trial.withstands else f", {one.trial.conclusion.headline}"
    )
