"""`ReadOptions`: how to read a file, where it does not say so itself."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from shoal.errors import DataError


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file. Whatever is left out is detected, or takes the value named here."""

    delimiter: str | None = None
    """One character between the fields of a CSV file; detected among ``, ; tab |`` when left out."""
    encoding: str | None = None
    """Of a CSV file; UTF-8 when left out, or what a byte order mark says."""
    quote: str | None = None
    """The character around fields that hold delimiters; ``"`` when left out, "" for none at all."""
    null_values: tuple[str, ...] = ()
    """Texts that mean null, in addition to an empty field."""
    sheet: str | None = None
    """Of an Excel file; the first one when left out."""
    header: bool = True
    """Whether the first record names the columns; otherwise they are column_1, column_2, .."""
    guess_types: bool = True
    """Whether columns of text that are all numbers or dates become such; otherwise text stays text."""

    def __post_init__(self) -> None:
        """Refuse what no file can be read with."""
        object.__setattr__(self, "null_values", tuple(self.null_values))
        for name, text in (("delimiter", self.delimiter), ("quote", self.quote or None)):
            if text is not None and (len(text) != 1 or not text.isascii() or text in "\r\n"):
                raise DataError(f"{name} = {text!r}: it has to be one ASCII character, such as ';' or '\\t'")
        if self.quote and self.quote == self.delimiter:
            raise DataError(f"delimiter and quote are both {self.quote!r}: they have to differ")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise DataError(
                    f"encoding = {self.encoding!r} is not known; often used: 'utf-8', 'latin-1', 'cp1252', 'utf-16'"
                ) from None
