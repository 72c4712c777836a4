"""Membership in a bucket of shuffled columns: against enumeration of all sets of people."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.judging.membership import exact_counts as membership_count
from shoal.judging.membership.bucket import Bucket, propagate_counts
from shoal.judging.membership.chances import membership
from shoal.judging.membership.remainders import combine_remainders, find_primes
from tests import oracles


def grouped(people):
    """Distinct tuples, how many people have each, and the tuple of each person."""
    tuples, of, many = np.unique(np.array(people, np.int32), axis=0, return_inverse=True, return_counts=True)
    return tuples, many.astype(np.int64), of.ravel()


def counts_of(people, private):
    """How often each value is shown, per column, if these people are in."""
    table = np.array(people)
    return [
        np.bincount(table[list(private), j], minlength=int(table[:, j].max()) + 1)
        for j in range(table.shape[1])
    ]


def enumerated(people, private):
    """Exact chance of each person: all subsets of the right size, one by one."""
    wanted = [sorted(people[i][j] for i in private) for j in range(len(people[0]))]
    fitting = [
        chosen
        for chosen in combinations(range(len(people)), len(private))
        if [sorted(people[i][j] for i in chosen) for j in range(len(people[0]))] == wanted
    ]
    return [Fraction(sum(i in chosen for chosen in fitting), len(fitting)) for i in range(len(people))], len(
        fitting
    )


@st.composite
def buckets(draw, most=11):
    """A few people with values in a few columns, and which of them are private."""
    columns = draw(st.integers(1, 4))
    values = [draw(st.integers(1, 5)) for _ in range(columns)]
    person = st.tuples(*(st.integers(0, size - 1) for size in values))
    people = draw(st.lists(person, min_size=1, max_size=most))
    private = draw(st.sets(st.integers(0, len(people) - 1)))
    return people, sorted(private)


def ask(people, private, **options):
    tuples, many, of = grouped(people)
    return membership(tuples, many, counts_of(people, private), **options), many, of


@settings(max_examples=200)
@given(buckets())
def test_chances_are_those_of_enumeration(bucket):
    people, private = bucket
    found, many, of = ask(people, private)
    expected, sets = enumerated(people, private)
    assert found.sets == sets
    assert found.exact.all()
    assert [Fraction(found.people_in[t], int(many[t]) * sets) for t in of] == expected
    assert list(found.chance[of]) == [float(share) for share in expected]
    assert list(found.certainly_in[of]) == [share == 1 for share in expected]
    assert list(found.certainly_out[of]) == [share == 0 for share in expected]


def test_many_small_buckets(repeated):
    random = np.random.default_rng(5)
    for _ in range(int(2500 * repeated)):
        columns, n = random.integers(1, 5), random.integers(1, 10)
        people = [
            tuple(int(v) for v in row) for row in random.integers(0, random.integers(1, 4), (n, columns))
        ]
        private = sorted(random.choice(n, random.integers(0, n + 1), replace=False).tolist())
        found, _, of = ask(people, private)
        assert list(found.chance[of]) == [float(share) for share in enumerated(people, private)[0]]


@settings(max_examples=100)
@given(buckets())
def test_floats_count_as_integers_do(bucket):
    people, private = bucket
    with mock.patch.object(membership_count, "INTEGERS", 0):
        found, _, of = ask(people, private)
    expected, _ = enumerated(people, private)
    assert found.chance[of].tolist() == pytest.approx([float(share) for share in expected], rel=1e-12)
    # Certainty is exact, whatever is rounded.
    assert found.certainly_in[of].tolist() == [share == 1 for share in expected]
    assert found.certainly_out[of].tolist() == [share == 0 for share in expected]
    assert found.exact.all()


def test_one_large_tuple_is_a_share():
    # 300 people alike, 120 of them in: by symmetry each with 120/300; C(300, 120) needs ten primes.
    found, _, _ = ask([(0, 0)] * 300 + [(1, 1)], range(120))
    assert found.chance.tolist() == [0.4, 0.0]
    assert found.sets == oracles.choosing.choose(300, 120)


def test_interchangeable_cells_by_formula():
    # Two columns that say the same but for a pair that may be crossed: x of (0,0), the rest follows.
    people = [(0, 0)] * 40 + [(0, 1)] * 30 + [(1, 0)] * 20 + [(1, 1)] * 50
    private = [*range(25), *range(40, 52), *range(70, 79), *range(90, 111)]
    found, many, _ = ask(people, private)
    top, side, total = 25 + 12, 25 + 9, len(private)
    ways = {
        x: oracles.choosing.choose(40, x)
        * oracles.choosing.choose(30, top - x)
        * oracles.choosing.choose(20, side - x)
        * oracles.choosing.choose(50, total - top - side + x)
        for x in range(min(top, side) + 1)
        if top - x <= 30 and side - x <= 20 and 0 <= total - top - side + x <= 50 and x <= 40
    }
    assert found.sets == sum(ways.values())
    assert found.people_in[0] == sum(x * w for x, w in ways.items())
    assert int(many[0]) == 40


# --- worked examples ---------------------------------------------------------------------------------------

P1 = {
    "Elizabeth": (5370, 25), "Clara": (5370, 25), "Julie": (5370, 25), "Ada": (5370, 27), "Sara": (5371, 27),
    "Bob": (5371, 27), "Taylor": (5372, 25), "Ashley": (5372, 25), "Amanda": (5373, 25), "Jesper": (5372, 27),
}  # fmt: skip
P2 = {
    "Julie": (5370, 21),
    "Ada": (5370, 27),
    "Sara": (5371, 27),
    "James": (5372, 32),
    "Mary": (5376, 38),
    "Barbara": (5376, 39),
}


def coded(population):
    """Names, and values as small numbers."""
    table = np.array(list(population.values()))
    columns = [np.unique(table[:, j], return_inverse=True)[1] for j in range(table.shape[1])]
    return list(population), [tuple(int(v) for v in row) for row in np.stack(columns, axis=1)]


def chances(population, private):
    names, people = coded(population)
    found, _, of = ask(people, [names.index(name) for name in private])
    return dict(zip(names, found.chance[of].tolist(), strict=True))


def test_sliced_columns_give_away_everybody_in_the_first_bucket():
    first = {name: P2[name] for name in ("Julie", "Ada", "Sara")}
    assert chances(first, ["Julie", "Sara"]) == {"Julie": 1.0, "Ada": 0.0, "Sara": 1.0}


def test_exact_zips_make_three_people_certain():
    private = [name for name in P1 if name not in ("Elizabeth", "Jesper")]
    exact = chances(P1, private)
    assert [name for name, chance in exact.items() if chance == 1.0] == ["Sara", "Bob", "Amanda"]
    # Age alone hides the zips' owners no better: with one zip each, who has the only zip is in.
    hidden_age = chances({name: (zip_, 0) for name, (zip_, _) in P1.items()}, private)
    assert {name for name, chance in hidden_age.items() if chance == 1.0} == {"Sara", "Bob", "Amanda"}
    # Zip hidden, age shown: five of six aged 25, three of four aged 27.
    hidden_zip = chances({name: (0, age) for name, (_, age) in P1.items()}, private)
    assert {name: hidden_zip[name] for name in ("Clara", "Sara")} == {"Clara": 5 / 6, "Sara": 0.75}


def test_two_binary_columns_shuffled_give_nobody_away():
    square = {"a": (0, 0), "b": (0, 1), "c": (1, 0), "d": (1, 1)}
    assert set(chances(square, ["b", "c"]).values()) == {0.5}


# --- parts ---------------------------------------------------------------------------------------------------


@given(buckets())
def test_propagation_never_rules_out_a_set(bucket):
    people, private = bucket
    tuples, many, of = grouped(people)
    counts = counts_of(people, private)
    starts = np.cumsum([0, *(len(c) for c in counts)])[:-1]
    low, high = propagate_counts(Bucket((tuples + starts).astype(np.int32), many, np.concatenate(counts)))
    inside = np.bincount(of[private], minlength=len(many))
    assert (low <= inside).all()
    assert (inside <= high).all()


def test_people_who_are_not_in_the_population_are_told():
    tuples, many, _ = grouped([(0, 0), (1, 1)])
    with pytest.raises(DataError, match="population"):
        membership(tuples, many, [np.array([1, 0]), np.array([0, 1])])
    with pytest.raises(DataError, match="population"):
        membership(tuples, many, [np.array([2, 0]), np.array([1, 1])])


def test_counting_sees_what_no_count_sees():
    # Parity: each count alone can be met, all together cannot.
    tuples, many, _ = grouped([(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)])
    with pytest.raises(DataError, match="population"):
        membership(tuples, many, [np.ones(2, np.int64)] * 3)


@given(st.lists(st.integers(0, 10**30), min_size=1, max_size=4))
def test_residues_are_put_together(numbers):
    primes = find_primes(10**30)
    assert combine_remainders([[number % p for number in numbers] for p in primes], primes) == numbers


# --- kernels --------------------------------------------------------------------------------------------------


@st.composite
def layers(draw):
    """States of two counts in one word or in two, and one tuple that uses one or both of them."""
    words = draw(st.sampled_from([1, 2]))
    place = [(0, 0), (0, 4)] if words == 1 else [(0, 3), (1, 60)]
    pairs = draw(
        st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=8, unique=True)
    )
    states = np.zeros((len(pairs), words), np.uint64)
    for s, pair in enumerate(pairs):
        for (word, shift), value in zip(place, pair, strict=True):
            states[s, word] += np.uint64(value << shift)
    used = draw(st.sampled_from([[0], [1], [0, 1]]))
    step = np.zeros(words, np.uint64)
    for u in used:
        step[place[u][0]] += np.uint64(1 << place[u][1])
    return (
        states,
        np.array([place[u][0] for u in used]),
        np.array([place[u][1] for u in used], np.uint64),
        np.full(len(used), 15, np.uint64),
        np.array([draw(st.integers(0, 15)) for _ in used]),
        step,
        draw(st.integers(0, 4)),
    )


@given(layers(), st.integers(1, 30))
def test_extend_states(layer, limit):
    from shoal.kernels.membership import extend_states

    made, child_of, fits = extend_states(*layer, limit)
    plain = oracles.membership.extend_states(*layer, limit)
    assert fits == plain[2]
    if fits:
        assert made.tolist() == plain[0].tolist()
        assert child_of.tolist() == plain[1].tolist()


@given(layers(), layers())
def test_match_states(one, other):
    from shoal.kernels.membership import match_states

    if one[0].shape[1] != other[0].shape[1]:
        other = one
    whole = one[0][0] + other[0][-1]
    assert (
        match_states(one[0], other[0], whole).tolist()
        == oracles.membership.match_states(one[0], other[0], whole).tolist()
    )


@given(layers(), st.data())
def test_shares(layer, data):
    from shoal.kernels.membership import extend_states, pull_shares, push_shares

    made, child_of, _ = extend_states(*layer, 100)

    def draw(size):
        # Small whole numbers: floats hold them exactly.
        return np.array(data.draw(st.lists(st.integers(0, 99), min_size=size, max_size=size)), np.float64)

    ways, weight, rest = draw(len(layer[0])), draw(layer[-1] + 1), draw(len(made))
    args = (ways, child_of, weight)
    assert push_shares(*args, len(made)).tolist() == oracles.membership.push_shares(*args, len(made)).tolist()
    onward, people, lacking = pull_shares(rest, *args)
    plain = oracles.membership.pull_shares(rest, *args)
    assert onward.tolist() == plain[0].tolist()
    assert (people, lacking) == plain[1:]


@given(layers(), st.data())
def test_ways(layer, data):
    from shoal.kernels.membership import extend_states, pull_ways, push_ways

    prime = np.uint64(2147483647)
    made, child_of, _ = extend_states(*layer, 100)
    residues = st.integers(0, 2147483646)

    def draw(size):
        return np.array(data.draw(st.lists(residues, min_size=size, max_size=size)), np.uint64)

    ways, weight, rest = draw(len(layer[0])), draw(layer[-1] + 1), draw(len(made))
    args = (ways, child_of, weight, prime)
    assert push_ways(*args, len(made)).tolist() == oracles.membership.push_ways(*args, len(made)).tolist()
    onward, people = pull_ways(rest, *args)
    plain = oracles.membership.pull_ways(rest, *args)
    assert onward.tolist() == plain[0].tolist()
    assert people == plain[1]
