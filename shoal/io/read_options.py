"""`ReadOptions`: how to read a file, where it does not say so itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.errors import DataError


@dataclass(frozen=True)
class ColumnReading:
    """How to read the cells of one column, in a table of any format."""

    null_values: tuple[str, ...] = ()
    """Codes that mean null in this column; numbers compare by value. Texts that are numbers or dates without them
    become such."""
    date_format: str = ""
    """The format of its dates, such as ``%d.%m.%Y``; "" for ISO dates."""
    unit: str = ""
    """A text before or after each number, such as a currency."""


@dataclass(frozen=True)
class Labels:
    """What a file of a statistical package says about its columns and codes."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Column -> what it is about, in words."""
    values: Mapping[str, Mapping[float | str, str]] = field(default_factory=dict)
    """Column -> code -> its meaning. It may list codes that no row has."""


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
    decimal: str = "."
    """The sign before the fraction of a number in a text file: a point or a comma."""
    thousands: str = ""
    """The sign between groups of three digits in a text file; "" for none."""
    columns: Mapping[str, ColumnReading] = field(default_factory=dict)
    """How to read single columns."""
    guess_types: bool = True
    """Whether to convert text columns that only hold numbers or dates; otherwise text stays text."""
    escape_formulas: bool = False
    """Whether texts of a CSV file that a spreadsheet would run as formulas have an apostrophe before them."""
    likely_delimiter: str | None = None
    """A delimiter that is tried first, where it is to be detected."""
    labels: Labels = field(default_factory=Labels)
    """What the file says about its columns and codes, filled in by the reader."""
    section: str = "data"
    """The section of a policy that sets these options, for messages."""

    @property
    def of_release(self) -> bool:
        """The table is a release, which has no rows if all of them are suppressed."""
        return self.section == "release"

    def of_column(self, name: str) -> ColumnReading:
        """Return how to read one column."""
        return self.columns.get(name, ColumnReading())

    def __post_init__(self) -> None:
        """Refuse options with which no file can be read."""
        object.__setattr__(self, "null_values", tuple(self.null_values))
        for name, text in (("delimiter", self.delimiter), ("quote", self.quote or None)):
            if text is not None and (len(text) != 1 or not text.isascii() or text in "\r\n"):
                raise DataError(f"{name} = {text!r}: must be one ASCII character, such as ';' or '\\t'")
        if self.quote and self.quote == self.delimiter:
            raise DataError(f"delimiter and quote are both {self.quote!r}: they must differ")
        if self.decimal not in (".", ",") or self.thousands not in ("", ".", ",", "'", " "):
            raise DataError(
                f"decimal = {self.decimal!r}, thousands = {self.thousands!r}: the decimal sign must be '.' or ',', and "
                "the sign between thousands '.', ',', \"'\" or a space"
            )
        if self.decimal == self.thousands:
            raise DataError(f"decimal and thousands are both {self.decimal!r}: they must differ")
        if self.encoding is not None and not is_encoding(self.encoding):
            raise DataError(
                f"encoding = {self.encoding!r} is unknown; common encodings: 'utf-8', 'latin-1', 'cp1252', 'utf-16'"
            )


def is_encoding(name: str) -> bool:
    """Return whether Python has an encoding of text by this name; it has others, such as zlib, that are not of text."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return True
