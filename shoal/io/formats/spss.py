"""SPSS: system files with labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.io.formats.statistical import StatisticalFile

if TYPE_CHECKING:
    import polars as pl

_RESERVED = frozenset(["ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"])
_NAME = re.compile(r"[^\W\d_][\w.@#$]*", re.UNICODE)


class Spss(StatisticalFile):
    """SPSS. Words of a few are codes with labels."""

    name: ClassVar[str] = "spss"
    title: ClassVar[str] = "SPSS"
    suffixes: ClassVar[tuple[str, ...]] = (".sav", ".zsav")
    reader: ClassVar[str] = "read_sav"
    longest_name: ClassVar[int] = 64
    longest_text: ClassVar[int] = 32_767
    longest_label: ClassVar[int] = 120
    longest_title: ClassVar[int] = 255
    first_year: ClassVar[int] = 1583

    def name_problem(self, name: str) -> str:
        """Return why SPSS has no such name."""
        if name.upper() in _RESERVED:
            return "is a word of its language"
        if not _NAME.fullmatch(name) or name.endswith("."):
            return "has other signs than letters, digits, _ . @ # $, does not begin with a letter, or ends in a point"
        return ""

    def write(
        self, data: pl.DataFrame, path: str, titles: dict[str, str | None], codes: dict[str, Any]
    ) -> None:
        """Write the table; whole numbers are shown without decimals."""
        import pyreadstat

        widths = {column.name: _width(column) for column in data if column.dtype.is_integer()}
        pyreadstat.write_sav(
            data,
            path,
            column_labels=titles,
            variable_value_labels=codes,
            variable_format={name: f"F{width}.0" for name, width in widths.items()},
            variable_measure=dict.fromkeys(codes, "nominal"),
            compress=path.lower().endswith(".zsav"),
        )


def _width(numbers: pl.Series) -> int:
    ends = [str(end) for end in (numbers.min(), numbers.max()) if end is not None]
    return max(8, *map(len, ends)) if ends else 8
