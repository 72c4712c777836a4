"""`read`: from a path, a URI, a table in a database or any dataframe to a `Frame`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from shoal.io.databases import DatabaseTable
from shoal.io.formats import format_of
from shoal.io.read_options import ReadOptions

if TYPE_CHECKING:
    from shoal.io.frame import Frame


def read(source: object, options: ReadOptions | None = None) -> Frame:
    """Read a file in one of the `FORMATS`, found by its name, a `DatabaseTable`, or a polars, pandas or pyarrow frame.

    Raises `DataError` if there is no such file or table, if Shoal cannot read it, if two columns have the same name,
    or if the table is empty.
    """
    options = options or ReadOptions()
    if isinstance(source, str | os.PathLike):
        return format_of(source).read(source, options)
    if isinstance(source, DatabaseTable):
        return source.database.read(source, options)
    from shoal.io.dataframes import from_dataframe, given
    from shoal.io.frame import Origin, build_frame

    kind, data = from_dataframe(source)
    origin = Origin(where=f"the {kind} frame", given=given(source))
    return build_frame(kind, data.lazy(), options, origin)
