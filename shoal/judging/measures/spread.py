"""A release as distributions: the rows of a class are spread evenly over the values that the class covers, and
suppressed rows over the whole domain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.coding import CodedTable
from shoal.judging.linking.evidence import Evidence
from shoal.release.published import Published
from shoal.release.value_sets import column_sets
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector

Values = NDArray[np.float64]
"""A number per code, or several: ``[codes]`` or ``[codes, numbers]``."""
SHUFFLED = "values were shuffled within buckets, so a row of the release is not a record of one person"


class Cells:
    """The distinct cells of one column, and which of them each record shows."""

    def __init__(self, size: int, place: LongVector) -> None:
        self.size, self.place = size, place

    @property
    def first(self) -> LongVector:
        """The first code of each record's cell."""
        raise NotImplementedError

    @property
    def is_exact(self) -> BoolVector:
        """Whether each record's cell is a single value."""
        raise NotImplementedError

    def share(self, first: int, last: int) -> FloatVector:
        """Return the share of each record's cell that lies in a range of codes."""
        raise NotImplementedError

    def sums(self, values: Values) -> Values:
        """Return, per distinct cell, the sum of the numbers of the codes that it covers."""
        raise NotImplementedError

    def each(self, values: Values) -> Values:
        """Return, per distinct cell, the mean of the numbers of the codes that it covers."""
        counts = self.sums(np.ones(self.size))
        return self.sums(values) / counts.reshape(-1, *[1] * (values.ndim - 1))

    def mean(self, values: Values) -> Values:
        """Return, per record, the mean of the numbers of the codes that its cell covers."""
        return self.each(values)[self.place]


class Ranges(Cells):
    """Cells that are ranges of codes."""

    def __init__(self, size: int, begin: LongVector, end: LongVector, place: LongVector) -> None:
        super().__init__(size, place)
        self.begin, self.end = begin, end

    @property
    def first(self) -> LongVector:
        """The first code of each record's range."""
        return self.begin[self.place]

    @property
    def is_exact(self) -> BoolVector:
        """Whether each record's range is a single value."""
        return np.asarray((self.begin == self.end)[self.place], np.bool_)

    def share(self, first: int, last: int) -> FloatVector:
        """Return the share of each record's range that lies in a range of codes."""
        shared = np.minimum(self.end, last) - np.maximum(self.begin, first) + 1
        shares: FloatVector = np.maximum(shared, 0) / (self.end - self.begin + 1)
        return shares[self.place]

    def sums(self, values: Values) -> Values:
        """Return differences of running sums; a single value is taken as it is. O(codes + ranges)."""
        upto = np.concatenate((np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0, dtype=np.float64)))
        found: Values = upto[self.end + 1] - upto[self.begin]
        single = self.begin == self.end
        found[single] = values[self.begin[single]]
        return found


class Sets(Cells):
    """Cells that are sets of codes; the last of them is the whole domain."""

    def __init__(self, size: int, start: LongVector, codes: IntVector, place: LongVector) -> None:
        super().__init__(size, place)
        self.start = np.append(start, start[-1] + size)
        self.codes = np.concatenate((codes, np.arange(size, dtype=codes.dtype)))

    @property
    def first(self) -> LongVector:
        """The first code of each record's set."""
        return np.asarray(self.codes[self.start[:-1]][self.place], np.int64)

    @property
    def is_exact(self) -> BoolVector:
        """Whether each record's set is a single value."""
        return np.asarray((np.diff(self.start) == 1)[self.place], np.bool_)

    def share(self, first: int, last: int) -> FloatVector:
        """Return the share of each record's set that lies in a range of codes."""
        inside = np.arange(self.size)
        return self.mean(((inside >= first) & (inside <= last)).astype(np.float64))

    def sums(self, values: Values) -> Values:
        """Return the sum over each set. O(codes in all sets)."""
        found: Values = np.add.reduceat(np.asarray(values, np.float64)[self.codes], self.start[:-1], axis=0)
        return found


class Spread:
    """The records of a release: rows that show the same, counted, and suppressed rows as one more record, which shows
    the whole domain of every column.
    """

    def __init__(self, published: Published, *, sensitive: bool = False) -> None:
        """Records differ by their quasi-identifiers, and if asked also by their `sensitive` values. O(rows)."""
        low, high = published.cell_ranges
        class_of: Any = np.arange(published.classes)
        rows, secrets = published.sizes, published.sensitive_codes[:0]
        if sensitive and published.sensitive:
            from shoal.kernels.grouping import distinct

            both = np.column_stack([published.class_of, published.sensitive_codes]).astype(np.int32)
            number, first = distinct(np.asfortranarray(both))
            rows, class_of = np.bincount(number, minlength=len(first)), published.class_of[first]
            secrets = published.sensitive_codes[first]
        self.rows: FloatVector = np.append(rows, published.suppressed).astype(np.float64)
        self.columns: list[Cells] = []
        for j, attribute in enumerate(published.attributes):
            size = attribute.hierarchy.size
            if published.sets is not None:
                start, codes = column_sets(published.sets, len(published.attributes), j)
                self.columns.append(Sets(size, start, codes, np.append(class_of, published.classes)))
                continue
            keys = low[:, j].astype(np.int64) * size + high[:, j]
            shown, place = np.unique(np.append(keys, size - 1), return_inverse=True)
            self.columns.append(
                Ranges(size, shown // size, shown % size, np.append(place[class_of], place[-1]))
            )
        for j, attribute in enumerate(published.sensitive if sensitive else ()):
            size = attribute.hierarchy.size
            ends = np.append(np.arange(size), size - 1)
            self.columns.append(
                Ranges(
                    size, np.append(np.arange(size), 0), ends, np.append(secrets[:, j], size).astype(np.int64)
                )
            )

    @property
    def is_exact(self) -> bool:
        """Whether every record that stands for a row shows single values."""
        counted = self.rows > 0
        return all(bool(column.is_exact[counted].all()) for column in self.columns)

    @classmethod
    def of_rows(cls, table: CodedTable) -> Spread:
        """Return the rows of an original table as records, with quasi-identifiers and sensitive columns. O(rows)."""
        from shoal.kernels.grouping import distinct

        columns = (*table.attributes, *table.sensitive)
        codes = np.column_stack([table.quasi.wide, table.secrets.wide]).astype(np.int32)
        number, first = distinct(np.asfortranarray(codes))
        found = cls.__new__(cls)
        found.rows = np.bincount(number, minlength=len(first)).astype(np.float64)
        found.columns = []
        for j, attribute in enumerate(columns):
            own = np.arange(attribute.hierarchy.size)
            found.columns.append(Ranges(len(own), own, own, codes[first, j].astype(np.int64)))
        return found


def records_unknown(evidence: Evidence) -> str | None:
    """Return why rows of a release cannot be taken as records with sensitive values, or None."""
    if evidence.table is not None and not evidence.table.rows_known:
        return "needs the rows of the original, and only counts of them are known"
    if evidence.published.in_buckets:
        return SHUFFLED
    return None
