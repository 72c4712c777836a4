"""What tasks share: pieces of Arrow batches, errors without values, versions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from shoal.support.arrays import IntMatrix, LongVector
from shoal.support.machine.memory import addresses_allowed, addresses_needed, is_lack_of_memory

if TYPE_CHECKING:
    import polars as pl

Found = TypeVar("Found")
_DENSE = 1 << 22
"""Counts of so many numbers are kept as an array."""
PIECE = 1 << 18
"""Rows that a task looks up at a time: with fewer, building look-up tables would take most of the time."""
PIECE_BYTES = 1 << 26
"""Bytes after which a piece is large enough, because a column may hold long texts."""


def pieces(batches: Iterator[pa.RecordBatch], rows: int = PIECE) -> Iterator[pa.Table]:
    """Yield the rows of a partition in larger pieces, of fewer rows if these hold much. Arrow batches are cut
    anywhere."""
    waiting: list[pa.RecordBatch] = []
    held = size = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        size += batch.nbytes
        if held >= rows or size >= PIECE_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, held, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(waiting)


def series(column: pa.ChunkedArray) -> pl.Series:
    """Return a column of a batch for polars."""
    import polars as pl

    found = pl.from_arrow(column)
    assert isinstance(found, pl.Series)
    return found


def without_values(stage: str) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Let a task fail without a value in its message: Spark writes it into logs, and shows it to everybody."""

    def wrap(work: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(work)
        def run_guarded(*given: Any, **named: Any) -> Any:
            try:
                yield from work(*given, **named)
            except (MemoryError, ImportError, GeneratorExit):
                raise
            except Exception as error:
                if os.environ.get("SHOAL_DEBUG"):
                    raise
                raise failure(error, stage) from None

        return run_guarded

    return wrap


def failure(error: Exception, stage: str) -> Exception:
    """Return an error of a task without any value; lack of memory is told as such, whatever library has met it."""
    if is_lack_of_memory(error):
        return MemoryError()
    return RuntimeError(f"{type(error).__name__} while {stage}")


def versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the versions of Python and Shoal of this worker, and how many GB of addresses it may and must have."""
    import platform

    import shoal

    for _ in batches:
        pass
    found = {
        "python": [platform.python_version()],
        "shoal": [shoal.__version__],
        "allowed": pa.array([addresses_allowed()], pa.float64()),
        "needed": [addresses_needed()],
    }
    yield pa.RecordBatch.from_pydict(found)


class Tally:
    """Counts by number: a dense array if it is small, else what occurs."""

    def __init__(self, size: int) -> None:
        self._dense = np.zeros(size, np.int64) if size <= _DENSE else None
        self._index: LongVector = np.empty(0, np.int64)
        self._rows: LongVector = np.empty(0, np.int64)

    def add(self, numbers: LongVector) -> None:
        """Count some numbers."""
        if self._dense is not None:
            np.add(self._dense, np.bincount(numbers, minlength=len(self._dense)), out=self._dense)
            return
        index, rows = np.unique(numbers, return_counts=True)
        both, place = np.unique(np.concatenate([self._index, index]), return_inverse=True)
        sums = np.bincount(place, weights=np.concatenate([self._rows, rows]), minlength=len(both))
        self._index, self._rows = both, sums.astype(np.int64)

    def occurrences(self) -> tuple[LongVector, LongVector]:
        """Return the numbers that occur, and how often."""
        if self._dense is None:
            return self._index, self._rows
        index = np.flatnonzero(self._dense)
        return index, self._dense[index]


def codes_of(piece: pa.Table, letter: str) -> IntMatrix:
    """Return the columns c0, c1, .. (or of another letter) of a piece as a matrix."""
    names = [name for name in piece.column_names if name[0] == letter and name[1:].isdigit()]
    found = np.empty((piece.num_rows, len(names)), np.int32)
    for j in range(len(names)):
        found[:, j] = piece.column(f"{letter}{j}").to_numpy()
    return found
