"""Where the points of a comparison stand in the drawing of risk against loss, and where their labels find room."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.pipeline.comparison import Comparison, Trial

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 18, 52
WIDE = 12
"""From this ratio of largest to smallest value, an axis is logarithmic."""
LETTER, LINE = 6.4, 14
"""The size of a letter of a label, roughly."""


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


class _Scale:
    """Maps values to places on an axis; logarithmic if they differ much."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        low, high = min(values), max(values)
        self.log = low > 0 and high > WIDE * low
        low, high = self._in(low), self._in(high)
        room = (high - low) * 0.08 or abs(high) * 0.2 or 0.1
        self.low, self.high = low - room, high + room
        if not self.log and min(values) >= 0:
            self.low = max(self.low, 0.0) if min(values) > 0 else -room * 0.4
        self.begin, self.end = begin, end

    def _in(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def __call__(self, value: float) -> float:
        share = (self._in(value) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    def ticks(self) -> list[float]:
        """Round numbers inside the axis."""
        if self.log:
            found = [
                factor * 10.0**power
                for power in range(math.floor(self.low), math.ceil(self.high) + 1)
                for factor in (1, 2, 5)
            ]
            return [value for value in found if self.low <= math.log10(value) <= self.high]
        step = 10.0 ** math.floor(math.log10(self.high - self.low))
        while (self.high - self.low) / step < 4:
            step /= 2
        first = math.ceil(self.low / step)
        return [
            round(at * step, 10) for at in range(first, math.floor(self.high / step) + 1) if at * step >= 0
        ]


def drawn(compared: Comparison, places: Sequence[int]) -> Drawing | None:
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
    across = _Scale([trial.risk or 0.0 for _, trial in shown], LEFT, WIDTH - RIGHT)
    up = _Scale(list(value.values()), HEIGHT - BOTTOM, TOP)
    best = {id(trial) for trial in compared.frontier()}
    ks = list(compared.ks)
    at = {place: (across(trial.risk or 0.0), up(value[place])) for place, trial in shown}
    taken: list[tuple[float, float, float, float]] = [(x - 7, y - 7, x + 7, y + 7) for x, y in at.values()]
    points = []
    # The frontier gets the best places for its labels.
    for place, trial in sorted(shown, key=lambda one: (id(one[1]) not in best, at[one[0]])):
        label = trial.label if len(ks) == 1 or trial.k is None else f"{trial.label}, k = {trial.k}"
        short = label if len(label) <= 34 else f"{label[:33]}…"
        text_x, text_y, anchor, crowded = _room(*at[place], short, taken)
        points.append(
            Point(
                place, *at[place], short, _words(compared, trial, label, value[place]), text_x, text_y, anchor, crowded,
                id(trial) in best, trial.withstands, ks.index(trial.k),
            )
        )  # fmt: skip
    return Drawing(
        tuple(sorted(points, key=lambda point: (point.x, point.y))),
        tuple((across(tick), f"{100 * tick:.4g} %") for tick in across.ticks()),
        tuple((up(tick), f"{tick:.4g}") for tick in up.ticks()),
        _path(
            [
                (across(trial.risk or 0.0), up(trial.measures[compared.measure]))
                for trial in compared.frontier()
            ]
        ),
    )


def _words(compared: Comparison, trial: Trial, label: str, value: float) -> str:
    return f"{label}: risk {trial.risk:.2%}, {compared.measure} {value:.4g}" + (
        "" if trial.withstands else ", does not withstand its adversaries"
    )


def _room(
    x: float, y: float, text: str, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float, str, bool]:
    """Return where a label does not cover others, and whether there is no such place."""
    length = LETTER * len(text)
    for off in (0, 1, 2, 3, 4, 5):
        for anchor, dx in (("start", 10.0), ("end", -10.0)):
            for dy in (4.0 + off * LINE, 4.0 - off * LINE):
                left = x + dx if anchor == "start" else x + dx - length
                box = (left, y + dy - LINE + 3, left + length, y + dy + 3)
                inside = box[0] >= LEFT and box[2] <= WIDTH and box[1] >= 0 and box[3] <= HEIGHT - BOTTOM + 6
                if inside and not any(_meet(box, other) for other in taken):
                    taken.append(box)
                    return x + dx, y + dy, anchor, False
    right = x + 10 + length <= WIDTH
    return (x + 10, y + 4, "start", True) if right else (x - 10, y + 4, "end", True)


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _path(corners: list[tuple[float, float]]) -> str:
    """Return steps through the corners, from the left to the right."""
    ordered = sorted(corners)
    if not ordered:
        return ""
    found = f"M{ordered[0][0]} {ordered[0][1]}"
    for (_, before), (x, y) in zip(ordered, ordered[1:], strict=False):  # noqa: RUF007
        found += f" L{x} {before} L{x} {y}"
    return found
