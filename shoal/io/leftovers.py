"""`without_leftovers`: a table that holds its cells and nothing else, neither in its types nor in its buffers.

A type lists its categories, and is published with the data: a leftover category would tell readers that somebody in the
original had that value. A column of texts points into buffers that it may share with a longer column, and a null may
hide the value that was there before. Arrow files, pickled frames and other copies of the buffers would publish both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

SHORT = 2
"""Buffers of a column of short texts: nulls and texts. Longer ones lie in further buffers, which columns share."""


def without_leftovers(data: pl.DataFrame, *, buffers: bool = True) -> pl.DataFrame:
    """Return the table with types of the categories that occur, and without values in its memory that no cell shows.

    Without `buffers`, for a copy that is made cell by cell, only types shrink. O(rows) for texts, nested columns and
    columns with nulls; other columns are not copied.
    """
    return pl.DataFrame(
        {
            column.name: _clean(column) if buffers or _lists_categories(column.dtype) else column
            for column in data
        }
    )


def _clean(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        return _shrink_categories(column)
    if dtype == pl.String:
        return _own_texts(column)
    if dtype == pl.Binary:
        return _own_bytes(column)
    if isinstance(dtype, pl.Struct):
        return _clean_struct(column)
    if isinstance(dtype, pl.List | pl.Array):
        return _clean_lists(column)
    return _drop_hidden_values(column)


def _drop_hidden_values(column: pl.Series) -> pl.Series:
    """Copy a flat column without the old values of null cells, which otherwise stay in memory."""
    if not column.null_count() or column.dtype == pl.Object:
        return column
    return column.gather(pl.int_range(len(column), eager=True))


def _shrink_categories(column: pl.Series) -> pl.Series:
    """Shrink an Enum to the categories that occur."""
    assert isinstance(column.dtype, pl.Enum)
    physical, categories = column.to_physical(), column.dtype.categories
    shown = np.zeros(len(categories), np.bool_)
    shown[physical.drop_nulls().to_numpy()] = True
    if shown.all():
        return _drop_hidden_values(column)
    smaller = pl.Enum(categories.filter(pl.Series(shown)))
    return categories.cast(smaller, strict=False).alias(column.name).gather(physical)


def _own_texts(column: pl.Series) -> pl.Series:
    """Copy texts into buffers of their own, unless all are so short that there is no buffer."""
    memory = column.alias("text").to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
    if not column.null_count() and len(memory) <= SHORT:
        return column
    return column.to_frame("t").select(pl.concat_str("t", pl.lit(""))).to_series().alias(column.name)


def _own_bytes(column: pl.Series) -> pl.Series:
    copied = pl.Series(
        pl.from_arrow(column.alias("bytes").fill_null(b"").to_arrow(compat_level=pl.CompatLevel.oldest()))
    )
    return _mask_nulls(copied, column).alias(column.name)


def _mask_nulls(values: pl.Series, like: pl.Series) -> pl.Series:
    """Return the values, with null wherever `like` is null."""
    if not like.null_count():
        return values
    return pl.select(pl.when(like.is_not_null()).then(values)).to_series()


def _clean_struct(column: pl.Series) -> pl.Series:
    fields = {
        field.name: _clean(_mask_nulls(column.struct.field(field.name), column)) for field in _fields(column)
    }
    if not fields:
        return column
    whole = pl.DataFrame(fields).to_struct(column.name)
    return _mask_nulls(whole, column).alias(column.name)


def _fields(column: pl.Series) -> list[pl.Field]:
    assert isinstance(column.dtype, pl.Struct)
    return column.dtype.fields


def _clean_lists(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    assert isinstance(dtype, pl.List | pl.Array)
    lists = column if isinstance(dtype, pl.List) else column.arr.to_list()
    lengths = lists.list.len().fill_null(0)
    if isinstance(dtype.inner, pl.Enum):
        used = lists.filter(lengths > 0).explode(empty_as_null=True)
        cleaned = _rebuilt(lists.cast(pl.List(_shrink_categories(used).dtype)), lengths)
    else:
        cleaned = _rebuilt(lists, lengths)
    if isinstance(dtype, pl.Array):
        assert isinstance(cleaned.dtype, pl.List)
        return cleaned.cast(pl.Array(cleaned.dtype.inner, dtype.shape[0])).alias(column.name)
    return cleaned.alias(column.name)


def _rebuilt(lists: pl.Series, lengths: pl.Series) -> pl.Series:
    """Clean the elements of lists, and put them into lists again."""
    import pyarrow as pa  # type: ignore[import-untyped]

    elements = _clean(lists.filter(lengths > 0).explode(empty_as_null=True))
    if _is_foreign(elements.dtype):
        return _gather_lists(elements, lists, lengths)
    ends = np.concatenate([[0], np.cumsum(lengths.to_numpy().astype(np.int64))])
    mask = pa.array(lists.is_null().to_numpy()) if lists.null_count() else None
    values = elements.alias("element").to_arrow()
    made = pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(ends), values, mask=mask)))
    return made.cast(pl.List(elements.dtype))


def _gather_lists(elements: pl.Series, lists: pl.Series, lengths: pl.Series) -> pl.Series:
    """Gather elements into lists, for types that pyarrow does not support."""
    rows = np.repeat(np.arange(len(lists)), lengths.to_numpy())
    groups = pl.DataFrame({"row": rows, "element": elements}).group_by("row", maintain_order=True).all()
    full = lengths > 0
    places = pl.select(pl.when(full).then(full.cast(pl.Int64).cum_sum() - 1)).to_series()
    made = groups.get_column("element").gather(places)
    none = pl.lit(pl.Series([[]], dtype=made.dtype)).first()
    return pl.select(pl.when((lengths == 0) & lists.is_not_null()).then(none).otherwise(made)).to_series()


def _is_foreign(dtype: PolarsDataType) -> bool:
    """Return whether pyarrow cannot take a type: one with integers of 128 bits, or with U+0000 in a name."""
    if isinstance(dtype, pl.Struct):
        return any("\0" in field.name or _is_foreign(field.dtype) for field in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _is_foreign(dtype.inner)
    return dtype in (pl.Int128, pl.UInt128)


def _lists_categories(dtype: PolarsDataType) -> bool:
    """Return whether a type lists categories, or consists of such types."""
    if isinstance(dtype, pl.Struct):
        return any(_lists_categories(field.dtype) for field in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _lists_categories(dtype.inner)
    return isinstance(dtype, pl.Enum)
