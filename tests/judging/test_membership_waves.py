"""Counting by waves: against enumeration of all sets of people, and against counting by states."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.judging.membership import exact_counts as membership_count
from shoal.judging.membership import waves as membership_waves
from shoal.judging.membership.chances import membership
from shoal.judging.membership.waves import PRECISION, count_by_waves
from tests import oracles
from tests.judging.test_membership import buckets, counts_of, enumerated, grouped


def by_waves(people, private, limit=10_000_000):
    """Ask with waves only, as if no states could be kept; and whether they were asked for, and answered."""
    answers = []

    def asked(*arguments):
        answers.append(count_by_waves(*arguments))
        return answers[-1]

    tuples, many, of = grouped(people)
    with (
        mock.patch.object(membership_count, "BUDGETS", (1, 1)),
        mock.patch.object(membership_waves, "count_by_waves", asked),
    ):
        found = membership(tuples, many, counts_of(people, private), limit=limit)
    return found, of, sum(answer is not None for answer in answers)


def check(found, of, people, private):
    expected, _ = enumerated(people, private)
    assert found.exact.all()
    assert found.chance[of].tolist() == pytest.approx([float(share) for share in expected], abs=PRECISION)
    assert found.certainly_in[of].tolist() == [share == 1 for share in expected]
    assert found.certainly_out[of].tolist() == [share == 0 for share in expected]
    assert (found.chance[found.certainly_out] == 0).all()
    assert (found.chance[found.certainly_in] == 1).all()


@settings(max_examples=150)
@given(buckets())
def test_waves_count_as_enumeration_does(bucket):
    people, private = bucket
    found, of, _ = by_waves(people, private)
    check(found, of, people, private)


def test_many_small_buckets_are_counted_by_waves(repeated):
    random = np.random.default_rng(3)
    answered, many = 0, int(300 * repeated)
    for _ in range(many):
        columns, n = random.integers(2, 5), random.integers(6, 13)
        values = [random.integers(2, 5) for _ in range(columns)]
        people = [tuple(int(random.integers(v)) for v in values) for _ in range(n)]
        private = sorted(random.choice(n, n // 2, replace=False).tolist())
        found, of, waves = by_waves(people, private)
        check(found, of, people, private)
        answered += waves
    assert answered > many / 6


@pytest.mark.parametrize("seed", range(4))
def test_waves_agree_with_states(seed):
    # 120 people with 12 x 3 x 3 values: too many to enumerate, few enough for exact integers.
    random = np.random.default_rng(seed)
    people = [tuple(int(random.integers(v)) for v in (12, 3, 3)) for _ in range(120)]
    private = sorted(random.choice(120, 60, replace=False).tolist())
    found, _, waves = by_waves(people, private)
    assert waves == 1
    tuples, many, _ = grouped(people)
    with (
        mock.patch.object(membership_waves, "count_by_waves", return_value=None),
        mock.patch.object(membership_count, "INTEGERS", 1_000_000_000),
    ):
        exact = membership(tuples, many, counts_of(people, private))
    assert exact.sets is not None
    shares = [Fraction(n, int(c) * exact.sets) for n, c in zip(exact.people_in, many, strict=True)]
    assert np.abs(found.chance - [float(share) for share in shares]).max() < PRECISION
    assert found.certainly_in.tolist() == exact.certainly_in.tolist()
    assert found.certainly_out.tolist() == exact.certainly_out.tolist()


def test_a_chance_too_small_for_waves_is_not_taken_for_none():
    # Of 100 people of value 0 all but one are in; whoever else is in has to cross two columns. By formula: x of the
    # cell (0, 1) and of (1, 0), the rest follows.
    cells = {(0, 0): 60, (0, 1): 1, (1, 0): 1, (1, 1): 60, (2, 0): 2, (2, 1): 2}
    people = [cell for cell, many in cells.items() for _ in range(many)]
    inside = {(0, 0): 30, (0, 1): 0, (1, 0): 0, (1, 1): 30, (2, 0): 1, (2, 1): 1}
    start, private = 0, []
    for cell, many in cells.items():
        private += range(start, start + inside[cell])
        start += many
    found, _, waves = by_waves(people, private)
    assert waves == 1
    ways = {}
    for a in range(2):
        for b in range(2):
            for c in range(3):
                # Row 0 has 30, row 1 has 30, row 2 has 2; column 1 has 31.
                if a + (30 - b) + (2 - c) == 31 and 2 - c <= 2:
                    ways[a, b, c] = (
                        oracles.choosing.choose(60, 30 - a)
                        * oracles.choosing.choose(1, a)
                        * oracles.choosing.choose(1, b)
                        * oracles.choosing.choose(60, 30 - b)
                        * oracles.choosing.choose(2, c)
                        * oracles.choosing.choose(2, 2 - c)
                    )
    total = sum(ways.values())
    assert found.chance[1] == pytest.approx(
        sum(w for (a, _, _), w in ways.items() if a) / total, abs=PRECISION
    )
    assert not found.certainly_in.any()
    assert not found.certainly_out.any()


def test_where_errors_are_not_surely_small_waves_do_not_count():
    random = np.random.default_rng(0)
    people = [tuple(int(random.integers(v)) for v in (12, 3, 3)) for _ in range(120)]
    private = sorted(random.choice(120, 60, replace=False).tolist())
    with mock.patch.object(membership_waves, "LEFT_OUT", 1e-3):
        assert by_waves(people, private)[2] == 0
    with mock.patch.object(membership_waves, "BEYOND", 1e-3):
        assert by_waves(people, private)[2] == 0
    assert by_waves(people, private, limit=60)[2] == 0


def test_groups_that_count_on_no_axis_are_left_to_others():
    # The long column's value 0 has one tuple, of the other column's larger value, which has no axis.
    columns = np.array([[0, 3], [1, 3], [1, 4], [2, 3], [2, 4]])
    assert count_by_waves(columns, np.array([1, 1, 1, 2, 1]), [[1, 1]] * 5, 100) is None


def test_columns_that_count_differently_many_people_are_left_to_others():
    # One of each value of the long column, but 4 people in the other: nobody fits.
    columns = np.array([[i, 3 + j] for i in range(3) for j in range(2)])
    assert count_by_waves(columns, np.array([1, 1, 1, 1, 2]), [[1, 1]] * 6, 100) is not None
    assert count_by_waves(columns, np.array([1, 1, 1, 1, 3]), [[1, 1]] * 6, 100) is None


def test_angles_of_many_turns_are_as_accurate_as_those_of_one():
    # 30 people of each value: 30 times an angle goes around many times.
    angles = []

    def asked(*arguments):
        angles.append(arguments[8:10])
        return sum_waves(*arguments)

    from shoal.kernels import membership_waves as kernels

    sum_waves = kernels.sum_waves
    columns = np.array([[i, 3 + j] for i in range(3) for j in range(3)])
    weights = [[math.comb(30, x) for x in range(31)]] * 9
    with mock.patch.object(kernels, "sum_waves", asked):
        assert count_by_waves(columns, np.full(6, 30), weights, 1000) is not None
    power, turn = angles[0]
    points = power.shape[3]
    for m in range(power.shape[2]):
        wave = power[0, 0, m] + 1j * power[0, 1, m]
        exact = [Fraction(m * k % points, points) for k in range(points)]
        assert np.abs(wave - np.exp(2j * np.pi * np.array([float(e) for e in exact]))).max() < 2e-15
    exact = [Fraction(-30 * k % points, points) for k in range(points)]
    wave = turn[0, 0] + 1j * turn[0, 1]
    assert np.abs(wave - np.exp(2j * np.pi * np.array([float(e) for e in exact]))).max() < 2e-15


# --- the kernel -----------------------------------------------------------------------------------------------


@st.composite
def waves(draw):
    """A few factors over up to three axes."""
    axes = draw(st.integers(1, 3))
    points = draw(st.lists(st.integers(1, 5), min_size=axes - 1, max_size=axes - 1))
    entries = [[] for _ in range(axes)]
    values, size = [], 0
    for f in range(draw(st.integers(1, 3))):
        own = sorted(draw(st.sets(st.integers(0, axes - 1), min_size=1)))
        shape = [draw(st.integers(2, 3)) for _ in own]
        left = int(np.prod(shape))
        numbers = np.array(draw(st.lists(st.integers(1, 9), min_size=left, max_size=left)), float)
        values.append(numbers / numbers.sum())
        here, size, earlier = size, size + left, None
        for d, choices in zip(own, shape, strict=True):
            left //= choices
            entry = [f, here, size, choices, left, -1]
            if earlier is not None:
                earlier[5] = d
            entries[d].append(entry)
            here, earlier = -1, entry
            room = points[d] * left if d < axes - 1 else 0
            values.append(np.zeros(room))
            size += room
    start = np.cumsum([0, *(len(own) for own in entries)])
    flat = [entry for own in entries for entry in own]
    for entry in flat:
        if entry[5] >= 0:
            factors = [other[0] for other in entries[entry[5]]]
            entry[5] = int(start[entry[5]]) + factors.index(entry[0])
    table = np.ascontiguousarray(np.array(flat, np.int64).T)
    angle = np.zeros((axes - 1, max(points, default=1)))
    for d, many in enumerate(points):
        angle[d, :many] = 2 * np.pi * np.arange(many) / many
    powers = angle[:, None, :] * np.arange(3)[None, :, None]
    turn = -angle * np.array([draw(st.integers(0, 4)) for _ in points])[:, None]
    return (
        np.concatenate(values),
        start,
        *table[1:],
        np.array(points, np.int64),
        np.stack([np.cos(powers), np.sin(powers)], axis=1),
        np.stack([np.cos(turn), np.sin(turn)], axis=1),
        draw(st.integers(0, 3)),
    )


@settings(max_examples=60, deadline=None)
@given(waves(), st.sampled_from([0.0, 0.05, 0.5]))
def test_sum_waves(arguments, cut):
    from shoal.kernels.membership_waves import sum_waves

    total, slope, dropped, without, spread, noise, visited = sum_waves(*arguments, cut, 10_000)
    plain, plain_slope = oracles.membership_waves.sum_waves(*arguments, cut, 10_000)
    assert visited >= 0
    assert abs(total - plain) <= dropped + 1e-12
    assert np.abs(slope - plain_slope).max() <= without + 1e-12
    if cut == 0.0:
        assert dropped == without == 0.0
        plain_spread, plain_noise = absolute_values(*arguments)
        assert spread >= plain_spread * (1 - 1e-12)
        assert noise >= plain_noise * (1 - 1e-12)
    if visited > 1:
        assert sum_waves(*arguments, cut, visited - 1)[-1] == -1
    # Looking at waves only to leave them out takes time too.
    assert sum_waves(*arguments, 1e9, 0)[-1] == -1


def absolute_values(coefficients, start, source, target, choices, rest, after, points, power, turn, wanted):
    """Sums over the grid of products of the factors' absolute values without the worst one, and of what these change
    by when the other factors are off by 1, or the product of all does."""
    axis_of = [d for d in range(len(points) + 1) for _ in range(start[d], start[d + 1])]
    spread = noise = 0.0
    for ks in itertools.product(*(range(p) for p in points)):
        sizes = []
        for i in np.flatnonzero(source >= 0).tolist():
            factor = coefficients[source[i] : source[i] + choices[i] * rest[i]]
            while i >= 0:
                d = axis_of[i]
                if d < len(points):
                    k = ks[d]
                    factor = np.tensordot(
                        power[d, 0, : choices[i], k] + 1j * power[d, 1, : choices[i], k],
                        factor.reshape(choices[i], rest[i]),
                        1,
                    )
                i = int(after[i])
            sizes.append(np.abs(factor).sum())
        without = [math.prod(sizes[:f] + sizes[f + 1 :]) for f in range(len(sizes))]
        two = [
            sum(
                math.prod(size for h, size in enumerate(sizes) if h not in (f, g))
                for g in range(len(sizes))
                if g != f
            )
            for f in range(len(sizes))
        ]
        spread += max(without)
        noise += max(*two, sum(without)) if len(two) > 1 else sum(without)
    return spread, noise


@pytest.mark.parametrize("factors", [2, 3])
def test_rounding_of_factors_that_cancel_out_is_bounded(factors):
    # Factors (1 + z) / 2 and a wave at z = -1: all are 0 there, but computed they need not be; and each derivative is
    # as far off as one other factor is, times what the rest may be.
    from shoal.kernels.membership_waves import ROUNDED, sum_waves

    size = 4 * factors + 2
    coefficients = np.concatenate([np.tile([0.5, 0.5, 0.0, 0.0], factors), [0.5, 0.5]])
    source = np.append(np.arange(factors) * 4, 4 * factors)
    angle = np.array([[[0.0, 0.0], [0.0, np.pi]]])
    *_, spread, noise, visited = sum_waves(
        coefficients,
        np.array([0, factors, factors + 1]),
        source,
        np.append(source[:-1] + 2, size),
        np.full(factors + 1, 2),
        np.ones(factors + 1, np.int64),
        np.full(factors + 1, -1),
        np.array([2]),
        np.stack([np.cos(angle), np.sin(angle)], axis=1),
        np.ones((1, 2, 2)) * np.array([[[1.0], [0.0]]]),
        0,
        0.0,
        10,
    )
    assert visited == 2
    # At z = 1 all factors are 1, and the last one always is.
    assert spread >= 1 + ROUNDED ** (factors - 1)
    assert noise >= factors + (factors - 1) * ROUNDED ** (factors - 2)
    assert noise <= 2 * factors + 1
