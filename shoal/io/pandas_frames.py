"""pandas frames in and out. pandas has several types for the same values; each column goes back in its own.

If a type cannot hold the result, the column gets the nearest type that can: integers with gaps become `Int64`, never
floats, and what Python's objects cannot hold becomes a pyarrow-backed column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.errors import DataError
from shoal.io.arrow_tables import codes_in, to_arrow_type
from shoal.io.column_names import refuse_duplicates
from shoal.io.given_frame import Given
from shoal.support.wording import some_values


def read_pandas(frame: Any) -> pl.DataFrame:
    """Return a pandas frame as polars, without its index. NaN in a numpy column is null."""
    if frame.columns.nlevels > 1:
        raise DataError(
            f"the pandas frame has {frame.columns.nlevels} levels of column names; flatten them first"
        )
    names = refuse_duplicates([str(name) for name in frame.columns], "the pandas frame")
    columns: dict[str, pl.Series] = {}
    mixed = []
    for position, name in enumerate(names):
        try:
            columns[name] = _read(frame.iloc[:, position])
        except Exception:  # pyarrow, pandas and polars each raise their own kinds
            mixed.append(name)
    if mixed:
        raise DataError(
            f"cannot read the columns {some_values(mixed)} of the pandas frame: they mix types, or have a type "
            "that Shoal does not know; convert them, for example with .astype(str)"
        )
    return pl.DataFrame(columns)


def _read(column: Any) -> pl.Series:
    """Read one column. Texts with an order become an Enum."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        categories = pl.Series(pl.from_pandas(pd.Series(dtype.categories)))
        if categories.dtype == pl.String:
            codes = pl.Series(column.cat.codes.to_numpy())
            return categories.cast(pl.Enum(categories)).gather(codes.set(codes < 0, None))
    read = pl.Series(pl.from_pandas(column))
    if (
        dtype == np.dtype(object)
        and isinstance(read.dtype, pl.Datetime | pl.Duration)
        and _has_nanoseconds(column)
    ):
        return pl.Series(pl.from_pandas(column.infer_objects()))
    return read


def _has_nanoseconds(column: Any) -> bool:
    """Return whether an object column has moments of pandas with nanoseconds, which pyarrow cuts off."""
    return any(
        getattr(cell, "nanosecond", 0) or getattr(cell, "nanoseconds", 0)
        for cell in column
        if cell is not None
    )


def pandas_given(frame: Any) -> Given:
    """Return the types and labels of a pandas frame."""
    labels = {str(label): label for label in frame.columns}
    types = {str(label): frame.dtypes.iloc[position] for position, label in enumerate(frame.columns)}
    return Given(types=types, labels=labels, label_name=frame.columns.name)


def as_pandas(data: pl.DataFrame, given: Given, single: frozenset[str]) -> Any:
    """Return a pandas frame with a fresh index; the columns in `single` have the type that they were given in, if it
    loses nothing."""
    import pandas as pd

    columns = [
        _convert_column(column, given.types.get(column.name) if column.name in single else None)
        for column in data
    ]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(data.height))
    frame.columns = pd.Index(
        [given.labels.get(name, name) for name in data.columns], name=given.label_name, tupleize_cols=False
    )
    return frame


def _convert_column(column: pl.Series, wanted: Any) -> Any:
    """Return a column as a pandas array in the wanted type if no value changes, else in the nearest type."""
    import pandas as pd

    if isinstance(wanted, pd.ArrowDtype):
        return _arrow_backed(column, wanted.pyarrow_dtype)
    if isinstance(wanted, pd.CategoricalDtype):
        found = _categories(column, wanted)
        return _plain(column) if found is None else found
    if isinstance(wanted, pd.StringDtype) and column.dtype == pl.String:
        return pd.array(column.to_list(), dtype=wanted)
    if isinstance(wanted, np.dtype) and wanted.kind == "O":
        return _objects(column)
    plain = _plain(column, masked=isinstance(wanted, pd.api.extensions.ExtensionDtype))
    if wanted is None or plain.dtype == wanted or column.dtype.is_integer() or column.dtype.is_float():
        return plain
    try:
        typed = pd.Series(plain).astype(wanted)
    except (TypeError, ValueError, OverflowError):
        return plain
    return typed if _reads_as(typed, column) else plain


def _plain(column: pl.Series, *, masked: bool = False) -> Any:
    """Return a column in the usual pandas type for its values; with `masked`, in the type that has its own null."""
    import pandas as pd

    dtype, nulls = column.dtype, column.null_count() > 0
    if isinstance(dtype, pl.Enum):
        return _categorical(column, ordered=True)
    if isinstance(dtype, pl.Categorical):
        used = column.cast(pl.String).drop_nulls().unique().sort()
        return _categorical(column.cast(pl.String).cast(pl.Enum(used)), ordered=False)
    if dtype == pl.String or isinstance(dtype, pl.Datetime | pl.Duration):
        return column.to_pandas().array
    if dtype == pl.Boolean or (dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128)):
        whole = column.fill_null(False if dtype == pl.Boolean else 0).to_numpy()
        kind = pd.arrays.BooleanArray if dtype == pl.Boolean else pd.arrays.IntegerArray
        return kind(whole, column.is_null().to_numpy()) if masked or nulls else whole
    return _plain_floats(column, masked=masked) if dtype.is_float() else _objects(column)


def _plain_floats(column: pl.Series, *, masked: bool) -> Any:
    """Among numpy's floats NaN means null, so a NaN that is a value needs a type with a null of its own."""
    import pandas as pd

    nan = bool(column.is_nan().any())
    if column.dtype in (pl.Float32, pl.Float64) and (masked or nan):
        return pd.arrays.FloatingArray(column.fill_null(0.0).to_numpy(), column.is_null().to_numpy())
    return _arrow_backed(column) if nan else column.fill_null(float("nan")).to_numpy()


def _categorical(column: pl.Series, *, ordered: bool) -> Any:
    """Return an Enum without unused categories as a pandas categorical."""
    import pandas as pd

    assert isinstance(column.dtype, pl.Enum)
    codes = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return pd.Categorical.from_codes(
        codes, pd.Index(column.dtype.categories.to_list(), dtype=str), ordered=ordered
    )


def _categories(column: pl.Series, wanted: Any) -> Any | None:
    """Return a pandas categorical with those of the given categories that occur; None if a value is not among them.

    Categories that have an order keep it. Others are sorted: their order means nothing, not even to pandas, and may
    be the order in which rows were read.
    """
    import pandas as pd

    known = pl.Series(pl.from_pandas(pd.Series(wanted.categories)))
    values = column
    if isinstance(column.dtype, pl.Categorical | pl.Enum | pl.String):
        values, known = column.cast(pl.String), known.cast(pl.String)
    try:
        places = codes_in(values, known)
    except pl.exceptions.PolarsError:
        return None
    if places.null_count() != column.null_count():
        return None
    used = places.drop_nulls().unique().sort()
    if not wanted.ordered:
        used = used.gather(known.gather(used).arg_sort())
    codes = codes_in(places, used).cast(pl.Int64).fill_null(-1).to_numpy()
    return pd.Categorical.from_codes(codes, wanted.categories.take(used.to_numpy()), ordered=wanted.ordered)


def _objects(column: pl.Series) -> Any:
    """Return Python's objects: dates, times, decimals, lists, .. Python has no nanoseconds, for example: if the objects
    do not read as the same values again, return pandas' own moments, or a pyarrow-backed column."""
    import pandas as pd

    if isinstance(column.dtype, pl.BaseExtension):
        return column.to_pandas()
    cells = np.empty(len(column), dtype=object)
    for place, cell in enumerate(column.to_list()):
        cells[place] = cell  # one by one: numpy would take lists for a second dimension
    objects = pd.Series(cells, dtype=object)
    if _reads_as(objects, column):
        return objects
    if isinstance(column.dtype, pl.Datetime | pl.Duration):
        return column.to_pandas().astype(object)
    return _arrow_backed(column)


def _reads_as(converted: Any, column: pl.Series) -> bool:
    try:
        return _read(converted).cast(column.dtype).equals(column, null_equal=True)
    except Exception:  # pyarrow, pandas and polars each raise their own kinds
        return False


def _arrow_backed(column: pl.Series, wanted: Any = None) -> Any:
    import pandas as pd

    return pd.arrays.ArrowExtensionArray(to_arrow_type(column, wanted))
