"""`write`, `write_text` and `Outbox`: a file appears whole or not at all.

The content goes to a temporary file beside the target, is flushed to the disk, and only then takes the
target's name. Whatever happens before that (an error, a full disk, an interrupt) removes the temporary
file and leaves an older file as it was.
"""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import IO

import polars as pl

from shoal.errors import OutputError
from shoal.frames.frame import KIND_OF_EXTENSION, known_extension, only_used_categories
from shoal.frames.options import ReadOptions
from shoal.frames.sets import sets_as_text

_EXCEL_ROWS = 1_048_576
_EXCEL_DIGITS = 15


class Outbox:
    """Files that appear together once every one of them is complete on the disk, or else not at all.

    ``with Outbox() as box: box.write(..)``: leaving the block gives the files their names, the first one last,
    so that a release never stands without the papers that accompany it.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._waiting: list[tuple[Path, Path]] = []

    def write(self, data: pl.DataFrame, path: str | Path, *, options: ReadOptions | None = None) -> Path:
        """Prepare a table in the format that the ending of the path names, and return where it will be.

        A CSV file gets the delimiter that the input had, if `options` tell. Categories become text in CSV,
        Excel and JSON lines, and stay dictionaries in Parquet and Arrow, without those that no row shows.
        """
        target = check_writable(path, force=self.force)
        extension = known_extension(target)
        assert extension is not None
        kind = KIND_OF_EXTENSION[extension]
        data = only_used_categories(data) if kind in ("parquet", "arrow") else _plain(data, kind)

        def fill(file: IO[bytes]) -> None:
            if kind == "parquet":
                data.write_parquet(file)
            elif kind == "arrow":
                data.write_ipc(file, compression="zstd")
            elif kind == "jsonl":
                data.write_ndjson(file)
            elif kind == "excel":
                file.write(_excel_sheet(data))
            else:
                data.write_csv(
                    file,
                    separator=_delimiter(kind, options),
                    compression="gzip" if extension.endswith(".gz") else "uncompressed",
                )

        self._prepare(target, fill)
        return target

    def write_text(self, path: str | Path, text: str) -> Path:
        """Prepare a text in UTF-8, and return where it will be."""
        target = check_writable(path, force=self.force, table=False)
        self._prepare(target, lambda file: file.write(text.encode()))
        return target

    def _prepare(self, target: Path, fill: Callable[[IO[bytes]], object]) -> None:
        if any(target == other for other, _ in self._waiting):
            raise OutputError(f"{target} would be written twice; choose another name for one of the files")
        temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        self._waiting.append((target, temporary))
        try:
            with temporary.open("xb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise _not_written(target, error) from error

    def __enter__(self) -> Outbox:
        """Begin with no files."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give the files their names, or remove them all: after an interrupt too, no half file may stay."""
        try:
            if kind is None:
                self._appear()
        finally:
            for _target, temporary in self._waiting:
                temporary.unlink(missing_ok=True)

    def _appear(self) -> None:
        for target, temporary in self._waiting:
            if target.exists():
                if not self.force:
                    raise OutputError(
                        f"{target} has come into being meanwhile; choose another name, or use --force"
                    )
                temporary.chmod(target.stat().st_mode & 0o7777)
        for target, temporary in reversed(self._waiting):
            try:
                os.replace(temporary, target)
            except OSError as error:
                raise _not_written(target, error) from error
        for folder in {target.parent for target, _ in self._waiting}:
            _flush_directory(folder)


def write(
    data: pl.DataFrame, path: str | Path, *, force: bool = False, options: ReadOptions | None = None
) -> Path:
    """Write a table in the format that the ending of the path names, and return where it is."""
    with Outbox(force=force) as box:
        return box.write(data, path, options=options)


def write_text(path: str | Path, text: str, *, force: bool = False) -> Path:
    """Write a text in UTF-8, and return where it is."""
    with Outbox(force=force) as box:
        return box.write_text(path, text)


def check_writable(path: str | Path, *, force: bool = False, table: bool = True) -> Path:
    """Return where a file of this name would be written, or raise `OutputError` that says why it cannot be.

    For a table the ending has to be known too. Ask this before long work.
    """
    # The target of a link, so that the link stays one.
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise OutputError(f"{path} is a directory; add a file name")
    extension = known_extension(target)
    if table and extension is None:
        raise OutputError(f"{path}: the ending is not known; known are {', '.join(KIND_OF_EXTENSION)}")
    if target.exists():
        if not target.is_file():
            raise OutputError(f"{path} is not a regular file; choose another name")
        if not force:
            raise OutputError(
                f"{path} exists already; choose another name, or overwrite it with --force (force=True)"
            )
    if not target.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {target.parent}; create it first")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{path}: no permission to write in {target.parent}")
    if table and extension == ".xlsx":
        try:
            import xlsxwriter  # noqa: F401
        except ImportError:
            raise OutputError(
                f'{path}: writing Excel files needs an extra: pip install "shoal[excel]"'
            ) from None
    return target


def _not_written(target: Path, error: BaseException) -> OutputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    elif isinstance(error, pl.exceptions.PanicException):
        reason = "its writer gave up"  # what it says may show values
    return OutputError(f"{target} could not be written: {reason}; nothing was changed")


def _flush_directory(folder: Path) -> None:
    """Make the new name survive a power cut, where the system lets directories be flushed."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _delimiter(kind: str, options: ReadOptions | None) -> str:
    if kind == "tsv":
        return "\t"
    known = options.delimiter if options else None
    return known if known and known != "\t" else ","


def _excel_sheet(data: pl.DataFrame) -> bytes:
    """Return the bytes of a workbook, made in memory: its library would leave drafts in a temporary directory."""
    import xlsxwriter

    content = io.BytesIO()
    settings = {
        "in_memory": True,
        "nan_inf_to_errors": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
    }
    with xlsxwriter.Workbook(content, settings) as book:
        data.write_excel(book, autofilter=False)
    return content.getvalue()


def _plain(data: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Turn columns that CSV, Excel or JSON lines have no type for into text."""
    if kind == "excel" and data.height >= _EXCEL_ROWS:
        raise OutputError(
            f"{data.height:,} rows do not fit in an Excel sheet, which holds {_EXCEL_ROWS - 1:,}; "
            "write Parquet or CSV instead"
        )
    return data.with_columns([_plain_column(column, kind) for column in data])


def _beyond_excel(numbers: pl.Series) -> bool:
    """Excel keeps 15 digits of a number, puts zeros for the rest, and knows neither NaN nor infinity."""
    if numbers.dtype.is_float():
        return not numbers.is_finite().all()
    low, high = numbers.min(), numbers.max()
    return isinstance(low, int) and isinstance(high, int) and max(-low, high) >= 10**_EXCEL_DIGITS


def _plain_column(column: pl.Series, kind: str) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Enum | pl.Categorical):
        return column.cast(pl.String)
    if isinstance(dtype, pl.Datetime) and (kind != "excel" or dtype.time_zone is not None):
        # Excel knows no time zones.
        zone = {None: "", "UTC": "Z"}.get(dtype.time_zone, "%:z")
        return column.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{zone}")
    if dtype in (pl.Binary, pl.Object):
        raise OutputError(f"column '{column.name}' holds {dtype}, which {kind} cannot; write Parquet instead")
    if isinstance(dtype, pl.Duration):
        return column.dt.to_string("iso")
    if kind == "jsonl":
        return column
    if kind == "excel" and (dtype == pl.Time or (dtype.is_numeric() and _beyond_excel(column))):
        return column.cast(pl.String)  # a time of day would become one of the year 1899
    if isinstance(dtype, pl.List):
        return sets_as_text(column)
    if dtype.is_nested():
        raise OutputError(f"column '{column.name}' holds {dtype}, which {kind} cannot; write Parquet instead")
    return column
