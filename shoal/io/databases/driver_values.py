"""From what a driver gives to columns that Shoal can hold: checked first, because polars panics at some of it."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped]

_MICROSECONDS = 86_400_000_000
_DAY_ONE, _LAST_DAY = dt.date(1, 1, 1), dt.date(9999, 12, 31)
_EPOCH = dt.date(1970, 1, 1)
_EXACT = 2**53
"""Up to here a 64-bit float holds every whole number."""
_BYTES = {memoryview, bytes, bytearray}
_DIGITS = 38
"""How many digits a decimal number can have."""


def as_column(values: Sequence[Any]) -> pa.Array:
    """Return Python values of a driver as Arrow. If their types differ, as SQLite allows, they become text."""
    import pyarrow as pa

    kinds = {bool if kind is bool else kind for kind in map(type, values)} - {type(None)}
    if kinds <= _BYTES and kinds:
        return _convert_each(values, bytes, pa.binary())
    if kinds == {int, float} and all(abs(value) <= _EXACT for value in values if isinstance(value, int)):
        return _convert_each(values, float, pa.float64())
    if len(kinds) == 1 and kinds <= {bool, int, float, str, dt.date, dt.time, dt.datetime}:
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, OverflowError):  # integers of more than 64 bits
            pass
    if kinds & _BYTES:
        raise DataError("holds bytes and other values")
    return _convert_each(values, _text, pa.string())


def _convert_each(values: Sequence[Any], convert: Callable[[Any], Any], kind: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if value is None else convert(value) for value in values], kind)


def _text(value: Any) -> str:
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return repr(value) if isinstance(value, float) else str(value)


def as_polars(
    table: pa.Table,
    where: str,
    *,
    decimals: Sequence[str] = (),
    enums: Mapping[str, Sequence[str]] | None = None,
) -> pl.DataFrame:
    """Return a table that a driver gave, or raise `DataError` if a column holds what Shoal cannot.

    `decimals` are columns of numbers that arrive as text; `enums` are columns of text with all their values in order.
    """
    import polars as pl

    for name in table.schema.names:
        problem = _problem(table.column(name)) or _invalid(table.column(name))
        if problem:
            raise DataError(f"{where}: column '{name}' {problem}")
    data = pl.from_arrow(table)
    assert isinstance(data, pl.DataFrame)
    changed = [_numbers(data.get_column(name), where) for name in decimals]
    changed += [data.get_column(name).cast(pl.Enum(list(labels))) for name, labels in (enums or {}).items()]
    return data.with_columns(changed)


def _problem(column: pa.ChunkedArray) -> str:
    """Return why polars could not hold a column, in words; "" if it can."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_duration(kind):
        what = "intervals of time" if not pa.types.is_nested(kind) else "lists or records"
        return f"holds {what}, which have no single value to generalize; {ADVICE}"
    if isinstance(kind, pa.BaseExtensionType):
        return f"holds values of a type that Shoal does not know; {ADVICE}"
    if pa.types.is_date32(kind):
        days = [(day - _EPOCH).days for day in (_DAY_ONE, _LAST_DAY)]
        return "" if _within(column, pa.int32(), *days) else OUTSIDE
    if pa.types.is_timestamp(kind):
        per_day = _MICROSECONDS * {"s": 1e-6, "ms": 1e-3, "us": 1, "ns": 1e3}[kind.unit]
        ends = (_DAY_ONE - _EPOCH).days * per_day, ((_LAST_DAY - _EPOCH).days + 1) * per_day - 1
        return "" if _within(column, pa.int64(), *ends) else OUTSIDE
    if pa.types.is_time64(kind) and kind.unit == "us":
        return (
            "" if _within(column, pa.int64(), 0, _MICROSECONDS - 1) else f"holds the time 24:00:00; {ADVICE}"
        )
    return ""


def _invalid(column: pa.ChunkedArray) -> str:
    """Return that texts are not valid, in words: drivers give bytes as they are, and polars would fail at any time."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return f"holds text that is not valid UTF-8; {ADVICE}"
    return ""


ADVICE = "leave it out or convert it in a query"
OUTSIDE = f"holds dates that are infinite, before the year 1 or after 9999; {ADVICE}"


def _within(column: pa.ChunkedArray, whole: Any, low: float, high: float) -> bool:
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    # As plain numbers: Python's dates cannot show those that this looks for.
    ends = pc.min_max(column.cast(whole))
    least, most = ends["min"].as_py(), ends["max"].as_py()
    return least is None or (low <= least and most <= high)


def _numbers(text: pl.Series, where: str) -> pl.Series:
    """Return numbers that came as text as decimal numbers, with all their digits."""
    import polars as pl

    name = text.name
    text = text.str.to_lowercase()
    if not bool(text.drop_nulls().str.contains(r"^-?[0-9]+(\.[0-9]+)?$").all()):
        raise DataError(f"{where}: column '{name}' holds NaN or infinite numbers; {ADVICE}")
    parts = text.str.strip_chars_start("-").str.split_exact(".", 1)
    whole, rest = parts.struct.field("field_0"), parts.struct.field("field_1")
    scale, digits = _longest(rest), _longest(whole.str.strip_chars_start("0"))
    if digits + scale > _DIGITS:
        raise DataError(
            f"{where}: column '{name}' holds numbers of {digits + scale} digits, and Shoal holds {_DIGITS}; round them "
            "in a query"
        )
    return text.cast(pl.Decimal(_DIGITS, scale))


def _longest(text: pl.Series) -> int:
    most: Any = text.str.len_bytes().max()
    return int(most or 0)
