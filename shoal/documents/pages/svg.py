"""Drawings as SVG inside a page: colours are tokens of the stylesheet, text stays text, nothing is fetched.

No drawing has a style of its own, so that they also appear where a page forbids styles within it. Bars are as wide as
the page lets them; their text has one size on a phone and on a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from shoal.support.wording import printable

INK, SOFT, GRID, SURFACE = "currentColor", "var(--ink-soft)", "var(--grid)", "var(--surface)"
BEFORE, AFTER = "var(--before)", "var(--after)"
SERIES = tuple(f"var(--series-{number})" for number in range(1, 7))
_LABEL, _BAR, _GAP, _LEGEND = 20, 11, 4, 30
"""Heights in pixels: the line of a label, a bar, the space below it, the legend."""
_CELL = 40


@dataclass(frozen=True)
class Bars:
    """One bar per label: shares from 0 up, what is written at their ends, and whether they are filled."""

    name: str
    values: Sequence[float]
    texts: Sequence[str]
    filled: bool = True


def element(tag: str, *inside: str, **attributes: object) -> str:
    """Return an element around markup; underscores in names become hyphens, and values are escaped."""
    told = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(_plain(value))}"
        for name, value in attributes.items()
    )
    return f"<{tag}{told}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{told}/>"


def text(words: str, **attributes: object) -> str:
    """Return a text; characters that control a page are replaced."""
    return element("text", escape(printable(words)), **attributes)


def _plain(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def figure(key: str, title: str, description: str, *inside: str, **attributes: object) -> str:
    """Return a whole drawing with a title and a description for people who cannot see it.

    `key` makes its addresses unique on the page.
    """
    return element(
        "svg",
        element("title", escape(printable(title)), id=f"{key}-title"),
        element("desc", escape(printable(description)), id=f"{key}-desc"),
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_labelledby=f"{key}-title",
        aria_describedby=f"{key}-desc",
        **attributes,
    )


def bar_chart(key: str, title: str, description: str, labels: Sequence[str], groups: Sequence[Bars]) -> str:
    """Draw horizontal bars below their labels, one of each group. Outlined and filled bars differ without colours."""
    largest = max([0.0, *(value for group in groups for value in group.values)]) or 1.0
    top = _LEGEND if len(groups) > 1 else 0
    step = _LABEL + len(groups) * (_BAR + _GAP) + 8
    parts = []
    if top:
        at = 0.0
        for group in groups:
            parts.append(_bar(group.filled, x=at + 1, y=4, width=16, height=_BAR))
            parts.append(text(group.name, x=at + 24, y=14, font_size=13, fill=SOFT))
            at += 44 + 7.5 * len(group.name)
    lines = []
    for place, name in enumerate(labels):
        y = top + place * step
        lines.append(text(name, x=0, y=y + 14, font_size=13, fill=INK))
        for number, group in enumerate(groups):
            bar_y = y + _LABEL + number * (_BAR + _GAP)
            # What is written at the end of the longest bar needs room, too.
            share = f"{84 * group.values[place] / largest:.2f}%"
            lines.append(_bar(group.filled, x=1, y=bar_y, width=share, height=_BAR))
            lines.append(text(group.texts[place], x=share, dx=8, y=bar_y + 10, font_size=12, fill=SOFT))
    height = top + len(labels) * step
    return figure(key, title, description, *parts, *lines, width="100%", height=max(height, 1), class_="bars")


def _bar(filled: bool, **place: object) -> str:
    if filled:
        return element("rect", rx=2, fill=AFTER, **place)
    return element("rect", rx=2, fill="none", stroke=BEFORE, stroke_width=1.5, **place)


def triangle(
    key: str,
    title: str,
    description: str,
    heading: str,
    names: Sequence[str],
    values: Sequence[Sequence[float]],
) -> str:
    """Draw the values below the diagonal of a matrix as squares, the darker the larger, with the numbers inside."""
    count, left = len(names), 12 + 7 * max((len(name) for name in names[1:]), default=0)
    below = 16 + 5 * max((len(name) for name in names[:-1]), default=0)
    parts = [text(heading, x=0, y=16, font_size=14, font_weight=650, fill=INK)]
    for i in range(1, count):
        y = 28 + (i - 1) * _CELL
        parts.append(text(names[i], x=left - 8, y=y + 25, font_size=12, text_anchor="end", fill=INK))
        for j in range(i):
            x, value = left + j * _CELL, float(values[i][j])
            looks = {"fill": AFTER, "fill_opacity": f"{0.06 + 0.4 * min(max(value, 0.0), 1.0):.3f}"}
            parts.append(element("rect", x=x, y=y, width=_CELL - 2, height=_CELL - 2, rx=4, **looks))
            parts.append(
                text(f"{value:.2f}", x=x + 19, y=y + 24, font_size=12, text_anchor="middle", fill=INK)
            )
    floor = 28 + (count - 1) * _CELL + 12
    for j in range(count - 1):
        x = left + j * _CELL + 22
        parts.append(
            text(
                names[j], x=x, y=floor, font_size=12, text_anchor="end", fill=INK,
                transform=f"rotate(-40 {x} {floor})",
            )
        )  # fmt: skip
    width, height = left + (count - 1) * _CELL + 4, floor + below
    return figure(
        key, title, description, *parts, viewBox=f"0 0 {width} {height}", width=width, height=height
    )


def standalone(drawing: str) -> str:
    """Return a drawing as a file of its own, which brings the tokens, light and dark."""
    from shoal.documents.pages.look import tokens

    style = f"{tokens()}\nsvg {{ color: var(--ink); background: var(--surface); font-family: var(--sans); }}"
    head, body = drawing.split(">", 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{head}><style>{style}</style>{body}\n'
