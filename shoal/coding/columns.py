"""How a `CodedTable` stores its columns: in the narrowest types, and as a matrix only where somebody asks for it.

Eight columns of a census fit in eight bytes per row, but kernels are compiled for matrices of int32, one form each.
What matters at a hundred million rows reads `Columns.narrow`; `Columns.wide` takes four bytes per cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.support.arrays import IntMatrix, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.table import Attribute
    from shoal.io.coded import Coded, Codes


@dataclass(frozen=True, eq=False, repr=False)
class Columns(Brief):
    """Columns as leaf codes of their hierarchies."""

    attributes: tuple[Attribute, ...]
    narrow: tuple[Codes, ...]
    """The codes of each column, in the narrowest type that holds them."""
    rows: int
    exact: Mapping[int, Codes] = field(default_factory=dict)
    """Columns some of whose values are never told apart -> row -> number of its value, as it was read. Only figures
    about the original use it; methods cannot."""
    of_whole: tuple[LongVector, ...] | None = None
    """How often each code occurs in the whole table, if these are some of its rows and losses compare with it."""

    @classmethod
    def of(
        cls,
        attributes: Sequence[Attribute],
        codes: IntMatrix,
        of_whole: tuple[LongVector, ...] | None = None,
    ) -> Columns:
        """Return the columns of a matrix of codes, which becomes `wide`."""
        narrow = tuple(codes[:, j] for j in range(codes.shape[1]))
        own = cls(tuple(attributes), narrow, len(codes), of_whole=of_whole)
        vars(own)["wide"] = codes
        return own

    @cached_property
    def wide(self) -> IntMatrix:
        """All codes as one matrix, ``[rows, columns]``, column-major: four bytes per cell from now on."""
        matrix = np.empty((self.rows, len(self.narrow)), np.int32, order="F")
        for j, codes in enumerate(self.narrow):
            matrix[:, j] = codes
        return matrix

    @property
    def as_read(self) -> list[Codes]:
        """The columns with all values told apart that the original tells apart: for equality alone."""
        return [self.exact.get(j, codes) for j, codes in enumerate(self.narrow)]

    @cached_property
    def counts(self) -> tuple[LongVector, ...]:
        """How often each code occurs, per column; in a part, how often in the whole table."""
        if self.of_whole is not None:
            return self.of_whole
        both = zip(self.narrow, self.attributes, strict=True)
        return tuple(count_codes(codes, attribute.hierarchy.size) for codes, attribute in both)

    def take(self, rows: NDArray[Any]) -> Columns:
        """Return some rows. O(rows)."""
        narrow = tuple(codes[rows] for codes in self.narrow)
        count = int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)
        return Columns(self.attributes, narrow, count)

    def select(self, columns: Sequence[int]) -> Columns:
        """Return some columns."""
        exact = {at: self.exact[j] for at, j in enumerate(columns) if j in self.exact}
        attributes = tuple(self.attributes[j] for j in columns)
        narrow = tuple(self.narrow[j] for j in columns)
        of_whole = None if self.of_whole is None else tuple(self.of_whole[j] for j in columns)
        return Columns(attributes, narrow, self.rows, exact, of_whole)

    def with_attributes(self, attributes: Sequence[Attribute]) -> Columns:
        """Return the same codes with other facts about the columns."""
        return replace(self, attributes=tuple(attributes))


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Brief):
    """Columns that are published as they are: as codes where that takes less memory, else as they came."""

    columns: Mapping[str, Coded | pl.Series] = field(default_factory=dict)
    weights: str | None = None
    """The one with the survey weights: how many people of the population each row stands for."""

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Kept:
        """Return the columns of a frame."""
        return cls({column.name: column for column in frame})

    @property
    def whole(self) -> pl.DataFrame:
        """All of them as a frame."""
        import polars as pl

        return pl.DataFrame({name: self[name] for name in self.columns})

    def __getitem__(self, name: str) -> pl.Series:
        import polars as pl

        found = self.columns[name]
        return found if isinstance(found, pl.Series) else found.gather(slice(None)).alias(name)

    def __contains__(self, name: str) -> bool:
        return name in self.columns


def count_codes(codes: Codes, size: int) -> LongVector:
    """Count each code, in pieces: numpy copies what it counts into the widest type. In threads, if there are many."""
    step = max(PIECE, 4 * size)
    parts = in_threads(
        lambda start: np.bincount(codes[start : start + step], minlength=size), range(0, len(codes), step)
    )
    total = np.zeros(size, np.int64)
    for part in parts:
        total += part
    return total
