"""How Shoal writes counts, numbers and names for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def counted(count: int, one: str, many: str = "") -> str:
    """Write a number with its noun: ``1 class``, ``2,000 classes``."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def counted_parts(classes: int | None, buckets: int | None, *, explained: bool = False) -> str:
    """Count the buckets of a release if it has any, else its classes: shuffled rows form no useful classes."""
    if buckets is None:
        return (
            counted(classes or 0, "class", "classes")
            + " of rows with identical quasi-identifiers" * explained
        )
    return counted(buckets, "bucket") + ", within which columns were shuffled against each other" * explained


def some_values(values: Sequence[object], most: int = 8) -> str:
    """List a few values for a message: ``'a', 'b' and 3 more``."""
    shown = ", ".join(repr(value) for value in values[:most])
    rest = len(values) - most
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def number(value: object) -> str:
    """Write a number as briefly as people still understand it."""
    if value is None or value != value:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def printable(text: str) -> str:
    """Return a column's name on one line, without characters that would control the terminal."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def shown(value: object) -> str:
    """Show a wrong value as a policy has it, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        keys = [str(key) for key in value]
        return f"a table with {', '.join(keys[:4])}" if keys else "an empty table"
    text = repr(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message, shortened."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
