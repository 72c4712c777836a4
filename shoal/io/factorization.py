"""`factorize`: the values of a column as small integers."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.support.arrays import IntVector
from shoal.support.wording import type_name

_ALWAYS_SMALL = 1 << 16
_OFTEN = 8


def factorize(column: pl.Series) -> tuple[IntVector, pl.Series]:
    """Return codes and distinct values such that ``values[codes]`` is the column again.

    The order of the values is not fixed. Null is a value like any other, NaN is one value, and so are 0.0
    and -0.0. O(rows) for text, categories, Booleans and integers or dates within a narrow range;
    for other numbers O(rows) if they repeat often, else O(rows log rows).
    """
    if not len(column):
        return np.empty(0, np.int32), column
    physical = _integers_or_text(column)
    if physical.dtype == pl.String:
        # Separate categories: the codes are then dense, and polars frees their memory afterwards.
        physical = physical.cast(pl.Categorical(pl.Categories.random())).to_physical()
    nulls = physical.null_count()
    if nulls == len(physical):
        return np.zeros(len(physical), np.int32), column.head(1)
    low, high = int(physical.min()), int(physical.max())  # type: ignore[arg-type]
    if high - low >= max(_ALWAYS_SMALL, len(physical)):
        physical = _number_integers(physical)
        low, high = int(physical.min()), int(physical.max())  # type: ignore[arg-type]
    size = high - low + 1
    if physical.dtype in (pl.Int8, pl.Int16, pl.UInt8, pl.UInt16):
        physical = physical.cast(pl.Int32)
    if low:
        physical = physical - low
    if nulls:
        physical = physical.fill_null(size)
        size += 1
    codes = physical.cast(pl.Int32).to_numpy(writable=True)  # compiled code takes no other arrays
    return _without_gaps(column, codes, size)


def _number_integers(integers: pl.Series) -> pl.Series:
    """Number integers that are far apart: by hashing if they repeat often, else by sorting."""
    integers = integers.alias("value")
    distinct = integers.unique().drop_nulls()
    if len(distinct) > len(integers) // _OFTEN:
        return integers.rank("dense")
    numbers = distinct.to_frame().with_row_index("number")
    joined = integers.to_frame().join(numbers, on="value", how="left", maintain_order="left")
    return joined.get_column("number")


def _without_gaps(column: pl.Series, codes: IntVector, size: int) -> tuple[IntVector, pl.Series]:
    """Renumber codes below `size` so that each one occurs, and take the value of each from a row that has it.

    The first rows usually contain all codes, so the search continues in growing steps only while some are missing.
    """
    some_row = np.full(size, -1, np.int64)
    start, stop = 0, _ALWAYS_SMALL
    while start < len(codes):
        part = codes[start:stop]
        some_row[part] = np.arange(start, start + len(part))
        if some_row.min() >= 0:
            return codes, column.gather(some_row)
        start, stop = stop, stop * 4
    used = some_row >= 0
    if not used.all():
        codes = (np.cumsum(used, dtype=np.int32) - 1)[codes]
        some_row = some_row[used]
    return codes, column.gather(some_row)


def _integers_or_text(column: pl.Series) -> pl.Series:
    """Return integers or texts that are equal exactly if the values of the column are equal."""
    dtype = column.dtype
    if dtype == pl.String:
        return column
    if dtype in (pl.Float32, pl.Float64):
        # Compare floats by their bits, after making the two zeros one value and all NaN one value.
        numbers = column.cast(pl.Float64).fill_nan(None).fill_null(0.0).to_numpy() + 0.0  # -0.0 + 0.0 is 0.0
        whole = pl.Series(column.name, numbers.view(np.int64))
        nan = column.is_nan().fill_null(False)
        if nan.any():
            # Only a NaN has these bits.
            whole = whole.zip_with(~nan, pl.Series([np.iinfo(np.int64).max]))
        if column.null_count():
            whole = whole.zip_with(column.is_not_null(), pl.Series([None], dtype=pl.Int64))
        return whole
    if dtype == pl.Boolean:
        return column.cast(pl.UInt8)
    if dtype == pl.Null or dtype.is_decimal() or dtype in (pl.Int128, pl.UInt128):
        return column.cast(pl.String)
    if dtype == pl.Binary:
        return column.bin.encode("hex")
    if dtype.is_nested() or dtype == pl.Object:
        raise DataError(
            f"column '{column.name}' holds {type_name(dtype)}: only single values (text, numbers, dates, Booleans) "
            "can be used here; split the column into several first, or drop it"
        )
    return column.to_physical()
