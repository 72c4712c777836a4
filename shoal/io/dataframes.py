"""Dataframes in and out: polars, pandas and pyarrow, and back to the kind that was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from shoal.errors import DataError
from shoal.io.arrow_tables import arrow_given, as_arrow, read_arrow
from shoal.io.given_frame import Given, restore_types
from shoal.io.leftovers import without_leftovers
from shoal.io.pandas_frames import as_pandas, pandas_given, read_pandas


def from_dataframe(source: object) -> tuple[str, pl.DataFrame]:
    """Return the kind of a dataframe and its rows as polars, or raise `DataError`."""
    if isinstance(source, pl.DataFrame):
        return "polars", source
    if isinstance(source, pl.LazyFrame):
        # Collected once: a query that shuffles or samples would give other rows for each column.
        return "polars-lazy", source.collect()
    library, name = type(source).__module__.partition(".")[0], type(source).__name__
    frame: Any = source
    if library == "pandas" and name == "DataFrame":
        return "pandas", read_pandas(frame)
    if library == "pyarrow" and name in ("Table", "RecordBatch"):
        return "pyarrow", read_arrow(frame)
    if library == "pyspark":
        raise DataError(
            "only anonymize and audit take a frame of Spark; write it to a folder, and give its path here"
        )
    raise DataError(
        f"cannot read a {library}.{name}; give a path, a polars DataFrame or LazyFrame, "
        "a pandas DataFrame or a pyarrow Table"
    )


def given(source: object) -> Given:
    """Return the types and labels of a dataframe that polars has no words for, to give the result back in them."""
    library = type(source).__module__.partition(".")[0]
    if library == "pandas":
        return pandas_given(source)
    return arrow_given(source) if library == "pyarrow" else Given()


def give_back(
    data: pl.DataFrame,
    kind: str,
    as_read: Mapping[str, pl.DataType] | None = None,
    as_given: Given | None = None,
) -> Any:
    """Return a result in the kind that was given, without leftovers.

    Columns that show single values get the types back that they were read in (`as_read`, the schema of the `Frame`)
    and given in (`as_given`), or the nearest type that loses nothing: reading the result again gives the same values.
    A pandas frame comes back with a fresh index. For a file the result is a polars frame.
    """
    read, given_in = as_read or {}, as_given or Given()
    data = restore_types(data, read)
    single = frozenset(column.name for column in data if column.dtype == read.get(column.name))
    data = without_leftovers(data)
    if kind == "polars-lazy":
        return data.lazy()
    if kind == "pandas":
        return as_pandas(data, given_in, single)
    if kind == "pyarrow":
        return as_arrow(data, given_in, single)
    return data
