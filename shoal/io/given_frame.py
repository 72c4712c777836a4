"""`Given`: what a dataframe looked like when it came in, so that the result can go back in the same types."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Given(Brief):
    """The types and labels of a dataframe of another library. It may name categories that are not published, so it
    stays in the process."""

    types: Mapping[str, Any] = field(default_factory=dict)
    """Column -> its pandas or pyarrow type."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Column -> its label in a pandas frame: numbers and tuples may be labels there."""
    label_name: Any = None
    """What the pandas frame calls its labels."""
    orders: Mapping[str, pl.Series] = field(default_factory=dict)
    """Column -> the categories of an ordered pyarrow dictionary, in their order."""
    one_batch: bool = False
    """A pyarrow RecordBatch, not a Table."""

    def without_types(self, names: Collection[str]) -> Given:
        """Return what is left if some columns get other types."""
        return replace(self, types={name: kind for name, kind in self.types.items() if name not in names})


def restore_types(data: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the columns in the types that they were read in, where no text of a cell changes.

    Hierarchies hold categories, and values in a type of their own if a tree lists other texts too, as text. A column
    that shows only single values therefore comes as text, while generalized cells come as categories.
    """
    return data.with_columns(
        _restore_column(column, schema[column.name])
        for column in data
        if column.dtype == pl.String and schema.get(column.name, pl.String) != pl.String
    )


def restore_values(values: pl.Series, schema: Mapping[str, pl.DataType]) -> pl.Series:
    """Return what a column shows in the type that the column was read in, where no text changes; see
    `restore_types`.
    """
    dtype = schema.get(values.name, pl.String())
    return values if values.dtype != pl.String or dtype == pl.String else _restore_column(values, dtype)


def _restore_column(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    try:
        typed = column.cast(dtype, strict=False)
        same = typed.cast(pl.String).eq_missing(column).all()
    except pl.exceptions.PolarsError:
        return column
    return typed if same else column
