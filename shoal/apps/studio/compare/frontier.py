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
    shown = [
        (place, trial)
        for place, trial in zip(places, compared.trials, strict=True)
        if trial.holds and trial.risk is not None and math.isfinite(compared.loss(trial))
    ]
    if not shown:
        return None
    value = {place: float(trial.measures[compared.measure]) for place, trial in shown}
    across = Axis.over(
        "risk", [trial.risk or 0.0 for _, trial in shown], LEFT, WIDTH - RIGHT, "{:.4g} %".format
    )
    up = Axis.over("loss", list(value.values()), HEIGHT - BOTTOM, TOP, "{:.4g}".format)
    best = {id(trial): (trial.risk or 0.0, trial.measures[compared.measure]) for trial in compared.frontier()}
    ks = list(compared.ks)
    # From the left to the right, as the keyboard reaches them.
    shown.sort(key=lambda one: (one[1].risk or 0.0, -value[one[0]]))
    at = [(across.at(trial.risk or 0.0), up.at(value[place])) for place, trial in shown]
    labels = [
        trial.label if len(ks) == 1 or trial.k is None else f"{trial.label}, k = {trial.k}"
        for _, trial in shown
    ]
    # The frontier gets the best places for its labels.
    boxes = names_of(labels, at, [id(trial) in best for _, trial in shown])
    points = []
    for number, (place, trial) in enumerate(shown):
        text_x, text_y, anchor = _label_at(*at[number], boxes.get(number))
        points.append(
            Point(
                place=place, x=round(at[number][0], 1), y=round(at[number][1], 1), label=short(labels[number]),
                words=_words(compared, trial, labels[number], value[place]), text_x=text_x, text_y=text_y,
                anchor=anchor, crowded=number not in boxes, frontier=id(trial) in best, withstands=trial.withstands,
                series=ks.index(trial.k),
            )
        )  # fmt: skip
    return Drawing(
        tuple(points),
        tuple((round(across.at(tick), 1), across.write(100 * tick)) for tick in across.ticks()),
        tuple((round(up.at(tick), 1), up.write(tick)) for tick in up.ticks()),
        _steps(sorted((across.at(risk), up.at(loss)) for risk, loss in best.values())),
    )


def _label_at(x: float, y: float, box: Box | None) -> tuple[float, float, str]:
    """Return where the label of a point begins or ends: in its box, or next to the point if there is no room."""
    begin, _, end, floor = (x + 10, y, x - 10, y + 8) if box is None else box
    left = x > WIDTH / 2 if box is None else end <= x
    return round(end if left else begin, 1), round(floor - 4, 1), "end" if left else "start"


def _steps(corners: list[tuple[float, float]]) -> str:
    """Return steps through the corners, from the left to the right."""
    path = [f"H{x:.1f}V{y:.1f}" for x, y in corners[1:]]
    return "".join([f"M{corners[0][0]:.1f} {corners[0][1]:.1f}", *path]) if corners else ""


def _words(compared: Comparison, trial: Trial, label: str, value: float) -> str:
    return f"{label}: risk {trial.risk:.2%}, {compared.measure} {value:.4g}" + (
        "" if trial.withstands else f", {trial.conclusion.headline}"
    )
