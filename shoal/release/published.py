"""`Published`: what an outsider sees, read back from the rendered rows and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute
from shoal.coding.columns import count_codes
from shoal.coding.groups import Groups, group
from shoal.errors import DataError
from shoal.release import ValueSets
from shoal.release.layout import CLASSES, Buckets, Classes
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Boxes(Brief):
    """What the cells of each class cover."""

    low: IntMatrix
    """``[classes, quasi-identifiers]`` first code of each cell."""
    high: IntMatrix
    """``[classes, quasi-identifiers]`` last code of each cell."""
    sets: ValueSets | None = None
    """The codes of each cell, if the release shows value sets."""
    foreign: ClassVar[tuple[str, ...]] = ()

    @property
    def unread(self) -> BoolVector:
        """No class has a cell that cannot be read."""
        return np.zeros(len(self.low), np.bool_)


@dataclass(frozen=True, eq=False, repr=False)
class BoxesInPart(Brief):
    """What the cells of each class cover, where some cells are not in their hierarchy."""

    low: IntMatrix
    high: IntMatrix
    sets: ValueSets | None
    unread: BoolVector
    """Classes with a cell that is not in its hierarchy, although others of its column are: it covers no value."""
    foreign: tuple[str, ...]
    """Columns in which nothing is in the hierarchy: another tool named the cells, and each may cover any value."""


@dataclass(frozen=True)
class CellFaults:
    """How many cells of a quasi-identifier are not as its hierarchy writes them."""

    above: int = 0
    """They are above its generalization limit."""
    unread: int = 0
    """They are not in its hierarchy, so nobody can know whether they are above the limit."""
    rests: tuple[tuple[int, int, int], ...] = ()
    """For cells with the name of a node above the limit for some values only: the first and the last code of the other
    values, and how many rows show the name."""
    finer: int = 0
    """They distinguish values that the column never distinguishes."""
    unclear: int = 0
    """Nobody can know whether they do."""


@dataclass(frozen=True, eq=False, repr=False)
class Published(Brief):
    """The rows of a release as an outsider reads them, grouped into equivalence classes."""

    attributes: tuple[Attribute, ...]
    """The quasi-identifiers."""
    sensitive: tuple[Attribute, ...]
    """The sensitive columns."""
    class_of: IntVector
    """Published row -> class: rows with identical quasi-identifiers (and bucket). Classes are 0, 1, .."""
    sensitive_codes: IntMatrix
    """``[published rows, sensitive columns]``."""
    cells: Boxes | BoxesInPart | None
    """None if the domains of columns are not known: they need the original or hierarchies of the policy."""
    suppressed: int = 0
    """Rows of the original that are not published."""
    layout: Classes | Buckets = CLASSES
    """Whether rows show the values of one person each, or values were shuffled within buckets."""
    faults: tuple[CellFaults, ...] = ()
    """Per quasi-identifier; empty if the cells were not read from text."""

    @property
    def readable(self) -> bool:
        """Every cell is in its hierarchy."""
        return isinstance(self.cells, Boxes)

    @property
    def in_ranges(self) -> bool:
        """Every cell is a range of values in its hierarchy, and none a set."""
        return isinstance(self.cells, Boxes) and self.cells.sets is None

    @property
    def cell_ranges(self) -> tuple[IntMatrix, IntMatrix]:
        """``[classes, quasi-identifiers]`` the first and the last code of each cell, or an error if some are not
        readable.
        """
        if not isinstance(self.cells, Boxes):
            raise DataError(
                "some cells of the release are not in the hierarchies of the policy, so Shoal cannot tell what they "
                "cover: use the hierarchies that the release was made with"
            )
        return self.cells.low, self.cells.high

    @property
    def sets(self) -> ValueSets | None:
        """The codes of each cell, if all are readable and the release shows value sets."""
        return self.cells.sets if isinstance(self.cells, Boxes) else None

    def faults_of(self, name: str) -> CellFaults:
        """Return what is wrong with the cells of a quasi-identifier."""
        return self.faults[[attribute.name for attribute in self.attributes].index(name)]

    @property
    def rows(self) -> int:
        """Number of published rows."""
        return len(self.class_of)

    @cached_property
    def sizes(self) -> LongVector:
        """``[classes]`` rows in each class."""
        return count_codes(self.class_of, int(self.class_of.max(initial=-1)) + 1)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def in_buckets(self) -> bool:
        """Values were shuffled within buckets."""
        return self.layout.in_buckets

    @property
    def part_of(self) -> IntVector:
        """Published row -> bucket, if the release shows buckets, else its class."""
        return self.layout.bucket_of if self.in_buckets else self.class_of

    @property
    def buckets(self) -> int | None:
        """Number of buckets; None if the release shows none. Rows of a bucket may have different quasi-identifiers."""
        return len(self.part_sizes) if self.in_buckets else None

    @cached_property
    def part_sizes(self) -> LongVector:
        """The rows of each bucket, if the release shows buckets, else of each class.

        Rows whose columns were shuffled form other classes after every shuffle, so a figure about their sizes would say
        nothing about the release.
        """
        if not self.in_buckets:
            return self.sizes
        return np.unique(self.part_of, return_counts=True)[1].astype(np.int64)

    @property
    def public_classes(self) -> int | None:
        """Number of classes that documents show: None if columns were shuffled within buckets."""
        return None if self.in_buckets else self.classes

    @property
    def rows_intact(self) -> bool:
        """The quasi-identifiers of a row are those of one person: they were not shuffled against each other."""
        return not self.in_buckets or self.layout.shuffling.keeps_rows(len(self.attributes))

    @cached_property
    def ranges(self) -> tuple[tuple[IntVector, IntVector, LongVector], ...] | None:
        """Per quasi-identifier the distinct ranges that are shown: first code, last code, number of rows.

        There are far fewer of them than classes, so losses that depend on a range alone are cheap on any
        number of rows. None if some cells are not readable. O(classes x quasi-identifiers), plus sorting for
        columns with very many values.
        """
        if not self.readable:
            return None
        found, (all_low, all_high) = [], self.cell_ranges
        for j, attribute in enumerate(self.attributes):
            size = attribute.hierarchy.size
            keys = all_low[:, j].astype(np.int64) * size + all_high[:, j]
            if size * size <= max(1 << 16, 4 * len(keys)):
                used = np.bincount(keys, minlength=size * size) > 0
                shown = np.flatnonzero(used)
                rows = np.bincount(keys, weights=self.sizes, minlength=size * size)[shown]
            else:
                shown, place = np.unique(keys, return_inverse=True)
                rows = np.bincount(place, weights=self.sizes, minlength=len(shown))
            found.append(
                ((shown // size).astype(np.int32), (shown % size).astype(np.int32), rows.astype(np.int64))
            )
        return tuple(found)

    @cached_property
    def groups(self) -> Groups:
        """The classes as group models see them; the buckets, where values were shuffled within buckets, split by the
        quasi-identifiers that were shuffled together with sensitive values.

        The release itself counts as the whole table (for t-closeness); `Evidence.groups` takes the original.
        """
        totals = [
            np.bincount(self.sensitive_codes[:, j], minlength=attribute.hierarchy.size).astype(np.int64)
            for j, attribute in enumerate(self.sensitive)
        ]
        number = self.candidates
        return group(number, int(number.max(initial=-1)) + 1, self.sensitive_codes, self.sensitive, totals)

    @cached_property
    def candidates(self) -> IntVector:
        """Row -> the group of rows whose sensitive values could also be the person's: its class, or the rows of its
        bucket with the same values in the quasi-identifiers that were shuffled with sensitive values.
        """
        linked = self.layout.shuffling.columns_with_sensitive
        if not linked:
            return self.part_of
        from shoal.kernels.grouping import distinct

        if self.readable:
            cells = np.hstack([ends[:, linked] for ends in self.cell_ranges])[self.class_of]
        elif isinstance(self.layout, Buckets) and self.layout.texts is not None:
            cells = self.layout.texts[:, linked][self.class_of]
        else:
            return self.class_of  # A finer grouping than needed, so it never overstates privacy.
        return distinct(np.asfortranarray(np.column_stack([self.part_of, cells])))[0]
