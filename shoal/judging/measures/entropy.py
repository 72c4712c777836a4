"""Loss in bits: how uncertain the original value is, given the cell (Gionis and Tassa 2009)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import CellMeasure, Measure, Needs, Reported
from shoal.release.value_sets import column_sets
from shoal.support.arrays import FloatVector, IntVector, LongVector

Ends = tuple[FloatVector, FloatVector]


def _count_logs(counts: LongVector) -> FloatVector:
    """Return f log2 f of each count, 0 for 0."""
    logs: FloatVector = np.log2(np.maximum(counts, 1).astype(np.float64))
    return np.multiply(counts, logs)


def _prefix(values: FloatVector | LongVector) -> FloatVector:
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


def _bits(rows: Ends, logs: Ends) -> FloatVector:
    """Return the entropy of distributions with counts f, from prefix sums of f and of f log2 f, given by pairs of ends.
    What is no more than the rounding of these sums is 0.
    """
    some = np.maximum(rows[1] - rows[0], 1.0)
    bits = np.log2(some) - (logs[1] - logs[0]) / some
    noise = 8 * np.finfo(np.float64).eps * (np.log2(some) + logs[1] / some)
    return np.where(bits > noise, bits, 0.0)


class Entropy(CellMeasure):
    """Mean entropy of the original value within the cell.

    One cell may lose more than the whole domain: values {a: 1, b: 1, c: 1000} are nearly certain as a whole,
    while the cell {a, b} hides a full bit. So it is not monotone for single ranges, but it is on average over a whole
    column in which every value is generalized to one level.
    """

    name: ClassVar[str] = "entropy"
    reported: ClassVar[Reported] = Reported(terminal=True)
    summary: ClassVar[str] = "mean entropy of the original value given the cell, in bits"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    monotone: ClassVar[bool] = False
    sets_lose_less: ClassVar[bool] = True

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the entropy of the column restricted to each range, in bits. O(1) per range, O(domain) once."""
        rows, logs = _prefix(counts), _prefix(_count_logs(counts))
        bits = _bits((rows[low], rows[high + 1]), (logs[low], logs[high + 1]))
        return np.where(np.asarray(low) == high, 0.0, bits)

    def set_loss(
        self, attribute: Attribute, counts: LongVector, start: LongVector, codes: IntVector
    ) -> FloatVector:
        """Return the entropy of the column restricted to each set, in bits."""
        rows, logs = _prefix(counts[codes]), _prefix(_count_logs(counts)[codes])
        bits = _bits((rows[start[:-1]], rows[start[1:]]), (logs[start[:-1]], logs[start[1:]]))
        return np.where(np.diff(start) == 1, 0.0, bits)


class NonUniformEntropy(Measure):
    """Mean of -log2 Pr(original value of the row | cell): rare values lose more in the same cell.

    Every cell that covers its owner's value adds log2 of the rows that the cell covers in its column, minus log2 of
    the rows with the value. The second term does not depend on the release, so everything is computed per class,
    except the check that cells cover their owners' values. A cell that does not (permuted values) makes the result
    infinite. To steer a search by it, use `entropy`: both agree on average over the rows that a cell may stand for.
    """

    name: ClassVar[str] = "entropy-nonuniform"
    summary: ClassVar[str] = "mean of -log2 of the probability of the row's own value given its cell, in bits"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True, owner=True)
    reported: ClassVar[Reported] = Reported(default=False)

    def compute(self, evidence: Evidence) -> float:
        """Average over all rows of the original; a suppressed row shows the whole domain.

        O(rows x quasi-identifiers).
        """
        published, original, owner = evidence.published, evidence.table, evidence.owner
        assert original is not None
        assert owner is not None
        low, high = published.cell_ranges
        total = weights = 0.0
        for j, attribute in enumerate(published.attributes):
            counts = original.value_counts[j]
            own = original.quasi.narrow[j][owner]
            if published.sets is not None:
                start, codes = column_sets(published.sets, len(published.attributes), j)
                prefix = _prefix(counts[codes])
                covered = prefix[start[1:]] - prefix[start[:-1]]
                size = attribute.hierarchy.size
                held = np.repeat(np.arange(len(start) - 1) * size, np.diff(start)) + codes
                inside = np.isin(published.class_of.astype(np.int64) * size + own, held)
            else:
                prefix = _prefix(counts)
                covered = prefix[high[:, j] + 1] - prefix[low[:, j]]
                inside = (own >= low[published.class_of, j]) & (own <= high[published.class_of, j])
            if not inside.all():
                return float("inf")
            bits = float(np.log2(np.maximum(covered, 1.0)) @ published.sizes)
            bits += (original.rows - published.rows) * math.log2(max(original.rows, 1))
            own_bits = float(_count_logs(counts).sum())
            # What is no more than the rounding of the two sums is 0.
            total += attribute.weight * (bits - own_bits if bits > own_bits * (1 + 1e-12) else 0.0)
            weights += attribute.weight
        share = weights * original.rows
        return max(total, 0.0) / share if share else 0.0
