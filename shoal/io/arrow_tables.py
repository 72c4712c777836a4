"""pyarrow tables in and out."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.io.column_names import refuse_duplicates
from shoal.io.given_frame import Given


def read_arrow(table: Any) -> pl.DataFrame:
    """Return a pyarrow Table or RecordBatch as polars; an ordered dictionary of texts becomes an Enum."""
    refuse_duplicates(list(table.schema.names), "the pyarrow table")
    data = pl.from_arrow(table)
    assert isinstance(data, pl.DataFrame)
    orders = arrow_given(table).orders
    return data.with_columns(
        data[name].cast(pl.String).cast(pl.Enum(categories))
        for name, categories in orders.items()
        if categories.dtype == pl.String
    )


def arrow_given(table: Any) -> Given:
    """Return the types of a pyarrow table, and the order of its ordered dictionaries."""
    import pyarrow as pa  # type: ignore[import-untyped]

    types = {field.name: field.type for field in table.schema}
    orders = {}
    for name, dtype in types.items():
        if pa.types.is_dictionary(dtype) and dtype.ordered:
            column = table.column(name)
            whole = column.unify_dictionaries() if isinstance(column, pa.ChunkedArray) else column
            chunk = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) and whole.num_chunks else whole
            if isinstance(chunk, pa.DictionaryArray):
                orders[name] = (
                    pl.Series(pl.from_arrow(chunk.dictionary)).drop_nulls().unique(maintain_order=True)
                )
    return Given(types=types, orders=orders, one_batch=isinstance(table, pa.RecordBatch))


def as_arrow(data: pl.DataFrame, given: Given, single: frozenset[str]) -> Any:
    """Return a pyarrow table; the columns in `single` have the type that they were given in, if it loses nothing."""
    import pyarrow as pa

    columns = {
        column.name: to_arrow_type(
            column,
            given.types.get(column.name) if column.name in single else None,
            given.orders.get(column.name),
        )
        for column in data
    }
    table = pa.table(columns)
    if not given.one_batch:
        return table
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def to_arrow_type(column: pl.Series, wanted: Any = None, order: pl.Series | None = None) -> Any:
    """Return a column as a pyarrow array of the `wanted` type if no value changes, else of the nearest type."""
    import pyarrow as pa

    if wanted is not None and pa.types.is_dictionary(wanted):
        return _dictionary(column, wanted, order)
    plain = column.to_arrow()
    if wanted is None or plain.type == wanted:
        return plain
    try:
        return plain.cast(_bare(wanted), safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return plain


def _bare(dtype: Any) -> Any:
    """Return a type without the metadata of the fields inside it: they are notes about the original."""
    import pyarrow as pa

    inner = [dtype.field(place) for place in range(dtype.num_fields)]
    fields = [pa.field(field.name, _bare(field.type), field.nullable) for field in inner]
    if pa.types.is_struct(dtype):
        return pa.struct(fields)
    if pa.types.is_map(dtype):
        return pa.map_(_bare(dtype.key_type), _bare(dtype.item_type), dtype.keys_sorted)
    if pa.types.is_fixed_size_list(dtype):
        return pa.list_(fields[0], dtype.list_size)
    if pa.types.is_list(dtype):
        return pa.list_(fields[0])
    return pa.large_list(fields[0]) if pa.types.is_large_list(dtype) else dtype


def _dictionary(column: pl.Series, wanted: Any, order: pl.Series | None) -> Any:
    """Return a dictionary of the values that occur: in the given order if they have one, else sorted, because the order
    in which values first occurred tells about the order of the rows."""
    import pyarrow as pa

    values = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
    used = values.drop_nulls().unique().sort()
    if wanted.ordered and order is not None:
        used = order.filter(order.is_in(used.implode()))
    numbers = codes_in(values, used)
    if numbers.null_count() != column.null_count():
        return column.to_arrow()
    try:
        return pa.DictionaryArray.from_arrays(
            numbers.to_arrow().cast(wanted.index_type),
            used.to_arrow().cast(wanted.value_type),
            ordered=wanted.ordered,
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return column.to_arrow()


def codes_in(values: pl.Series, categories: pl.Series) -> pl.Series:
    """Return the place of each value among the categories; null for null and for a value that is not there."""
    places = pl.DataFrame({"value": categories.cast(values.dtype)}).with_row_index("place")
    return (
        values.alias("value").to_frame().join(places, on="value", how="left", maintain_order="left")["place"]
    )
