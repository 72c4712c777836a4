"""The probability, given a release, that a person of the population is in the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shoal.errors import DataError
from shoal.judging.membership.chances import MOST_STATES, SECONDS, BucketChances, Chances, membership
from shoal.release import ValueSets
from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(eq=False, repr=False, kw_only=True)
class Presence(Chances):
    """Per person of the population: the probability of being in the table, and how it is known."""

    bounded: BoolVector
    """The probability lies between `low` and `high`. This is proven, unlike the intervals of estimates."""
    overlapping: int
    """People who match several classes or buckets; their probability is that of the union."""
    indicators: Indicators | None = None
    """For buckets of shuffled columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Indicators(Brief):
    """What the literature proposes to measure instead of probabilities: cheap, and without any guarantee."""

    product: FloatVector
    """Per person of the population, the product over columns of the share of a bucket's cells that show the person's
    value; the highest over all buckets that match the person (He et al.)."""
    matching: LongVector
    """Per person of the population, the buckets that show all the person's values (Li et al.)."""
    combinations: int
    """Combinations of values that the cells of one bucket allow, summed over buckets."""


Count = Callable[[IntMatrix, LongVector, list[LongVector]], BucketChances]
"""`membership`, with what it may take."""


def presence(
    published: Published,
    population: IntMatrix,
    *,
    limit: int = MOST_STATES,
    random: np.random.Generator | None = None,
    seconds: float = SECONDS,
    progress: Callable[[float], None] = lambda share: None,
) -> Presence:
    """Return the probability of everybody in the population.

    In a generalized release, by ranges or value sets, it is the number of rows of the person's class over the people
    who match the class. In buckets of shuffled columns, people are counted as in `judging.membership.chances`. For
    people who match several classes or buckets, their union is used. That ignores that each class must be filled by
    people of its own, so for them, and for everybody who shares a class with them, only bounds are proven. `limit` and
    `seconds` are per bucket.

    Suppressed rows belong to people in the table too, and could be anybody's: all of one class, or none.
    """
    if published.sets is not None and published.in_buckets:
        raise DataError("Shoal cannot compute membership for buckets of value sets")
    from shoal.kernels.grouping import distinct

    number, first = distinct(population)
    tuples = np.ascontiguousarray(population[first])
    people = np.bincount(number, minlength=len(first)).astype(np.int64)
    if not published.in_buckets:
        found = _find_chances(published, tuples, people)
    else:
        count = partial(membership, limit=limit, random=random, seconds=seconds)
        found = ShuffledBuckets(published, tuples, people).chances(count, progress)
    if published.suppressed:
        found.outside_too(people, published.suppressed)
    if published.rows + published.suppressed >= len(population):
        found.settle(np.ones(len(tuples), np.bool_), present=True)
    return Presence(
        **found.at(number),
        bounded=found.bounded[number],
        overlapping=int(people[found.several].sum()),
        indicators=None
        if found.product is None
        else Indicators(found.product[number], found.matching[number], found.combinations),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class _Found(Chances):
    """What is known about the population, per distinct tuple."""

    bounded: BoolVector
    matching: LongVector
    """How many classes or buckets match the tuple."""
    product: FloatVector | None = None
    combinations: int = 0

    @classmethod
    def nobody(cls, tuples: int) -> _Found:
        """Start with probability 0, which holds for people who match nothing that is published."""
        return cls(
            chance=np.zeros(tuples),
            low=np.zeros(tuples),
            high=np.zeros(tuples),
            exact=np.ones(tuples, np.bool_),
            undecided=np.zeros(tuples, np.bool_),
            bounded=np.zeros(tuples, np.bool_),
            certainly_in=np.zeros(tuples, np.bool_),
            certainly_out=np.ones(tuples, np.bool_),
            matching=np.zeros(tuples, np.int64),
        )

    @property
    def several(self) -> BoolVector:
        """The tuples that match several classes or buckets."""
        return self.matching > 1

    def settle(self, places: BoolVector, present: bool) -> None:
        """Record a proof; it is more than a bound."""
        super().settle(places, present)
        self.bounded[places] = False

    def outside_too(self, people: LongVector, suppressed: int) -> None:
        """Account for suppressed rows: people who match no published row may own one of them."""
        outside = self.matching == 0
        self.chance[outside] = np.nan
        self.high[outside] = min(suppressed / max(int(people[outside].sum()), 1), 1.0)
        self.exact[outside] = self.certainly_out[outside] = False
        self.bounded[outside] = True


def _find_chances(published: Published, tuples: IntMatrix, people: LongVector) -> _Found:
    from shoal.kernels.presence import regions_of_people

    low, high = map(np.ascontiguousarray, published.cell_ranges)
    start, region = regions_of_people(low, high, tuples)
    if published.sets is not None:
        start, region = _within_sets(published.sets, start, region, tuples)
    many = np.diff(start)
    out = _Found.nobody(len(tuples))
    out.matching = many
    within = np.bincount(region, np.repeat(people, many), published.classes)
    one = np.flatnonzero(many == 1)
    own = region[start[one]]
    out.chance[one] = np.minimum(published.sizes[own] / within[own], 1.0)
    out.high[one] = np.minimum((published.sizes[own] + published.suppressed) / within[own], 1.0)
    out.certainly_in = out.chance == 1.0
    out.certainly_out = many == 0
    if out.several.any():
        from shoal.judging.membership.overlapping import overlaps

        found = overlaps(start, region, people, published.sizes, published.suppressed)
        out.chance[found.tuples], out.high[found.tuples] = found.union, found.high
        out.certainly_in[found.tuples] = found.certain
        out.bounded[found.tuples] = True
    out.bounded |= (many > 0) & (published.suppressed > 0)
    out.exact = ~out.bounded
    out.low = out.chance.copy()
    out.settle(out.certainly_in, present=True)
    return out


def _within_sets(
    sets: ValueSets, start: LongVector, region: IntVector, tuples: IntMatrix
) -> tuple[LongVector, IntVector]:
    """Keep the regions whose value sets, and not only the ranges around them, hold a tuple. O(pairs x columns)."""
    columns = tuples.shape[1]
    owner = np.repeat(np.arange(len(tuples)), np.diff(start))
    size = int(tuples.max(initial=0)) + int(sets.codes.max(initial=0)) + 1
    # A cell and a value as one number; cells are in order, and so are the values of each.
    held = np.repeat(np.arange(len(sets.start) - 1), np.diff(sets.start)) * size + sets.codes
    inside = np.ones(len(owner), np.bool_)
    for j in range(columns):
        wanted = (region.astype(np.int64) * columns + j) * size + tuples[owner, j]
        place = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
        inside &= held[place] == wanted
    many = np.bincount(owner[inside], minlength=len(tuples))
    return np.concatenate([[0], np.cumsum(many)]).astype(np.int64), region[inside]


@dataclass(frozen=True, eq=False, repr=False)
class _Fitting(Brief):
    """The distinct tuples that match a bucket; its columns are groups of columns that were shuffled together."""

    left: LongVector
    """The tuples."""
    places: IntMatrix
    """``[tuples, columns]`` the position of each among the values that are shown."""
    counts: list[LongVector]
    """How often each value of a column is shown."""
    overlap: bool
    """Cells overlap, as when buckets of different levels are joined. People match several; `places` means nothing."""
    product: FloatVector
    """Product of the shares of cells that each tuple matches."""
    combinations: int
    """Combinations of values that the cells allow."""


class ShuffledBuckets:
    """Buckets of shuffled columns, and the people who match each."""

    def __init__(self, published: Published, tuples: IntMatrix, people: LongVector) -> None:
        low, high = published.cell_ranges
        self.tuples, self.people, self.suppressed = tuples, people, published.suppressed
        self.low, self.high = low[published.class_of], high[published.class_of]
        self.together = published.layout.shuffling.groups(tuples.shape[1])
        order = np.argsort(published.part_of, kind="stable")
        ends = np.flatnonzero(np.diff(published.part_of[order])) + 1
        self.rows_of = np.split(order, ends) if len(order) else []

    def match_tuples(self, rows: LongVector, among: LongVector | None = None) -> _Fitting:
        """Return the tuples, of all or of those `among` the given ones, that match these rows as one bucket."""
        left = np.arange(len(self.tuples)) if among is None else among
        places: list[LongVector] = []
        counts: list[LongVector] = []
        overlap = False
        combinations = 1
        # Outer bounds first: they leave few people for the detailed check.
        bounds = self.low[rows].min(axis=0), self.high[rows].max(axis=0)
        left = left[((self.tuples[left] >= bounds[0]) & (self.tuples[left] <= bounds[1])).all(axis=1)]
        product = np.ones(len(left))
        for group in self.together:
            columns = list(group)
            shown, often = np.unique(
                np.concatenate([self.low[rows][:, columns], self.high[rows][:, columns]], axis=1),
                axis=0,
                return_counts=True,
            )
            low, high = shown[:, : len(columns)], shown[:, len(columns) :]
            fits = np.ones((len(left), len(shown)), np.bool_)
            for i, j in enumerate(columns):
                value = self.tuples[left, j][:, None]
                fits &= (low[:, i] <= value) & (value <= high[:, i])
            combinations *= int((high - low + 1).astype(np.int64).prod(axis=1).sum())
            overlap = overlap or bool((fits.sum(axis=1) > 1).any())
            some = fits.any(axis=1)
            left, product = left[some], (product * (fits @ often) / len(rows))[some]
            places = [place[some] for place in places] + [fits[some].argmax(axis=1)]
            counts.append(often.astype(np.int64))
        return _Fitting(
            left, np.stack(places, axis=1).astype(np.int32), counts, overlap, product, combinations
        )

    def chances(self, count: Count, progress: Callable[[float], None]) -> _Found:
        """Return who is in the table, bucket by bucket."""
        out = _Found.nobody(len(self.tuples))
        out.product = np.zeros(len(self.tuples))
        fitting: list[LongVector] = []
        reach = _Reach(self.people)
        for bucket, rows in enumerate(self.rows_of):
            progress(bucket / len(self.rows_of))
            fit = self.match_tuples(rows)
            fitting.append(fit.left)
            out.matching[fit.left] += 1
            out.product[fit.left] = np.maximum(out.product[fit.left], fit.product)
            out.combinations += fit.combinations
            self._ask(out, fit, fit.left, count)
            reach.add(fit, out, len(rows))
        unions: dict[tuple[int, ...], list[int]] = {}
        for t in np.flatnonzero(out.several).tolist():
            unions.setdefault(tuple(reach.buckets_of[t]), []).append(t)
        for done, (union, own) in enumerate(unions.items()):
            progress(done / len(unions))
            rows = np.concatenate([self.rows_of[bucket] for bucket in union])
            # People who match the joined cells, but none of the buckets, are in none of them.
            among = np.unique(np.concatenate([fitting[bucket] for bucket in union]))
            self._ask(out, self.match_tuples(rows, among), np.array(own), count)
        sizes = np.array([len(rows) for rows in self.rows_of], np.int64)
        reach.bound(out, sizes, self.suppressed)
        return out

    def _ask(self, out: _Found, fit: _Fitting, asked: LongVector, count: Count) -> None:
        """Count one bucket, and record the result for the tuples asked for."""
        if fit.overlap:
            _mark_unknown(out, asked)
            return
        # Columns that were shuffled together may not distinguish some people: count these as one tuple.
        kinds, kind_of = np.unique(fit.places, axis=0, return_inverse=True)
        kind_of = kind_of.ravel()
        many = np.bincount(kind_of, self.people[fit.left], len(kinds)).astype(np.int64)
        found = count(kinds.astype(np.int32), many, fit.counts)
        at = kind_of[np.searchsorted(fit.left, asked)]
        out.put(asked, found.at(at))


class _Reach:
    """What single buckets say about people who match several, and about those who share a bucket with these."""

    def __init__(self, people: LongVector) -> None:
        self.people = people
        self.buckets_of: list[list[int]] = [[] for _ in people]
        self.kinds_of: list[list[bytes]] = [[] for _ in people]
        """Per tuple, its values in each of its buckets: people with the same values in all are interchangeable."""
        self.room = np.zeros(len(people), np.int64)
        """How many people with these values the buckets can hold."""
        self.certain = np.zeros(len(people), np.bool_)
        """In every set that is consistent with some bucket."""
        self.possible = np.zeros(len(people), np.bool_)
        """In some set that is consistent with a bucket, or not proven to be in none."""
        self.buckets = 0

    def add(self, fit: _Fitting, found: _Found, rows: int) -> None:
        """Record a bucket that was just counted."""
        out = found.certainly_out[fit.left]
        room = np.full(len(fit.left), rows)
        if not fit.overlap:
            shown = [count[fit.places[:, j]] for j, count in enumerate(fit.counts)]
            room = np.minimum.reduce(shown) if shown else room
        self.room[fit.left] += np.where(out, 0, room)
        self.certain[fit.left] |= found.certainly_in[fit.left]
        self.possible[fit.left] |= ~out
        for place, t in enumerate(fit.left.tolist()):
            self.buckets_of[t].append(self.buckets)
            look = fit.left[place : place + 1] if fit.overlap else fit.places[place]
            self.kinds_of[t].append(look.tobytes())
        self.buckets += 1

    def bound(self, out: _Found, rows: LongVector, suppressed: int) -> None:
        """Keep the counted results that still hold, and replace the others by bounds.

        Treating buckets as classes ignores columns, so whoever is certain then is certain.
        """
        near = np.zeros(len(self.people), np.bool_)
        certain = self.certain | out.certainly_in
        if out.several.any():
            from shoal.judging.membership.overlapping import overlaps

            start = np.concatenate([[0], np.cumsum(out.matching)])
            region = np.array([bucket for own in self.buckets_of for bucket in own], np.int32)
            found = overlaps(start, region, self.people, rows, suppressed)
            near[found.tuples] = True
            certain[found.tuples] |= found.certain
        nowhere = near & (~self.possible | out.certainly_out)
        out.settle(nowhere, present=False)
        asked = near & ~nowhere
        out.low[asked] = 0.0
        out.exact[asked], out.undecided[asked] = False, True
        if suppressed:
            asked = out.matching > 0
            out.low[asked & ~out.exact] = 0.0
            out.exact[asked] = out.certainly_out[asked] = False
        alike: dict[tuple[object, ...], int] = {}
        own = [
            alike.setdefault((*buckets, *kinds), len(alike))
            for buckets, kinds in zip(self.buckets_of, self.kinds_of, strict=True)
        ]
        people = np.bincount(own, self.people, len(alike))[own]
        high = np.minimum((self.room + suppressed) / people, 1.0)
        out.high[asked] = np.fmax(high, out.chance)[asked]
        out.bounded |= asked
        out.settle(certain, present=True)


def _mark_unknown(out: _Found, asked: LongVector) -> None:
    """Mark tuples as undecided, so that models must assume the worst case."""
    out.chance[asked], out.low[asked], out.high[asked] = np.nan, 0.0, 1.0
    out.exact[asked], out.undecided[asked] = False, True
    out.certainly_in[asked], out.certainly_out[asked] = False, False
