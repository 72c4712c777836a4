"""A folder of files that are one table, as clusters write it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import DataError
from shoal.io.formats.delimited import Csv, Tsv
from shoal.io.formats.format import Format, SourceFile
from shoal.io.formats.parquet import Parquet
from shoal.io.read_errors import as_data_error

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.frame import Frame
    from shoal.io.read_options import ReadOptions


class Folder(Format):
    """A folder of Parquet or CSV files with the same columns, called part-..; others in it are no part of the table."""

    name: ClassVar[str] = "folder"
    title: ClassVar[str] = "folder"
    is_folder: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = Csv.options

    def read(self, source: str | os.PathLike[str], options: ReadOptions) -> Frame:
        """Return the rows of all files, one file after the other by name."""
        import polars as pl

        from shoal.io.frame import Origin, build_frame

        folder = Path(source)
        files = files_in(folder)
        if not files:
            raise DataError(
                f"{folder} is a directory without tables; name a file, or a folder of Parquet or CSV files"
            )
        kind = _format(folder, files)
        digest = hashlib.sha256()
        queries: list[pl.LazyFrame] = []
        first: ReadOptions | None = None
        with as_data_error(folder, kind.title):
            for file in files:
                with file.open("rb") as opened:
                    digest.update(hashlib.file_digest(opened, "sha256").digest())
                query, used = kind.load(file, replace(first or options, guess_types=False))
                first = first or used
                schema = query.collect_schema()
                if queries and schema != queries[0].collect_schema():
                    raise DataError(
                        f"{folder}: the file {file.name} has other columns or types than {files[0].name}"
                    )
                queries.append(query)
            whole = pl.concat(queries)
            if isinstance(kind, Csv) and options.guess_types:
                from shoal.io.narrow_types import parse_texts

                data = whole.collect()
                whole = data.with_columns([parse_texts(column, options) for column in data]).lazy()
            done = isinstance(kind, Csv)
            detected = replace(first or options, guess_types=options.guess_types)
            return build_frame(
                self.name,
                whole,
                detected,
                Origin(where=str(folder), digest=digest.hexdigest()),
                nulls_done=done,
                guessed=kind.columns_to_guess(folder, whole, options),
            )


def files_in(folder: Path) -> list[Path]:
    """Return the files of a folder that hold rows, by name. Clusters call them part-..; other folders are no tables."""
    return sorted(file for file in folder.glob("part-*") if file.is_file() and file.stat().st_size)


def _format(folder: Path, files: list[Path]) -> SourceFile:
    for kind in (Parquet, Tsv, Csv):
        if all(file.name.lower().endswith(kind.suffixes) for file in files):
            return kind()
    raise DataError(
        f"{folder} is a directory; name a file in it, or a folder of Parquet or of CSV files alone"
    )
