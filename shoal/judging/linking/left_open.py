"""What earlier releases leave open, as a rule over groups of rows: for searches that must not take it away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.judging.linking.series import (
    MOST_AT_ONCE,
    Earlier,
    Issue,
    Lists,
    among,
    combine_views,
    find_shared_values,
    number_combinations,
    once,
    pieces,
)
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

BoolMatrix = NDArray[np.bool_]

WIDE = 256
"""With more combinations of values, tables of counts by combination take too much memory."""


@dataclass(frozen=True, eq=False, repr=False)
class Owned(Brief):
    """Who owns the rows of one release that match a view and show a combination of values."""

    keys: LongVector
    """``view * combinations + combination``, ascending."""
    people: Lists


class Needed(NamedTuple):
    """What has to be left open about each person."""

    k: int
    """Candidates."""
    values: Sequence[int]
    """Different values of each lasting sensitive column."""
    members: bool
    """Also for an adversary who knows all people of the table."""


@dataclass(frozen=True, eq=False, repr=False)
class LeftOpen(Brief):
    """What the earlier releases leave open about each person of a table, and what a group of its rows takes away.

    An item is one view in each of the earlier releases that a person is in.
    """

    person: LongVector
    """Row -> person."""
    value: LongVector
    """Row -> combination of lasting sensitive values."""
    people: int
    meaning: IntMatrix
    """``[combinations, lasting columns]`` values."""
    items: Lists
    """Person -> what an adversary may know them by."""
    values: Lists
    """Item -> combinations that all earlier releases show."""
    crowd: Lists
    """Item -> people of the table who have matching rows in all earlier releases."""
    views: tuple[LongVector, ...]
    """Per earlier release: item -> view, -1 if the item does not use it."""
    owned: tuple[Owned, ...]
    """Per earlier release."""

    def of_rows(self, rows: LongVector) -> LeftOpen:
        """Return the same for some rows of the table."""
        return replace(self, person=self.person[rows], value=self.value[rows])

    def short(
        self,
        group_of: IntVector | LongVector,
        rows: IntVector | LongVector | None,
        needed: Needed,
    ) -> tuple[LongVector, LongVector]:
        """Return the pairs of a group and a person in it for whom too little would be left open, if the group were a
        class. Rows with group -1 are in none. A group that contains another one leaves at least as much open.
        """
        inside = np.flatnonzero(group_of >= 0)
        row = inside if rows is None else rows[inside]
        group, person, value = group_of[inside].astype(np.int64), self.person[row], self.value[row]
        width, count = len(self.meaning), len(self.values.start) - 1
        present = once(group * self.people + person)
        place, item = self.items.expand(present % self.people)
        pairs = once((present // self.people)[place] * count + item)
        where, what = pairs // count, pairs % count
        seen = once((group * width + value) * self.people + person)
        shown, many = np.unique(seen // self.people, return_counts=True)
        bad, sure = self._clear(where, what, shown, many, needed)
        rest = np.flatnonzero(~bad & ~sure)
        if len(rest):
            bad[rest] = self._short(where[rest], what[rest], shown, seen, needed)
        if needed.members and needed.k > 1:
            place, who = self.crowd.expand(what)
            here = among(where[place] * self.people + who, present)
            bad |= np.bincount(place[here], minlength=len(pairs)) < needed.k
        wrong = pairs[bad]
        place, item = self.items.expand(present % self.people)
        hit = among((present // self.people)[place] * count + item, wrong)
        exposed = present[once(place[hit])]
        return exposed // self.people, exposed % self.people

    @cached_property
    def _open(self) -> BoolMatrix:
        """``[items, combinations]`` what all earlier releases show."""
        shown = np.zeros((len(self.values.start) - 1, len(self.meaning)), np.bool_)
        shown[np.repeat(np.arange(len(shown)), self.values.lengths), self.values.item] = True
        return shown

    @cached_property
    def _owners(self) -> tuple[IntMatrix, ...]:
        """Per earlier release, ``[views, combinations]`` how many people own rows of a view with a combination."""
        width = len(self.meaning)
        found = []
        for view, owned in zip(self.views, self.owned, strict=True):
            counts = np.zeros((int(view.max(initial=0)) + 1, width), np.int32)
            used = owned.keys < counts.size
            counts.ravel()[owned.keys[used]] = owned.people.lengths[used]
            found.append(counts)
        return tuple(found)

    def _clear(
        self,
        where: LongVector,
        what: LongVector,
        shown: LongVector,
        many: LongVector,
        needed: Needed,
    ) -> tuple[BoolVector, BoolVector]:
        """Return for which pairs of a group and an item it is clear from counts that too little is left, and for which
        that enough is: counts of single combinations bound the number of different people from both sides.
        """
        width = len(self.meaning)
        bad, sure = np.zeros(len(where), np.bool_), np.zeros(len(where), np.bool_)
        if width > WIDE or not len(where):
            return bad, sure
        counts = np.zeros((int(shown[-1]) // width + 1, width), np.int32)
        counts.ravel()[shown] = many
        values = [np.eye(int(own.max(initial=0)) + 1, dtype=np.int32)[own] for own in self.meaning.T]
        step = max(MOST_AT_ONCE // width, 1)
        for begin in range(0, len(where), step):
            part = slice(begin, begin + step)
            own = counts[where[part]]
            left = self._open[what[part]] & (own > 0)
            short, enough = ~left.any(axis=1), np.ones(len(left), np.bool_)
            for least, one in zip(needed.values, values, strict=True):
                if least > 1:
                    short |= ((left.astype(np.int32) @ one) > 0).sum(axis=1) < least
            views = [(own, enough)] if needed.k > 1 else []
            for view, owners in zip(self.views, self._owners, strict=True) if needed.k > 1 else ():
                at = view[what[part]]
                views.append((owners[at], at >= 0))
            for people, used in views:
                found = np.where(left, people, 0)
                short |= used & (found.sum(axis=1) < needed.k)
                enough &= ~used | (found.max(axis=1) >= needed.k)
            bad[part], sure[part] = short, enough & ~short
        return bad, sure

    def _short(
        self,
        where: LongVector,
        what: LongVector,
        shown: LongVector,
        seen: LongVector,
        needed: Needed,
    ) -> BoolVector:
        """Return for which pairs of a group and an item too little is left, by listing people."""
        width, count = len(self.meaning), len(where)
        at, left = self.values.expand(what)
        open_ = among(where[at] * width + left, shown)
        at, left = at[open_], left[open_]
        bad = np.asarray(np.bincount(at, minlength=count) == 0)
        for j, least in enumerate(needed.values):
            if least > 1:
                size = int(self.meaning[:, j].max(initial=0)) + 1
                different = once(at * size + self.meaning[left, j]) // size
                bad |= np.bincount(different, minlength=count) < least
        if needed.k < 2:
            return bad
        begins = np.searchsorted(seen // self.people, np.append(shown, shown[-1] + 1))
        ours = Lists(begins.astype(np.int64), seen % self.people)
        bad |= fewer(ours, np.searchsorted(shown, where[at] * width + left), at, count, needed.k)
        for view, owned in zip(self.views, self.owned, strict=True):
            used = view[what[at]] >= 0
            wanted = view[what[at[used]]] * width + left[used]
            few = fewer(owned.people, np.searchsorted(owned.keys, wanted), at[used], count, needed.k)
            bad |= few & (view[what] >= 0)
        return bad


def fewer(lists: Lists, wanted: LongVector, at: LongVector, count: int, k: int) -> BoolVector:
    """Return for which of `count` things the lists that belong to it hold fewer than k different items together.

    `wanted` are lists, and `at` says which thing each belongs to. Where one list is long enough, the others need not be
    read.
    """
    lengths = lists.lengths[wanted] if len(wanted) else np.empty(0, np.int64)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, at, lengths)
    total = np.bincount(at, lengths, count)
    few = np.asarray(total < k)
    unsure = (longest < k) & ~few
    if unsure.any():
        chosen = np.flatnonzero(unsure[at])
        place, item = lists.expand(wanted[chosen])
        width = int(item.max(initial=0)) + 1
        found = once(at[chosen][place] * width + item) // width
        few |= unsure & (np.bincount(found, minlength=count) < k)
    return few


def find_left_open(earlier: Earlier, own: IntMatrix) -> LeftOpen:
    """Return which combinations of values the earlier releases leave possible for each person. `own` holds the lasting
    values of the table's rows.
    """
    value_of, own_value, meaning = number_combinations(earlier.issues, own)
    there = np.zeros(earlier.people, np.int64)
    for index, issue in enumerate(earlier.issues):
        there[issue.person[issue.person < earlier.people]] |= 1 << index
    width, first = len(meaning), 0
    whose: list[LongVector] = []
    numbers: list[LongVector] = []
    values: list[tuple[LongVector, LongVector]] = []
    crowds: list[tuple[LongVector, LongVector]] = []
    views: list[list[LongVector]] = [[] for _ in earlier.issues]
    for mask in np.unique(there[there > 0]).tolist():
        chosen = [index for index in range(len(earlier.issues)) if mask >> index & 1]
        number, person, items, shown, crowd = _items(
            [earlier.issues[index] for index in chosen],
            [value_of[index] for index in chosen],
            there == mask,
            width,
        )
        whose.append(person)
        numbers.append(number + first)
        values.append((shown // width + first, shown % width))
        crowds.append((crowd[0] + first, crowd[1]))
        for index, own_views in enumerate(views):
            used = items[:, chosen.index(index)] if index in chosen else np.full(len(items), -1, np.int64)
            own_views.append(used)
        first += len(items)
    none = np.empty(0, np.int64)

    def lists(parts: Sequence[tuple[LongVector, LongVector]], count: int) -> Lists:
        both = [*parts, (none, none)]
        return Lists.of(np.concatenate([a for a, _ in both]), np.concatenate([b for _, b in both]), count)

    return LeftOpen(
        earlier.person,
        own_value,
        earlier.people,
        meaning,
        lists(list(zip(whose, numbers, strict=True)), earlier.people),
        lists(values, first),
        lists([(a[b < earlier.people], b[b < earlier.people]) for a, b in crowds], first),
        tuple(np.concatenate([*own_views, none]) for own_views in views),
        tuple(
            _find_owners(issue, value, width) for issue, value in zip(earlier.issues, value_of, strict=True)
        ),
    )


def _items(
    issues: Sequence[Issue], value_of: Sequence[LongVector], people: BoolVector, width: int
) -> tuple[LongVector, LongVector, LongVector, LongVector, tuple[LongVector, LongVector]]:
    """Return the items of people, whose each is, its views, and what its releases show in common."""
    from shoal.kernels.grouping import distinct

    person, known = combine_views(issues, people)
    number, first = distinct(known)
    items = known[first].astype(np.int64)
    work = sum(
        (issue.view_rows[items[:, j]] for j, issue in enumerate(issues)), np.zeros(len(items), np.int64)
    )
    shown, of_item, who = [], [], []
    for begin, end in pieces(work):
        found, crowd, _ = find_shared_values(issues, value_of, items[begin:end], width)
        shown.append(found + begin * width)
        of_item.append(np.repeat(np.arange(begin, end), crowd.lengths))
        who.append(crowd.item)
    none = np.empty(0, np.int64)
    crowds = (np.concatenate([*of_item, none]), np.concatenate([*who, none]))
    return number.astype(np.int64), person, items, np.concatenate([*shown, none]), crowds


def _find_owners(issue: Issue, value: LongVector, width: int) -> Owned:
    """Return the owners of the rows of each view and each combination of values."""
    people = int(issue.owner.max(initial=0)) + 1
    parts = [np.empty(0, np.int64)]
    for begin, end in pieces(issue.view_rows):
        at, classes = issue.views.expand(np.arange(begin, end))
        place, row = issue.rows.expand(classes)
        parts.append(once(((at[place] + begin) * width + value[row]) * people + issue.owner[row]))
    found = np.concatenate(parts)
    keys, start = np.unique(found // people, return_index=True)
    return Owned(keys, Lists(np.append(start, len(found)).astype(np.int64), found % people))
