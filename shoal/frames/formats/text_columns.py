"""Columns as text, for formats without categories, time zones or lists."""

from __future__ import annotations

import polars as pl


def as_text(column: pl.Series) -> pl.Series:
    """Return categories, moments (ISO 8601) and durations as text, and any other column as it is."""
    dtype = column.dtype
    if isinstance(dtype, pl.Enum | pl.Categorical):
        return column.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        zone = {None: "", "UTC": "Z"}.get(dtype.time_zone, "%:z")
        return column.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{zone}")
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    return column
