"""What the driver knows about a table whose rows are elsewhere: counts, weighted combinations, sums of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.groups import Groups, Histograms
from shoal.judging.case import Case
from shoal.judging.linking.reidentification import Risk, assess
from shoal.judging.models.model import Model
from shoal.judging.truthfulness import Truthfulness
from shoal.release.published import Published
from shoal.release.verdict import Verdict
from shoal.support.arrays import IntMatrix, IntVector, LongVector

Ranges = tuple[tuple[Any, Any, LongVector], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Counted(CodedTable):
    """A table of which the counts of each column are known, and one row of each block, but no other row."""

    rows_known: ClassVar[bool] = False
    total: int = 0
    """How many rows the table has."""
    block_groups: Groups | None = None
    """The blocks as groups; None: there is one block, the whole table."""

    @property
    def rows(self) -> int:
        """Number of rows of the whole table."""
        return self.total

    @property
    def block_of(self) -> IntVector:
        """Known row -> block."""
        return np.arange(self.quasi.rows, dtype=np.int32)

    def _group_blocks(self) -> Groups:
        if self.block_groups is not None:
            return self.block_groups
        return self.as_groups(
            np.array([self.total], np.int64), [count[None, :] for count in self.counting.totals]
        )

    def as_groups(self, sizes: LongVector, histograms: list[Any]) -> Groups:
        """Make groups from their sizes and dense histograms, ``[groups, codes]`` per sensitive column."""
        found = []
        for counts in histograms:
            group, value = np.nonzero(counts)
            start = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=len(sizes)))))
            found.append(Histograms(start.astype(np.int64), value.astype(np.int32), counts[group, value]))
        return Groups(sizes, tuple(found), self.counting.totals, self.sensitive)


@dataclass(frozen=True, eq=False, repr=False)
class Weighted(Counted):
    """The distinct combinations of a table's codes, each with the number of its rows."""

    many: LongVector = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def weights(self) -> LongVector:
        """How many rows each combination stands for."""
        return self.many

    @property
    def block_of(self) -> IntVector:
        """Combination -> block."""
        from shoal.kernels.grouping import distinct

        tops = [a.hierarchy.blocks[own] for a, own in zip(self.attributes, self.quasi.narrow, strict=True)]
        number: IntVector = distinct(np.asfortranarray(np.stack(tops, axis=1)))[0]
        return number

    def _group_blocks(self) -> Groups:
        from shoal.coding.groups import group

        number = self.block_of
        count = int(number.max(initial=0)) + 1
        return group(number, count, self.secrets.wide, self.sensitive, self.counting.totals, self.many)

    @property
    def unique(self) -> int:
        """How many rows are alone with their quasi-identifiers."""
        from shoal.kernels.grouping import distinct

        number, first = distinct(self.quasi.wide)
        rows = np.bincount(number, weights=self.many, minlength=len(first))
        return int(np.count_nonzero(rows == 1))


@dataclass(frozen=True, eq=False, repr=False)
class Tallied(Published):
    """Published rows of which only sums are known: sizes of classes, and how many rows show each range."""

    published_rows: int = 0
    class_sizes: LongVector = field(default_factory=lambda: np.empty(0, np.int64))
    shown: Ranges | None = None
    labels: Mapping[str, Mapping[str | None, int]] = field(default_factory=dict)
    """Per quasi-identifier how many rows show each text; not for columns with too many."""

    @property
    def rows(self) -> int:
        """Number of published rows."""
        return self.published_rows

    @property
    def sizes(self) -> LongVector:
        """``[classes]`` rows in each class, from the smallest."""
        return self.class_sizes

    @property
    def ranges(self) -> Ranges | None:
        """Per quasi-identifier the distinct ranges that are shown, and how many rows show them."""
        return self.shown if self.readable else None


class NotCompared(Truthfulness):
    """Whether the release is true of its original is not known, because that takes a matching of all rows."""

    truth = None

    def notes(self) -> Iterator[str]:
        """Say so, if there is an original."""
        if self.case.table is not None:
            yield "not judged on Spark: whether the release is truthful; the local engine compares all rows"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClusterCase(Case):
    """A release that tasks have judged, class by class: verdicts come from them, figures from their sums."""

    judged: Mapping[int, Verdict]
    """By the place of their model in `Requirements.all_models`."""
    unique_before: float = float("nan")

    def count_texts(self, column: str) -> tuple[pl.Series, LongVector] | None:
        """Return the distinct texts of a quasi-identifier, and how many rows show each; None where it is not known."""
        assert isinstance(self.published, Tallied)
        rows = self.published.labels.get(column)
        if rows is None:
            return None
        return pl.Series(list(rows), dtype=pl.String), np.array(list(rows.values()), np.int64)

    @cached_property
    def truthfulness(self) -> Truthfulness:
        """The comparison with the original, which is not made."""
        return NotCompared(self)

    @cached_property
    def notes_on_following(self) -> tuple[str, ...]:
        """Nothing: the driver sees no pseudonyms."""
        return ()

    def _verdict(self, model: Model) -> Verdict:
        found = self.judged.get(self.requirements.all_models.index(model))
        return model.verify(self) if found is None else found

    @property
    def risk(self) -> Risk:
        """All risks of re-identification."""
        # Tasks have codes, which do not tell hidden values apart: how many rows were alone is not known then.
        hidden = any(attribute.hierarchy.hiding is not None for attribute in self.published.attributes)
        before = float("nan") if hidden else self.unique_before
        return replace(assess(self.published, None, sizes=self.sizes), unique_before=before)


def empty_codes(columns: int) -> IntMatrix:
    """Return codes of no rows."""
    return np.empty((0, columns), np.int32, order="F")


def no_rows(names: list[str]) -> pl.DataFrame:
    """Return a table without rows."""
    return pl.DataFrame({name: [] for name in names})
