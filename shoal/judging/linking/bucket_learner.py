"""What buckets teach about themselves: naive Bayes over quasi-identifiers, fitted to buckets of values (Kifer 2009).

Each bucket shows which people it has, and which sensitive values, but not who has which. The buckets together show
which values go with which quasi-identifiers. That says, within each bucket, who is likely to have which value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array

from shoal.release.published import Published
from shoal.support.arrays import BoolVector, FloatVector, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.confidence_intervals import wilson

MOST_BINS = 100
"""A column with more values is divided into so many ranges with about as many people each."""
MOST_LABELS = 200
"""The same for sensitive numbers and dates."""
WIDTH = 0.1
"""How far a sensitive number speaks for its neighbours: the standard deviation, as a share of all people in order."""
SMOOTHING = 1.0
"""One person more is counted for each sensitive value, with quasi-identifiers as all people have them (Laplace)."""
MOST_CHOICES = 4_096
"""Buckets with at most so many choices from their values are counted exactly."""
ROUNDS = 5
"""How often beliefs are revised. More rounds believe mostly themselves: the share of right guesses falls again."""
TENTHS = 10
TIE = 1e-9
"""Beliefs that are so close are equal."""
BEYOND_CHANCE = 3.29
"""Guesses are right more often than a limit beyond chance if the lower end of the 99.9 % interval is above it."""


@dataclass(frozen=True, eq=False, repr=False)
class Members(Brief):
    """Who is in which bucket, ordered by bucket."""

    codes: IntMatrix
    """``[distinct people, quasi-identifiers]``."""
    point_of: IntVector
    """Row of the original -> distinct person."""
    point: LongVector
    """Member -> distinct person."""
    mass: FloatVector
    """Member -> how many people it stands for; a share, if they may be in several buckets."""
    bucket: LongVector
    """Member -> bucket."""
    buckets: int


@dataclass(frozen=True, eq=False, repr=False)
class Learned(Brief):
    """What an adversary believes about each distinct person, as shares of the values of a column."""

    after: csr_array
    """After learning. ``[distinct people, values]``, zeros for people who are in no bucket."""
    before: csr_array
    """The same by how often the buckets show each value."""


@dataclass(frozen=True, eq=False, repr=False)
class Pairs(Brief):
    """All pairs of a member and a value of the member's bucket, ordered by bucket, member and value."""

    members: Members
    size: int
    """How many values the column has."""
    first: LongVector
    """Bucket -> its first member; and the end."""
    begin: LongVector
    """Bucket -> its first entry of `count`; and the end."""
    count: LongVector
    """How many rows of a bucket show a value."""
    member: LongVector
    value: LongVector
    start: FloatVector
    """What is believed before learning."""

    @classmethod
    def of(cls, members: Members, published: Published, column: int) -> Pairs:
        """List the pairs. O(members x values of a bucket)."""
        size = published.sensitive[column].hierarchy.size
        shown = published.candidates.astype(np.int64) * size + published.sensitive_codes[:, column]
        keys, count = np.unique(shown, return_counts=True)
        ends = np.arange(members.buckets + 1)
        first, begin = np.searchsorted(members.bucket, ends), np.searchsorted(keys, ends * size)
        many = np.diff(begin)[members.bucket]
        member = np.repeat(np.arange(len(many)), many)
        own = members.bucket[member]
        place = np.arange(len(member)) - np.repeat(np.cumsum(many) - many, many) + begin[own]
        rows = np.bincount(published.candidates, minlength=members.buckets)
        start = members.mass[member] * count[place] / rows[own]
        value = keys[place] % size
        return cls(members, size, first.astype(np.int64), begin.astype(np.int64), count, member, value, start)

    def sum_up(self, beliefs: FloatVector) -> csr_array:
        """Return the beliefs about distinct people, from those about the pairs."""
        point = self.members.point[self.member]
        known = point >= 0
        places = (point[known], self.value[known])
        found = coo_array((beliefs[known], places), shape=(len(self.members.codes), self.size)).tocsr()
        total: FloatVector = np.repeat(found.sum(axis=1), np.diff(found.indptr))
        found.data = np.divide(found.data, total, out=np.zeros_like(found.data), where=total > 0)
        return found


def learn(
    members: Members,
    published: Published,
    column: int,
    progress: Callable[[float], None] = lambda share: None,
) -> Learned:
    """Fit the classifier to the buckets, and return what it says about everyone."""
    pairs = Pairs.of(members, published, column)
    ordered = published.sensitive[column].hierarchy.ordered > 0
    return Learned(pairs.sum_up(revise(pairs, ordered=ordered, progress=progress)), pairs.sum_up(pairs.start))


def revise(
    pairs: Pairs,
    *,
    ordered: bool,
    rounds: int = ROUNDS,
    progress: Callable[[float], None] = lambda share: None,
) -> FloatVector:
    """Return what is believed of each pair after some rounds.

    A round counts how often each value of each quasi-identifier goes with each value of the column, by the beliefs so
    far; then it weighs all assignments of a bucket's values to its people by these shares.
    O(members x values of a bucket x quasi-identifiers) per round.
    """
    from shoal.kernels.bucket_posterior import share_values

    mass = pairs.members.mass
    totals = np.bincount(pairs.value, pairs.start, pairs.size).astype(np.float64)
    label_of, near = _neighbours(totals, ordered=ordered)
    label, labels = label_of[pairs.value], near.shape[0]
    columns = _bins(pairs.members)
    now = pairs.start
    for turn in range(rounds):
        progress(turn / rounds)
        held = (near @ np.bincount(label, now, labels))[label]
        logs = np.zeros(len(now))
        for own in columns:
            many = int(own.max()) + 1
            usual = (np.bincount(own, mass, many) / mass.sum())[own[pairs.member]]
            cell = label * many + own[pairs.member]
            seen = near @ np.bincount(cell, now, labels * many).reshape(labels, many)
            logs += np.log((seen.ravel()[cell] + SMOOTHING * usual) / (held + SMOOTHING))
        now = np.zeros_like(now)
        share_values(pairs.first, mass, pairs.begin, pairs.count, logs, MOST_CHOICES, now)
    return now


def _neighbours(totals: FloatVector, *, ordered: bool) -> tuple[LongVector, Any]:
    """Return the label of each value, and how much the people with one label say about each other label. Of numbers and
    dates, those with nearby ranks say nearly the same.
    """
    labels = np.arange(len(totals), dtype=np.int64)
    if not ordered:
        return labels, eye_array(len(totals), format="csr")
    rank = (np.cumsum(totals) - totals / 2) / max(totals.sum(), 1e-300)
    if len(totals) > MOST_LABELS:
        labels = np.minimum((rank * MOST_LABELS).astype(np.int64), MOST_LABELS - 1)
        rank = (np.arange(MOST_LABELS) + 0.5) / MOST_LABELS
    return labels, np.exp(-(((rank[:, None] - rank) / WIDTH) ** 2) / 2)


def _bins(members: Members) -> list[LongVector]:
    """Return, per quasi-identifier, the number of each member's value, or of the range with it. Columns with one value
    say nothing."""
    found = []
    own = members.codes[np.maximum(members.point, 0)]
    for codes in own.T:
        seen, place, many = np.unique(codes, return_inverse=True, return_counts=True)
        if len(seen) > MOST_BINS:
            ranges = (np.cumsum(many) - many) * MOST_BINS // many.sum()
            place = np.unique(ranges, return_inverse=True)[1][place]
        if len(seen) > 1:
            found.append(place.astype(np.int64))
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Guesses(Brief):
    """The likeliest value of each person, compared with the truth."""

    belief: FloatVector
    """How much it is believed; 0 for people who are in no bucket."""
    right: FloatVector
    """1 if it is the person's; a share, if several values are equally likely."""

    @classmethod
    def of(cls, beliefs: csr_array, point_of: IntVector, truth: IntVector) -> Guesses:
        """Guess for each row of the original."""
        top: FloatVector = beliefs.max(axis=1).toarray().ravel()
        person = np.repeat(np.arange(len(top)), np.diff(beliefs.indptr))
        ties = np.bincount(person, beliefs.data >= top[person] - TIE, len(top))
        own: FloatVector = np.asarray(beliefs[point_of, truth]).ravel()
        likeliest = (own >= top[point_of] - TIE) & (own > 0)
        return cls(top[point_of], likeliest / np.maximum(ties, 1.0)[point_of])

    def by_belief(self) -> list[dict[str, float]]:
        """Return, per tenth of the scale of beliefs, how many people it has, and how many guesses are right."""
        tenth = self.tenth
        return [
            {
                "above": round(number / TENTHS, 1),
                "people": int((tenth == number).sum()),
                "mean_belief": float(self.belief[tenth == number].mean()),
                "right": float(self.right[tenth == number].mean()),
            }
            for number in np.unique(tenth[self.belief > 0])
        ]

    @property
    def tenth(self) -> LongVector:
        """Person -> the tenth of the scale that the belief is in, from 0."""
        found: LongVector = np.clip(np.ceil(self.belief * TENTHS - TIE) - 1, 0, TENTHS - 1).astype(np.int64)
        return found

    @property
    def least_right(self) -> FloatVector:
        """Person -> how many of the guesses are right at least, beyond chance, about people with beliefs in the same
        tenth of the scale. A belief alone says nothing: a classifier may be too sure.
        """
        found = np.zeros(len(self.belief))
        tenth, known = self.tenth, self.belief > 0
        for number in np.unique(tenth[known]):
            own = (tenth == number) & known
            found[own] = wilson(float(self.right[own].mean()), int(own.sum()), BEYOND_CHANCE)[0]
        return found

    def find_exposed(self, limit: float) -> BoolVector:
        """Return the people with a value that is guessed right more often than in the share `limit` of all cases."""
        return np.asarray(self.least_right > limit)
