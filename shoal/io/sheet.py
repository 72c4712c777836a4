"""`Sheet`: a table whose cells are looked up, so that it is written, read back and judged in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.io.coded import Codes, code_column, narrowest
from shoal.support.arrays import IntVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads, one_after_another

Known = TypeVar("Known")


@dataclass(frozen=True, eq=False, repr=False)
class Cells(Brief):
    """One column: what it may show, and where each row finds its cell."""

    values: pl.Series
    """Every one of them is shown by some row."""
    index: Codes | None = None
    """Row of the source -> place among `values`; None: they are in the order of the source."""
    placed: Codes | None = None
    """Row of the sheet -> place among `values`, which are then distinct; None: by `index` and `order`."""


@dataclass(frozen=True, eq=False, repr=False)
class Sheet(Brief):
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
        if cells.index is None and cells.placed is None and self.order is None:
            return cells.values
        return cells.values.gather(self._places(cells, slice(None))).alias(name)

    def _places(self, cells: Cells, rows: slice) -> NDArray[Any]:
        index = cells.index
        if cells.placed is not None:
            return cells.placed[rows]
        if self.order is None:
            assert index is not None
            return index[rows]
        return self.order[rows] if index is None else index[self.order[rows]]

    def part(self, start: int, stop: int) -> pl.DataFrame:
        """Return the rows from `start` to `stop`. Columns that are looked up alike share the look-up."""
        rows, known = slice(start, stop), dict[int, pl.Series]()
        shown = {}
        for name, cells in self.cells.items():
            if cells.index is None and cells.placed is None and self.order is None:
                shown[name] = cells.values[rows]
                continue
            alike = id(cells.index if cells.placed is None else cells.placed)
            if alike not in known:
                known[alike] = pl.Series(self._places(cells, rows)).cast(pl.UInt32)
            shown[name] = cells.values.gather(known[alike]).alias(name)
        return pl.DataFrame(shown)

    def parts(self) -> Iterator[pl.DataFrame]:
        """Yield all rows, some at a time."""
        yield from one_after_another(
            lambda start: self.part(start, start + PIECE), range(0, self.height, PIECE)
        )

    def whole(self) -> pl.DataFrame:
        """Return all rows as a frame."""
        return self.part(0, self.height)

    def taken(self, order: IntVector) -> Sheet:
        """Return some rows, in an order."""
        own = order if self.order is None else self.order[order]
        cells = {
            name: cells if cells.placed is None else replace(cells, placed=cells.placed[order])
            for name, cells in self.cells.items()
        }
        return replace(self, cells=cells, order=own, height=len(own))

    def only(self, names: Sequence[str]) -> Sheet:
        """Return some of the columns."""
        return replace(self, cells={name: self.cells[name] for name in names})

    def narrow(self) -> Sheet:
        """Return the same rows, with the place of each cell among distinct values where codes tell these exactly.

        Rows are then looked up once, in threads, and not again whenever somebody goes through them. O(cells).
        """
        found, alike = dict(self.cells), dict[int, list[tuple[Cells, Codes, Codes]]]()
        for name, cells in self.cells.items():
            if cells.index is None or cells.placed is not None or not has_exact_codes(cells.values.dtype):
                continue
            number, values = code_values(cells.values.alias(name))
            placed = np.empty(self.height, number.dtype)
            found[name] = Cells(values, None, placed)
            alike.setdefault(id(cells.index), []).append((cells, number, placed))

        def fill(start: int) -> None:
            rows = slice(start, start + PIECE)
            for columns in alike.values():
                places = self._places(columns[0][0], rows).astype(np.intp)
                for _, number, placed in columns:
                    np.take(number, places, out=placed[rows], mode="clip")

        in_threads(fill, range(0, self.height, PIECE))
        return replace(self, cells=found)

    def with_values(self, change: Callable[[pl.Series], pl.Series]) -> Sheet:
        """Return a sheet whose columns show other values: `change` gets those of a column, and keeps their places."""
        cells = {
            name: replace(cells, values=change(cells.values.alias(name)))
            for name, cells in self.cells.items()
        }
        return replace(self, cells=cells)

    def number_cells(
        self, name: str, number: Callable[[pl.Series], tuple[Codes, Known]]
    ) -> tuple[Codes, Known]:
        """Number the cells of a column: `number` returns a number for each of some cells, and what it knows about
        numbers. It gets what the column shows, which is far less than the table if cells are looked up.
        """
        cells = self.cells[name]
        if cells.index is None and cells.placed is None:
            return number(self[name])
        numbers, known = number(cells.values.alias(name))
        narrow = numbers.astype(narrowest(int(numbers.max(initial=0)) + 1), copy=False)
        found = np.empty(self.height, narrow.dtype)
        for start in range(0, self.height, PIECE):
            rows = slice(start, start + PIECE)
            np.take(narrow, self._places(cells, rows), out=found[rows], mode="clip")
        return found, known


def has_exact_codes(dtype: pl.DataType) -> bool:
    """Return whether codes represent values of this type exactly: of floats they do not, 0.0 and -0.0 share one."""
    return not (dtype.is_nested() or dtype.is_float() or dtype == pl.Object)


def code_values(column: pl.Series) -> tuple[Codes, pl.Series]:
    """Number the distinct values of a column, for `Sheet.number_cells`."""
    found = code_column(column)
    return found.codes, found.values
