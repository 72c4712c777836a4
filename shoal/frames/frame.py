"""`read` and `give_back`: from a path or any dataframe to a `Frame`, and back to the kind that was given."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars import selectors

from shoal.errors import DataError, did_you_mean
from shoal.frames.delimited import read_delimited, refuse_duplicates, refuse_patterns
from shoal.frames.inference import guess_dates
from shoal.frames.options import ReadOptions
from shoal.wording import some_values

KIND_OF_EXTENSION = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}


@dataclass(frozen=True, eq=False)
class Frame:
    """A table that was read. Rows are positions; labels of a pandas index play no part.

    Columns of Parquet and Arrow files stay on disk until they are asked for: an encoder that goes through
    `column` one by one, and keeps only codes, holds one decoded column at a time, and columns that nobody
    asks for cost nothing. `data` is the whole table at once.
    """

    kind: str
    """csv, tsv, parquet, arrow, excel, jsonl, polars, polars-lazy, pandas or pyarrow."""
    schema: pl.Schema
    """Column names and types, in the order of the source."""
    rows: int
    """Number of rows, at least one."""
    options: ReadOptions
    """How it was read, with what was detected (delimiter, encoding) filled in."""
    digest: str | None
    """SHA-256 of the bytes of the file, in hex; None for a dataframe."""
    path: Path | None
    """Where the file is; None for a dataframe."""
    query: pl.LazyFrame
    """Where the columns come from."""
    version: tuple[int, ...] | None = None
    """What tells whether a file whose columns are still on disk was changed since."""

    @property
    def columns(self) -> list[str]:
        """Column names, in the order of the source."""
        return self.schema.names()

    def column(self, name: str) -> pl.Series:
        """Return one column, read now if it is still on disk."""
        if name not in self.schema:
            raise DataError(f"there is no column '{name}'; {did_you_mean(name, self.schema)}")
        # By its very name: one such as * would otherwise mean many columns.
        return self._collect(self.query.select(selectors.by_name(name))).to_series()

    @cached_property
    def data(self) -> pl.DataFrame:
        """The whole table in memory."""
        return self._collect(self.query)

    def _collect(self, query: pl.LazyFrame) -> pl.DataFrame:
        try:
            self._refuse_changes()
            data = query.collect()
            self._refuse_changes()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{self.path}: cannot be read: {_first_line(error)}") from None
        return data

    def _refuse_changes(self) -> None:
        """Columns of two versions of a file would make records of people who do not exist."""
        if self.path is not None and self.version is not None and _version(self.path) != self.version:
            raise DataError(f"{self.path}: the file was changed while it was being read; read it again")


def _version(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def read(source: object, options: ReadOptions | None = None) -> Frame:
    """Read a path (CSV, TSV, Parquet, Arrow IPC, Excel, JSON lines) or a polars, pandas or pyarrow frame.

    Raises `DataError` if there is no such file or it cannot be read, if two columns share a name, or if the
    table is empty.
    """
    options = options or ReadOptions()
    if isinstance(source, str | Path):
        return _read_file(Path(source), options)
    kind, data = _from_frame(source)
    return _frame(kind, data.lazy(), options, data.schema, data.height)


def give_back(data: pl.DataFrame, kind: str) -> Any:
    """Return a result in the kind that was given: a pandas frame (with a fresh index) for a pandas frame,
    and so on; files come back as polars frames. Categories that no row uses are left out.
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

    A type travels with the data, in the metadata of a file too: a category that no row shows any more would
    tell readers that somebody had it.
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


def known_extension(path: Path) -> str | None:
    """Return the longest ending of the path that is a known format, such as ``.csv.gz``."""
    name = path.name.lower()
    matching = [extension for extension in KIND_OF_EXTENSION if name.endswith(extension)]
    return max(matching, key=len, default=None)


def _frame(
    kind: str,
    query: pl.LazyFrame,
    options: ReadOptions,
    schema: pl.Schema,
    rows: int,
    path: Path | None = None,
    digest: str | None = None,
    version: tuple[int, ...] | None = None,
) -> Frame:
    where = str(path) if path else f"the {kind} frame"
    if not len(schema):
        raise DataError(f"{where}: the table has no columns")
    if not rows:
        raise DataError(f"{where}: the table has {len(schema)} columns but no rows")
    refuse_patterns(schema.names(), where)
    if options.null_values and kind not in ("csv", "tsv"):
        query = query.with_columns(pl.col(pl.String).replace(dict.fromkeys(options.null_values)))
    untyped = [name for name, dtype in schema.items() if dtype == pl.Null]
    if untyped:
        query = query.with_columns(selectors.by_name(*untyped).cast(pl.String))
        schema = pl.Schema({**schema, **dict.fromkeys(untyped, pl.String())})
    return Frame(kind, schema, rows, options, digest, path, query, version)


def _read_file(path: Path, options: ReadOptions) -> Frame:
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file in it")
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            raise DataError(f"{path}: there is no directory {folder}")
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
        raise DataError(f"{path}: there is no such file; {did_you_mean(path.name, names)}".rstrip("; "))
    extension = known_extension(path)
    if extension is None:
        raise DataError(f"{path}: the ending is not known; known are {', '.join(KIND_OF_EXTENSION)}")
    kind = KIND_OF_EXTENSION[extension]
    try:
        version = _version(path)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not path.stat().st_size:
            raise DataError(f"{path}: the file is empty")
        if kind in ("parquet", "arrow"):
            scan = pl.scan_parquet(path, glob=False) if kind == "parquet" else pl.scan_ipc(path)
            schema = scan.collect_schema()
            rows = int(scan.select(pl.len()).collect().item())
            return _frame(kind, scan, options, schema, rows, path, digest, version)
    except OSError as error:
        raise DataError(f"{path}: cannot be read as {kind}: {error.strerror or error}") from None
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: is not a file of the kind {kind}: {_first_line(error)}") from None
    if kind == "excel":
        data = _read_excel(path, options)
    elif kind == "jsonl":
        data = _read_json_lines(path, options)
    else:
        data, options = read_delimited(path, options)
    return _frame(kind, data.lazy(), options, data.schema, data.height, path, digest)


def _read_excel(path: Path, options: ReadOptions) -> pl.DataFrame:
    try:
        import fastexcel
    except ImportError:
        raise DataError(f'{path}: reading Excel files needs an extra: pip install "shoal[excel]"') from None
    # An empty column is no news: columns without values are dealt with where they matter.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    try:
        book = fastexcel.read_excel(path)
        sheet = book.sheet_names[0] if options.sheet is None else options.sheet
        if sheet not in book.sheet_names:
            raise DataError(f"{path}: there is no sheet '{sheet}'; {did_you_mean(sheet, book.sheet_names)}")
        if options.header:
            # The reader renames duplicates without a word.
            first = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
            if first.height:
                refuse_duplicates([name for name in first.row(0) if name is not None], str(path))
        data = pl.read_excel(
            path,
            sheet_name=sheet,
            has_header=options.header,
            infer_schema_length=None,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError) as error:
        # What the reader says of a column may end in a list of its values.
        reason = _first_line(error).partition(": [")[0]
        raise DataError(f"{path}: is not a readable Excel file: {reason}") from None
    return data


def _read_json_lines(path: Path, options: ReadOptions) -> pl.DataFrame:
    _check_first_object(path)
    with path.open("rb") as file:
        marked = file.read(3) == b"\xef\xbb\xbf"
    try:
        data = pl.read_ndjson(path.read_bytes()[3:] if marked else path, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        raise _bad_json_line(path) from None
    refuse_patterns(data.columns, str(path))
    if options.guess_types:
        data = data.with_columns([guess_dates(column) for column in data if column.dtype == pl.String])
    return data


def _check_first_object(path: Path) -> None:
    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        refuse_duplicates([name for name, _ in pairs], f"{path}: line 1")
        return dict(pairs)

    with path.open("rb") as file:
        first = file.readline()
    try:
        json.loads(first.decode("utf-8-sig"), object_pairs_hook=no_duplicates)
    except ValueError:
        raise _bad_json_line(path) from None


def _bad_json_line(path: Path) -> DataError:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip() and not isinstance(json.loads(line.decode("utf-8-sig")), dict):
                    return DataError(f"{path}: line {number}: every line has to be a JSON object")
            except UnicodeDecodeError as error:
                return DataError(f"{path}: line {number}, byte {error.start} of it: is not valid utf-8")
            except ValueError:
                return DataError(
                    f"{path}: line {number}: is not valid JSON; every line has to be a JSON object"
                )
    return DataError(f"{path}: the objects on its lines do not form a table")


def _from_frame(source: object) -> tuple[str, pl.DataFrame]:
    if isinstance(source, pl.DataFrame):
        return "polars", source
    if isinstance(source, pl.LazyFrame):
        # Once and whole: asking a query column by column could shuffle or sample anew each time.
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
            f"cannot read the columns {some_values(mixed)} of the pandas frame: they mix types, or have "
            "one that is not known here; convert them, for example with .astype(str)"
        )
    return pl.DataFrame(columns)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
