"""Stata: datasets with labels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.io.formats.statistical import StatisticalFile

if TYPE_CHECKING:
    import polars as pl

_RESERVED = frozenset(
    {"_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n", "_N", "_pi", "_pred"}
    | {"_rc", "_skip", "strL", "using", "with"}
)  # fmt: skip
_NAME = re.compile(r"[^\W\d]\w*", re.UNICODE)


class Stata(StatisticalFile):
    """Stata. Words of a few are codes with labels."""

    name: ClassVar[str] = "stata"
    title: ClassVar[str] = "Stata"
    suffixes: ClassVar[tuple[str, ...]] = (".dta",)
    reader: ClassVar[str] = "read_dta"
    longest_name: ClassVar[int] = 32
    longest_text: ClassVar[int] = 2045
    longest_label: ClassVar[int] = 2000
    longest_title: ClassVar[int] = 80
    first_year: ClassVar[int] = 1000

    def name_problem(self, name: str) -> str:
        """Return why Stata has no such name."""
        if name in _RESERVED or re.fullmatch(r"str[0-9]+", name):
            return "is a word of its language"
        if not _NAME.fullmatch(name):
            return "has other signs than letters, digits and _, or begins with a digit"
        return ""

    def write(
        self, data: pl.DataFrame, path: str, titles: dict[str, str | None], codes: dict[str, Any]
    ) -> None:
        """Write the table."""
        import pyreadstat

        pyreadstat.write_dta(data, path, column_labels=titles, variable_value_labels=codes)
