"""Curves on logarithmic axes, drawn with the code that draws reports."""

from __future__ import annotations

import math

from shoal.documents.pages.svg import GRID, INK, SERIES, SOFT, element, figure, standalone, text

PANEL, HEIGHT = 380, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 34, 44
MARKS = ("circle", "rect", "circle", "rect")


def drawn(title, description, panels, names):
    """Return an SVG file. Each panel is its title, the name of its vertical axis, how a value is written, and
    name -> points; `names` are all names of curves, in the order of their colours.
    """
    parts, width = [], PANEL * len(panels)
    for at, (heading, unit, write, curves) in enumerate(panels):
        parts += _panel(at * PANEL, heading, unit, write, curves, names)
    x = LEFT
    for number, name in enumerate(names):
        parts.append(_mark(number, x, HEIGHT + 12))
        parts.append(text(name, x=x + 12, y=HEIGHT + 16, font_size=13, fill=INK))
        x += 30 + 7.5 * len(name)
    drawing = figure(
        "scale", title, description, *parts, viewBox=f"0 0 {width} {HEIGHT + 28}", width=width, height=HEIGHT + 28
    )  # fmt: skip
    return standalone(drawing)


def _panel(left, heading, unit, write, curves, names):
    points = [point for curve in curves.values() for point in curve]
    across = _Axis([x for x, _ in points], left + LEFT, left + PANEL - RIGHT)
    up = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [text(heading, x=left + LEFT, y=18, font_size=14, font_weight=650, fill=INK)]
    for value in up.ticks():
        y = up(value)
        parts.append(element("line", x1=left + LEFT, x2=left + PANEL - RIGHT, y1=y, y2=y, stroke=GRID))
        parts.append(
            text(write(value), x=left + LEFT - 6, y=y + 4, font_size=12, text_anchor="end", fill=SOFT)
        )
    for value in across.ticks():
        x = across(value)
        parts.append(element("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, stroke=GRID))
        words = f"{value:,.0f}" if value < 1e6 else f"{value / 1e6:,.0f} M"
        parts.append(text(words, x=x, y=HEIGHT - BOTTOM + 16, font_size=12, text_anchor="middle", fill=SOFT))
    parts.append(
        text(
            f"{unit}, by rows",
            x=left + PANEL - RIGHT,
            y=HEIGHT - BOTTOM + 36,
            font_size=12,
            text_anchor="end",
            fill=SOFT,
        )
    )
    for number, name in enumerate(names):
        shown = [(across(x), up(y)) for x, y in curves.get(name, ())]
        if not shown:
            continue
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in shown)
        parts.append(element("polyline", points=line, fill="none", stroke=SERIES[number], stroke_width=2))
        parts += [_mark(number, x, y) for x, y in shown]
    return parts


def _mark(number, x, y):
    """A circle, or a square for every other curve: colours alone are not enough."""
    if number % 2 == 0:
        return element("circle", cx=float(x), cy=float(y), r=4, fill=SERIES[number])
    return element("rect", x=float(x - 4), y=float(y - 4), width=8, height=8, fill=SERIES[number])


class _Axis:
    """From the logarithm of a value to a place."""

    def __init__(self, values, start, end):
        self.low, self.high = math.log10(min(values)), math.log10(max(values))
        room = 0.04 * max(self.high - self.low, 0.5)
        self.low, self.high = self.low - room, self.high + room
        self.start, self.end = start, end

    def __call__(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """Powers of ten, and steps between them if these are few."""
        powers = [10.0**power for power in range(math.floor(self.low), math.ceil(self.high) + 1)]
        inside = [value for value in powers if self.low <= math.log10(value) <= self.high]
        if len(inside) > 2:
            return inside
        return [
            step * value
            for value in powers
            for step in (1, 2, 5)
            if self.low <= math.log10(step * value) <= self.high
        ]
