"""What a measure is: one number for what a release has lost, or for the risk that it leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from shoal.arrays import FloatVector, IntVector, LongVector
from shoal.published import Published
from shoal.table import Attribute, CodedTable


class Measure(ABC):
    """A number that describes a release. Registered in measures/__init__.py."""

    name: ClassVar[str]
    """The key in the registry and in ``--json``."""
    summary: ClassVar[str]
    needs_original: ClassVar[bool] = False
    lower_is_better: ClassVar[bool] = True
    default: ClassVar[bool] = True
    """Reported without being asked for; False for expensive ones."""

    @abstractmethod
    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Measure a release. NaN where it cannot be known without the original."""


class CellMeasure(Measure):
    """The mean over rows of the weighted mean over cells of a loss that depends on the cell's range alone.

    A suppressed row loses as much as a row of which every cell shows the whole domain.
    Such measures can steer every search: the loss of a range is known before any grouping.
    """

    @abstractmethod
    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the loss of showing each range ``[low, high]`` of the attribute; `counts` is how often each
        code occurs in the original column. Growing with the range, 0 for a single value.
        """

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Average the loss over all rows, suppressed ones included."""
        if published.low is None or published.high is None:
            return float("nan")
        if self.needs_original and original is None:
            return float("nan")
        rows = published.rows + published.suppressed
        if rows == 0:
            return 0.0
        total = weights = 0.0
        for j, attribute in enumerate(published.attributes):
            size = attribute.hierarchy.size
            counts = original.value_counts[j] if original is not None else np.ones(size, np.int64)
            cells = self.loss(attribute, counts, published.low[:, j], published.high[:, j])
            ends = np.array([0], np.int32), np.array([size - 1], np.int32)
            worst = float(self.loss(attribute, counts, *ends)[0])
            total += attribute.weight * (float(cells @ published.sizes) + worst * published.suppressed)
            weights += attribute.weight
        return total / (weights * rows)


class ClassMeasure(Measure):
    """A number that depends on the sizes of the classes alone."""

    @abstractmethod
    def of_sizes(self, sizes: LongVector, suppressed: int, k: int) -> float:
        """Measure a release with classes of these sizes and so many suppressed rows."""

    @abstractmethod
    def bound(self, sizes: LongVector, k: int) -> float:
        """Return a lower bound for every release in which classes are unions of groups of these sizes, some
        of them possibly suppressed.
        """

    def value(self, published: Published, original: CodedTable | None, k: int) -> float:
        """Measure the published classes."""
        return self.of_sizes(published.sizes, published.suppressed, k)
