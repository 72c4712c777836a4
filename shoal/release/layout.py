"""How the rows of a release are laid out: in classes, or in buckets within which values were shuffled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from shoal.errors import ShoalBug
from shoal.support.arrays import IntMatrix, IntVector
from shoal.support.brief import Brief

ColumnGroups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Shuffling:
    """Which columns were shuffled as a unit within buckets."""

    together: ColumnGroups | None = None
    """Which quasi-identifiers were shuffled as a unit; None if unknown, or each by itself."""
    sensitive_in: tuple[int, ...] | None = None
    """Per sensitive column, which of `together` it was shuffled with, -1 for none; None if with none of them."""

    @property
    def columns_with_sensitive(self) -> list[int]:
        """The quasi-identifiers that were shuffled as a unit with sensitive values."""
        if self.together is None or self.sensitive_in is None:
            return []
        return sorted({j for place in self.sensitive_in if place >= 0 for j in self.together[place]})

    def groups(self, quasi: int) -> ColumnGroups:
        """Return the units of so many quasi-identifiers."""
        return self.together or tuple((j,) for j in range(quasi))

    def place(self, column: int) -> int:
        """Return which of the groups a sensitive column was shuffled with, -1 for none."""
        return -1 if self.sensitive_in is None else self.sensitive_in[column]

    def keeps_rows(self, quasi: int) -> bool:
        """Return whether so many quasi-identifiers were not shuffled against each other."""
        return quasi == 1 or any(len(columns) == quasi for columns in self.together or ())


@dataclass(frozen=True, eq=False, repr=False)
class Classes(Brief):
    """Every row shows the values of one person."""

    in_buckets: ClassVar[bool] = False
    apart: ClassVar[bool] = False
    shuffling: ClassVar[Shuffling] = Shuffling()

    @property
    def bucket_of(self) -> IntVector:
        """Nobody may ask for it."""
        raise ShoalBug("a release without buckets was asked for them")

    def with_shuffling(self, shuffling: Shuffling) -> Classes:
        """Return the layout itself: nothing is shuffled."""
        return self

    def sources(self, rows: IntVector, column: int) -> IntVector:
        """Return the rows of the table whose values some rows show in a column: their own."""
        return rows


CLASSES = Classes()


@dataclass(frozen=True, eq=False, repr=False)
class Buckets(Brief):
    """Values were shuffled within buckets, so rows of a bucket may have different quasi-identifiers."""

    bucket_of: IntVector
    """Row -> bucket."""
    shuffling: Shuffling = Shuffling()
    texts: IntMatrix | None = None
    """``[classes, quasi-identifiers]`` the number of each cell's text, if it was read."""
    in_buckets: ClassVar[bool] = True

    def with_shuffling(self, shuffling: Shuffling) -> Buckets:
        """Return the same buckets, of values that were shuffled in another way."""
        return replace(self, shuffling=shuffling)


@dataclass(frozen=True, eq=False, repr=False)
class ProposedBuckets(Brief):
    """Buckets as a method proposes them, by row of its table."""

    bucket_of: IntVector
    """Row -> bucket."""
    shown_from: IntMatrix
    """``[rows, quasi-identifiers + sensitive columns]`` whose value each cell shows."""
    shuffling: Shuffling = Shuffling()
    apart: bool = False
    """Sensitive values are published as a second table, joined to the first by bucket."""
    in_buckets: ClassVar[bool] = True

    def sources(self, rows: IntVector, column: int) -> IntVector:
        """Return the rows of the table whose values some rows show in a column, quasi-identifiers first."""
        found: IntVector = self.shown_from[rows, column]
        return found
