"""Loss of cells by what they cover: LM, NCP/GCP, levels of the hierarchy, IL."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.coding import Attribute
from shoal.judging.measures.measure import CellMeasure, Reported
from shoal.support.arrays import FloatVector, IntVector, LongVector


def leaf_share(attribute: Attribute, low: IntVector, high: IntVector) -> FloatVector:
    """Return (leaves covered - 1) / (leaves in the domain - 1); a domain of one value loses nothing."""
    return (np.asarray(high, np.float64) - low) / max(attribute.hierarchy.size - 1, 1)


def set_share(attribute: Attribute, start: LongVector, codes: IntVector) -> FloatVector:
    """Return (values in the set - 1) / (leaves in the domain - 1)."""
    tree, many = attribute.hierarchy, np.diff(start).astype(np.float64)
    if tree.hiding is not None:
        # The first code of a group stands for all its values, and the others for none.
        own = np.where(tree.low[0] == np.arange(tree.size), tree.high[0] - tree.low[0] + 1, 0)
        many = np.diff(np.concatenate(([0], np.cumsum(own[codes])))[start]).astype(np.float64)
    return (many - 1.0) / max(tree.size - 1, 1)


def width_share(attribute: Attribute, low: IntVector, high: IntVector) -> FloatVector:
    """Return the width of each range over the width of the domain.

    A range that mixes NaN or null with other values is as wide as the domain. For categories, and for numbers whose
    domain has no finite width, the number of leaves counts.
    """
    hierarchy = attribute.hierarchy
    if not hierarchy.by_width or hierarchy.positions is None:
        return leaf_share(attribute, low, high)
    line = hierarchy.positions[: hierarchy.ordered]
    if not np.isfinite(line).all() or line[-1] <= line[0]:
        return leaf_share(attribute, low, high)
    last = hierarchy.ordered - 1
    wide = (line[np.minimum(high, last)] - line[np.minimum(low, last)]) / (line[-1] - line[0])
    mixed = (low != high) & (high > last)
    return np.where(mixed, 1.0, wide)


def levels(attribute: Attribute, low: IntVector, high: IntVector) -> FloatVector:
    """Return the level of each range: the level of the lowest node that covers it.

    A free range that is not a node lies between two levels: its share of the node's leaves says how far it is from
    the level below to the node's own. So with two levels it counts as in LM. A range that no allowed node covers (a
    suppressed cell under a generalization limit) counts as the highest level.
    """
    hierarchy = attribute.hierarchy
    found = hierarchy.level_of(low, high)
    level = np.maximum(found, 0)
    raised = level.astype(np.float64)
    if hierarchy.free:
        leaves = hierarchy.high[level, low] - hierarchy.low[level, low]
        raised = np.where(leaves > 0, level - 1.0 + (high - low) / np.maximum(leaves, 1), 0.0)
    return np.where(found < 0, float(max(hierarchy.height, 1)), raised)


def level_share(attribute: Attribute, low: IntVector, high: IntVector) -> FloatVector:
    """Return the level of each range over the height of the hierarchy."""
    return levels(attribute, low, high) / max(attribute.hierarchy.height, 1)


class Lm(CellMeasure):
    """Loss metric (Iyengar 2002)."""

    name: ClassVar[str] = "lm"
    reported: ClassVar[Reported] = Reported(percent=True)
    summary: ClassVar[str] = "mean share of its domain that a cell covers, by number of values (0..1)"
    sets_lose_less: ClassVar[bool] = True

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the share of the other leaves that each range covers."""
        return leaf_share(attribute, low, high)

    def set_loss(
        self, attribute: Attribute, counts: LongVector, start: LongVector, codes: IntVector
    ) -> FloatVector:
        """Return the share of the other leaves that each set contains."""
        return set_share(attribute, start, codes)


class Gcp(CellMeasure):
    """Global certainty penalty: the mean normalized certainty penalty (Xu et al. 2006, Ghinita et al. 2007)."""

    name: ClassVar[str] = "gcp"
    reported: ClassVar[Reported] = Reported(terminal=True, percent=True)
    summary: ClassVar[str] = "mean share of its domain that a cell covers, numbers by width (0..1)"
    sets_lose_less: ClassVar[bool] = True

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the normalized certainty penalty of each range."""
        return width_share(attribute, low, high)

    def set_loss(
        self, attribute: Attribute, counts: LongVector, start: LongVector, codes: IntVector
    ) -> FloatVector:
        """Count distinct values, for numbers too: a set does not claim what lies between its values."""
        return set_share(attribute, start, codes)


class Precision(CellMeasure):
    """The level of cells in their hierarchies, relative to the height; one minus Sweeney's precision (2002)."""

    name: ClassVar[str] = "precision"
    reported: ClassVar[Reported] = Reported(percent=True)
    summary: ClassVar[str] = "mean level of a cell over the height of its hierarchy (0..1)"

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return level over height of each range."""
        return level_share(attribute, low, high)


class Ag(CellMeasure):
    """Amount of generalization: the sum of the levels by which all cells were raised."""

    name: ClassVar[str] = "ag"
    summary: ClassVar[str] = "sum over all cells of the levels by which they were generalized"
    total: ClassVar[bool] = True

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the level of each range."""
        return levels(attribute, low, high)


class Il(CellMeasure):
    """Information loss of a clustering (Byun et al. 2007): numbers by width, categories by height."""

    name: ClassVar[str] = "il"
    summary: ClassVar[str] = (
        "sum over all cells of width over domain (numbers) or height over tree (categories)"
    )
    total: ClassVar[bool] = True

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the share of the width, or of the height, of each range."""
        if attribute.hierarchy.by_width:
            return width_share(attribute, low, high)
        return level_share(attribute, low, high)
