"""How likely is it, after a release, that a person of the population is in the table?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolVector, FloatVector, IntMatrix, LongVector
from shoal.errors import DataError
from shoal.membership import MOST_STATES, SECONDS, membership
from shoal.published import Published


@dataclass(frozen=True, eq=False)
class Presence:
    """Per person of the population: the chance to be in the table, and what kind of answer that is."""

    chance: FloatVector
    """NaN where only the interval is known."""
    low: FloatVector
    high: FloatVector
    exact: BoolVector
    undecided: BoolVector
    """Not even whether the person is certainly in or out is known."""
    overlapping: int
    """People who could be in several classes or buckets; these count as one for them."""


def presence(
    published: Published,
    population: IntMatrix,
    *,
    limit: int = MOST_STATES,
    random: np.random.Generator | None = None,
    seconds: float = SECONDS,
    progress: Callable[[float], None] = lambda share: None,
) -> Presence:
    """Return the chance of everybody in the population.

    In a generalized release it is the rows of the person's class over the people who fall in it. In a bucket of
    shuffled columns people are counted as in `shoal.membership`. Whoever fits several classes or buckets is looked at
    in their union. `limit` and `seconds` hold for each bucket.
    """
    if published.low is None or published.high is None:
        raise DataError(
            "cells of the release cannot be placed in their domains, so nobody can be looked up in it"
        )
    if published.sets is not None:
        raise DataError("membership in releases of value sets is not known how to count")
    from shoal.kernels.grouping import distinct

    number, first = distinct(population)
    tuples = np.ascontiguousarray(population[first])
    people = np.bincount(number, minlength=len(first)).astype(np.int64)
    if published.bucket_of is None:
        found = _generalized(published, tuples, people)
    else:
        found = _Shuffled(published, tuples, people).chances(limit, random, seconds, progress)
    return Presence(
        chance=found.chance[number],
        low=found.low[number],
        high=found.high[number],
        exact=found.exact[number],
        undecided=found.undecided[number],
        overlapping=int(people[found.several].sum()),
    )


@dataclass(eq=False)
class _Found:
    """The same by distinct tuple."""

    chance: FloatVector
    low: FloatVector
    high: FloatVector
    exact: BoolVector
    undecided: BoolVector
    several: BoolVector

    @classmethod
    def nobody(cls, tuples: int) -> _Found:
        """Begin with chances of 0, for whoever fits nothing that is published."""
        return cls(
            chance=np.zeros(tuples),
            low=np.zeros(tuples),
            high=np.zeros(tuples),
            exact=np.ones(tuples, np.bool_),
            undecided=np.zeros(tuples, np.bool_),
            several=np.zeros(tuples, np.bool_),
        )


def _generalized(published: Published, tuples: IntMatrix, people: LongVector) -> _Found:
    from shoal.kernels.presence import regions_of_people

    assert published.low is not None
    assert published.high is not None
    low, high = np.ascontiguousarray(published.low), np.ascontiguousarray(published.high)
    start, region = regions_of_people(low, high, tuples)
    many = np.diff(start)
    out = _Found.nobody(len(tuples))
    within = np.bincount(region, np.repeat(people, many), published.classes)
    one = np.flatnonzero(many == 1)
    own = region[start[one]]
    out.chance[one] = np.minimum(published.sizes[own] / within[own], 1.0)
    out.several = many > 1
    # People in the same classes share their answer.
    known: dict[tuple[int, ...], float] = {}
    owner = np.repeat(np.arange(len(tuples)), many)
    for t in np.flatnonzero(out.several):
        classes = tuple(region[start[t] : start[t + 1]].tolist())
        if classes not in known:
            union = np.unique(owner[np.isin(region, classes)])
            known[classes] = min(float(published.sizes[list(classes)].sum() / people[union].sum()), 1.0)
        out.chance[t] = known[classes]
    out.low = out.high = out.chance
    return out


class _Shuffled:
    """Buckets of shuffled columns, and who could be in which."""

    def __init__(self, published: Published, tuples: IntMatrix, people: LongVector) -> None:
        assert published.bucket_of is not None
        assert published.low is not None
        assert published.high is not None
        self.tuples, self.people = tuples, people
        self.low = published.low[published.class_of]
        self.high = published.high[published.class_of]
        columns = tuples.shape[1]
        self.together = published.together or tuple((j,) for j in range(columns))
        order = np.argsort(published.bucket_of, kind="stable")
        ends = np.flatnonzero(np.diff(published.bucket_of[order])) + 1
        self.rows_of = np.split(order, ends) if len(order) else []

    def fitting(self, rows: LongVector) -> tuple[LongVector, IntMatrix, list[LongVector], bool]:
        """Return the tuples that fit some rows as one bucket, by their place among the values that are shown, and how
        often each of these is shown; one column per group of columns that were shuffled together. Last, whether
        cells overlap: a person then fits several, as when buckets of different levels are joined, and places mean
        nothing.
        """
        left = np.arange(len(self.tuples))
        places: list[LongVector] = []
        counts: list[LongVector] = []
        overlap = False
        # Outer bounds first: they leave few people for the closer look.
        bounds = self.low[rows].min(axis=0), self.high[rows].max(axis=0)
        left = left[((self.tuples >= bounds[0]) & (self.tuples <= bounds[1])).all(axis=1)]
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
            overlap = overlap or bool((fits.sum(axis=1) > 1).any())
            some = fits.any(axis=1)
            left = left[some]
            places = [place[some] for place in places] + [fits[some].argmax(axis=1)]
            counts.append(often.astype(np.int64))
        return left, np.stack(places, axis=1).astype(np.int32), counts, overlap

    def chances(
        self,
        limit: int,
        random: np.random.Generator | None,
        seconds: float,
        progress: Callable[[float], None],
    ) -> _Found:
        out = _Found.nobody(len(self.tuples))
        buckets_of: dict[int, list[int]] = {}
        for bucket, rows in enumerate(self.rows_of):
            progress(bucket / len(self.rows_of))
            left, places, counts, overlap = self.fitting(rows)
            for t in left.tolist():
                buckets_of.setdefault(t, []).append(bucket)
            if overlap:
                _unknown(out, left)
            else:
                self._ask(out, left, left, places, counts, limit, random, seconds)
        unions: dict[tuple[int, ...], list[int]] = {}
        for t, buckets in buckets_of.items():
            if len(buckets) > 1:
                out.several[t] = True
                unions.setdefault(tuple(buckets), []).append(t)
        for union, own in unions.items():
            rows = np.concatenate([self.rows_of[bucket] for bucket in union])
            left, places, counts, overlap = self.fitting(rows)
            if overlap:
                _unknown(out, np.array(own))
            else:
                self._ask(out, left, np.array(own), places, counts, limit, random, seconds)
        return out

    def _ask(
        self,
        out: _Found,
        left: LongVector,
        asked: LongVector,
        places: IntMatrix,
        counts: list[LongVector],
        limit: int,
        random: np.random.Generator | None,
        seconds: float,
    ) -> None:
        """Count one bucket, and write down what was found for the tuples asked for."""
        # Columns that were shuffled together may still leave people alike: count them as one tuple.
        kinds, kind_of = np.unique(places, axis=0, return_inverse=True)
        kind_of = kind_of.ravel()
        many = np.bincount(kind_of, self.people[left], len(kinds)).astype(np.int64)
        found = membership(kinds.astype(np.int32), many, counts, limit=limit, random=random, seconds=seconds)
        at = kind_of[np.searchsorted(left, asked)]
        out.chance[asked], out.low[asked], out.high[asked] = found.chance[at], found.low[at], found.high[at]
        out.exact[asked], out.undecided[asked] = found.exact[at], found.undecided[at]


def _unknown(out: _Found, asked: LongVector) -> None:
    """Write down that nothing is known: whoever judges must assume the worst."""
    out.chance[asked], out.low[asked], out.high[asked] = np.nan, 0.0, 1.0
    out.exact[asked], out.undecided[asked] = False, True
