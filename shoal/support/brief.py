"""How results show themselves: a line for loggers and tracebacks, a table for notebooks, with nothing about people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape

from shoal.support.wording import printable


class Brief:
    """Objects that hold rows show their sizes only: ``Release(region_of: 1000, low: 88 x 3)``.

    The repr that a dataclass writes by itself prints arrays, and with them who is in which class. A dataclass must be
    made with ``repr=False`` to inherit this one.
    """

    def __repr__(self) -> str:
        """Return the sizes of arrays and frames, and plain numbers; all else is left out."""
        shown = []
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            shape = getattr(value, "shape", None)
            if isinstance(value, bool | int | float):
                shown.append(f"{field.name}={value}")
            elif isinstance(shape, tuple):
                shown.append(f"{field.name}: {' x '.join(str(size) for size in shape)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def html_table(head: str, columns: Sequence[str], rows: Iterable[Sequence[str | bool]]) -> str:
    """Return a sentence and a table for a notebook. Names and values are escaped: they are hostile input.

    A Boolean becomes a mark. Colours come from the notebook's own theme, except those of the marks.
    """
    cell = 'style="text-align:left;padding:2px 12px 2px 0"'
    lines = ["".join(f"<td {cell}>{_cell(value)}</td>" for value in row) for row in rows]
    names = "".join(f"<th {cell}>{_text(name)}</th>" for name in columns)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    # Some notebooks give tables a colour and a size of their own.
    style = 'style="color:inherit;font-size:inherit"'
    table = f"<table {style}><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><p>{_text(head)}</p>{table if lines else ''}</div>"


def _cell(value: str | bool) -> str:
    if not isinstance(value, bool):
        return _text(value)
    colour, word = ("#2f9e44", "✓ yes") if value else ("#e03131", "✗ no")
    return f'<span style="color:{colour};font-weight:bold">{word}</span>'


def _text(value: str) -> str:
    return escape(printable(value))
