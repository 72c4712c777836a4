"""The tables of an audit of synthetic data, in shared codes: synthetic, training and holdout rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal import io
from shoal.errors import DataError, did_you_mean
from shoal.io import Frame
from shoal.kernels.grouping import distinct_rows
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.confidence_intervals import wilson
from shoal.support.machine.threads import in_threads
from shoal.support.wording import either, format_count, percent, some_values, type_name
from shoal.synthetic.arguments import format_names

SYNTHETIC, ORIGINAL, HOLDOUT = "synthetic", "original", "holdout"
FINEST = 1 << 24
"""A difference of a whole range, or of two categories, in units of distance, if there are not too many columns."""
LARGEST_SUM = 1 << 30


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Brief):
    """The rows of one table."""

    codes: IntMatrix
    """``[columns, rows]`` values in ascending order, shared by all tables; -1 is null."""
    places: IntMatrix
    """``[columns, rows]`` the same for distances: numbers are points on a line, categories are codes; -1 is null."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(self.codes.shape[1])

    def take(self, rows: LongVector | BoolVector) -> Rows:
        """Return some of the rows."""
        return Rows(np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(self.places[:, rows]))


@dataclass(frozen=True, eq=False, repr=False)
class Column(Brief):
    """A column that all tables have."""

    name: str
    is_number: bool
    """It is a number, a date or a time, so that distances count; otherwise it is a category."""
    values: pl.Series
    """The distinct values of all tables without null, ascending. Private."""

    @cached_property
    def numbers(self) -> pl.Series:
        """The values as floats, if they are numbers."""
        return self.values.to_physical().cast(pl.Float64)


@dataclass(frozen=True, eq=False, repr=False)
class Tables(Brief):
    """What is audited: rows of the three tables, over the same columns."""

    columns: tuple[Column, ...]
    unit: int
    """The largest distance in one column."""
    synthetic: Rows
    original: Rows
    holdout: Rows | None
    frames: dict[str, pl.DataFrame]
    """The rows as they were read, by the name of the table. Private."""
    notes: tuple[str, ...]
    """What a reader should know about the tables."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def numbers(self) -> BoolVector:
        """Which columns are numbers."""
        return np.array([column.is_number for column in self.columns], np.bool_)


def read_tables(
    synthetic: Any,
    original: Any,
    holdout: Any = None,
    *,
    columns: Collection[str] = (),
    categories: Collection[str] = (),
) -> Tables:
    """Read the tables, and code the columns that are audited: `columns`, or all columns of the synthetic table.

    `categories` are compared as text, even if they hold numbers. Raises DataError for tables that do not fit together.
    """
    given = {SYNTHETIC: synthetic, ORIGINAL: original, HOLDOUT: holdout}
    frames = {role: _read(source, role) for role, source in given.items() if source is not None}
    names, notes = _choose_columns(frames, columns, categories)
    data = {
        role: pl.DataFrame({name: frame.column(name) for name in names}) for role, frame in frames.items()
    }
    data = _with_types(data, frozenset(categories))
    sizes = [len(own) for own in data.values()]
    unit = min(FINEST, LARGEST_SUM // len(names))
    found = in_threads(lambda name: _code([own[name] for own in data.values()], unit), list(names))
    coded = tuple(one[0] for one in found)
    codes, places = np.stack([one[1] for one in found]), np.stack([one[2] for one in found])
    ends = np.cumsum([0, *sizes])
    rows = [
        Rows(np.ascontiguousarray(codes[:, start:stop]), np.ascontiguousarray(places[:, start:stop]))
        for start, stop in pairwise(ends.tolist())
    ]
    made = Tables(coded, unit, rows[0], rows[1], rows[2] if len(rows) > 2 else None, data, tuple(notes))
    return _without_overlap(replace(made, notes=(*made.notes, *_note_names(made))))


def _read(source: Any, role: str) -> Frame:
    try:
        return io.read(source)
    except DataError as error:
        raise DataError(f"the {role} table cannot be read: {error}") from None


def _choose_columns(
    frames: dict[str, Frame], columns: Collection[str], categories: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the names of the columns that are audited, and what to note; DataError if a table lacks some."""
    own = frames[SYNTHETIC].columns
    names = list(dict.fromkeys(columns)) or own
    option = either(command="--columns", python="columns", studio="Columns")
    lines = []
    for role, frame in frames.items():
        lost = [name for name in names if name not in frame.columns]
        if lost:
            there = did_you_mean(lost[0], frame.columns)
            lines.append(
                f"the {role} table has no {'column' if len(lost) == 1 else 'columns'} {format_names(lost)} ({there})"
            )
    unknown = [name for name in categories if name not in names]
    if unknown:
        lines.append(f"categories: {format_names(unknown)} not audited ({did_you_mean(unknown[0], names)})")
    if lines:
        what = f"name the columns that all tables have with {option}, or give tables that have them"
        raise DataError("; ".join(lines) + ". " + what[0].upper() + what[1:])
    absent = [name for name in frames[ORIGINAL].columns if name not in names]
    left = [f"not audited, since the synthetic table lacks them: {some_values(absent)}"] if absent else []
    if columns:
        others = [name for name in own if name not in names]
        left = [f"not audited, since {option} leaves them out: {some_values(others)}"] if others else []
    return names, left


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "a number"
    if dtype.is_temporal():
        return "a date or time"
    return "a Boolean" if dtype == pl.Boolean else "text"


def _check_single_values(columns: Iterable[pl.Series]) -> None:
    for column in columns:
        if column.dtype.is_nested() or column.dtype == pl.Object:
            raise DataError(
                f"column '{column.name}' holds {type_name(column.dtype)}: only single values can be compared; leave it "
                "out"
            )


def _with_types(data: dict[str, pl.DataFrame], categories: frozenset[str]) -> dict[str, pl.DataFrame]:
    """Return the columns in types that compare; DataError if a column is a number in one table and text in another."""
    lines, changed = [], {role: own.to_dict() for role, own in data.items()}
    option = either(command="--category", python="categories", studio="Categories")
    for name in next(iter(data.values())).columns:
        found = {role: own[name] for role, own in data.items()}
        _check_single_values(found.values())
        known = {role: column for role, column in found.items() if column.null_count() < len(column)}
        kinds = {role: _kind(column.dtype) for role, column in known.items()}
        different = set(kinds.values())
        if name in categories or different == {"text"}:
            dtype: Any = pl.String
        elif len(different) > 1:
            told = ", ".join(f"{kind} in the {role} table" for role, kind in kinds.items())
            lines.append(f"column '{name}' is {told}")
            continue
        else:
            dtype = _common_type([column.dtype for column in known.values()])
        for role, column in found.items():
            changed[role][name] = (
                column.cast(dtype) if role in known else pl.Series(name, [None] * len(column), dtype)
            )
    if lines:
        raise DataError(
            "; ".join(lines)
            + f". Write them with the same type in all tables, or compare them as text with {option}"
        )
    return {role: pl.DataFrame(own) for role, own in changed.items()}


def _common_type(types: Sequence[Any]) -> Any:
    if not types:
        return pl.String
    if all(dtype == types[0] for dtype in types):
        return types[0]
    if types[0].is_numeric():
        return pl.Int64 if all(dtype.is_integer() for dtype in types) else pl.Float64
    if all(dtype in (pl.Date, pl.Datetime) for dtype in types):
        return pl.Datetime("us")
    raise DataError(
        f"a column holds {' and '.join(dict.fromkeys(type_name(dtype) for dtype in types))}, which do not compare: "
        "write it with the same type in all tables"
    )


def _code(parts: Sequence[pl.Series], unit: int) -> tuple[Column, IntVector, IntVector]:
    """Return a column with its values, its codes, and its places on the line of distances. O(rows)."""
    whole = pl.concat([part.rename("value") for part in parts])
    if whole.dtype.is_float():
        whole = whole.fill_nan(None)
    numbers, values = io.factorize(whole)
    order = values.arg_sort(nulls_last=True).to_numpy()
    known = len(values) - values.null_count()
    code_of = np.empty(len(values), np.int32)
    code_of[order] = np.arange(len(values), dtype=np.int32)
    code_of[order[known:]] = -1
    codes = code_of[numbers]
    is_number = values.dtype.is_numeric() or values.dtype.is_temporal()
    column = Column(parts[0].name, is_number, values.gather(order[:known]))
    if not is_number:
        return column, codes, codes
    line = column.numbers.to_numpy()
    finite = np.isfinite(line)
    place = np.zeros(known, np.int32)
    if finite.any():
        low, high = line[finite].min(), line[finite].max()
        # In two steps, so that a range of the largest numbers is not infinite.
        share = (np.clip(line, low, high) / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
        place = np.rint(share * unit).astype(np.int32)
    return column, codes, np.append(place, np.int32(-1))[codes]


def _note_names(tables: Tables) -> list[str]:
    """Note categories in which every training row differs: they look like names of people, and say nothing here."""
    names = [
        column.name
        for column, codes in zip(tables.columns, tables.original.codes, strict=True)
        if not column.is_number
        and tables.original.count > 1
        and len(np.unique(codes)) == tables.original.count
    ]
    if not names:
        return []
    return [
        f"every row of the original has another value in {some_values(names)}, as identifiers have: such a "
        f"column only adds "
        f"distance between all rows; leave it out of {either(command='--columns', python='columns')}"
    ]


def _without_overlap(tables: Tables) -> Tables:
    """Return the tables with a note on holdout rows that equal training rows. If there are more than chance explains,
    they are left out of the holdout.
    """
    if tables.holdout is None:
        return tables
    both = np.concatenate([tables.original.codes, tables.holdout.codes], axis=1)
    number, first = distinct_rows(list(both))
    own, other = number[: tables.original.count], number[tables.original.count :]
    rows = np.bincount(own, minlength=len(first))
    shared = rows[other] > 0
    many, of = int(shared.sum()), len(other)
    if not many:
        return tables
    # People of one population are equal by chance about as often within the training rows as across the tables.
    natural = float((rows[own] > 1).mean())
    told = f"{many:,} of {format_count(of, 'row')} of the holdout ({percent(many / of)}) are also in the original"
    within = f"{percent(natural)} of the rows of the original equal another one"
    if wilson(many / of, of)[0] <= wilson(natural, len(own))[1]:
        return replace(tables, notes=(*tables.notes, f"{told}, no more than chance explains: {within}"))
    if many == of:
        raise DataError(
            f"all {of:,} rows of the holdout are rows of the original: a holdout must be people on whom the synthetic "
            "table was not trained; give another one, or none"
        )
    note = (
        f"OVERLAP: {told}, more than chance explains: {within}. They were left out of the holdout; check that nobody "
        "in the holdout was in the training data"
    )
    frames = tables.frames | {HOLDOUT: tables.frames[HOLDOUT].filter(pl.Series(~shared))}
    return replace(tables, holdout=tables.holdout.take(~shared), frames=frames, notes=(*tables.notes, note))
