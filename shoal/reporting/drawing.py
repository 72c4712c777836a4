"""Drawings as SVG inside a page: text stays text, colours follow the page, nothing is fetched."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BEFORE = "#d55e00"
AFTER = "#0072b2"
"""Vermilion and blue of Okabe and Ito: everyone can distinguish them, by brightness also in grey."""
NEUTRAL = "#888888"
_INK = "#010203"
"""Stands for the colour of the text around the drawing, whatever that is."""

_SVG = "http://www.w3.org/2000/svg"
_LINK = "http://www.w3.org/1999/xlink"

SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "shoal",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,  # a value may contain dollar signs
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.titlecolor": _INK,
    "axes.unicode_minus": False,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "hatch.linewidth": 0.6,
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw and save figures within this context, so that they look the same under any settings of the user."""
    import matplotlib

    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # The reader's browser draws characters that the font here lacks.
        warnings.simplefilter("ignore", UserWarning)
        yield


@contextmanager
def canvas(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure, in inches, without a window or global state."""
    from matplotlib.figure import Figure

    with drawing():
        yield Figure(figsize=(width, height), layout="constrained")


def svg_of(figure: Figure, key: str, title: str, description: str) -> str:
    """Return a figure as markup with a title and a description for people who cannot see it.

    `key` makes the addresses inside unique on the page.
    """
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _LINK)
    root = ElementTree.fromstring(text[text.index("<svg") :])
    _unique(root, key)
    for metadata in root.findall(f"{{{_SVG}}}metadata"):
        root.remove(metadata)
    for at, (tag, words) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(f"{{{_SVG}}}{tag}", {"id": f"{key}-{tag}"})
        element.text = words
        root.insert(at, element)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{key}-title")
    root.set("aria-describedby", f"{key}-desc")
    root.set("style", f"max-width:{figure.get_figwidth():g}in")
    return ElementTree.tostring(root, encoding="unicode").replace(_INK, "currentColor")


def _unique(root: ElementTree.Element, key: str) -> None:
    """Keep only the ids that something refers to, each with the key before it, and refer without a namespace."""
    used = set()
    for element in root.iter():
        link = element.attrib.pop(f"{{{_LINK}}}href", None)
        if link is not None:
            used.add(link.lstrip("#"))
            element.set("href", f"#{key}-{link.lstrip('#')}")
        for name, value in element.attrib.items():
            for address in re.findall(r"url\(#([^)]+)\)", value):
                used.add(address)
                element.set(name, value.replace(f"#{address}", f"#{key}-{address}"))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.set("id", f"{key}-{own}")
