"""`Hierarchy`: the values of one column in an order in which every allowed node is a contiguous range of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.coding.hierarchy.distinct_values import (
    all_days,
    all_whole,
    meant_by,
    plain_text,
    text_of,
    without_zeros,
)
from shoal.coding.hierarchy.label_parser import build_name_table, locate, read_names
from shoal.coding.hierarchy.labels import INTERVAL, Ends, Naming, style_of
from shoal.coding.hierarchy.labels import ROOT as ROOT
from shoal.errors import HierarchyError, did_you_mean
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from shoal.coding.hierarchy.kinds.kind import Kind


@dataclass(frozen=True, eq=False, repr=False)
class Level(Brief):
    """One level of a hierarchy: adjacent nodes that together cover all codes."""

    starts: IntVector
    """First code of each node, ascending; the first is 0."""
    names: pl.Series
    """Name of each node (String); null if the node is only the null value."""


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Brief):
    """Leaf values in code order, and levels of nodes above them, each a contiguous range of codes.

    Level 0 holds the leaves themselves, or groups of values that are never told apart (see `hiding`), the last level
    the root (or, under a generalization limit, the highest allowed nodes). The node of `code` at `level` is named by
    its first code, ``low[level, code]``; since that code belongs to the node, levels roll up:
    ``low[b, low[a, code]] == low[b, code]`` for a <= b.
    """

    leaves: pl.Series
    """Distinct values in code order, in the type of the data if the values allow it; null, if any, last."""
    levels: tuple[Level, ...]
    """At least two levels, from the leaves up, unless there is a single value."""
    free: bool = False
    """Any range of ordered codes may be published, not only the nodes."""
    ordered: int = 0
    """How many leading codes have a meaningful order (numbers, dates); 0 for categories.
    NaN and null come after them: only the root covers both them and ordered values."""
    positions: FloatVector | None = None
    """Where each code lies on the number line; None if the values are not numbers or dates."""
    category: bool = False
    """The levels come from a tree that somebody wrote. Then the values are categories for every loss, even if they look
    like numbers: zip codes have no width."""
    naming: Naming | None = None
    """How names depend on the values that are published; None if they follow from the policy alone."""

    def __post_init__(self) -> None:
        """Name free ranges by their ends, unless they have names of their own."""
        if self.free and self.naming is None:
            object.__setattr__(self, "naming", INTERVAL)

    aliases: tuple[Level, ...] = ()
    """Levels with the nodes of the highest one under other names, which a limit left: read, but never published."""
    grown: bool = False
    """How many levels there are depends on the values of the data, such as on the longest one."""
    hiding: Kind | None = None
    """The kind, if a node of level 0 stands for values that are never shown as they are, such as `90+`. All of them
    have the first code of their node, so no method can tell them apart."""
    unlimited: Hierarchy | None = None
    """The hierarchy without its generalization limit, to tell names above the limit from unknown ones; None if there is
    no limit that removes a node."""

    @property
    def by_width(self) -> bool:
        """Ranges lose by their width: the values are numbers or dates, and no tree makes them categories."""
        return not self.category and self.positions is not None and self.ordered > 0

    @property
    def in_order(self) -> bool:
        """The order of the codes means something: numbers, dates, the order of a tree that somebody wrote, or at most
        two values. The alphabet is no order of what texts mean."""
        return self.ordered > 0 or self.category or self.size <= 2

    @property
    def size(self) -> int:
        """Number of leaves, including those that the data does not have."""
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
            low[index] = np.repeat(level.starts, self._widths(level))
        return low

    @cached_property
    def high(self) -> IntMatrix:
        """``[level, code]``: last code of the node that covers `code` at `level`."""
        high = np.empty((len(self.levels), self.size), np.int32)
        for index, level in enumerate(self.levels):
            widths = self._widths(level)
            high[index] = np.repeat(level.starts + widths - 1, widths)
        return high

    def _widths(self, level: Level) -> IntVector:
        return np.diff(level.starts, append=np.int32(self.size))

    @cached_property
    def own_names(self) -> pl.Series:
        """What a cell shows that stands for one code: the name of its node at level 0."""
        level = self.levels[0]
        if len(level.starts) == self.size:
            return level.names
        return level.names.gather(np.repeat(np.arange(len(level.starts)), self._widths(level)))

    def value_names(self, seen: BoolVector | None) -> pl.Series:
        """Return what a cell shows that stands for one code, if published rows have the codes that are `seen`: numbers
        without a fraction and moments without a time, unless one of theirs has one; texts as the numbers, dates or
        times that all of theirs are."""
        codes = np.flatnonzero(~self.hidden if seen is None else seen & ~self.hidden)
        values = self.leaves.gather(codes)
        if self.by_meaning:
            meant = meant_by(values)
            return (
                self.own_names
                if meant is values
                else self.own_names.clone().scatter(codes, plain_text(meant))
            )
        return self._whole_names if all_whole(values) or all_days(values) else self.own_names

    @property
    def all_value_names(self) -> tuple[pl.Series, ...]:
        """What cells that stand for one code may show, whatever published rows have."""
        return (self.own_names, self._whole_names) if self._may_be_whole else (self.own_names,)

    @cached_property
    def _whole_names(self) -> pl.Series:
        return without_zeros(self.own_names)

    @property
    def by_meaning(self) -> bool:
        """Texts are shown as the numbers, dates or times that they are, if all that are published are such. Trees and
        masks show what is written."""
        if self.leaves.dtype != pl.String or self.category or self.hiding is not None:
            return False
        return self.height <= 1 if self.naming is None else self.naming.by_meaning

    def in_line(self, seen: BoolVector | None) -> int:
        """Return how many leading codes have a meaningful order, if published rows have the codes that are `seen`."""
        if not self.by_meaning or self.ordered:
            return self.ordered
        style = style_of(self.leaves if seen is None else self.leaves.filter(pl.Series(seen)))
        return self.size - self.leaves.null_count() if style == INTERVAL else 0

    @property
    def _may_be_whole(self) -> bool:
        """Whether values may be written without a fraction, or without a time."""
        dtype = self.leaves.dtype
        return dtype.is_float() or (isinstance(dtype, pl.Datetime) and dtype.time_zone is None)

    @cached_property
    def hidden(self) -> BoolVector:
        """Which codes are never shown as their value."""
        if self.hiding is None:
            return np.zeros(self.size, np.bool_)
        alike = self.own_names.eq_missing(text_of(self.leaves)).to_numpy()
        found: BoolVector = ~alike | (self.high[0] > self.low[0])
        return found

    def merge_hidden(self, codes: IntVector) -> IntVector:
        """Replace each code by the first code of its node at level 0, so that hidden values share a code; -1 stays."""
        if self.hiding is None:
            return codes
        return np.where(codes < 0, -1, self.low[0][np.maximum(codes, 0)]).astype(np.int32)

    def wholly(self, low: IntVector, high: IntVector) -> tuple[IntVector, IntVector]:
        """Return each range with all codes that are not told apart from its ends."""
        return (low, high) if self.hiding is None else (self.low[0][low], self.high[0][high])

    def values(self, codes: IntVector) -> pl.Series:
        """Return what cells show that stand for one code each: values in their type, or names if some are hidden."""
        if self.hiding is not None and self.hidden[codes].any():
            return self.own_names.gather(codes)
        return self.leaves.gather(codes)

    @cached_property
    def blocks(self) -> IntVector:
        """First code of the highest allowed node of each code: rows of different blocks never share a class."""
        tops: IntVector = self.low[-1]
        return tops

    def lift(self, low: IntVector, high: IntVector) -> tuple[IntVector, IntVector]:
        """Return the smallest publishable range that covers each ``[low, high]``.

        O(levels) per range. Raises HierarchyError if a generalization limit forbids such a range.
        """
        if self.free:
            mixed = (low != high) & (high >= self.ordered)
            first, last = np.where(mixed, 0, low), np.where(mixed, self.size - 1, high)
            return self.wholly(first.astype(np.int32), last.astype(np.int32))
        level = self.level_of(low, high)
        if np.any(level < 0):
            raise HierarchyError("no allowed node of the hierarchy covers a range of values")
        return self.low[level, low], self.high[level, low]

    def level_of(self, low: IntVector, high: IntVector) -> IntVector:
        """Return the lowest level with one node over each ``[low, high]``; -1 if a limit forbids all.

        O(levels) per range; stops looking at a range once its level is found.
        """
        found = np.full(len(low), -1, np.int32)
        pending = np.arange(len(low))
        for index in range(len(self.levels)):
            same = self.high[index, low[pending]] >= high[pending]
            found[pending[same]] = index
            pending = pending[~same]
            if not len(pending):
                break
        return found

    # --- limits -------------------------------------------------------------------------------------------

    def with_limit(self, limit: int | Sequence[str]) -> Hierarchy:
        """Return this hierarchy without what is above `limit`: a level, or the names of the highest allowed nodes.

        A value may be generalized up to the first named node on its way to the root; values under none of
        them up to the root, but only among themselves. If these values are not contiguous, the codes get
        a new order in which they are; the node keeps its name. Free ranges support only the limits 0
        (no value may change) and 1 (no limit).
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
                low, high, level = self.find(name)
                top[low : high + 1] = np.minimum(top[low : high + 1], level)
        if np.all(top == self.height):
            return self
        if self.free and np.any(top > 0):
            raise HierarchyError(
                "a column with free ranges has no nodes that could be a limit: "
                "give it widths, cuts or dates first, or limit it to level 0"
            )
        return self._cap_codes(top)

    def find(self, name: str) -> tuple[int, int, int]:
        """Return low, high and level of the highest node of this name."""
        for index in range(len(self.levels) - 1, -1, -1):
            level = self.levels[index]
            hits = (level.names == name).fill_null(False).arg_true()
            if len(hits):
                low = int(level.starts[hits[0]])
                return low, int(self.high[index, low]), index
        names = [
            str(node) for level in self.levels[::-1] for node in level.names.head(1000) if node is not None
        ]
        raise HierarchyError(f"no node is called '{name}' ({did_you_mean(name, dict.fromkeys(names))})")

    def _cap_codes(self, top: IntVector) -> Hierarchy:
        """Return the hierarchy with a highest level per code. O(levels x codes log codes)."""
        codes = np.arange(self.size)
        owns = [np.minimum(index, top) for index in range(len(self.levels))]
        keys = [own.astype(np.int64) * self.size + self.low[own, codes] for own in owns]
        # Sort nodes by their last code, so that null and its nodes stay at the end.
        ranks = []
        for key in keys:
            _, group = np.unique(key, return_inverse=True)
            last = np.zeros(int(group.max()) + 1, np.int64)
            np.maximum.at(last, group, codes)
            ranks.append(last[group])
        order = np.lexsort(ranks).astype(np.int32)
        levels = []
        for own, rank in zip(owns, ranks, strict=True):
            placed = rank[order]
            starts = np.flatnonzero(np.diff(placed, prepend=-1)).astype(np.int32)
            names = self._nodes.gather(self._node(own[order[starts]], order[starts]))
            levels.append(Level(starts, names))
        aliases = []
        while len(levels) > 1 and np.array_equal(levels[-1].starts, levels[-2].starts):
            aliases.append(levels.pop())
        moved = not np.array_equal(order, codes)
        return replace(
            self,
            leaves=self.leaves.gather(order),
            levels=tuple(levels),
            free=False,
            naming=None if self.free else self.naming,
            ordered=0 if moved else self.ordered,
            positions=None if self.positions is None else self.positions[order],
            aliases=tuple(aliases),
            unlimited=self.unlimited or self,
        )

    # --- names --------------------------------------------------------------------------------------------

    @cached_property
    def _nodes(self) -> pl.Series:
        """Names of all nodes, level after level."""
        return pl.concat([level.names.alias("names") for level in self.levels])

    def _node(self, level: IntVector, code: IntVector) -> IntVector:
        """Return the place in `_nodes` of the node over each code at each level. O(log nodes) each."""
        place = np.empty(len(code), np.int64)
        offset = 0
        for index, nodes in enumerate(self.levels):
            here = level == index
            place[here] = offset + np.searchsorted(nodes.starts, code[here], side="right") - 1
            offset += len(nodes.starts)
        return place.astype(np.int32)

    def names(
        self, low: IntVector, high: IntVector, level: int | None = None, seen: BoolVector | None = None
    ) -> pl.Series:
        """Return the published text of each range: a node's name, or ``[first, last]`` for a free range.

        With `level`, take names from that level, so that a whole column has one level of detail; otherwise from
        the lowest level that has the node. With `seen`, which codes published rows have, no name depends on other
        values. Null for the null value alone. O(levels) per range.
        """
        names = self._names(low, high, level)
        values = self.value_names(seen)
        if seen is None and values is self.own_names:
            return names
        seen = np.ones(self.size, np.bool_) if seen is None else seen
        single = names.eq_missing(self.own_names.gather(low))
        names = names.zip_with(~single, values.gather(low))
        return names if self.naming is None else self.naming.rename_nodes(self, names, low, high, seen)

    def narrow_to_seen(
        self, low: IntVector, high: IntVector, seen: BoolVector | None
    ) -> tuple[IntVector, IntVector]:
        """Return the first and last code that the labels of ranges cover, if labels depend on the values `seen`."""
        if seen is None or self.naming is None:
            return low, high
        return self.naming.narrow_to_seen(self, low, high, seen)

    def _names(self, low: IntVector, high: IntVector, level: int | None) -> pl.Series:
        if level is not None:
            nodes = self.levels[level]
            return nodes.names.gather(np.searchsorted(nodes.starts, low, side="right") - 1).alias("names")
        found = self.level_of(low, high)
        there = found >= 0
        there[there] = (self.low[found[there], low[there]] == low[there]) & (
            self.high[found[there], low[there]] == high[there]
        )
        place = np.zeros(len(low), np.int32)
        place[there] = self._node(found[there], low[there])
        out = self._nodes.gather(place)
        if not there.all():
            if not self.free:
                raise HierarchyError("a range of codes is not a node of its hierarchy")
            at = np.flatnonzero(~there)
            naming = self.naming if isinstance(self.naming, Ends) else INTERVAL
            out = out.scatter(at, naming.text(self.own_names, low[at], high[at]))
        return out

    def read(self, names: pl.Series) -> tuple[IntVector, IntVector, BoolVector]:
        """Return the code range that each published name means, and whether the name is known.

        The inverse of `names`: node names of any level, names made of values, null for the null value, and ``*``
        for the whole domain. A name of several nodes means the smallest range that covers them all; an
        unknown name means the whole domain, too. O(names + nodes).
        """
        return read_names(self, names)

    @cached_property
    def name_table(self) -> pl.DataFrame:
        """Every name once, with the smallest range that covers all nodes of that name."""
        return build_name_table(self)

    def locate(self, values: pl.Series) -> IntVector:
        """Return the code of each value of the data, -1 if it is not a leaf. O(values + leaves)."""
        return self.merge_hidden(locate(self.leaves, values))
