"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from shoal.errors import DataError
from shoal.io.column_names import refuse_duplicates, refuse_patterns
from shoal.io.formats.format import FileFormat, types_in
from shoal.support.wording import type_name

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.narrow_types import Guessed
    from shoal.io.read_options import ReadOptions


class JsonLines(FileFormat):
    """JSON objects, one per line. Value sets become lists."""

    name: ClassVar[str] = "jsonl"
    title: ClassVar[str] = "JSON lines"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    copies_memory: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = ("guess_types",)
    refuses: ClassVar[tuple[str, ...]] = ("Binary", "Object", "UInt128")

    def load(self, path: Path, options: ReadOptions) -> tuple[pl.LazyFrame, ReadOptions]:
        """Read the file, looking at every line for the types of the columns."""
        import polars as pl

        from shoal.io.type_inference import guess_dates

        _check_first_object(path)
        with path.open("rb") as file:
            marked = file.read(3) == b"\xef\xbb\xbf"
        try:
            data = pl.read_ndjson(path.read_bytes()[3:] if marked else path, infer_schema_length=None)
        except pl.exceptions.PolarsError:
            # The reader's message may quote a record, so it is not repeated.
            raise _bad_line(path) from None
        refuse_patterns(data.columns, str(path))
        if options.guess_types:
            data = data.with_columns([guess_dates(column) for column in data if column.dtype == pl.String])
        return data.lazy(), options

    def columns_to_guess(self, path: Path, query: pl.LazyFrame, options: ReadOptions) -> Guessed | None:
        """Return all columns, and where their cells are strings: lines are read again if there may be others."""
        import polars as pl

        from shoal.io.narrow_types import Guessed, find_mixed_texts

        data = query.collect()
        mixed = find_mixed_texts(data)
        nested = [column.name for column in data if _may_hold_objects(column)]
        texts: dict[str, list[bool]] = {name: [] for name in mixed}
        if mixed or nested:
            shapes: dict[tuple[str, ...], type] = {}
            with path.open(encoding="utf-8-sig") as file:
                for line in filter(str.strip, file):
                    cells = json.loads(line)
                    for name in mixed:
                        texts[name].append(isinstance(cells.get(name), str))
                    for place, shape in (one for name in nested for one in _shapes(cells.get(name), (name,))):
                        if shapes.setdefault(place, shape) is not shape:
                            raise _several_shapes(path, place[0])
        found: dict[str, pl.Series | None] = {
            name: pl.repeat(dtype == pl.String, data.height, eager=True, dtype=pl.Boolean)
            for name, dtype in data.schema.items()
        }
        found |= {name: pl.Series(own, dtype=pl.Boolean) for name, own in texts.items()}
        return Guessed(found, dates=options.guess_types)

    def problem(self, column: pl.Series) -> str:
        """Return why the values would not come back: JSON has neither infinity nor NaN, nor durations inside lists."""
        import polars as pl

        found = super().problem(column)
        if not found and any(isinstance(inner, pl.Duration) for inner in list(types_in(column.dtype))[1:]):
            return f"holds {type_name(column.dtype)}, which JSON lines cannot"
        if not found and any(not part.is_finite().all() for part in _floats_in(column)):
            return "has NaN or infinity, which JSON lines writes as null"
        return found

    def misfits(self, columns: Sequence[str], rows: int) -> list[str]:
        """Return why a table without rows is lost: each row names the columns, and nothing else does."""
        return [] if rows else ["there are no rows, and only rows name the columns in JSON lines"]

    def fit_column(self, column: pl.Series) -> pl.Series:
        """Return categories and times as text."""
        from shoal.io.text_columns import as_text

        return as_text(column)

    def save(self, data: pl.DataFrame, file: IO[bytes], target: Path, options: ReadOptions | None) -> None:
        """Write one object per row."""
        data.write_ndjson(file)


def _may_hold_objects(column: pl.Series) -> bool:
    """Return whether texts in a column may be lists or objects: the reader makes text of them if others are text."""
    import polars as pl

    if column.dtype == pl.String:
        return bool(column.str.contains(r"^[\[{]").any())
    return any(inner == pl.String for inner in types_in(column.dtype))


def _shapes(cell: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], type]]:
    """Yield where a cell has a list, an object or a single value."""
    if cell is None:
        return
    yield place, type(cell) if isinstance(cell, dict | list) else str
    inside = (
        cell.items()
        if isinstance(cell, dict)
        else (("", one) for one in cell)
        if isinstance(cell, list)
        else ()
    )
    for key, one in inside:
        yield from _shapes(one, (*place, key))


def _several_shapes(path: Path, name: str) -> DataError:
    return DataError(
        f"{path}: '{name}' holds a list or an object on one line and another kind of value on another; write all of "
        "them as text, or in one form"
    )


def _floats_in(column: pl.Series) -> Iterator[pl.Series]:
    """Yield the numbers with a fraction in a column, also those inside lists and structs."""
    import polars as pl

    if isinstance(column.dtype, pl.Struct):
        for name in column.struct.fields:
            yield from _floats_in(column.struct.field(name))
    elif isinstance(column.dtype, pl.List | pl.Array):
        yield from _floats_in(column.explode())
    elif column.dtype.is_float():
        yield column.drop_nulls()


def _check_first_object(path: Path) -> None:
    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        refuse_duplicates([name for name, _ in pairs], f"{path}: line 1")
        return dict(pairs)

    with path.open("rb") as file:
        first = file.readline()
    try:
        json.loads(first.decode("utf-8-sig"), object_pairs_hook=no_duplicates)
    except ValueError:
        raise _bad_line(path) from None


def _bad_line(path: Path) -> DataError:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip() and not isinstance(json.loads(line.decode("utf-8-sig")), dict):
                    return DataError(f"{path}: line {number}: every line must be a JSON object")
            except UnicodeDecodeError as error:
                return DataError(f"{path}: line {number}, byte {error.start} of the line: not valid UTF-8")
            except ValueError:
                return DataError(f"{path}: line {number}: not valid JSON; every line must be a JSON object")
    return DataError(
        f"{path}: the objects on its lines do not form a table: a key may hold a number of more than 128 bits, or an "
        "object on one line and a single value on another; write such values as text"
    )
