"""`Sheet`: a table whose cells are looked up, so that it is written, read back and judged in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import IntVector
from shoal.brief import Brief
from shoal.frames.coded import Codes, coded, narrowest
from shoal.parallel import PIECE
from shoal.widening import Stored

Known = TypeVar("Known")


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Brief):
    """One column: what it may show, and where each row finds its cell."""

    values: pl.Series
    """Every one of them is shown by some row."""
    index: Codes | None = None
    """Row of the source -> place among `values`; None: they are in the order of the source."""


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Brief, Stored):
    """The rows of a release, before they are written and after they came back. Nothing is decoded but the rows that
    are asked for."""

    cells: Mapping[str, Cells]
    height: int
    order: IntVector | None = None
    """Row -> row of the source; None: in its order."""

    @classmethod
    def of(cls, data: pl.DataFrame | Sheet) -> Sheet:
        """Return a table that is in memory as a sheet."""
        if isinstance(data, Sheet):
            return data
        return cls({column.name: Cells(column) for column in data}, data.height)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.cells)

    @property
    def schema(self) -> pl.Schema:
        """Names and types of the columns."""
        return pl.Schema({name: cells.values.dtype for name, cells in self.cells.items()})

    @property
    def values(self) -> list[pl.DataFrame]:
        """What each column shows, a frame each: most are much shorter than the table."""
        return [pl.DataFrame({name: cells.values}) for name, cells in self.cells.items()]

    def __len__(self) -> int:
        return self.height

    def __getitem__(self, name: str) -> pl.Series:
        cells = self.cells[name]
        if cells.index is None and self.order is None:
            return cells.values
        return cells.values.gather(self._places(cells.index, slice(None))).alias(name)

    def _places(self, index: Codes | None, rows: slice) -> NDArray[Any]:
        if self.order is None:
            assert index is not None
            return index[rows]
        return self.order[rows] if index is None else index[self.order[rows]]

    def part(self, start: int, stop: int) -> pl.DataFrame:
        """Return the rows from `start` to `stop`. Columns that are looked up alike share the look-up."""
        rows, known = slice(start, stop), dict[int, pl.Series]()
        shown = {}
        for name, cells in self.cells.items():
            if cells.index is None and self.order is None:
                shown[name] = cells.values[rows]
                continue
            if id(cells.index) not in known:
                known[id(cells.index)] = pl.Series(self._places(cells.index, rows)).cast(pl.UInt32)
            shown[name] = cells.values.gather(known[id(cells.index)]).alias(name)
        return pl.DataFrame(shown)

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield all rows, some at a time."""
        for start in range(0, self.height, PIECE):
            yield self.part(start, start + PIECE)

    def whole(self) -> pl.DataFrame:
        """Return all rows as a frame."""
        return self.part(0, self.height)

    def taken(self, order: IntVector) -> Sheet:
        """Return some rows, in an order."""
        own = order if self.order is None else self.order[order]
        return replace(self, order=own, height=len(own))

    def with_values(self, change: Callable[[pl.Series], pl.Series]) -> Sheet:
        """Return a sheet whose columns show other values: `change` gets those of a column, and keeps their places."""
        cells = {
            name: replace(cells, values=change(cells.values.alias(name)))
            for name, cells in self.cells.items()
        }
        return replace(self, cells=cells)

    def numbered(self, name: str, number: Callable[[pl.Series], tuple[Codes, Known]]) -> tuple[Codes, Known]:
        """Number the cells of a column: `number` returns a number for each of some cells, and what it knows about
        numbers. It gets what the column shows, which is far less than the table if cells are looked up.
        """
        cells = self.cells[name]
        if cells.index is None:
            return number(self[name])
        numbers, known = number(cells.values.alias(name))
        narrow = numbers.astype(narrowest(int(numbers.max(initial=0)) + 1), copy=False)
        found = np.empty(self.height, narrow.dtype)
        for start in range(0, self.height, PIECE):
            rows = slice(start, start + PIECE)
            np.take(narrow, self._places(cells.index, rows), out=found[rows], mode="clip")
        return found, known


def coded_values(column: pl.Series) -> tuple[Codes, pl.Series]:
    """Number the distinct values of a column, for `Sheet.numbered`."""
    found = coded(column)
    return found.codes, found.values
