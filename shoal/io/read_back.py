"""Whether a table came back as it was given, after it was written or converted: cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.errors import OutputError
from shoal.io.coded import Coded, Codes, in_pieces
from shoal.io.dataframes import from_dataframe
from shoal.io.factorization import factorize
from shoal.io.frame import Frame
from shoal.io.sheet import Cells, Sheet, has_exact_codes
from shoal.io.text_columns import as_text, sets_as_text
from shoal.support.machine.threads import one_after_another

if TYPE_CHECKING:
    from shoal.io.row_groups import RowGroups

_DATE, _TIME = "%Y-%m-%d", "%H:%M:%S%.f"
_DIGITS = {"ms": 3, "us": 6, "ns": 9}
_LISTED = 1 << 16
"""So many different texts are found by a dictionary of Python; more of them are compared row by row."""
_CLOSE = 1e-15
"""How far a number may be from the decimal number that it was written as, relatively: a few units in its last place."""


def compare_returned(back: pl.DataFrame, given: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Compare a table that was read back with the table that was written. Return it in the original types where values
    agree, and a description of the first difference.

    The words are "" if every cell came back. They name columns and no value. O(cells).
    """
    if back.columns != given.columns:
        return back, "the names of the columns"
    if back.height != given.height:
        return back, f"the number of rows ({back.height:,} instead of {given.height:,})"
    same = {name: same_values(back.get_column(name), given.get_column(name)) for name in given.columns}
    lost = [f"'{name}'" for name, column in same.items() if column is None]
    if lost:
        return back, f"the values of {', '.join(lost)}"
    return pl.DataFrame({name: column for name, column in same.items() if column is not None}), ""


def compare_in_pieces(pieces: Iterable[pl.DataFrame], given: Sheet) -> tuple[Sheet, str]:
    """Return what came back, as `compare_returned` does, from pieces of any size. Each is compared with the rows that
    were given, cell by cell, and only codes of what came back are kept. O(cells), on all processors.
    """
    rows = 0

    def place_pieces() -> Iterator[tuple[int, pl.DataFrame]]:
        nonlocal rows
        for piece in pieces:
            rows += piece.height
            if rows > given.height:
                return
            yield rows - piece.height, piece

    def compare_piece(job: tuple[int, pl.DataFrame]) -> dict[str, tuple[Codes, pl.Series]] | str:
        start, piece = job
        back, changed = compare_returned(piece, given.part(start, start + piece.height))
        return changed or {column.name: _code_part(column) for column in back}

    kept: dict[str, list[tuple[Codes, pl.Series]]] = {name: [] for name in given.columns}
    changes: dict[str, None] = {}
    for found in one_after_another(compare_piece, place_pieces()):
        if isinstance(found, str):
            changes[found] = None
            continue
        for name, part in found.items():
            kept[name].append(part)
    if changes:
        return given, next(iter(changes))
    if rows != given.height:
        many = (
            f"more than {given.height:,}" if rows > given.height else f"{rows:,} instead of {given.height:,}"
        )
        return given, f"the number of rows ({many})"
    return Sheet({name: _join_parts(parts) for name, parts in kept.items()}, given.height), ""


def compare_by_codes(
    groups: RowGroups, given: Sheet, others: Callable[[Sequence[str]], Iterable[pl.DataFrame]]
) -> tuple[Sheet, str]:
    """Return what came back, as `compare_in_pieces` does, from a file that holds texts as codes of its own.

    The values that a row group lists are found among those that were given, letter by letter, and then each row has
    the same place in both, or the column has changed. Columns without places are compared as `others` reads them.
    O(cells), on all processors.
    """
    if groups.columns != given.columns:
        return given, "the names of the columns"
    if groups.rows != given.height:
        return given, f"the number of rows ({groups.rows:,} instead of {given.height:,})"
    known = [
        name for name, cells in given.cells.items() if cells.placed is not None and groups.readable(name)
    ]
    places = {name: _places(given.cells[name].values) for name in known}

    def find_changed(group: int) -> list[str]:
        start, found = groups.read(group, known)
        return [name for name in known if not _in_place(found[name], given.cells[name], places[name], start)]

    lost = {name for names in one_after_another(find_changed, range(len(groups))) for name in names}
    if lost:
        return given, f"the values of {', '.join(repr(name) for name in known if name in lost)}"
    cells = {name: Cells(given.cells[name].values, given.cells[name].placed) for name in known}
    rest = [name for name in given.columns if name not in cells]
    if rest:
        back, lacking = compare_in_pieces(others(rest), given.only(rest))
        if lacking:
            return given, lacking
        cells |= back.cells
    return Sheet({name: cells[name] for name in given.columns}, given.height), ""


def _places(values: pl.Series) -> dict[str | None, int] | None:
    """Return text -> its place among the values of a column; None for other types, and if they are too many."""
    if len(values) > _LISTED or not isinstance(values.dtype, pl.String | pl.Enum | pl.Categorical):
        return None
    return {text: place for place, text in enumerate(values.cast(pl.String))}


def _in_place(
    found: Coded | pl.Series, given: Cells, places: dict[str | None, int] | None, start: int
) -> bool:
    """Return whether some rows of a column came back. Values that are distinct texts are equal if their places are."""
    assert given.placed is not None
    wanted = given.placed[start : start + len(found)]
    if places is not None and isinstance(found, Coded):
        place = np.array([places.get(text, -1) for text in found.values], np.int64)
        known = bool((place >= 0).all()) and int(found.codes.max(initial=0)) < max(len(place), 1)
        return known and np.array_equal(np.take(place.astype(wanted.dtype), found.codes, mode="clip"), wanted)
    back = found.gather(slice(None)) if isinstance(found, Coded) else found
    return same_values(back, given.values.gather(wanted)) is not None


def _code_part(column: pl.Series) -> tuple[Codes, pl.Series]:
    """Return a part of a column as codes and values; unchanged, without codes, if codes cannot represent it exactly."""
    return factorize(column) if has_exact_codes(column.dtype) else (np.empty(0, np.uint8), column)


def _join_parts(parts: list[tuple[Codes, pl.Series]]) -> Cells:
    """Join the parts of a column. Parts without a value may have come back in another type than the rest."""
    types = [values.dtype for _, values in parts if values.null_count() < len(values)]
    if types:
        parts = [
            (codes, values if values.dtype == types[0] else values.cast(types[0])) for codes, values in parts
        ]
    if all(not len(codes) for codes, _ in parts):
        return Cells(pl.concat([values for _, values in parts]))
    whole = in_pieces(parts)
    return Cells(whole.values, whole.codes)


def convert_result(frame: Frame, data: pl.DataFrame) -> tuple[Any, pl.DataFrame]:
    """Return a result in the kind and the types that a table was given in, and what it holds when it is read again.

    Raises `OutputError` if a cell would change.
    """
    shown = frame.give_back(data)
    return shown, read_again(shown, data, frame.kind)


def read_again(shown: Any, data: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return what a converted frame holds, or raise `OutputError` if it is not the data that was converted."""
    back, changed = compare_returned(from_dataframe(shown)[1], data)
    if changed:
        raise OutputError(
            f"a {kind} frame does not give back {changed} as it was; give the table as a polars frame, or as a file"
        )
    return back


def same_values(back: pl.Series, given: pl.Series) -> pl.Series | None:
    """Return a column that came back, in the type that it was given in if there is a way; None if a cell differs.

    Formats with fewer types give numbers, times and sets as text, or categories as plain text; that is no difference.
    """
    if len(back) != len(given) or back.null_count() != given.null_count():
        return None
    dtype = given.dtype
    if back.dtype == dtype:
        return back if back.equals(given) else None
    if given.null_count() == len(given):
        return back
    if isinstance(dtype, pl.Enum | pl.Categorical):
        return back if _as_words(back).equals(given.cast(pl.String)) else None
    if isinstance(dtype, pl.List | pl.Array | pl.Struct):
        return back if _same_nested(back, given) else None
    try:
        words = _as_words(back)
        typed = _parse_text(words, dtype) if words.dtype == pl.String else _cast(back, dtype)
    except pl.exceptions.PolarsError:
        return None
    if typed is None:  # a type that no text is read as
        return back if _as_words(back).equals(as_text(given)) else None
    return typed if typed.equals(given) else None


def _cast(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a column in another type; null everywhere if that type cannot say what the column says."""
    zones = [kind.time_zone is None for kind in (column.dtype, dtype) if isinstance(kind, pl.Datetime)]
    typed = column.cast(dtype, strict=False)
    there = typed.cast(column.dtype, strict=False)
    if column.dtype.is_float() and dtype.is_float():
        kept = True  # the shortest text of a short number is another long number
    elif column.dtype.is_float() and isinstance(dtype, pl.Decimal):
        kept = bool(((there - column).abs() <= column.abs() * _CLOSE).all())
    else:
        kept = there.equals(column)
    return typed if kept and len(set(zones)) < 2 else typed.clear(len(typed))


def _as_words(column: pl.Series) -> pl.Series:
    return column.cast(pl.String) if isinstance(column.dtype, pl.Enum | pl.Categorical) else column


def _same_nested(back: pl.Series, given: pl.Series) -> bool:
    if back.dtype == pl.String:
        return given.dtype == pl.List and back.equals(sets_as_text(given))
    if not back.is_null().equals(given.is_null()):
        return False
    if isinstance(given.dtype, pl.Struct):
        if not isinstance(back.dtype, pl.Struct) or back.struct.fields != given.struct.fields:
            return False
        return all(
            same_values(back.struct.field(name), given.struct.field(name)) is not None
            for name in given.struct.fields
        )
    if not isinstance(back.dtype, pl.List | pl.Array):
        return False
    back, given = (_as_list(column.drop_nulls()) for column in (back, given))
    if not back.list.len().equals(given.list.len()):
        return False
    full = given.list.len() > 0
    return same_values(back.filter(full).explode(), given.filter(full).explode()) is not None


def _as_list(column: pl.Series) -> pl.Series:
    return column.arr.to_list() if isinstance(column.dtype, pl.Array) else column


def _parse_text(text: pl.Series, dtype: pl.DataType) -> pl.Series | None:
    """Read text as the formats write it; null where it is not so. None for types that have no such text."""
    if isinstance(dtype, pl.Boolean):
        known = text.is_in(["true", "false"])
        return pl.select(pl.when(known).then(text == "true")).to_series()
    if isinstance(dtype, pl.Date):
        return text.str.to_date(_DATE, strict=False)
    if isinstance(dtype, pl.Time):
        return text.str.to_time(_TIME, strict=False)
    if isinstance(dtype, pl.Datetime):
        text = text.str.replace(" ", "T", literal=True)
        text = _only(text, rf"^[^.]*(\.\d{{0,{_DIGITS[dtype.time_unit]}}}0*([^0-9].*)?)?$")
        if dtype.time_zone is None:
            return text.str.to_datetime(f"{_DATE}T{_TIME}", time_unit=dtype.time_unit, strict=False)
        whole = text.str.replace("Z$", "+00:00")
        moments = whole.str.to_datetime(
            f"{_DATE}T{_TIME}%:z", time_unit=dtype.time_unit, time_zone="UTC", strict=False
        )
        return moments.dt.convert_time_zone(dtype.time_zone)
    if isinstance(dtype, pl.Decimal):
        text = _only(text, rf"^-?(0|[1-9]\d*)(\.\d{{0,{dtype.scale}}}0*)?$")
    elif dtype.is_integer():
        text = _only(text, r"^(0|-?[1-9]\d*)$")
    if dtype.is_numeric():
        return text.cast(dtype, strict=False)
    return None


def _only(text: pl.Series, pattern: str) -> pl.Series:
    return pl.select(pl.when(text.str.contains(pattern)).then(text)).to_series()
