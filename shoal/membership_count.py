"""The counting behind shoal/membership.py: dynamic programming from both ends, in exact integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import IntVector, LongVector
from shoal.membership import Bucket, binomials, bits_for

Words = NDArray[np.uint64]
BUDGETS = (20_000, 200_000)
"""An order of tuples that needs few states is looked for with these budgets before the whole limit is spent."""
ORDERS = 4
"""Orders that are tried under the small budgets."""


@dataclass(eq=False)
class _Problem:
    """One part of a bucket: open tuples with what is left of their counts, without those that say the same."""

    bound_of: list[LongVector]
    """Per tuple, its counts."""
    columns: NDArray[np.int64]
    """``[tuples, columns]`` the same as a table, before equal counts were dropped; for orders."""
    wanted: LongVector
    most: LongVector
    weights: list[list[int]]
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

    def packed(self, counts: LongVector) -> Words:
        """Pack counts into words; each must fit its bits."""
        out = np.zeros(self.words, np.uint64)
        np.add.at(out, self.word, counts.astype(np.uint64) << self.shift)
        return out


def _problem(bucket: Bucket, low: LongVector, high: LongVector, part: LongVector) -> _Problem:
    """Take out the part of a bucket, and of counts over the same tuples keep one."""
    rows = bucket.bound_of[part]
    # All tuples that were decided are taken off the counts, and so is what is certain of the open ones.
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
    return _Problem(
        bound_of=[np.unique(row) for row in columns],
        columns=columns,
        wanted=np.array(wanted, np.int64),
        most=high[part] - low[part],
        weights=[binomials(int(bucket.people[t]), int(low[t]), int(high[t])) for t in part],
    )


def counted(
    bucket: Bucket, low: LongVector, high: LongVector, part: LongVector, limit: int
) -> tuple[int, list[int], int] | None:
    """Count the ways to meet all counts of one part, and per tuple the people beyond `low` over all ways.

    None where more than `limit` states would be needed. O(states x columns) with compiled hashing; integers are exact:
    they are computed modulo as many primes as a bound on their size asks for, and put together again.
    """
    problem = _problem(bucket, low, high, part)
    orders = _orders(problem)
    for budget in (*(b for b in BUDGETS if b < limit), limit):
        for order in orders[: 1 if budget == limit and len(orders) > 1 and limit > BUDGETS[-1] else ORDERS]:
            sides = _two_sided(problem, order, budget)
            if sides is not None:
                total, people, states = _solved(problem, order, sides)
                back = [0] * len(order)
                for place, t in enumerate(order):
                    back[t] = people[place]
                return total, back, states
    return None


def _orders(problem: _Problem) -> list[IntVector]:
    """Return orders in which to decide tuples: few counts should be begun and unfinished at any time."""
    return [_greedy(problem, 1.0), _by_column(problem), _greedy(problem, 0.0)]


def _by_column(problem: _Problem) -> IntVector:
    """Go through the values of the column that has most of them, then of the next: each is finished early."""
    kinds = [len(np.unique(problem.columns[:, j])) for j in range(problem.columns.shape[1])]
    keys = [problem.columns[:, j] for j in np.argsort(kinds, kind="stable")]
    return np.lexsort(keys).astype(np.int32) if keys else np.arange(len(problem.most), dtype=np.int32)


def _greedy(problem: _Problem, opening: float) -> IntVector:
    """Always take the tuple that brings its counts closest to their end and opens the fewest. O(tuples^2 x columns)."""
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


@dataclass(eq=False)
class _Side:
    """Tuples decided from one end: the states after each, and how one leads to the next."""

    layers: list[Words]
    child_of: list[NDArray[np.int32]]


def _two_sided(problem: _Problem, order: IntVector, limit: int) -> tuple[_Side, _Side, IntVector] | None:
    """Decide tuples from both ends, always on the side with fewer states, until the sides meet."""
    from shoal.kernels.membership import extend_states, match_states

    start = problem.packed(problem.wanted)
    sides = (_Side([start[None, :]], []), _Side([start[None, :]], []))
    can_take = np.zeros(len(problem.wanted), np.int64)
    for own, most in zip(problem.bound_of, problem.most, strict=True):
        can_take[own] += most
    rest = [can_take, can_take.copy()]
    ends = [0, len(order) - 1]
    states = 2
    while ends[0] <= ends[1]:
        side = 0 if len(sides[0].layers[-1]) <= len(sides[1].layers[-1]) else 1
        t = int(order[ends[side]])
        ends[side] += 1 - 2 * side
        own = problem.bound_of[t]
        rest[side][own] -= problem.most[t]
        step = np.zeros(problem.words, np.uint64)
        np.add.at(step, problem.word[own], np.uint64(1) << problem.shift[own])
        made, child_of, fits = extend_states(
            sides[side].layers[-1],
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
            return None
        sides[side].layers.append(made)
        sides[side].child_of.append(child_of)
    partner = match_states(sides[0].layers[-1], sides[1].layers[-1], start)
    return sides[0], sides[1], partner


def _solved(
    problem: _Problem, order: IntVector, found: tuple[_Side, _Side, IntVector]
) -> tuple[int, list[int], int]:
    """Weigh the states: total ways, and people over all ways by place in the order."""
    left, right, partner = found
    most = 1
    for weights in problem.weights:
        most *= sum(weights)
    # No number here exceeds all ways without any count times the people of one tuple.
    most *= int(problem.most.max(initial=1))
    primes: list[int] = []
    product = 1
    while product <= most:
        primes.append(_next_prime(primes[-1] if primes else 1 << 31))
        product *= primes[-1]
    residues = [_modulo(problem, order, left, right, partner, prime) for prime in primes]
    numbers = [_together([line[i] for line in residues], primes, product) for i in range(len(order) + 1)]
    states = sum(len(layer) for side in (left, right) for layer in side.layers)
    return numbers[0], numbers[1:], states


def _modulo(
    problem: _Problem, order: IntVector, left: _Side, right: _Side, partner: IntVector, prime: int
) -> list[int]:
    """Total ways, and people over all ways by place in the order, modulo one prime."""
    from shoal.kernels.membership import pull_ways, push_ways

    p = np.uint64(prime)
    cut = len(left.child_of)
    turns: tuple[tuple[_Side, Any], ...] = ((left, order[:cut]), (right, order[cut:][::-1]))
    reached: list[list[Words]] = []
    weights: list[list[Words]] = []
    for side, own in turns:
        ways = [np.ones(1, np.uint64)]
        used = [np.array([w % prime for w in problem.weights[int(t)]], np.uint64) for t in own]
        for i, weight in enumerate(used):
            ways.append(push_ways(ways[-1], side.child_of[i], weight, p, len(side.layers[i + 1])))
        reached.append(ways)
        weights.append(used)
    met = np.flatnonzero(partner >= 0)
    ends = (np.zeros(len(left.layers[-1]), np.uint64), np.zeros(len(right.layers[-1]), np.uint64))
    ends[0][met] = reached[1][-1][partner[met]]
    ends[1][partner[met]] = reached[0][-1][met]
    total = sum(int(v) for v in reached[0][-1][met] * ends[0][met] % p) % prime
    people = []
    for number, (side, _) in enumerate(turns):
        rest, own_people = ends[number], []
        for i in reversed(range(len(side.child_of))):
            rest, used_people = pull_ways(rest, reached[number][i], side.child_of[i], weights[number][i], p)
            own_people.append(int(used_people))
        # The left side runs up to the cut, the right one down to it.
        people += own_people[::-1] if number == 0 else own_people
    return [total, *people]


def _together(residues: list[int], primes: list[int], product: int) -> int:
    """Return the number below `product` with these residues (Chinese remainders)."""
    total = 0
    for residue, prime in zip(residues, primes, strict=True):
        other = product // prime
        total += residue * other * pow(other, -1, prime)
    return total % product


def _next_prime(below: int) -> int:
    """Return the largest prime below a number under 2**31, by the Miller-Rabin test, exact with these bases."""
    candidate = below - 1
    while not _is_prime(candidate):
        candidate -= 1
    return candidate


def _is_prime(n: int) -> bool:
    bases = (2, 3, 5, 7)
    if n < 2 or any(n % b == 0 for b in bases):
        return n in bases
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in bases:
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        if not any((x := x * x % n) == n - 1 for _ in range(s - 1)):
            return False
    return True
