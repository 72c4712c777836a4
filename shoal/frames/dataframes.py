"""Dataframes in and out: polars, pandas and pyarrow, and back to the kind that was given."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.frames.column_names import refuse_duplicates
from shoal.wording import some_values


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
        return "pandas", _from_pandas(frame)
    if library == "pyarrow" and name in ("Table", "RecordBatch"):
        refuse_duplicates(list(frame.schema.names), "the pyarrow table")
        converted = pl.from_arrow(frame)
        assert isinstance(converted, pl.DataFrame)
        return "pyarrow", converted
    raise DataError(
        f"cannot read a {library}.{name}; give a path, a polars DataFrame or LazyFrame, "
        "a pandas DataFrame or a pyarrow Table"
    )


def _from_pandas(frame: Any) -> pl.DataFrame:
    if frame.columns.nlevels > 1:
        raise DataError(
            f"the pandas frame has {frame.columns.nlevels} levels of column names; flatten them first"
        )
    names = refuse_duplicates([str(name) for name in frame.columns], "the pandas frame")
    columns: dict[str, pl.Series] = {}
    mixed = []
    for position, name in enumerate(names):
        try:
            columns[name] = pl.from_pandas(frame.iloc[:, position])
        except Exception:  # pyarrow, pandas and polars each raise their own kinds
            mixed.append(name)
    if mixed:
        raise DataError(
            f"cannot read the columns {some_values(mixed)} of the pandas frame: they mix types, or have a type "
            "that Shoal does not know; convert them, for example with .astype(str)"
        )
    return pl.DataFrame(columns)


def give_back(data: pl.DataFrame, kind: str) -> Any:
    """Return a result in the kind that was given, without unused categories.

    A pandas frame comes back with a fresh index. For a file the result is a polars frame.
    """
    data = only_used_categories(data)
    if kind == "polars-lazy":
        return data.lazy()
    if kind == "pandas":
        return data.to_pandas()
    if kind == "pyarrow":
        return data.to_arrow()
    return data


def only_used_categories(data: pl.DataFrame) -> pl.DataFrame:
    """Shrink Enum types to the categories that occur.

    The type is published with the data, also in the metadata of a file: a leftover category would tell readers
    that somebody in the original had that value.
    """
    return pl.DataFrame({column.name: _with_used_categories(column) for column in data})


def _with_used_categories(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        physical = column.to_physical()
        shown = np.zeros(len(dtype.categories), np.bool_)
        shown[physical.drop_nulls().to_numpy()] = True
        if shown.all():
            return column
        smaller = pl.Enum(dtype.categories.filter(pl.Series(shown)))
        return dtype.categories.cast(smaller, strict=False).alias(column.name).gather(physical)
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Enum):
        used = column.explode().unique().drop_nulls().sort().cast(pl.String)
        return column.cast(pl.List(pl.Enum(used)))
    return column
