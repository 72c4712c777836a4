"""`Coded`: a column as small integers and its distinct values, made in pieces, so that it is never decoded whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.io.factorization import factorize
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE

Codes = NDArray[Any]
"""Codes of one column in the narrowest type that holds them: uint8, uint16 or int32."""


@dataclass(frozen=True, eq=False, repr=False)
class Coded(Brief):
    """A column: ``values[codes]``. The order of the values is not fixed; null is one of them; each of them occurs."""

    codes: Codes
    values: pl.Series

    def __len__(self) -> int:
        return len(self.codes)

    def gather(self, rows: NDArray[Any] | slice) -> pl.Series:
        """Return the values of some rows."""
        return self.values.gather(self.codes[rows])


def narrowest(size: int) -> np.dtype[Any]:
    """Return the narrowest type for codes 0, 1, .. below `size`. Kernels take none wider than int32."""
    return np.dtype(np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.int32)


def code_column(column: pl.Series) -> Coded:
    """Code a column that is in memory. O(rows)."""
    if len(column) > PIECE and not column.dtype.is_nested():
        return in_pieces(factorize(column.slice(start, PIECE)) for start in range(0, len(column), PIECE))
    numbers, values = factorize(column)
    return Coded(numbers.astype(narrowest(len(values)), copy=False), values)


def in_pieces(pieces: Iterable[tuple[Codes, pl.Series]]) -> Coded:
    """Join the pieces of a column, each with codes and distinct values of its own. O(rows)."""
    found = [
        (numbers.astype(narrowest(len(values)), copy=False), values)
        for numbers, values in pieces
        if len(numbers)
    ]
    own = pl.concat([values for _, values in found])
    number, values = factorize(own)
    kind = narrowest(len(values))
    number = number.astype(kind)
    codes = np.empty(sum(len(numbers) for numbers, _ in found), kind)
    start = at = 0
    for place, (numbers, mine) in enumerate(found):
        np.take(number[at : at + len(mine)], numbers, out=codes[start : start + len(numbers)], mode="clip")
        start, at = start + len(numbers), at + len(mine)
        found[place] = (numbers[:0], mine)  # its memory is free
    return Coded(codes, values)
