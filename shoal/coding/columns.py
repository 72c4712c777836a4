"""How a `CodedTable` keeps its columns: in the narrowest types, and as what readers ask for only once they ask.

Eight columns of a census fit in eight bytes per row, but kernels are compiled for matrices of int32, one form each. So
columns are stored narrow, and the matrix is made when somebody reads the field. What matters at a hundred
million rows reads `CodedTable.column` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.support.arrays import IntMatrix
from shoal.support.brief import Brief
from shoal.support.widening import Stored

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.coded import Coded, Codes


@dataclass(frozen=True, eq=False, repr=False)
class Narrow(Brief, Stored):
    """The codes of some columns, each in the narrowest type that holds them."""

    rows: int
    columns: tuple[Codes, ...]

    def whole(self) -> IntMatrix:
        """Return them as one matrix, column-major."""
        matrix = np.empty((self.rows, len(self.columns)), np.int32, order="F")
        for j, codes in enumerate(self.columns):
            matrix[:, j] = codes
        return matrix


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Brief, Stored):
    """Columns that are published as they are: as codes where that takes less memory, else as they came."""

    columns: Mapping[str, Coded | pl.Series]

    def whole(self) -> pl.DataFrame:
        """Return them as a frame."""
        import polars as pl

        return pl.DataFrame({name: self.column(name) for name in self.columns})

    def column(self, name: str) -> pl.Series:
        """Return one of them."""
        import polars as pl

        found = self.columns[name]
        return found if isinstance(found, pl.Series) else found.gather(slice(None)).alias(name)
