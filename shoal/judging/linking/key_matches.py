"""Somebody who knows a person in a few columns: how many rows match in them, and how many people each row matches.

For a set of columns, a published row *matches* a person if each of its cells in these columns covers the person's
value; `*` covers every value. Both directions count: the rows that match each person, because the person must not be
found, and the people that each row matches, because a row must not be left to one person. Anyone who knows fewer
columns finds more rows and more people, so sets within other sets need no count of their own.

Cells are intervals of codes, so the rows that match are counted on a grid (`shoal.kernels.key_sets`): the places of a
column are the intervals between the ends of its cells, within which no cell tells values apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.consistency import People
from shoal.release.published import Boxes, Published
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongMatrix, LongVector
from shoal.support.brief import Brief
from shoal.support.machine.threads import PIECE, in_threads

DENSE, SMALL = 8, 1 << 16
"""Grids have at most so many places per row or person, or `SMALL` places; others are sparse."""
AT_ONCE = 4096
"""Boxes that are looked up in a tree at a time, for sparse grids."""
MOST_COMPARED = 20_000
"""Of cells without an original, at most so many per set of columns are compared with all others."""
NOBODY = np.iinfo(np.int32).max

Chosen = tuple[int, ...]


class Found(NamedTuple):
    """What somebody who knows one set of columns finds."""

    columns: Chosen
    rows: int
    """The fewest rows that match a person."""
    people: int
    """The fewest people that a row matches."""
    short_people: int
    """How many people fewer than k rows match."""
    short_rows: int
    """How many rows match fewer than k people."""
    certain: bool = True
    """False if only the rows are known: the numbers are what the cells guarantee, whatever they stand for."""

    @property
    def least(self) -> int:
        """The fewer of both."""
        return min(self.rows, self.people)

    @property
    def fails(self) -> bool:
        """Somebody has fewer than k."""
        return self.short_people + self.short_rows > 0


@dataclass(frozen=True)
class KeyMatches:
    """What somebody finds who knows one of several sets of columns."""

    least: int
    """The fewest rows that match a person, or people that a row matches, over all sets."""
    failing: tuple[Found, ...]
    """The sets in which somebody has fewer than k, without those that contain others: small ones first."""
    sets: int
    """How many sets the adversary may know."""


@dataclass(frozen=True, eq=False, repr=False)
class KeyCells(Brief):
    """What rows and people show in each column, as places of grids."""

    low: list[IntVector]
    """``[column][box]`` the first place that a cell covers."""
    high: list[IntVector]
    rows: IntVector
    """How many rows have each box."""
    spans: list[int]
    """How many places each column has."""
    people: list[IntVector]
    """``[column][person]`` the place of their value; empty if people are not known."""
    heads: IntVector
    """How many people have the values of each."""

    @classmethod
    def of_boxes(
        cls, low: IntMatrix, high: IntMatrix, rows: LongVector, codes: IntMatrix | None, heads: LongVector
    ) -> KeyCells:
        """Number the intervals between the ends of cells: ``[boxes, columns]`` codes become places."""
        lows, highs, spans, people = [], [], [], []
        for j in range(low.shape[1]):
            ends = np.unique(np.concatenate([low[:, j], high[:, j] + 1]))
            lows.append(np.searchsorted(ends, low[:, j]).astype(np.int32))
            highs.append((np.searchsorted(ends, high[:, j] + 1) - 1).astype(np.int32))
            if codes is not None:
                # Values that no cell covers share a last place.
                place = np.searchsorted(ends, codes[:, j], side="right") - 1
                people.append(np.where(place < 0, len(ends) - 1, place).astype(np.int32))
            spans.append(len(ends))
        return cls(lows, highs, rows.astype(np.int32), spans, people, heads.astype(np.int32))

    @classmethod
    def of_release(cls, published: Published, table: CodedTable | None) -> KeyCells:
        """Take the cells of a release, and the people of its original, if that is known."""
        assert isinstance(published.cells, Boxes)
        low, high = published.cell_ranges
        if table is None:
            return cls.of_boxes(low, high, published.sizes, None, np.zeros(0, np.int64))
        number, first = table.number_rows()
        codes = np.ascontiguousarray(table.quasi.wide[first])
        return cls.of_boxes(low, high, published.sizes, codes, np.bincount(number, minlength=len(first)))


def count_matches(cells: KeyCells, sets: Sequence[Chosen], k: int) -> KeyMatches:
    """Count, for somebody who knows one of the sets, and find the smallest sets in which fewer than k are left.

    All counts are exact. Only sets that are given are named, so smaller ones must come with those that contain them.
    O(sets x (rows + people + places of the grid)).
    """
    found: list[Found] = []
    least = NOBODY
    failing: set[frozenset[int]] = set()
    for size in sorted({len(chosen) for chosen in sets}):
        level = sorted(chosen for chosen in sets if len(chosen) == size)
        inside = {chosen for chosen in level if _contains(chosen, failing)}
        # A set that contains a failing one fails; only the fewest matches are still of interest.
        todo = [chosen for chosen in level if chosen not in inside or least > 1]
        for one in _in_shares(cells, todo, k):
            least = min(least, one.least)
            if one.fails and one.columns not in inside:
                found.append(one)
                failing.add(frozenset(one.columns))
    return KeyMatches(least if least < NOBODY else 0, tuple(found), len(sets))


def _contains(chosen: Chosen, failing: set[frozenset[int]]) -> bool:
    if not failing:
        return False
    parts = (part for size in range(1, len(chosen)) for part in combinations(chosen, size))
    return any(frozenset(part) in failing for part in parts)


def _in_shares(cells: KeyCells, todo: Sequence[Chosen], k: int) -> list[Found]:
    """Count several sets, in threads if there are many rows; neighbours share most of their keys."""
    step = max(1, -(-len(todo) // 16))
    shares = [todo[at : at + step] for at in range(0, len(todo), step)]

    def work(share: Sequence[Chosen]) -> list[Found]:
        counter = Counter(cells, k)
        return [counter.count(chosen) for chosen in share]

    many = len(cells.rows) + len(cells.heads) > PIECE
    return [one for own in in_threads(work, shares, many=many) for one in own]


def _found(chosen: Chosen, counts: tuple[int, int, int, int]) -> Found:
    rows, people, short_people, short_rows = map(int, counts)
    return Found(chosen, rows, people, short_people, short_rows)


class Counter:
    """Counts for one set of columns after the other; sets that begin alike share the keys of their first columns."""

    def __init__(self, cells: KeyCells, k: int) -> None:
        self.cells, self.k = cells, k
        self.wide = [low != high for low, high in zip(cells.low, cells.high, strict=True)]
        self.any_wide = [bool(own.any()) for own in self.wide]
        self._keys: dict[str, tuple[Chosen, IntVector]] = {}

    def count(self, chosen: Chosen) -> Found:
        """Count the matches of everybody in one set of columns."""
        cells = self.cells
        if not len(cells.rows):
            return Found(chosen, NOBODY, NOBODY, 0, 0)
        boxes = np.flatnonzero(self._is_wide(chosen))
        if not cells.people:
            return self._by_cells(chosen, boxes)
        places = math.prod(cells.spans[j] for j in chosen)
        if places <= max(DENSE * (len(cells.rows) + len(cells.heads)), SMALL):
            return self._on_grid(chosen, boxes, places)
        return self._in_tree(chosen) if len(boxes) else self._by_numbers(chosen)

    def _is_wide(self, chosen: Chosen) -> BoolVector:
        found = np.zeros(len(self.cells.rows), np.bool_)
        for j in chosen:
            if self.any_wide[j]:
                found |= self.wide[j]
        return found

    def _on_grid(self, chosen: Chosen, wide: LongVector, places: int) -> Found:
        from shoal.kernels import key_sets as kernels

        cells, none = self.cells, np.zeros(0, np.int32)
        points, people = np.zeros(places, np.int32), np.zeros(places, np.int32)
        last, span = chosen[-1], cells.spans[chosen[-1]]
        kernels.add_points(self._prefix("rows", cells.low, chosen), cells.low[last], span, cells.rows, points)
        kernels.add_points(
            self._prefix("people", cells.people, chosen), cells.people[last], span, cells.heads, people
        )
        if not len(wide):
            return _found(chosen, kernels.fewest_at_places(points, none, people, self.k))
        spans = np.array([cells.spans[j] for j in chosen], np.int64)
        strides = np.array([math.prod(spans[j + 1 :].tolist()) for j in range(len(spans))], np.int64)
        low, high = self._ends(chosen, wide)
        corners = np.zeros(places, np.int32)
        kernels.add_boxes(low, high, cells.rows[wide], spans, strides, points, corners)
        kernels.sum_along(corners, spans, strides)
        rows, few, short_people, short_rows = kernels.fewest_at_places(points, corners, people, self.k)
        kernels.sum_along(people, spans, strides)
        return self._with_boxes(
            (chosen, rows, few, short_people, short_rows),
            kernels.sums_of_boxes(low, high, strides, people),
            wide,
        )

    def _with_boxes(
        self, found: tuple[Chosen, int, int, int, int], crowd: LongVector, boxes: LongVector
    ) -> Found:
        """Add how many people the wide rows match."""
        chosen, rows, people, short_people, short_rows = found
        people = min(int(people), int(crowd.min(initial=NOBODY)))
        short_rows = int(short_rows) + int(self.cells.rows[boxes][crowd < self.k].sum())
        return Found(chosen, int(rows), people, int(short_people), short_rows)

    def _prefix(self, whose: str, columns: Sequence[IntVector], chosen: Chosen) -> IntVector:
        """Return the key of each row, or person, in all chosen columns but the last."""
        known = self._keys.get(whose)
        if known is not None and known[0] == chosen[:-1]:
            return known[1]
        key = np.zeros(len(columns[0]), np.int32)
        for j in chosen[:-1]:
            key = key * np.int32(self.cells.spans[j]) + columns[j]
        self._keys[whose] = chosen[:-1], key
        return key

    def _ends(self, chosen: Chosen, boxes: LongVector) -> tuple[LongMatrix, LongMatrix]:
        low = np.array([self.cells.low[j][boxes] for j in chosen], np.int64)
        return low, np.array([self.cells.high[j][boxes] for j in chosen], np.int64)

    def _by_numbers(self, chosen: Chosen) -> Found:
        """Number what rows and people show, because the grid would be too large. No cell is wide."""
        from shoal.kernels import key_sets as kernels
        from shoal.kernels.grouping import distinct_rows

        cells = self.cells
        both = [np.concatenate([cells.low[j], cells.people[j]]) for j in chosen]
        number, first = distinct_rows(both, len(both[0]))
        split = len(cells.rows)
        points = np.bincount(number[:split], cells.rows, len(first)).astype(np.int32)
        people = np.bincount(number[split:], cells.heads, len(first)).astype(np.int32)
        return _found(chosen, kernels.fewest_at_places(points, np.zeros(0, np.int32), people, self.k))

    def _in_tree(self, chosen: Chosen) -> Found:
        """Look the people of each box up in a tree, because the grid would be too large. O(pairs that match)."""
        from shoal.kernels.grouping import distinct

        cells = self.cells
        codes = np.stack([cells.people[j] for j in chosen], axis=1)
        cuts = [np.zeros(cells.spans[j] + 1, np.int32) for j in chosen]
        scale = np.array([1.0 / cells.spans[j] for j in chosen])
        people = People.over(np.asfortranarray(codes), scale, cuts, cells.heads.astype(np.int64))
        low = np.stack([cells.low[j] for j in chosen], axis=1)
        high = np.stack([cells.high[j] for j in chosen], axis=1)
        box_of, first = distinct(np.asfortranarray(np.hstack([low, high])))
        weight = np.bincount(box_of, cells.rows, len(first)).astype(np.int64)
        matching = np.zeros(len(people.weight), np.int64)
        crowd = np.zeros(len(first), np.int64)
        for at in range(0, len(first), AT_ONCE):
            some = first[at : at + AT_ONCE]
            start, links = people.inside(low[some], high[some])
            box = np.repeat(np.arange(len(some)), np.diff(start))
            matching += np.bincount(links, weight[at + box], len(matching)).astype(np.int64)
            crowd[at : at + len(some)] = np.bincount(box, people.weight[links], len(some)).astype(np.int64)
        seen = matching > 0
        few = seen & (matching < self.k)
        return Found(
            chosen,
            int(matching[seen].min(initial=NOBODY)),
            int(crowd.min(initial=NOBODY)),
            int(people.weight[few].sum()),
            int(weight[crowd < self.k].sum()),
        )

    def _by_cells(self, chosen: Chosen, wide: LongVector) -> Found:
        """Count from the rows only: the rows that cover each row match it whatever its cells stand for, and the people
        of the rows that it covers are matched by it. What only overlaps may match, and does not count.
        """
        from shoal.kernels.grouping import distinct
        from shoal.kernels.key_sets import compare_cells

        cells = self.cells
        ends = [cells.low[j] for j in chosen] + [cells.high[j] for j in chosen]
        box_of, first = distinct(np.asfortranarray(np.stack(ends, axis=1)))
        weight = np.bincount(box_of, cells.rows, len(first)).astype(np.int64)
        order = np.argsort(weight, kind="stable")
        small = order[: int((weight < self.k).sum())]
        rest = int(weight[order[len(small) :]].min(initial=NOBODY))
        if not len(wide):
            short = int(weight[small].sum())
            least = int(weight.min())
            return Found(chosen, least, least, short, short)
        low, high = self._ends(chosen, first)
        asked = small[:MOST_COMPARED]
        covering, inside, meeting = compare_cells(low, high, weight, asked)
        rows = min(int(covering.min(initial=NOBODY)), rest)
        people = min(int(inside.min(initial=NOBODY)), rest)
        left = int(weight[small[MOST_COMPARED:]].sum())
        short_rows = int(weight[asked][inside < self.k].sum()) + left
        short_people = int(weight[asked][covering < self.k].sum()) + left
        # The owner of a row matches at most the rows that overlap with it.
        certain = bool((meeting < self.k).any())
        return Found(chosen, rows, people, short_people, short_rows, certain)
