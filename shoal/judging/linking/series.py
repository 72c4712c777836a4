"""What several releases of the same people leave open together: candidates, sensitive values, presence.

An adversary knows the quasi-identifiers of one row of a person in each release. These match some classes of each. If
the person's sensitive values stay the same, only combinations of values that every release shows among the rows of
these classes can be theirs, and only rows with such a combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shoal.coding import Attribute
from shoal.errors import DataError
from shoal.judging.linking.consistency import People, within_sets
from shoal.judging.linking.owners import Owners
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

MOST_AT_ONCE = 1 << 22
"""Pairs of a known combination of rows and a candidate row that are held in memory at a time."""
MOST_PAIRS = 50_000_000
"""Combinations of one row of a person in each release, over all people, that are looked at."""


class Lists(NamedTuple):
    """Lists of numbers, one after the other: list i is ``item[start[i]:start[i + 1]]``."""

    start: LongVector
    item: LongVector

    @classmethod
    def of(cls, number: LongVector | IntVector, item: LongVector | IntVector, count: int) -> Lists:
        """Make lists from pairs of the number of a list and an item; items of a list ascend, each once."""
        order = np.lexsort((item, number))
        number, item = number[order].astype(np.int64), item[order].astype(np.int64)
        new = np.ones(len(item), np.bool_)
        new[1:] = (np.diff(number) > 0) | (np.diff(item) > 0)
        return cls(np.searchsorted(number[new], np.arange(count + 1)).astype(np.int64), item[new])

    @property
    def lengths(self) -> LongVector:
        """How many items each list has."""
        return np.diff(self.start)

    def expand(self, wanted: LongVector) -> tuple[LongVector, LongVector]:
        """Return the items of some lists, one list after the other, and the place in `wanted` that each comes from."""
        lengths = self.lengths[wanted]
        place = np.repeat(np.arange(len(wanted), dtype=np.int64), lengths)
        before = np.cumsum(lengths) - lengths
        return place, self.item[np.repeat(self.start[wanted] - before, lengths) + np.arange(len(place))]


@dataclass(frozen=True, eq=False, repr=False)
class Issue(Brief):
    """One release of a series: what it shows, and what each person in it may be known by."""

    name: str
    """What messages call it."""
    rows: Lists
    """Class -> published rows."""
    values: IntMatrix
    """``[published rows, lasting sensitive columns]``, in codes that all releases of the series share."""
    owner: LongVector
    """Published row -> person. Where nobody can tell, each row has a number of its own, above those of people."""
    members: Lists
    """Class -> people who have a row in it; where nobody can tell, people who may have one."""
    views: Lists
    """View -> the classes that match a row."""
    person: LongVector
    """Pairs of a person and a view of one of their rows, each once, in the order of people."""
    view: LongVector
    unknown: str = ""
    """Why nobody can tell whose each row is."""

    @cached_property
    def view_rows(self) -> LongVector:
        """``[views]`` how many published rows match."""
        total = np.concatenate(([0], np.cumsum(self.rows.lengths[self.views.item])))
        found: LongVector = total[self.views.start[1:]] - total[self.views.start[:-1]]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Earlier(Brief):
    """The earlier releases of a table, as far as they concern its people."""

    issues: tuple[Issue, ...]
    person: LongVector
    """Row of the table -> person, 0, 1, .. by first appearance."""
    people: int
    lasting: tuple[int, ...]
    """The sensitive columns whose values stay the same for a person."""
    absent: int = 0
    """People of the table of whom it is clear from some earlier release that it has no row of theirs."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Crossing(Brief):
    """What all releases that a person is in leave open together, for each combination of rows they may be known by."""

    person: LongVector
    """Whom each combination belongs to."""
    left: LongVector
    """Candidates: people with a row that matches, and whose values every release shows; in the release with the
    fewest."""
    crowd: LongVector
    """People who have matching rows in all these releases."""
    values: LongVector
    """``[combinations, lasting columns]`` different values that every release shows."""
    right: BoolVector
    """The person's own values are among them."""

    def worst(self, what: LongVector, people: int) -> LongVector:
        """Return the smallest of a person's numbers; the largest possible number for those who have none."""
        least = np.full(people, np.iinfo(np.int64).max)
        np.minimum.at(least, self.person, what)
        return least


def find_covered_rows(
    attributes: tuple[Attribute, ...], codes: IntMatrix, published: Published
) -> tuple[IntVector, LongVector, IntVector]:
    """Find the distinct rows that each class covers: row -> distinct row, and the lists of all classes."""
    people = People.of(attributes, codes)
    start, links = people.inside(*published.cell_ranges)
    if published.sets is not None:
        start, links = within_sets(people, published.sets, start, links, len(attributes))
    return people.row_of, start, links


def views_of(
    row_of: IntVector, start: LongVector, links: IntVector, classes: int
) -> tuple[Lists, LongVector]:
    """Return the sets of classes that rows match, each set once, and the set of each row; -1 for none."""
    matched = Lists.of(
        links[: start[classes]],
        np.repeat(np.arange(classes, dtype=np.int64), np.diff(start[: classes + 1])),
        int(row_of.max(initial=-1)) + 1,
    )
    lengths = matched.lengths
    number = np.full(len(lengths), -1, np.int64)
    alone = lengths == 1
    shown, number[alone] = np.unique(matched.item[matched.start[:-1][alone]], return_inverse=True)
    found = [shown[:, np.newaxis]] if len(shown) else []
    sets: dict[bytes, int] = {}
    several: list[LongVector] = []
    for at in np.flatnonzero(lengths > 1):
        own = matched.item[matched.start[at] : matched.start[at + 1]]
        place = sets.setdefault(own.tobytes(), len(sets))
        if place == len(several):
            several.append(own)
        number[at] = len(shown) + place
    items = np.concatenate([*(one.ravel() for one in found), *several, np.empty(0, np.int64)])
    sizes = np.concatenate([np.ones(len(shown), np.int64), [len(own) for own in several]]).astype(np.int64)
    return Lists(np.concatenate(([0], np.cumsum(sizes))), items), number[row_of]


@dataclass(frozen=True, eq=False, repr=False)
class Known(Brief):
    """The rows that people are known by."""

    person: LongVector
    matches: tuple[IntVector, LongVector, IntVector]
    """The classes that cover each row, as `find_covered_rows` returns them."""
    rows: BoolVector
    """Those that may be in the release."""


def issue_of(
    name: str, published: Published, values: IntMatrix, known: Known, owners: Owners, strangers: int
) -> Issue:
    """Return a release as a part of a series. Where owners are not known, every published row is a person of its own,
    from `strangers` on.
    """
    views, view_of = views_of(*known.matches, published.classes)
    rows = Lists.of(published.class_of, np.arange(published.rows), published.classes)
    there = np.flatnonzero(known.rows & (view_of >= 0))
    pairs = np.unique(np.column_stack([known.person[there], view_of[there]]), axis=0).reshape(-1, 2)
    if owners.person is not None:
        owner = owners.person.astype(np.int64)
        members = Lists.of(published.class_of, owner, published.classes)
    else:
        at, classes = views.expand(view_of[there])
        members = Lists.of(classes, known.person[there][at], published.classes)
        owner = strangers + np.arange(published.rows, dtype=np.int64)
    return Issue(
        name, rows, values, owner, members, views, pairs[:, 0].copy(), pairs[:, 1].copy(), owners.unknown
    )


def explain_unknown_members(issues: Sequence[Issue]) -> str:
    """Return why it is not known who is in which class of some release, so that nothing can be said about an adversary
    who knows all members: people who may have a row in a class would count as having one. Empty if it is known.
    """
    found = next((one for one in issues if one.unknown), None)
    return f"{found.name}: who is in which class cannot be known, because {found.unknown}" if found else ""


def number_combinations(
    issues: Sequence[Issue], own: IntMatrix
) -> tuple[list[LongVector], LongVector, IntMatrix]:
    """Number combinations of sensitive values: those of each release's rows and of the table's rows, and the values of
    each combination.
    """
    from shoal.kernels.grouping import distinct

    stacked = np.asfortranarray(np.concatenate([*(issue.values for issue in issues), own]))
    number, first = distinct(stacked)
    parts = np.split(number.astype(np.int64), np.cumsum([len(issue.values) for issue in issues]))
    return parts[:-1], parts[-1], stacked[first]


def cross_releases(
    earlier: Earlier, newest: Issue, own: IntMatrix, progress: Callable[[str, float], None]
) -> Crossing:
    """Intersect what the releases leave possible, for each person in the newest and in an earlier release.

    Each person is judged over all releases that they are in, also after a gap: fewer of them would leave more open.
    O(pairs of a combination of rows and a matching row). `own` holds the lasting values of the table's rows.
    """
    issues = (*earlier.issues, newest)
    value_of, own_value, meaning = number_combinations(issues, own)
    mine = Lists.of(earlier.person, own_value, earlier.people)
    there = np.zeros(earlier.people, np.int64)
    for index, issue in enumerate(earlier.issues):
        there[issue.person[issue.person < earlier.people]] |= 1 << index
    here = np.zeros(earlier.people, np.bool_)
    here[newest.person] = True
    parts: list[Crossing] = []
    masks = np.unique(there[here & (there > 0)])
    for done, mask in enumerate(masks.tolist()):
        progress("intersect", done / len(masks))
        chosen = [index for index in range(len(issues)) if index == len(issues) - 1 or mask >> index & 1]
        person, views = combine_views([issues[index] for index in chosen], here & (there == mask))
        parts.append(
            _measure_crossing(
                [issues[index] for index in chosen],
                [value_of[index] for index in chosen],
                meaning,
                person,
                views,
                mine,
            )
        )
    return _join_crossings(parts, len(earlier.lasting))


def alone(issue: Issue, people: BoolVector, lasting: Sequence[int]) -> tuple[LongVector, LongVector]:
    """Return, for some people, the fewest candidates, and ``[people, lasting columns]`` the fewest values, that one
    release leaves open by itself.
    """
    (value_of,), _, meaning = number_combinations([issue], issue.values[:0])
    person, views = combine_views([issue], people)
    nobody = Lists(np.zeros(len(people) + 1, np.int64), np.empty(0, np.int64))
    found = _measure_crossing([issue], [value_of], meaning, person, views, nobody)
    values = [found.worst(found.values[:, j], len(people)) for j in range(len(lasting))]
    shape = (len(people), len(lasting))
    fewest = np.column_stack(values) if values else np.empty(shape, np.int64)
    return found.worst(found.left, len(people)), fewest


def combine_views(issues: Sequence[Issue], people: BoolVector) -> tuple[LongVector, IntMatrix]:
    """Return the people and, for each of them, every combination of one view per release."""
    found: list[LongVector] = []
    person = np.flatnonzero(people).astype(np.int64)
    for issue in issues:
        begin, end = (np.searchsorted(issue.person, person, side=side) for side in ("left", "right"))
        lengths = end - begin
        if lengths.sum() > MOST_PAIRS:
            raise DataError(
                f"people have {int(lengths.sum()):,} combinations of a row in each of {len(issues)} releases, more "
                f"than {MOST_PAIRS:,}: intersect fewer releases at a time"
            )
        at = np.repeat(np.arange(len(person)), lengths)
        before = np.cumsum(lengths) - lengths
        place = np.repeat(begin - before, lengths) + np.arange(len(at))
        found = [*(one[at] for one in found), issue.view[place]]
        person = person[at]
    return person, np.asfortranarray(np.column_stack(found).astype(np.int32))


def _measure_crossing(
    issues: Sequence[Issue],
    value_of: Sequence[LongVector],
    meaning: IntMatrix,
    person: LongVector,
    views: IntMatrix,
    mine: Lists,
) -> Crossing:
    from shoal.kernels.grouping import distinct

    number, first = distinct(views)
    items = views[first].astype(np.int64)
    left = np.zeros(len(items), np.int64)
    crowd = np.zeros(len(items), np.int64)
    values = np.zeros((len(items), meaning.shape[1]), np.int64)
    right = np.zeros(len(person), np.bool_)
    work = sum(
        (issue.view_rows[items[:, j]] for j, issue in enumerate(issues)), np.zeros(len(items), np.int64)
    )
    by_item = np.argsort(number, kind="stable")
    for begin, end in pieces(work):
        shown, people, left[begin:end] = find_shared_values(issues, value_of, items[begin:end], len(meaning))
        crowd[begin:end] = people.lengths
        item, value = shown // len(meaning), shown % len(meaning)
        for j in range(meaning.shape[1]):
            different = once(item * (int(meaning[:, j].max(initial=0)) + 1) + meaning[value, j])
            different //= int(meaning[:, j].max(initial=0)) + 1
            values[begin:end, j] = np.bincount(different, minlength=end - begin)
        low, high = np.searchsorted(number[by_item], [begin, end])
        pairs = by_item[low:high]
        at, theirs = mine.expand(person[pairs])
        keys = (number[pairs][at] - begin) * len(meaning) + theirs
        right[pairs] = np.bincount(at, among(keys, shown), len(pairs)) > 0
    return Crossing(person, left[number], crowd[number], values[number], right)


def find_shared_values(
    issues: Sequence[Issue], value_of: Sequence[LongVector], items: LongVector, combinations: int
) -> tuple[LongVector, Lists, LongVector]:
    """Intersect the releases for each item, which is one view per release. Return the shared combinations of values as
    keys ``item * combinations + combination``, the people with matching rows in all releases, and the number of
    candidates in the release with the fewest.
    """
    matching, keys, people = [], [], []
    strangers = 1 + max(
        int(max(issue.owner.max(initial=0), issue.members.item.max(initial=0))) for issue in issues
    )
    for j, (issue, values) in enumerate(zip(issues, value_of, strict=True)):
        at, classes = issue.views.expand(items[:, j])
        place, row = issue.rows.expand(classes)
        matching.append((at[place], row))
        keys.append(once(at[place] * combinations + values[row]))
        place, who = issue.members.expand(classes)
        people.append(once(at[place] * strangers + who))
    shown, crowd = _in_all(keys), _in_all(people)
    left = np.full(len(items), np.iinfo(np.int64).max)
    for (at, row), issue, values in zip(matching, issues, value_of, strict=True):
        kept = among(at * combinations + values[row], shown)
        owned = once(at[kept] * strangers + issue.owner[row[kept]]) // strangers
        left = np.minimum(left, np.bincount(owned, minlength=len(items)))
    begins = np.searchsorted(crowd, np.arange(len(items) + 1) * strangers).astype(np.int64)
    return shown, Lists(begins, crowd % strangers), left


def once(keys: LongVector) -> LongVector:
    """Return the different keys, ascending. Faster than numpy's way, which looks for them in a table first."""
    ordered = np.sort(keys)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    found: LongVector = ordered[new]
    return found


def _in_all(keys: Sequence[LongVector]) -> LongVector:
    """Return the keys that are in every one of some lists without repetition."""
    found, count = np.unique(np.concatenate(keys), return_counts=True)
    common: LongVector = found[count == len(keys)]
    return common


def among(keys: LongVector, ascending: LongVector) -> BoolVector:
    """Return which keys are in a sorted list."""
    if not len(ascending):
        return np.zeros(len(keys), np.bool_)
    place = np.minimum(np.searchsorted(ascending, keys), len(ascending) - 1)
    return np.asarray(ascending[place] == keys)


def pieces(work: LongVector) -> Iterator[tuple[int, int]]:
    """Split items so that each piece has not much work, and at least one item."""
    total = np.cumsum(work)
    begin = 0
    while begin < len(work):
        done = total[begin - 1] if begin else 0
        end = max(int(np.searchsorted(total, done + MOST_AT_ONCE)), begin + 1)
        yield begin, end
        begin = end


def _join_crossings(parts: Sequence[Crossing], lasting: int) -> Crossing:
    none = np.empty(0, np.int64)
    empty = Crossing(none, none, none, np.empty((0, lasting), np.int64), np.empty(0, np.bool_))
    whole = [*parts, empty]
    return Crossing(
        np.concatenate([part.person for part in whole]),
        np.concatenate([part.left for part in whole]),
        np.concatenate([part.crowd for part in whole]),
        np.concatenate([part.values for part in whole]),
        np.concatenate([part.right for part in whole]),
    )
