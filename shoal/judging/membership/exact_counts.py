"""Exact counting of consistent sets of people: dynamic programming from both ends of an order of tuples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.judging.membership.bucket import Bucket, Component, binomials, bits_for, component_of, no_fit
from shoal.judging.membership.remainders import combine_remainders, find_primes
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

Words = NDArray[np.uint64]
BUDGETS = (20_000, 200_000)
"""These budgets are tried first, to find an order of tuples that needs few states; then the whole limit."""
A_DECADE = 0.45
"""Ten times the states decide at best this further share of the tuples; a hopeless limit is not tried."""
AHEAD = 0.05
"""Bonus for the order by column: it grows more slowly in the end than the others, which are quicker at first."""
A_WAVE = 6
"""A wave costs as much as this many states."""
PROOFS = 0.5
"""Seconds to prove whether people who are almost always present, or absent, are certain."""
INTEGERS = 2_000_000
"""Up to this product of states and primes, numbers are integers; above it, floats with bounded rounding."""
LARGEST_FLOAT = 1 << 1000
"""Numbers between 1 and this are floats without over- or underflow."""


@dataclass(frozen=True, eq=False, repr=False)
class Counted(Brief):
    """The result of counting one component of a bucket."""

    ways: int | None
    """Number of consistent sets of people; None if only floats were computed."""
    used: list[int] | None
    """Per tuple, people above the minimum, summed over all these sets."""
    share: FloatVector
    """Per tuple, the average number of people above the minimum."""
    none: BoolVector
    """Per tuple: no set has anybody above the minimum. Exact even with floats."""
    all_: BoolVector
    """Per tuple: every set has the maximum."""
    states: int


@dataclass(eq=False, repr=False)
class _Problem(Brief):
    """One component of a bucket: its undecided tuples, and what remains of their counts, without redundant ones."""

    bound_of: list[LongVector]
    """The counts of each tuple."""
    columns: NDArray[np.int64]
    """``[tuples, columns]`` the same as a table, before redundant counts were dropped; for orders."""
    wanted: LongVector
    most: LongVector
    weights: list[list[int]]
    most_ways: int
    """Upper bound on the number of consistent sets."""
    word: LongVector = field(init=False)
    shift: Words = field(init=False)
    mask: Words = field(init=False)
    words: int = field(init=False)

    def __post_init__(self) -> None:
        places, word, at = [], 0, 0
        for value in self.wanted:
            bits = bits_for(int(value))
            if at + bits > 64:
                word, at = word + 1, 0
            places.append((word, at, (1 << bits) - 1))
            at += bits
        self.word = np.array([place[0] for place in places], np.int64)
        self.shift = np.array([place[1] for place in places], np.uint64)
        self.mask = np.array([place[2] for place in places], np.uint64)
        self.words = word + 1

    def pack(self, counts: LongVector) -> Words:
        """Pack counts into words; each must fit its bits."""
        out = np.zeros(self.words, np.uint64)
        np.add.at(out, self.word, counts.astype(np.uint64) << self.shift)
        return out


def _problem(bucket: Bucket, low: LongVector, high: LongVector, part: LongVector) -> _Problem:
    """Take a component out of a bucket; of counts over the same tuples keep one."""
    rows = bucket.bound_of[part]
    # Subtract from the counts the decided tuples, and the minimum of the undecided ones.
    left = bucket.wanted.copy()
    for j in range(rows.shape[1]):
        left -= np.bincount(bucket.bound_of[:, j], low, len(left)).astype(np.int64)
    members: dict[tuple[int, ...], int] = {}
    number = np.full(len(left), -1, np.int64)
    wanted: list[int] = []
    for j in range(rows.shape[1]):
        for bound in np.unique(rows[:, j]):
            own = tuple(np.flatnonzero(rows[:, j] == bound).tolist())
            if own not in members:
                members[own] = len(wanted)
                wanted.append(int(left[bound]))
            number[bound] = members[own]
    columns = number[rows]
    weights = [binomials(int(bucket.people[t]), int(low[t]), int(high[t])) for t in part]
    most_ways = math.prod(sum(own) for own in weights)
    if rows.shape[1]:
        size = int(low[part].sum()) + int(left[np.unique(rows[:, 0])].sum())
        most_ways = min(most_ways, math.comb(int(bucket.people[part].sum()), size))
    return _Problem(
        bound_of=[np.unique(row) for row in columns],
        columns=columns,
        wanted=np.array(wanted, np.int64),
        most=high[part] - low[part],
        weights=weights,
        most_ways=most_ways,
    )


def count_ways(
    bucket: Bucket, low: LongVector, high: LongVector, part: LongVector, limit: int
) -> Counted | None:
    """Count the ways to meet all counts of one component, and per tuple the people above `low` over all ways.

    None if this needs more than `limit` states, or seems to after a few; waves are counted instead if they are fewer.
    O(states x columns) with compiled hashing.
    """
    problem = _problem(bucket, low, high, part)
    spent = min(BUDGETS[0], limit)
    attempts: list[_Ordering] = []
    # Good orders keep few counts started and unfinished at any time.
    for ahead, make in ((AHEAD, _by_column), (0.0, _by_opening), (0.0, _by_closing)):
        attempts.append(_Ordering(problem, make(problem), ahead))
        if attempts[-1].finishes(spent):
            return attempts[-1].count_ways()
    for budget, kept in ((min(BUDGETS[1], limit), 2), (limit // 8, 1), (limit, 1)):
        attempts = sorted(attempts, key=lambda attempt: -attempt.reached)[:kept]
        if spent == BUDGETS[1]:
            found = _count_by_waves(problem, component_of(bucket, low, high, part), limit)
            if found is not None:
                return found
        if limit <= spent or attempts[0].reached + A_DECADE * math.log10(limit / spent) < 1.0:
            return None
        if budget <= spent:
            continue
        for attempt in attempts:
            if attempt.finishes(budget):
                return attempt.count_ways()
        spent = budget
    return None


def _count_by_waves(problem: _Problem, part: Component, limit: int) -> Counted | None:
    """Count by waves. They give all probabilities, but not whether a tiny one is zero; that is proven separately."""
    from shoal.judging.membership.certain import Certain
    from shoal.judging.membership.waves import count_by_waves

    found = count_by_waves(problem.columns, problem.wanted, problem.weights, limit // A_WAVE)
    if found is None:
        return None
    sure = Certain(part, found.some, found.less, PROOFS)
    if sure.find_open_tuples(False).any() or sure.find_open_tuples(True).any():
        sure.by_searching(np.random.default_rng(0))
        sure.by_programming()
        if sure.unknown.any():
            return None
    share = np.where(sure.proven_out, 0.0, np.where(sure.proven_in, problem.most, found.share))
    return Counted(None, None, share, sure.proven_out, sure.proven_in, found.points)


class _Ordering:
    """An order in which to decide the tuples, and how far it got."""

    def __init__(self, problem: _Problem, order: IntVector, ahead: float) -> None:
        self.problem, self.order, self.ahead = problem, order, ahead
        self.reached = 0.0
        self.sides: tuple[_Side, _Side, IntVector] | None = None

    def finishes(self, budget: int) -> bool:
        """Return whether this many states suffice; `reached` becomes the share of decided tuples, plus a bonus."""
        self.sides, decided = _two_sided(self.problem, self.order, budget)
        self.reached = decided / len(self.order) + self.ahead
        return self.sides is not None

    def count_ways(self) -> Counted:
        assert self.sides is not None
        return _count_paths(self.problem, self.order, self.sides)


def _by_column(problem: _Problem) -> IntVector:
    """Order by the values of the column with the most values, then of the next: each value is finished early."""
    kinds = [len(np.unique(problem.columns[:, j])) for j in range(problem.columns.shape[1])]
    keys = [problem.columns[:, j] for j in np.argsort(kinds, kind="stable")]
    return np.lexsort(keys).astype(np.int32) if keys else np.arange(len(problem.most), dtype=np.int32)


def _by_opening(problem: _Problem) -> IntVector:
    return _greedy(problem, 1.0)


def _by_closing(problem: _Problem) -> IntVector:
    return _greedy(problem, 0.0)


def _greedy(problem: _Problem, opening: float) -> IntVector:
    """Always take the tuple that most completes its counts and starts the fewest new ones. O(tuples^2 x columns)."""
    rows = problem.columns
    count = len(rows)
    left = np.zeros(len(problem.wanted), np.float64)
    for own in problem.bound_of:
        left[own] += 1
    whole = left.copy()
    size = np.log2(problem.wanted + 1.0)
    order = np.empty(count, np.int32)
    taken = np.zeros(count, np.float64)
    for place in range(count):
        gain = size / left.clip(1.0) ** 2 - opening * size * (left == whole)
        score = gain[rows].sum(axis=1) - taken
        best = int(np.argmax(score))
        order[place], taken[best] = best, np.inf
        left[problem.bound_of[best]] -= 1
    return order


@dataclass(eq=False, repr=False)
class _Side(Brief):
    """Tuples decided from one end: the number of states after each, and the transitions between them."""

    states: Words
    """The states after the last tuple."""
    sizes: list[int]
    child_of: list[NDArray[np.int32]]


def _two_sided(
    problem: _Problem, order: IntVector, limit: int
) -> tuple[tuple[_Side, _Side, IntVector] | None, int]:
    """Decide tuples from both ends, always on the side with fewer states, until the sides meet.

    Return both sides and the pairs of states that meet, or None above `limit` states; and how many tuples were decided.
    """
    from shoal.kernels.membership import extend_states, match_states

    start = problem.pack(problem.wanted)
    sides = (_Side(start[None, :], [1], []), _Side(start[None, :], [1], []))
    can_take = np.zeros(len(problem.wanted), np.int64)
    for own, most in zip(problem.bound_of, problem.most, strict=True):
        can_take[own] += most
    rest = [can_take, can_take.copy()]
    ends = [0, len(order) - 1]
    states = 2
    while ends[0] <= ends[1]:
        side = 0 if sides[0].sizes[-1] <= sides[1].sizes[-1] else 1
        t = int(order[ends[side]])
        ends[side] += 1 - 2 * side
        own = problem.bound_of[t]
        rest[side][own] -= problem.most[t]
        step = np.zeros(problem.words, np.uint64)
        np.add.at(step, problem.word[own], np.uint64(1) << problem.shift[own])
        made, child_of, fits = extend_states(
            sides[side].states,
            problem.word[own],
            problem.shift[own],
            problem.mask[own],
            rest[side][own],
            step,
            int(problem.most[t]),
            max(limit - states, 1),
        )
        states += len(made)
        if not fits or states > limit:
            return None, len(order) - 1 - (ends[1] - ends[0] + 1)
        sides[side].states = made
        sides[side].sizes.append(len(made))
        sides[side].child_of.append(child_of)
    partner = match_states(sides[0].states, sides[1].states, start)
    return (sides[0], sides[1], partner), len(order)


def _count_paths(problem: _Problem, order: IntVector, found: tuple[_Side, _Side, IntVector]) -> Counted:
    """Count the sets that pass through the states.

    Integers are exact: they are computed modulo as many primes as the bound on their size requires, and combined. With
    many states, floats suffice: all numbers are sums of products of non-negative numbers, so rounding errors grow only
    with the number of steps, to about 1e-11 of the result; and zero stays zero.
    """
    left, right, _ = found
    states = sum(left.sizes) + sum(right.sizes)
    # No number here exceeds the number of ways times the people of one tuple.
    most = problem.most_ways * int(problem.most.max(initial=1))
    back = np.argsort(order)
    if states * (most.bit_length() // 31 + 1) > INTEGERS and most < LARGEST_FLOAT:
        total, people, lacking = _floats(problem, order, found)
        if total == 0:
            raise no_fit()
        return Counted(None, None, (people / total)[back], (people == 0)[back], (lacking == 0)[back], states)
    primes = find_primes(most)
    ways, *numbers = combine_remainders([_modulo(problem, order, found, prime) for prime in primes], primes)
    if ways == 0:
        raise no_fit()
    used = [numbers[place] for place in back.tolist()]
    return Counted(
        ways=ways,
        used=used,
        share=np.array([n / ways for n in used]),
        none=np.array([n == 0 for n in used], np.bool_),
        all_=np.array([n == ways * int(m) for n, m in zip(used, problem.most, strict=True)], np.bool_),
        states=states,
    )


def _passes(
    problem: _Problem,
    order: IntVector,
    found: tuple[_Side, _Side, IntVector],
    read: Callable[[list[int]], Any],
    push: Callable[..., Any],
    pull: Callable[..., Any],
) -> tuple[Any, Any, list[tuple[Any, ...]]]:
    """Count the sets through each state from both ends, and then back.

    Return, for the states that meet, the ways on both sides, and what `pull` sums up at each position in the order.
    """
    left, right, partner = found
    cut = len(left.child_of)
    reached, used = [], []
    for side, own in ((left, order[:cut]), (right, order[cut:][::-1])):
        weights = [read(problem.weights[t]) for t in own.tolist()]
        ways = [read([1])]
        for i, weight in enumerate(weights):
            ways.append(push(ways[-1], side.child_of[i], weight, side.sizes[i + 1]))
        used.append(weights)
        reached.append(ways)
    met = np.flatnonzero(partner >= 0)
    ends = [np.zeros_like(ways[-1]) for ways in reached]
    ends[0][met] = reached[1][-1][partner[met]]
    ends[1][partner[met]] = reached[0][-1][met]
    sums: list[list[tuple[Any, ...]]] = []
    for side, weights, ways, rest in zip((left, right), used, reached, ends, strict=True):
        own_sums = []
        for i in reversed(range(len(weights))):
            rest, *more = pull(rest, ways[i], side.child_of[i], weights[i])
            own_sums.append(tuple(more))
        sums.append(own_sums)
    # The left side runs up to the place where the sides meet, the right one down to it.
    return reached[0][-1][met], ends[0][met], sums[0][::-1] + sums[1]


def _floats(
    problem: _Problem, order: IntVector, found: tuple[_Side, _Side, IntVector]
) -> tuple[float, FloatVector, FloatVector]:
    """Return the number of ways and, per position in the order, people above the minimum and below the maximum."""
    from shoal.kernels.membership import pull_shares, push_shares

    left, right, sums = _passes(
        problem, order, found, lambda numbers: np.array(numbers, np.float64), push_shares, pull_shares
    )
    people, lacking = np.array(sums).T
    return float(left @ right), people, lacking


def _modulo(
    problem: _Problem, order: IntVector, found: tuple[_Side, _Side, IntVector], prime: int
) -> list[int]:
    """Return the number of ways and, per position in the order, people over all ways, modulo one prime."""
    from shoal.kernels.membership import pull_ways, push_ways

    p = np.uint64(prime)
    left, right, sums = _passes(
        problem,
        order,
        found,
        lambda numbers: np.array([number % prime for number in numbers], np.uint64),
        lambda ways, child_of, weight, size: push_ways(ways, child_of, weight, p, size),
        lambda rest, ways, child_of, weight: pull_ways(rest, ways, child_of, weight, p),
    )
    total = sum(int(v) for v in left * right % p) % prime
    return [total, *(int(people) for (people,) in sums)]
