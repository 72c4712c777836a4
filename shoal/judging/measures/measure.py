"""What a measure is: one number for the information loss of a release, its usefulness or its risk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.coding import Attribute
from shoal.support.arrays import FloatVector, IntVector, LongVector

if TYPE_CHECKING:
    from shoal.judging.linking.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What must be known for a measure."""

    ranges: bool = False
    """Which values of its domain each published cell covers."""
    original: bool = False
    owner: bool = False
    """The owner of each published row: only the process that made the release can measure it."""
    classes: bool = False
    """It is about the size of equivalence classes as the crowd that hides a person. It says nothing about releases that
    generalize each row separately, or shuffle columns within buckets."""
    population: bool = False
    """The size of the population, which a policy must give."""
    weights: bool = False
    """Survey weights, for which a policy must name a column."""

    def find_gap(self, evidence: Evidence) -> str | None:
        """Return what of it is not known, or None."""
        if self.ranges and not evidence.published.readable:
            return "needs the original table, to find the published cells in their domains"
        if self.original and evidence.table is None:
            return "needs the original table"
        if self.owner and evidence.owner is None:
            return "needs to know which row of the original each published row comes from"
        if self.classes and not evidence.classes_tell:
            return "the size of an equivalence class does not say who can be found in this release"
        if self.classes and evidence.owners.unknown:
            return f"people cannot be counted: {evidence.owners.unknown}"
        return None


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Where Shoal reports a measure that nobody asked for, and how."""

    default: bool = True
    """In the record and the report; False for expensive measures."""
    terminal: bool = False
    """In the terminal, too, next to LM and the risk."""
    percent: bool = False
    """It is a share, 0 to 1, and is reported in percent."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What a measure of an analysis is about."""

    key: str = ""
    """The key of `[utility]` that names the analysis. If a policy has it, Shoal reports the measure."""
    assumes: bool = False
    """Without that key it takes what is likely, such as the first sensitive column, instead of being unknown."""
    library: str = ""
    """What must be installed: a module, and the extra of Shoal that has it, as in ``sklearn learn``."""


class Measure(ABC):
    """A number that describes a release. Registered in measures/__init__.py."""

    name: ClassVar[str]
    """The key in the registry and in ``--json``."""
    summary: ClassVar[str]
    needs: ClassVar[Needs] = Needs()
    reported: ClassVar[Reported] = Reported()
    analysis: ClassVar[Analysis] = Analysis()
    lower_is_better: ClassVar[bool] = True
    steers: ClassVar[str] = ""
    """What a search has to optimize so that this measure can steer it: ``cells``, ``classes``, or nothing."""

    def is_wanted(self, evidence: Evidence) -> bool:
        """Return whether Shoal reports this measure by default for this release."""
        named = () if evidence.table is None else evidence.table.context.purpose.given
        return self.reported.default or self.analysis.key in named

    def value(self, evidence: Evidence) -> float:
        """Measure a release. NaN if the value cannot be known, see `why_unknown`."""
        return float("nan") if self.why_unknown(evidence) else self.compute(evidence)

    @abstractmethod
    def compute(self, evidence: Evidence) -> float:
        """Measure a release whose value can be known."""

    def value_for_comparison(self, evidence: Evidence) -> float:
        """Return the value for comparing releases, which also counts the loss of false cells."""
        return self.value(evidence)

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why the value cannot be known from the given data, or None."""
        return self.needs.find_gap(evidence)


class CellMeasure(Measure):
    """The mean over rows of the weighted mean over cells of a loss that depends on the cell's range alone.

    A suppressed row loses as much as a row whose cells all show the whole domain.
    Such measures can steer every search: the loss of a range is known before any grouping.
    """

    needs: ClassVar[Needs] = Needs(ranges=True)
    steers: ClassVar[str] = "cells"
    monotone: ClassVar[bool] = True
    """A wider range never loses less, so the loss of finer cells is a lower bound for coarser ones."""
    total: ClassVar[bool] = False
    """Report the weighted sum over rows and cells instead of the mean; searches may use either."""

    sets_lose_less: ClassVar[bool] = False
    """A set of values loses less than the range between its ends."""

    @abstractmethod
    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the loss of showing each range ``[low, high]`` of the attribute; `counts` is how often each
        code occurs in the original column. 0 for a single value; it grows with the range if `monotone`.
        """

    def set_loss(
        self, attribute: Attribute, counts: LongVector, start: LongVector, codes: IntVector
    ) -> FloatVector:
        """Return the loss of showing each set ``codes[start[i]:start[i + 1]]`` (ascending, not empty).

        By default, a set loses as much as the range between its ends.
        """
        ends = attribute.hierarchy.wholly(codes[start[:-1]], codes[start[1:] - 1])
        return self.loss(attribute, counts, *ends)

    def column_losses(self, evidence: Evidence) -> FloatVector:
        """Return, per quasi-identifier, the sum of the loss over all rows, suppressed ones included."""
        # Late, because a policy is checked before polars is imported.
        from shoal.release.value_sets import column_sets

        published, table = evidence.published, evidence.table
        losses = np.zeros(len(published.attributes))
        for j, attribute in enumerate(published.attributes):
            size = attribute.hierarchy.size
            if size == 0:
                continue
            known = self.needs.original and table is not None
            counts = table.value_counts[j] if known and table else np.ones(size, np.int64)
            if published.sets is not None:
                start, codes = column_sets(published.sets, len(published.attributes), j)
                shown, rows = self.set_loss(attribute, counts, start, codes), published.sizes
            else:
                assert published.ranges is not None
                low, high, rows = published.ranges[j]
                shown = self.loss(attribute, counts, low, high)
            losses[j] = shown @ rows
            if published.suppressed:
                ends = np.array([0], np.int32), np.array([size - 1], np.int32)
                losses[j] += published.suppressed * self.loss(attribute, counts, *ends)[0]
        return losses

    def compute(self, evidence: Evidence) -> float:
        """Average (or sum) the loss over all rows, suppressed ones included.

        O(classes x quasi-identifiers) at most.
        """
        return self._mean(evidence, self.column_losses(evidence))

    def value_for_comparison(self, evidence: Evidence) -> float:
        """Return the value if every false cell were wide enough to be true: widened to the smallest node or range that
        also covers its owner's value. O(rows x quasi-identifiers) if owners are known.
        """
        if self.why_unknown(evidence):
            return float("nan")
        return self._mean(evidence, self.column_losses(evidence) + self._false_losses(evidence))

    def _false_losses(self, evidence: Evidence) -> FloatVector:
        """Return, per quasi-identifier, what false cells would lose more if they were true, summed over all rows."""
        published, table, owner = evidence.published, evidence.table, evidence.owner
        more = np.zeros(len(published.attributes))
        if table is None or owner is None or published.sets is not None or published.in_buckets:
            return more
        all_low, all_high = published.cell_ranges
        for j, attribute in enumerate(published.attributes):
            own = table.quasi.narrow[j][owner].astype(np.int32)
            low, high = all_low[published.class_of, j], all_high[published.class_of, j]
            false = (own < low) | (own > high)
            if not false.any():
                continue
            own, low, high = own[false], low[false], high[false]
            tree, counts = attribute.hierarchy, table.value_counts[j]
            first, last = np.minimum(own, low), np.maximum(own, high)
            # A limit forbids every node over values of two blocks: then nothing is left of the value.
            apart = tree.blocks[first] != tree.blocks[last]
            first, last = np.where(apart, 0, first), np.where(apart, tree.size - 1, last)
            together = ~apart
            first[together], last[together] = tree.lift(first[together], last[together])
            more[j] = float(
                (self.loss(attribute, counts, first, last) - self.loss(attribute, counts, low, high)).sum()
            )
        return more

    def _mean(self, evidence: Evidence, losses: FloatVector) -> float:
        published = evidence.published
        weights = np.array([attribute.weight for attribute in published.attributes], np.float64)
        loss = float(losses @ weights)
        share = float(weights.sum()) * (published.rows + published.suppressed)
        if self.total or share == 0:
            return loss
        return loss / share


class SizeMeasure(Measure):
    """A number that depends on the sizes of the classes alone, or on those of the buckets if columns were shuffled
    within them.
    """

    @abstractmethod
    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """Measure a release with classes of these sizes, and this number of suppressed rows."""

    def compute(self, evidence: Evidence) -> float:
        """Measure the published classes, or buckets."""
        return self.of_sizes(evidence.published.part_sizes, evidence.published.suppressed, evidence.k)


class ClassMeasure(SizeMeasure):
    """A measure of sizes that searches can minimize."""

    steers: ClassVar[str] = "classes"
    floor_adds: ClassVar[bool] = False
    """What suppressed rows cost is not contained in `bound`."""

    @abstractmethod
    def bound(self, sizes: LongVector, k: int) -> float:
        """Return a lower bound for every release in which classes have at least k rows and are unions of groups of
        these sizes, some of them possibly suppressed.
        """

    @abstractmethod
    def floor(self, kept: LongVector, lost: LongVector, sizes: LongVector, k: int) -> float:
        """Return a lower bound for every release in which classes of at least k rows lie within groups that keep at
        most so many rows each; `lost` is how many rows are suppressed at least in groups of these `sizes`. If
        `floor_adds`, it comes on top of `bound` for any division of these groups.
        """
