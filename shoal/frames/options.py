"""`ReadOptions`: how to read a file, where it does not say so itself."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from shoal.errors import DataError


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file. Shoal detects what is not given, or uses the default below."""

    delimiter: str | None = None
    """One character between the fields of a CSV file; by default detected among ``, ; tab |``."""
    encoding: str | None = None
    """Encoding of a CSV file; by default what a byte order mark says, else UTF-8."""
    quote: str | None = None
    """The character around fields that contain delimiters; by default ``"``; "" for none."""
    null_values: tuple[str, ...] = ()
    """Texts that mean null, in addition to an empty field."""
    sheet: str | None = None
    """Sheet of an Excel file; by default the first."""
    header: bool = True
    """Whether the first line names the columns; otherwise they are column_1, column_2, .."""
    guess_types: bool = True
    """Whether to convert text columns that only hold numbers or dates; otherwise text stays text."""
    likely_delimiter: str | None = None
    """A delimiter that is tried first, where it is to be detected."""
    section: str = "data"
    """The section of a policy that sets these options, for messages."""

    @property
    def of_release(self) -> bool:
        """The table is a release, which has no rows if all of them are suppressed."""
        return self.section == "release"

    def __post_init__(self) -> None:
        """Refuse options with which no file can be read."""
        object.__setattr__(self, "null_values", tuple(self.null_values))
        for name, text in (("delimiter", self.delimiter), ("quote", self.quote or None)):
            if text is not None and (len(text) != 1 or not text.isascii() or text in "\r\n"):
                raise DataError(f"{name} = {text!r}: must be one ASCII character, such as ';' or '\\t'")
        if self.quote and self.quote == self.delimiter:
            raise DataError(f"delimiter and quote are both {self.quote!r}: they must differ")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise DataError(
                    f"encoding = {self.encoding!r} is unknown; common encodings: 'utf-8', 'latin-1', 'cp1252', 'utf-16'"
                ) from None
