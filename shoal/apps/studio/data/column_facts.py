"""`Columns`: what is counted about the columns of the open table, kept so that no click counts again."""

from __future__ import annotations

import datetime as dt
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import DataError
from shoal.io import factorize
from shoal.support.arrays import IntVector, LongVector
from shoal.support.wording import number, type_name

if TYPE_CHECKING:
    from shoal.apps.studio.project import Project
    from shoal.io import Frame

AT_ONCE, NARROW = 2_000_000, 60
"""Up to this many cells and columns are counted before the page is shown, more in a thread."""
FEW = 100_000
"""Up to this many rows, kernels are not worth loading."""
KEPT_BYTES = 512 << 20
"""The most memory for codes of columns."""
BINS, BARS = 24, 12
Counts = npt.NDArray[np.signedinteger[Any]]
_TYPES: tuple[tuple[Callable[[pl.DataType], bool], str], ...] = (
    (lambda dtype: dtype.is_integer(), "whole numbers"),
    (lambda dtype: dtype.is_numeric(), "numbers"),
    (lambda dtype: dtype == pl.Date, "dates"),
    (lambda dtype: dtype == pl.Datetime, "dates with times"),
    (lambda dtype: dtype == pl.Time, "times of day"),
    (lambda dtype: dtype == pl.Boolean, "true or false"),
    (lambda dtype: dtype in (pl.Categorical, pl.Enum), "categories"),
    (lambda dtype: dtype == pl.String, "text"),
)


def type_words(dtype: pl.DataType) -> str:
    """Return a type in words."""
    return next((words for fits, words in _TYPES if fits(dtype)), type_name(dtype))


@dataclass(frozen=True)
class Bar:
    """One bar of the picture of a column."""

    label: str
    rows: int
    kind: Literal["value", "rest", "missing"] = "value"


@dataclass(frozen=True)
class Facts:
    """What is counted about one column."""

    missing: int
    distinct: int
    """Distinct values, missing ones not counted."""
    unique: int
    """Rows whose value no other row has."""
    bars: tuple[Bar, ...]
    picture: str
    """What the bars are, in words; all there is if there are no bars."""

    @cached_property
    def outline(self) -> str:
        """The bars as one path, 120 wide and 34 high."""
        most = max((bar.rows for bar in self.bars), default=0)
        step = 120 / max(len(self.bars), 1)
        width = step - (1.2 if step > 4 else 0.5)
        tall = [max(32 * bar.rows / most, 1.5) if bar.rows else 0 for bar in self.bars]
        return "".join(
            f"M{at * step:.1f} 34v-{high:.1f}h{width:.1f}V34z" for at, high in enumerate(tall) if high
        )


class Columns:
    """The columns of a table: their facts, and their codes for counting combinations."""

    def __init__(self, frame: Frame, changed: Callable[[], None]) -> None:
        self.frame = frame
        self._changed = changed
        self._lock = threading.Lock()
        self._facts: dict[int, Facts] = {}
        self._codes: OrderedDict[int, IntVector] = OrderedDict()
        self._unique: dict[Any, int] = {}
        self.names = frame.columns
        self.rows = frame.rows
        if frame.rows * len(self.names) <= AT_ONCE and len(self.names) <= NARROW:
            self._count()
        else:
            threading.Thread(target=self._count, daemon=True).start()

    @property
    def is_counting(self) -> bool:
        """Whether some columns are still being counted."""
        return len(self._facts) < len(self.names)

    def _count(self) -> None:
        for place in range(len(self.names)):
            self.facts(place, now=True)
        if self.rows > FEW:
            self.unique_rows(range(min(2, len(self.names))))  # loads what the first click needs
        self._changed()

    def type_of(self, place: int) -> str:
        """Return the type of a column in words."""
        return type_words(self.frame.schema[self.names[place]])

    def facts(self, place: int, *, now: bool = False) -> Facts | None:
        """Return what is counted about a column; None if that is not done yet, unless it is needed `now`."""
        if place not in self._facts and now:
            column = self.frame.data.to_series(place)
            try:
                codes, values = self._code_column(place, column)
            except (DataError, pl.exceptions.PolarsError):  # values of other types cannot be counted
                self._facts[place] = Facts(column.null_count(), 0, 0, (), "cannot be counted")
            else:
                self._facts[place] = describe_column(values, np.bincount(codes, minlength=len(values)))
        return self._facts.get(place)

    def unique_rows(self, places: Sequence[int], whose: Sequence[int] = ()) -> int:
        """Return how many rows have a combination of values that no other row has; a missing value is a value. If the
        columns `whose` say whose each row is, rows count whose values no other person has.
        """
        asked: Any = frozenset(places)
        if whose and asked:
            asked = (asked, frozenset(whose))
            if asked not in self._unique:
                owners = [self.codes(place) for place in sorted(whose)]
                self._unique[asked] = _unique_people([self.codes(place) for place in sorted(places)], owners)
            return self._unique[asked]
        if asked not in self._unique:
            if not asked:
                self._unique[asked] = int(self.rows == 1)
            elif len(asked) == 1:
                found = self.facts(next(iter(asked)), now=True)
                self._unique[asked] = found.unique if found is not None else 0
            else:
                self._unique[asked] = _unique([self.codes(place) for place in sorted(asked)])
        return self._unique[asked]

    def values(self, place: int) -> tuple[pl.Series, LongVector]:
        """Return the distinct values of a column, null included, and the number of rows of each."""
        codes, values = self._code_column(place, self.frame.data.to_series(place))
        return values, np.bincount(codes, minlength=len(values)).astype(np.int64)

    def codes(self, place: int) -> IntVector:
        """Return a column as integers, equal where its values are; raises DataError for types that have none."""
        with self._lock:
            if place in self._codes:
                self._codes.move_to_end(place)
                return self._codes[place]
        return self._code_column(place, self.frame.data.to_series(place))[0]

    def _code_column(self, place: int, column: pl.Series) -> tuple[IntVector, pl.Series]:
        codes, values = factorize(column)
        with self._lock:
            self._codes[place] = codes
            while len(self._codes) > 2 and len(self._codes) * codes.nbytes > KEPT_BYTES:
                self._codes.popitem(last=False)
        return codes, values


def columns_of(project: Project) -> Columns:
    """Return the columns of the open table."""
    with project.lock:
        if project.frame is None:
            raise DataError("no table is open yet")
        kept = project.store.get("columns")
        if not isinstance(kept, Columns):
            kept = project.store["columns"] = Columns(project.frame, project.mark_changed)
        return kept


def _unique_people(columns: Sequence[IntVector], owners: Sequence[IntVector]) -> int:
    """Count the rows that are equal only to rows of the same person."""
    table = pl.DataFrame({f"{at}": codes for at, codes in enumerate((*columns, *owners))})
    shown = [f"{at}" for at in range(len(columns))]
    people = table.group_by(table.columns).len()
    alone = (
        people.group_by(shown)
        .agg(pl.len().alias("people"), pl.col("len").sum())
        .filter(pl.col("people") == 1)
    )
    return int(alone["len"].sum())


def _unique(columns: Sequence[IntVector]) -> int:
    """Count the rows that are equal to no other; codes are 0, 1, .."""
    if len(columns[0]) <= FEW:
        table = pl.DataFrame({str(at): codes for at, codes in enumerate(columns)})
        return int(table.is_unique().sum())
    from shoal.kernels.grouping import number, pack  # faster, but not sooner

    keys = np.zeros(len(columns[0]), np.uint64)
    room = most = 1 << 63
    for codes in columns:
        span = int(codes.max()) + 1
        if span > room:
            numbers, first = number(keys)
            keys, room = numbers.astype(np.uint64), most // len(first)
        pack(keys, codes, 0, span)
        room //= span
    numbers, first = number(keys)
    return int((np.bincount(numbers, minlength=len(first)) == 1).sum())


# --- pictures ---------------------------------------------------------------------------------------------


def describe_column(values: pl.Series, rows: Counts) -> Facts:
    """Return the facts of a column from its distinct values and the number of rows of each. O(values)."""
    null = values.is_null().to_numpy()
    missing = int(rows[null].sum())
    filled, times = values.filter(pl.Series(~null)), rows[~null]
    bars, words = _bars(filled, times)
    if missing and bars:
        bars = (*bars, Bar("missing", missing, "missing"))
    return Facts(missing, len(filled), int((rows == 1).sum()), bars, words)


def _bars(values: pl.Series, rows: Counts) -> tuple[tuple[Bar, ...], str]:
    if not len(values):
        return (), "no values"
    ordered = values.dtype.is_numeric() or values.dtype.is_temporal()
    if ordered and len(values) > BINS:
        return _histogram(values, rows)
    if len(values) > BARS and not (ordered and len(values) <= BINS) and 2 * len(values) > int(rows.sum()):
        return (), "nearly all different"
    if ordered:
        order = values.arg_sort().to_numpy()
        bars = tuple(Bar(_text(values[int(i)]), int(rows[i])) for i in order)
        return bars, "rows per value"
    order = np.argsort(-rows, kind="stable")
    most = order if len(order) <= BARS else order[: BARS - 1]
    bars = tuple(Bar(_text(values[int(i)]), int(rows[i])) for i in most)
    if len(most) == len(order):
        return bars, "rows per value"
    rest = int(rows.sum() - rows[most].sum())
    bars = (*bars, Bar(f"{len(order) - len(most):,} other values", rest, "rest"))
    return bars, "rows per value, the most frequent first"


def _histogram(values: pl.Series, rows: Counts) -> tuple[tuple[Bar, ...], str]:
    physical = values.to_physical() if values.dtype.is_temporal() else values
    numbers = physical.cast(pl.Float64, strict=False).to_numpy()
    usable = np.isfinite(numbers)
    if not usable.any():
        return (), "no finite values"
    low, high = float(numbers[usable].min()), float(numbers[usable].max())
    if not np.isfinite(high - low) or high == low:
        return (), "too close together or too far apart to draw"
    counts, edges = np.histogram(numbers[usable], BINS, (low, high), weights=rows[usable])
    back = _back(values.dtype)
    if back is number and values.dtype.is_integer():
        edges = np.round(edges)
    labels = [f"{back(edges[i])} to {back(edges[i + 1])}" for i in range(BINS)]
    bars = tuple(Bar(label, int(count)) for label, count in zip(labels, counts, strict=True))
    return bars, f"from {back(edges[0])} to {back(edges[-1])}"


def _back(dtype: pl.DataType) -> Callable[[Any], str]:
    """Return how to write a physical value of a type."""
    if dtype.is_temporal():
        return lambda value: _text(
            pl.Series([round(float(value))], dtype=pl.Int64).cast(_whole(dtype)).cast(dtype)[0]
        )
    return lambda value: number(float(value))


def _whole(dtype: pl.DataType) -> Any:
    return pl.Int32 if dtype == pl.Date else pl.Int64


def _text(value: object) -> str:
    """Write a value for a label, shortened."""
    if isinstance(value, dt.datetime):
        return value.isoformat(" ", "minutes")
    text = number(value) if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
