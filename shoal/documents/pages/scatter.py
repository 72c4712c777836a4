"""Points in a plane with their names next to them: no name covers another name, or a point."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from shoal.documents.pages.svg import GRID, INK, SERIES, SOFT, SURFACE, element, text
from shoal.support.wording import printable

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 52
"""Margins around the plot."""
RADIUS, SIZE = 5.5, 12.0
WIDE = 12
"""From this ratio of largest to smallest value, an axis is logarithmic."""
LONGEST = 40
"""Characters of a name."""
NEAR = 12.0
"""A name farther away than this is joined to its point by a line."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class Point:
    """A point with its name."""

    x: float
    y: float
    name: str
    label: str = ""
    """A shorter name that fits next to it."""
    group: int | None = None
    """Which colour and shape it has; None: a cross, for what does not count."""
    must: bool = False
    """It is always labelled: by its name or by a number. Others only where there is room for their names."""


@dataclass(frozen=True)
class Axis:
    """One axis: its values become pixels, and a few round ones are written."""

    name: str
    low: float
    high: float
    logarithmic: bool
    start: float
    end: float
    write: Callable[[float], str]

    @classmethod
    def over(
        cls, name: str, values: Sequence[float], start: float, end: float, write: Callable[[float], str]
    ) -> Axis:
        """Return an axis with some room around the values."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        if low > 0 and high > WIDE * low:
            room = (high / low) ** 0.08
            return cls(name, low / room, high * room, True, start, end, write)
        apart = high - low > 1e-9 * abs(high)
        room = 0.08 * (high - low) if apart else 0.5 * abs(high) or 0.5
        lowest = max(low - room, 0.0) if low >= 0 else low - room
        return cls(name, lowest, high + room, False, start, end, write)

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, here = self.low, self.high, value
        if self.logarithmic:
            low, high, here = math.log(low), math.log(high), math.log(here)
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round values along the axis: 1, 2 and 5 times powers of ten."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            found = [float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)]
            return [value for value in found if self.low <= value <= self.high]
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [float(f"{n * step:.12g}") for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def scatter(
    points: Sequence[Point],
    across: Axis,
    up: Axis,
    groups: Sequence[str],
    steps: Sequence[tuple[float, float]] = (),
    crosses: str = "",
) -> tuple[list[str], int]:
    """Draw points, a line in steps through some of them, and a legend. If there is no room for the names that must be
    shown, numbers stand for them, and the names below the drawing. Returns the parts of the drawing and its height.
    O(points x names).
    """
    at = [(across.at(p.x), up.at(p.y)) for p in points]
    parts = [
        *_frame(across, up),
        *_legend(groups if any(p.group is not None for p in points) else (), crosses),
    ]
    if steps:
        places = [(across.at(a), up.at(b)) for a, b in steps]
        path = f"M{places[0][0]:.1f} {places[0][1]:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in places[1:])
        parts.append(
            element("path", d=path, fill="none", stroke=SOFT, stroke_width=1.2, stroke_dasharray="5 4")
        )
    shown, names, listed = _place_names(points, at)
    for point, spot in zip(points, at, strict=True):
        mark = _shape(point.group, spot)
        parts.append(element("g", element("title", escape(printable(point.name))), mark))
    for place, box in names.items():
        parts += _draw_name(shown[place], points[place].must, at[place], box)
    rows = -(-len(listed) // 2)
    parts += _list_names(listed, rows)
    height = HEIGHT + (18 * rows + 16 if listed else 0)
    return parts, height


def _place_names(
    points: Sequence[Point], at: Sequence[tuple[float, float]]
) -> tuple[list[str], dict[int, Box], list[str]]:
    """Return what is written next to each point, the places where that is, and the names to list below the drawing."""
    shown = [point.label or point.name for point in points]
    must = [point.must for point in points]
    names = names_of(shown, at, must)
    if all(place in names for place, own in enumerate(must) if own):
        return shown, names, []
    # Numbers always find room. They run along the line, and the names stand below the drawing.
    order = sorted((place for place, own in enumerate(must) if own), key=lambda place: at[place])
    shown = ["" for _ in points]
    for number, place in enumerate(order, start=1):
        shown[place] = str(number)
    return shown, names_of(shown, at, must, farthest=len(points) + 4), [points[place].name for place in order]


def _list_names(names: Sequence[str], rows: int) -> list[str]:
    """List numbered names in two columns below the drawing."""
    parts = []
    for number, name in enumerate(names):
        left, line = LEFT + (WIDTH - LEFT) / 2 * (number // rows), HEIGHT + 20 + 18 * (number % rows)
        bold = {"font_weight": 650, "text_anchor": "end", "fill": INK}
        parts.append(text(str(number + 1), x=left + 16, y=line, font_size=SIZE, **bold))
        parts.append(text(short(name), x=left + 26, y=line, font_size=SIZE, fill=INK))
    return parts


def short(name: str) -> str:
    """Return a name that fits next to a point."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def names_of(
    names: Sequence[str], at: Sequence[tuple[float, float]], first: Sequence[bool], farthest: int = 3
) -> dict[int, Box]:
    """Choose a place for each name, the nearest one that is free: point -> box. Points without a place are left out.

    Names of the points in `first` choose first, and may be farther away; empty names need no place.
    """
    marks = [(a - RADIUS - 1, b - RADIUS - 1, a + RADIUS + 1, b + RADIUS + 1) for a, b in at]
    found: dict[int, Box] = {}
    for place in sorted(
        (place for place, name in enumerate(names) if name), key=lambda place: not first[place]
    ):
        rings = farthest if first[place] else 1
        for box in _around(at[place], _width(short(names[place])), rings):
            inside = (
                box[0] >= LEFT + 2 and box[1] >= TOP - 8 and box[2] <= WIDTH - 2 and box[3] <= HEIGHT - BOTTOM
            )
            if inside and not any(_meet(box, other) for other in (*found.values(), *marks)):
                found[place] = box
                break
    return found


def _width(name: str) -> float:
    """Return the room that a text needs, rather too much than too little."""
    return sum(0.62 if ord(letter) < 0x250 else 1.05 for letter in name) * SIZE


def _around(spot: tuple[float, float], wide: float, farthest: int) -> list[Box]:
    """Return places for a text around a point: the nearest first, to the right before to the left."""
    x, y, tall = spot[0], spot[1], SIZE + 3
    boxes = []
    for ring in range(farthest):
        gap = RADIUS + 3 + 16 * ring
        for dx, dy in ((1, -0.35), (1, 0.35), (-1, -0.35), (-1, 0.35), (0, -1), (0, 1), (0.7, -0.8), (0.7, 0.8),
                       (-0.7, -0.8), (-0.7, 0.8)):  # fmt: skip
            left = x + gap * dx - (0 if dx > 0 else wide if dx < 0 else wide / 2)
            middle = y + gap * dy + (tall / 2 * (1 if dy > 0 else -1) if abs(dy) > 0.5 else 0)
            boxes.append((left, middle - tall / 2, left + wide, middle + tall / 2))
    return boxes


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _draw_name(name: str, bold: bool, spot: tuple[float, float], box: Box) -> list[str]:
    near = (min(max(spot[0], box[0]), box[2]), min(max(spot[1], box[1]), box[3]))
    looks = {"font_weight": 600, "fill": INK} if bold else {"fill": SOFT}
    parts = []
    if math.dist(near, spot) > NEAR + RADIUS:
        line = {"x1": spot[0], "y1": spot[1], "x2": near[0], "y2": near[1]}
        parts.append(element("line", stroke=SOFT, stroke_width=0.8, **line))
    anchor, x = ("end", box[2]) if box[2] <= spot[0] else ("start", box[0])
    if box[0] < spot[0] < box[2]:
        anchor, x = "middle", (box[0] + box[2]) / 2
    # A rim in the colour of the paper, so that lines that pass below do not cross the letters.
    rim = {"stroke": SURFACE, "stroke_width": 4, "stroke_linejoin": "round", "paint_order": "stroke"}
    parts.append(text(short(name), x=x, y=box[3] - 4, font_size=SIZE, text_anchor=anchor, **looks, **rim))
    return parts


def _shape(group: int | None, spot: tuple[float, float]) -> str:
    """Return a mark: colours and shapes both tell the groups apart."""
    x, y, r = *spot, RADIUS
    if group is None:
        path = f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m{-2 * r} 0l{2 * r} {-2 * r}"
        return element("path", d=path, stroke=SOFT, stroke_width=1.6, fill="none")
    looks = {"fill": SERIES[group % len(SERIES)], "stroke": SURFACE, "stroke_width": 1}
    corners = (
        (), ((-1, -1), (1, -1), (1, 1), (-1, 1)), ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)), ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
        ((-1, -0.4), (0, -1.2), (1, -0.4), (0.65, 1), (-0.65, 1)),
    )[group % 6]  # fmt: skip
    if not corners:
        return element("circle", cx=x, cy=y, r=r, **looks)
    places = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return element("polygon", points=places, **looks)


def _frame(across: Axis, up: Axis) -> list[str]:
    floor, left = HEIGHT - BOTTOM, LEFT
    parts = []
    for value in up.ticks():
        y = up.at(value)
        parts.append(element("line", x1=left, x2=WIDTH - RIGHT, y1=y, y2=y, stroke=GRID))
        parts.append(text(up.write(value), x=left - 8, y=y + 4, font_size=SIZE, text_anchor="end", fill=SOFT))
    last = -math.inf
    for value in across.ticks():
        x = across.at(value)
        parts.append(element("line", x1=x, x2=x, y1=TOP, y2=floor, stroke=GRID))
        if x - last > 6 + _width(across.write(value)):
            parts.append(
                text(across.write(value), x=x, y=floor + 18, font_size=SIZE, text_anchor="middle", fill=SOFT)
            )
            last = x
    parts.append(element("line", x1=left, x2=WIDTH - RIGHT, y1=floor, y2=floor, stroke=SOFT))
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(text(across.name, x=middle, y=HEIGHT - 10, font_size=SIZE, text_anchor="middle", fill=INK))
    turned = (TOP + floor) / 2
    parts.append(
        text(up.name, x=14, y=turned, font_size=SIZE, text_anchor="middle", fill=INK,
             transform=f"rotate(-90 14 {turned:.1f})")
    )  # fmt: skip
    return parts


def _legend(groups: Sequence[str], crosses: str) -> list[str]:
    parts, x = [], float(LEFT)
    named = [*enumerate(groups), *([(None, crosses)] if crosses else [])]
    for group, name in named:
        parts.append(_shape(group, (x + RADIUS, 16)))
        parts.append(text(name, x=x + 18, y=20, font_size=SIZE, fill=SOFT))
        x += 34 + _width(name)
    return parts
