"""From sections to one self-contained HTML page: every text is escaped, only drawings are trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from shoal import __version__
from shoal.reporting.parts import Section, Table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PUBLIC_WORDS = (
    "It says nothing about single people: what depends on fewer than {k:,} of them is combined with others or left "
    "out."
)
PRIVATE_WORDS = (
    "It contains data about single people. Keep it with the original data; it is not part of the release."
)
_NUMBER = re.compile(r"-?[\d,]*\.?\d+%?")


def page(
    sections: Sequence[Section], *, name: str, lead: str, public: bool, k: int, warning: str = ""
) -> str:
    """Write the page. Linear in what it shows."""
    environment = _environment()
    template = environment.get_template("report.html")
    return template.render(
        sections=sections,
        name=name,
        lead=lead,
        public=public,
        edition="Public" if public else "Private",
        edition_words=(PUBLIC_WORDS if public else PRIVATE_WORDS).format(k=k),
        warning=warning,
        style=_style(),
        made_with=f"Shoal {__version__}",
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("shoal.reporting"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["trusted"] = Markup
    environment.globals["number_class"] = _number_class
    return environment


def _style() -> Markup:
    from importlib.resources import files

    from markupsafe import Markup

    return Markup(files("shoal.reporting").joinpath("templates", "report.css").read_text(encoding="utf-8"))


def _number_class(table: Table, column: int) -> Markup:
    """Align columns of numbers to the right, so that readers can compare them."""
    from markupsafe import Markup

    cells = [row[column] for row in table.rows if row[column]]
    numbers = column > 0 and bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
    return Markup(' class="number"' if numbers else "")
