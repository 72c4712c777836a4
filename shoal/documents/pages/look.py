"""The stylesheet and the template environment of every page that Shoal writes or serves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

_NUMBER = re.compile(r"[-−]?[\d,]*\.?\d+(?: ?%)?")


class Marked(str):
    """A cell of a table that is shown as a badge; it is the text of the badge."""

    state: str
    """``good``, ``warn``, ``bad`` or ``plain``."""

    __slots__ = ("state",)

    def __new__(cls, text: str, state: str) -> Marked:
        """Mark a text with a state."""
        made = super().__new__(cls, text)
        made.state = state
        return made

    def __reduce__(self) -> tuple[type[Marked], tuple[str, str]]:
        """Let pickle make it again: reports come from other processes."""
        return Marked, (str(self), self.state)


@cache
def tokens() -> str:
    """Return the colours, spaces and types as CSS variables, light and dark."""
    return files("shoal.documents.pages").joinpath("templates", "tokens.css").read_text(encoding="utf-8")


@cache
def stylesheet() -> str:
    """Return the stylesheet: tokens for light, dark and print, and the classes of the components."""
    return tokens() + files("shoal.documents.pages").joinpath("templates", "look.css").read_text(
        encoding="utf-8"
    )


@cache
def environment(package: str) -> Environment:
    """Return the templates of a package; ``{% import "look/components.html" as look %}`` gives them the components.

    Every value is escaped: names and values of data are hostile input. Only markup that passes through the filter
    ``trusted`` is not, and that is for our own drawings.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=ChoiceLoader(
            [PackageLoader(package), PrefixLoader({"look": PackageLoader("shoal.documents.pages")})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["trusted"] = Markup
    made.globals["is_number_column"] = is_number_column
    return made


def is_number_column(rows: Sequence[Sequence[object]], column: int) -> bool:
    """Return whether all cells of a column are numbers: they are aligned right, so that readers can compare them."""
    cells = [str(row[column]) for row in rows if len(row) > column and str(row[column])]
    return column > 0 and bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
