"""Which people fit which published rows, and which of those pairs some complete assignment contains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoal.arrays import IntMatrix, IntVector, LongVector
from shoal.errors import DataError
from shoal.release import ValueSets
from shoal.release.published import Published
from shoal.table import Attribute, CodedTable

DENSE = 1 << 28
"""Up to so many pairs of classes and values are marked in one array of bits; sorted keys take over beyond."""


class Tree(NamedTuple):
    """A tree of tight boxes over distinct rows, nodes in preorder; see `shoal.kernels.consistency.plant_boxes`."""

    first: IntVector
    last: IntVector
    skip: IntVector
    box: IntMatrix


@dataclass(frozen=True, eq=False)
class People:
    """The distinct rows of a table in the order of a tree over them, each with how often it occurs."""

    row_of: IntVector
    """Row of the table -> distinct row."""
    codes: IntMatrix
    """``[distinct rows, quasi-identifiers]``, row-major."""
    weight: LongVector
    tree: Tree

    @classmethod
    def of(cls, attributes: tuple[Attribute, ...], codes: IntMatrix) -> People:
        """Collapse equal rows and plant the tree. Expected O(rows x columns), plus O(log rows) per distinct row."""
        from shoal.kernels.consistency import plant_boxes
        from shoal.kernels.grouping import distinct

        number, first = distinct(codes)
        shown = np.ascontiguousarray(codes[first])
        # Prunes best where the columns that are dear to cross are cut first.
        scale = np.array([max(a.weight, 1e-3) / max(a.hierarchy.size - 1, 1) for a in attributes], np.float64)
        cuts = [_cut_levels(attribute) for attribute in attributes]
        starts = np.cumsum([0, *map(len, cuts)])[:-1]
        order, *nodes = plant_boxes(shown, scale, np.concatenate(cuts), starts)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        row_of = rank[number]
        return cls(
            row_of, shown[order], np.bincount(row_of, minlength=len(order)).astype(np.int64), Tree(*nodes)
        )

    def inside(self, low: IntMatrix, high: IntMatrix) -> tuple[LongVector, IntVector]:
        """List the distinct rows inside each range: where each list starts, and all lists one after the other."""
        from shoal.kernels.consistency import rows_inside

        low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        start, found = rows_inside(self.codes, *self.tree, low, high)
        return start, found


def _cut_levels(attribute: Attribute) -> IntVector:
    """The highest level at which a node begins at each code, and one place more for the end."""
    tree = attribute.hierarchy
    levels = np.zeros(tree.size + 1, np.int32)
    if not tree.free:
        for index, level in enumerate(tree.levels):
            levels[level.starts] = index
    return levels


@dataclass(frozen=True, eq=False)
class Consistency:
    """The graph between distinct people and classes of published rows that read alike, and what follows from it."""

    people: People
    size: LongVector
    """Rows of each class."""
    start: LongVector
    """Class g fits the distinct people ``links[start[g]:start[g + 1]]``."""
    links: IntVector
    pairs: tuple[IntVector, IntVector] | None = None
    """Distinct people and classes that belong together in one complete assignment; None: it has to be found."""
    hidden: bool = False
    """The last class holds the rows that are not published: it fits everyone, and is no candidate."""

    @cached_property
    def candidates(self) -> LongVector:
        """Per distinct person, how many published rows fit."""
        return self._counted(np.repeat(self._shown, np.diff(self.start)))

    @cached_property
    def fits(self) -> LongVector:
        """Per published class, how many people fit."""
        total = np.concatenate(([0], np.cumsum(self.people.weight[self.links])))
        found: LongVector = total[self.start[1:]] - total[self.start[:-1]]
        return found[: len(found) - self.hidden]

    @cached_property
    def matches(self) -> LongVector:
        """Per distinct person, how many published rows belong to them in some complete assignment.

        A pair that fits can be completed exactly where both its ends lie in one strongly connected component of
        the graph in which classes point to whom they fit, and people to the classes that they are assigned to.
        One pass, O(people + classes + links).
        """
        classes, links = self.components
        rows = np.repeat(self._shown, np.diff(self.start))
        rows[np.repeat(classes, np.diff(self.start)) != links[self.links]] = 0
        return self._counted(rows)

    @property
    def _shown(self) -> LongVector:
        shown = self.size.copy()
        if self.hidden:
            shown[-1] = 0
        return shown

    def _counted(self, rows: LongVector) -> LongVector:
        counts = np.bincount(self.links, weights=rows, minlength=len(self.people.weight))
        return counts.astype(np.int64)

    @cached_property
    def components(self) -> tuple[IntVector, IntVector]:
        """Strongly connected component of each class, and of each distinct person.

        Raises DataError where no complete assignment exists: the release is then no generalization.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        classes, people = len(self.size), len(self.people.weight)
        who, what = self.pairs if self.pairs is not None else self._assigned()
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

    def _assigned(self) -> tuple[IntVector, IntVector]:
        """Find a complete assignment of published rows to people, by augmenting paths."""
        from shoal.kernels.consistency import share_out

        # The classes that fit the fewest people choose first.
        order = np.argsort(np.diff(self.start), kind="stable")
        flow = share_out(self.start, self.links, self.size, self.people.weight, order)
        short = int(self.size.sum() - flow.sum())
        if short:
            raise DataError(
                f"the release is no generalization of the original: {short:,} of its {int(self.size.sum()):,} rows "
                "can belong to nobody; check that both files, the columns and the hierarchies go together"
            )
        used = np.flatnonzero(flow)
        what = np.repeat(np.arange(len(self.size), dtype=np.int32), np.diff(self.start))
        return self.links[used], what[used]


def consistency(published: Published, original: CodedTable) -> Consistency:
    """Find out whom the rows of a release fit. Output-sensitive: O(log people) per class, and the links."""
    if published.low is None or published.high is None:
        raise DataError(
            "some cells of the release are no names of the policy's hierarchies, so nobody can tell whom its rows "
            "fit: give the hierarchies that it was made with"
        )
    people = People.of(original.attributes, original.codes)
    start, links = people.inside(published.low, published.high)
    if published.sets is not None:
        start, links = _within_sets(people, published.sets, start, links)
    pairs = _pairs(published, people, original.rows)
    if (
        pairs is not None
        and published.sets is not None
        and not _linked(pairs, start, links, len(people.weight))
    ):
        pairs = None
    size = published.sizes
    missing = original.rows - published.rows
    if missing:
        everyone = np.arange(len(people.weight), dtype=np.int32)
        size = np.append(size, missing)
        start, links = np.append(start, start[-1] + len(everyone)), np.concatenate([links, everyone])
    return Consistency(people, size, start, links, pairs, hidden=missing > 0)


def _pairs(published: Published, people: People, rows: int) -> tuple[IntVector, IntVector] | None:
    """Who belongs to which class, each pair once, where whoever made the release knows it and cells show ranges
    around their owners' values.
    """
    from shoal.kernels.grouping import distinct

    if published.owner is None:
        return None
    class_of = np.full(rows, published.classes, np.int32)
    class_of[published.owner] = published.class_of
    first = distinct(np.stack([people.row_of, class_of], axis=1))[1]
    who, what = people.row_of[first], class_of[first]
    shown = what < published.classes
    codes, at = people.codes[who[shown]], what[shown]
    assert published.low is not None
    assert published.high is not None
    if np.any(codes < published.low[at]) or np.any(codes > published.high[at]):
        return None
    return who, what


def _linked(pairs: tuple[IntVector, IntVector], start: LongVector, links: IntVector, people: int) -> bool:
    """Whether everybody fits the class that they belong to; people without a published row are left aside."""
    who, what = pairs
    shown = what < len(start) - 1
    fitting = np.repeat(np.arange(len(start) - 1, dtype=np.int64), np.diff(start)) * people + links
    return bool(np.isin(what[shown].astype(np.int64) * people + who[shown], fitting).all())


def _within_sets(
    people: People, sets: ValueSets, start: LongVector, links: IntVector
) -> tuple[LongVector, IntVector]:
    """Keep the links whose every value is in the published set, not only between its ends. O(links x columns)."""
    from shoal.release.value_sets import column_sets

    columns, classes = people.codes.shape[1], len(start) - 1
    class_of = np.repeat(np.arange(classes, dtype=np.int64), np.diff(start))
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
    kept = np.bincount(class_of[keep], minlength=classes)
    return np.concatenate(([0], np.cumsum(kept))).astype(np.int64), links[keep]
