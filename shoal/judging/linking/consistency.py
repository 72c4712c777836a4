"""Which published rows match which people, and which of these pairs a complete assignment contains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.errors import DataError
from shoal.release import ValueSets
from shoal.release.published import Published
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

DENSE = 1 << 28
"""Up to this many pairs of class and value are marked in one array of bits; above it, keys are sorted."""


class BoxTree(NamedTuple):
    """A tree of tight boxes over distinct rows, nodes in preorder; see `shoal.kernels.consistency.plant_boxes`."""

    first: IntVector
    last: IntVector
    skip: IntVector
    box: IntMatrix


@dataclass(frozen=True, eq=False, repr=False)
class People(Brief):
    """The distinct rows of a table in the order of a tree over them, and how often each occurs."""

    row_of: IntVector
    """Row of the table -> distinct row."""
    codes: IntMatrix
    """``[distinct rows, quasi-identifiers]``, row-major."""
    weight: LongVector
    tree: BoxTree

    @classmethod
    def of(cls, attributes: tuple[Attribute, ...], codes: IntMatrix) -> People:
        """Collapse equal rows and build the tree. Expected O(rows x columns), plus O(log rows) per distinct row."""
        return cls.over(codes, cls.scales(attributes), cls.cuts(attributes))

    @classmethod
    def in_table(cls, table: CodedTable) -> People:
        """Return the people of a table, whose columns stay narrow."""
        number, first = table.number_rows()
        shown = np.empty((len(first), len(table.attributes)), np.int32)
        for j, codes in enumerate(table.quasi.narrow):
            shown[:, j] = codes[first]
        return cls._plant(number, shown, cls.scales(table.attributes), cls.cuts(table.attributes), None)

    @staticmethod
    def scales(attributes: Sequence[Attribute]) -> FloatVector:
        """Return the loss of a step in each column: the search prunes best if large ones are split first."""
        return np.array([max(a.weight, 1e-3) / max(a.hierarchy.size - 1, 1) for a in attributes], np.float64)

    @staticmethod
    def cuts(attributes: Sequence[Attribute]) -> list[IntVector]:
        """Return, per column, the highest level at which a node begins at each code, and a last entry for the end."""
        return [_levels_of_cuts(attribute) for attribute in attributes]

    @classmethod
    def over(
        cls, codes: IntMatrix, scale: FloatVector, cuts: Sequence[IntVector], weight: LongVector | None = None
    ) -> People:
        """Collapse equal rows, which count once each or by their weight, and build the tree."""
        from shoal.kernels.grouping import distinct

        number, first = distinct(codes)
        return cls._plant(number, np.ascontiguousarray(codes[first]), scale, cuts, weight)

    @classmethod
    def _plant(
        cls,
        number: IntVector,
        shown: IntMatrix,
        scale: FloatVector,
        cuts: Sequence[IntVector],
        weight: LongVector | None,
    ) -> People:
        from shoal.kernels.consistency import plant_boxes

        starts = np.cumsum([0, *map(len, cuts)])[:-1]
        order, *nodes = plant_boxes(shown, scale, np.concatenate(cuts), starts)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        row_of = rank[number]
        count = np.bincount(row_of, weight, len(order)).astype(np.int64)
        return cls(row_of, shown[order], count, BoxTree(*nodes))

    def inside(self, low: IntMatrix, high: IntMatrix) -> tuple[LongVector, IntVector]:
        """List the distinct rows inside each range: the start of each list, and all lists concatenated."""
        from shoal.kernels.consistency import rows_inside

        low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        start, found = rows_inside(self.codes, *self.tree, low, high)
        return start, found


def _levels_of_cuts(attribute: Attribute) -> IntVector:
    """Return the highest level at which a node begins at each code, and a last entry for the end."""
    tree = attribute.hierarchy
    levels = np.zeros(tree.size + 1, np.int32)
    if not tree.free:
        for index, level in enumerate(tree.levels):
            levels[level.starts] = index
    return levels


@dataclass(frozen=True, eq=False, repr=False)
class Consistency(Brief):
    """The graph between distinct people and equivalence classes of published rows, and what follows from it."""

    people: People
    size: LongVector
    """The number of rows of each class."""
    start: LongVector
    """The rows of class g match the distinct people ``links[start[g]:start[g + 1]]``."""
    links: IntVector
    pairs: tuple[IntVector, IntVector] | None = None
    """Distinct people and their classes in one complete assignment; None if it has yet to be found."""
    hidden: bool = False
    """The last class holds the rows that are not published: it matches everyone, and is not a candidate."""

    @cached_property
    def candidates(self) -> LongVector:
        """Per distinct person, how many published rows match."""
        return self._count_rows(np.repeat(self._rows_shown, np.diff(self.start)))

    @cached_property
    def fits(self) -> LongVector:
        """Per published class, how many people it matches."""
        total = np.concatenate(([0], np.cumsum(self.people.weight[self.links])))
        found: LongVector = total[self.start[1:]] - total[self.start[:-1]]
        return found[: len(found) - self.hidden]

    @cached_property
    def matches(self) -> LongVector:
        """Per distinct person, how many published rows belong to them in some complete assignment.

        A matching pair is part of a complete assignment exactly if both its ends lie in one strongly connected
        component of the graph in which classes point to the people they match, and people to the classes that they
        are assigned to. One pass, O(people + classes + links).
        """
        classes, links = self.components
        rows = np.repeat(self._rows_shown, np.diff(self.start))
        rows[np.repeat(classes, np.diff(self.start)) != links[self.links]] = 0
        return self._count_rows(rows)

    @property
    def _rows_shown(self) -> LongVector:
        shown = self.size.copy()
        if self.hidden:
            shown[-1] = 0
        return shown

    def _count_rows(self, rows: LongVector) -> LongVector:
        counts = np.bincount(self.links, weights=rows, minlength=len(self.people.weight))
        return counts.astype(np.int64)

    @cached_property
    def components(self) -> tuple[IntVector, IntVector]:
        """Return the strongly connected component of each class, and of each distinct person.

        Raises DataError if no complete assignment exists: the release is then not a generalization of the original.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        classes, people = len(self.size), len(self.people.weight)
        who, what = self.pairs if self.pairs is not None else self._assign_rows()
        order = np.argsort(who, kind="stable")
        indices = np.concatenate([self.links + np.int32(classes), what[order].astype(np.int32)])
        after = len(self.links) + np.searchsorted(who[order], np.arange(people + 1))
        if len(indices) < np.iinfo(np.int32).max:
            after = after.astype(np.int32)
        indptr = np.concatenate([self.start[:-1].astype(after.dtype), after])
        shape = (classes + people, classes + people)
        graph = csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=shape)
        found: IntVector = connected_components(graph, directed=True, connection="strong")[1]
        return found[:classes], found[classes:]

    @cached_property
    def flow(self) -> LongVector:
        """Assign as many published rows to people as possible, by augmenting paths: rows per link."""
        from shoal.kernels.consistency import assign_units

        # The classes that match the fewest people choose first.
        order = np.argsort(np.diff(self.start), kind="stable")
        flow: LongVector = assign_units(self.start, self.links, self.size, self.people.weight, order)
        return flow

    @property
    def assignable(self) -> int:
        """How many rows can belong to people of their own, all at once."""
        return int(self.flow.sum())

    def _assign_rows(self) -> tuple[IntVector, IntVector]:
        """Find a complete assignment of published rows to people."""
        flow = self.flow
        short = int(self.size.sum() - flow.sum())
        if short:
            raise DataError(
                f"the release is not a generalization of the original: {short:,} of its {int(self.size.sum()):,} rows "
                "cannot belong to anybody; check that both files, the columns and the hierarchies belong together"
            )
        used = np.flatnonzero(flow)
        what = np.repeat(np.arange(len(self.size), dtype=np.int32), np.diff(self.start))
        return self.links[used], what[used]


def consistency(published: Published, original: CodedTable, owner: IntVector | None = None) -> Consistency:
    """Find the people that each class matches. `owner`, where known, gives one complete assignment.

    Output-sensitive: O(log people) per class, plus the links. `Evidence.consistency` keeps the graph.
    """
    people = People.of(original.attributes, original.quasi.wide)
    start, links = people.inside(*published.cell_ranges)
    if published.sets is not None:
        start, links = within_sets(people, published.sets, start, links, len(original.attributes))
    pairs = None if owner is None else _pairs(published, owner, people, original.rows)
    if (
        pairs is not None
        and published.sets is not None
        and not _all_linked(pairs, start, links, len(people.weight))
    ):
        pairs = None
    size = published.sizes
    missing = original.rows - published.rows
    if missing:
        everyone = np.arange(len(people.weight), dtype=np.int32)
        size = np.append(size, missing)
        start, links = np.append(start, start[-1] + len(everyone)), np.concatenate([links, everyone])
    return Consistency(people, size, start, links, pairs, hidden=missing > 0)


def how_many_fit(attributes: tuple[Attribute, ...], codes: IntMatrix, low: IntMatrix, high: IntMatrix) -> int:
    """Return how many of the rows that show these ranges can belong to people with these codes, each to one of their
    own.
    """
    from shoal.kernels.grouping import distinct

    people = People.of(attributes, codes)
    box_of, first = distinct(np.asfortranarray(np.concatenate([low, high], axis=1)))
    start, links = people.inside(low[first], high[first])
    return Consistency(people, np.bincount(box_of).astype(np.int64), start, links).assignable


def _pairs(
    published: Published, owner: IntVector, people: People, rows: int
) -> tuple[IntVector, IntVector] | None:
    """Return the pairs of person and class of the true assignment, each once; None if some cell does not cover its
    owner's value.
    """
    from shoal.kernels.grouping import distinct

    class_of = np.full(rows, published.classes, np.int32)
    class_of[owner] = published.class_of
    first = distinct(np.stack([people.row_of, class_of], axis=1))[1]
    who, what = people.row_of[first], class_of[first]
    shown = what < published.classes
    codes, at = people.codes[who[shown]], what[shown]
    low, high = published.cell_ranges
    if np.any(codes < low[at]) or np.any(codes > high[at]):
        return None
    return who, what


def _all_linked(pairs: tuple[IntVector, IntVector], start: LongVector, links: IntVector, people: int) -> bool:
    """Return whether all people match the class that they belong to; people without a published row do not count."""
    who, what = pairs
    shown = what < len(start) - 1
    fitting = np.repeat(np.arange(len(start) - 1, dtype=np.int64), np.diff(start)) * people + links
    return bool(np.isin(what[shown].astype(np.int64) * people + who[shown], fitting).all())


def within_sets(
    people: People,
    sets: ValueSets,
    start: LongVector,
    links: IntVector,
    columns: int,
    classes_of: IntVector | LongVector | None = None,
) -> tuple[LongVector, IntVector]:
    """Keep the links whose values are all in the published sets, not only between their ends. O(links x columns).

    Sets are about the first `columns` of the rows. `classes_of` is the class of each range, if there is not one range
    per class in their order.
    """
    from shoal.release.value_sets import column_sets

    ranges = len(start) - 1
    classes = (len(sets.start) - 1) // columns
    range_of = np.repeat(np.arange(ranges, dtype=np.int64), np.diff(start))
    class_of = range_of if classes_of is None else classes_of[range_of].astype(np.int64)
    keep = np.ones(len(links), np.bool_)
    for j in range(columns):
        begins, codes = column_sets(sets, columns, j)
        width = int(max(codes.max(initial=0), people.codes[:, j].max(initial=0))) + 1
        shown = np.repeat(np.arange(classes, dtype=np.int64), np.diff(begins)) * width + codes
        wanted = class_of * width + people.codes[links, j]
        if classes * width <= DENSE:
            inside = np.zeros(classes * width, np.bool_)
            inside[shown] = True
            keep &= inside[wanted]
        else:
            keep &= np.isin(wanted, shown)
    kept = np.bincount(range_of[keep], minlength=ranges)
    return np.concatenate(([0], np.cumsum(kept))).astype(np.int64), links[keep]
