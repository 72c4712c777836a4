"""Column names that Shoal refuses, wherever a table comes from."""

from __future__ import annotations

from collections import Counter

from shoal.errors import DataError
from shoal.support.wording import some_values


def refuse_duplicates(names: list[str], where: str) -> list[str]:
    """Return the column names, or raise `DataError` if two are equal."""
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise DataError(
            f"{where}: more than one column has the name {some_values(double)}; rename all but one"
        )
    return names


def refuse_patterns(names: list[str], where: str) -> None:
    """Refuse names such as ``^a.*$``: polars takes them for patterns and selects every column that matches."""
    patterns = [name for name in names if name.startswith("^") and name.endswith("$")]
    if patterns:
        raise DataError(
            f"{where}: column names cannot begin with ^ and end with $; rename {some_values(patterns)}"
        )
