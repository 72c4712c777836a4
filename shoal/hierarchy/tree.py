"""`Hierarchy`: the values of one column in an order in which every permitted node is a run of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from shoal.errors import HierarchyError, did_you_mean

ROOT = "*"


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a hierarchy: nodes side by side, which together tile all codes."""

    starts: IntVector
    """First code of each node, ascending; the first is 0."""
    names: pl.Series
    """Name of each node (String); null where the node is the null value alone."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Leaf values in code order, and levels of nodes above them, each a run of codes.

    Level 0 holds the leaves themselves, the last level the root (or, under a generalization limit, the
    highest permitted nodes). The node of `code` at `level` is named by its first code, ``low[level, code]``;
    since that code belongs to the node, levels roll up: ``low[b, low[a, code]] == low[b, code]`` for a <= b.
    """

    leaves: pl.Series
    """Distinct values in code order, in the type of the data where the values allow it; null, if any, last."""
    levels: tuple[Level, ...]
    """At least two levels, from the leaves up, unless there is a single value."""
    free: bool = False
    """Any range of ordered codes may be published, not only the nodes."""
    ordered: int = 0
    """How many leading codes stand in a meaningful order (numbers, dates); 0 for categories.
    NaN and null come after them: a range never mixes them with ordered values, short of the root."""
    positions: FloatVector | None = None
    """Where each code lies on the number line, for losses by width; None for categories."""

    @property
    def size(self) -> int:
        """Number of leaves, those that the data does not contain included."""
        return len(self.leaves)

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.levels) - 1

    @cached_property
    def low(self) -> IntMatrix:
        """``[level, code]``: first code of the node that covers `code` at `level`."""
        low = np.empty((len(self.levels), self.size), np.int32)
        for index, level in enumerate(self.levels):
            widths = np.diff(level.starts, append=self.size)
            low[index] = np.repeat(level.starts, widths)
        return low

    @cached_property
    def high(self) -> IntMatrix:
        """``[level, code]``: last code of the node that covers `code` at `level`."""
        high = np.empty((len(self.levels), self.size), np.int32)
        for index, level in enumerate(self.levels):
            widths = np.diff(level.starts, append=self.size)
            high[index] = np.repeat(level.starts + widths - 1, widths)
        return high

    @cached_property
    def blocks(self) -> IntVector:
        """First code of the highest permitted node of each code: rows in different blocks never meet."""
        tops: IntVector = self.low[-1]
        return tops

    def lift(self, low: IntVector, high: IntVector) -> tuple[IntVector, IntVector]:
        """Return the smallest publishable range that covers each ``[low, high]``.

        O(levels) per range. Raises HierarchyError where a generalization limit permits no such range.
        """
        if self.free:
            mixed = (low != high) & (high >= self.ordered)
            return np.where(mixed, 0, low).astype(np.int32), np.where(mixed, self.size - 1, high).astype(
                np.int32
            )
        level = self.level_of(low, high)
        if np.any(level < 0):
            raise HierarchyError("a range of values lies under no permitted node of its hierarchy")
        return self.low[level, low], self.high[level, low]

    def level_of(self, low: IntVector, high: IntVector) -> IntVector:
        """Return the lowest level with one node over each ``[low, high]``; -1 where a limit permits none."""
        found = np.full(len(low), -1, np.int32)
        for index in range(len(self.levels) - 1, -1, -1):
            found[self.low[index, low] == self.low[index, high]] = index
        return found

    def limited(self, limit: int | Sequence[str]) -> Hierarchy:
        """Return this hierarchy cut off above `limit`: a level, or the names of the highest permitted nodes.

        Values under none of the named nodes may be generalized up to the root.
        """
        if isinstance(limit, int):
            if not 0 <= limit <= self.height:
                raise HierarchyError(
                    f"level {limit} does not exist: the hierarchy has levels 0 to {self.height}"
                )
            top = np.full(self.size, limit, np.int32)
        else:
            top = np.full(self.size, self.height, np.int32)
            for name in limit:
                low, high, level = self._find(name)
                inside = slice(low, high + 1)
                top[inside] = np.minimum(top[inside], level)
        levels = [self._capped(index, top) for index in range(len(self.levels))]
        while len(levels) > 1 and np.array_equal(levels[-1].starts, levels[-2].starts):
            levels.pop()
        return replace(self, levels=tuple(levels))

    def _find(self, name: str) -> tuple[int, int, int]:
        """Return low, high and level of the highest node of this name."""
        for index in range(len(self.levels) - 1, -1, -1):
            level = self.levels[index]
            hits = (level.names == name).fill_null(False).arg_true()
            if len(hits):
                low = int(level.starts[hits[0]])
                return low, int(self.high[index, low]), index
        names = [str(node) for level in self.levels for node in level.names if node is not None]
        raise HierarchyError(f"no node is called '{name}' ({did_you_mean(name, dict.fromkeys(names))})")

    def _capped(self, index: int, top: IntVector) -> Level:
        """Level `index`, where a code whose top level is lower shows its node of that lower level."""
        codes = np.arange(self.size)
        own = np.minimum(index, top)
        starts = np.unique(self.low[own, codes]).astype(np.int32)
        names = [self._name(int(own[start]), int(start)) for start in starts]
        return Level(starts, pl.Series("names", names, dtype=pl.String))

    def _name(self, level: int, code: int) -> str | None:
        nodes = self.levels[level]
        name: str | None = nodes.names[int(np.searchsorted(nodes.starts, code, side="right")) - 1]
        return name

    def names(self, low: IntVector, high: IntVector, level: int | None = None) -> pl.Series:
        """Return what is published for each range: a node's name, or ``[first, last]`` for a free range.

        With `level`, names are taken from that level, so that a whole column reads alike; otherwise from
        the lowest level that has the node.
        """
        out = pl.Series("names", [None] * len(low), dtype=pl.String)
        if level is not None:
            nodes = self.levels[level]
            return nodes.names.gather(np.searchsorted(nodes.starts, low, side="right") - 1)
        pending: BoolVector = np.ones(len(low), np.bool_)
        for index, nodes in enumerate(self.levels):
            here = pending & (self.low[index, low] == low) & (self.high[index, low] == high)
            if here.any():
                at = np.flatnonzero(here)
                out = out.scatter(
                    at, nodes.names.gather(np.searchsorted(nodes.starts, low[at], side="right") - 1)
                )
                pending &= ~here
        if pending.any():
            if not self.free:
                raise HierarchyError("a range of codes is no node of its hierarchy")
            at = np.flatnonzero(pending)
            leaf = self.levels[0].names
            ends = pl.DataFrame({"a": leaf.gather(low[at]), "b": leaf.gather(high[at])})
            out = out.scatter(at, ends.select(pl.format("[{}, {}]", "a", "b")).to_series())
        return out


def tiled(names: Sequence[pl.Series]) -> tuple[Level, ...]:
    """Make levels from one name per code and level, a new node beginning wherever the name changes.

    Codes must already stand in an order in which equal names are neighbours, and level 0 one node per code.
    """
    levels = [Level(np.arange(len(names[0]), dtype=np.int32), names[0].cast(pl.String))]
    for column in names[1:]:
        text = column.cast(pl.String)
        starts = np.flatnonzero(text.rle_id().diff().fill_null(1).to_numpy()).astype(np.int32)
        levels.append(Level(starts, text.gather(starts)))
    return tuple(levels)
