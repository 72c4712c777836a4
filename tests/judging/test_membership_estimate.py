"""Membership beyond counting: who is certain, and estimates with their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.judging.membership.bucket import (
    Bucket,
    Component,
    bucket_of,
    component_of,
    components_of,
    propagate_counts,
)
from shoal.judging.membership.certain import Certain, _Search
from shoal.judging.membership.chances import membership
from shoal.judging.membership.estimate import estimate_by_walk
from shoal.judging.membership.walk import Walks, any_set, neighbours
from tests import oracles
from tests.judging.test_membership import ask, buckets, counts_of, enumerated, grouped


def parts(people, private):
    """The open parts of a bucket."""
    tuples, many, _ = grouped(people)
    bucket = bucket_of(tuples, many, counts_of(people, private))
    low, high = propagate_counts(bucket)
    return [component_of(bucket, low, high, own) for own in components_of(bucket, low, high)]


def drawn(seed, most=60):
    """A random bucket of people with a few values in a few columns, of which some are private."""
    random = np.random.default_rng(seed)
    n, columns, values = random.integers(20, most), random.integers(2, 5), random.integers(2, 6)
    table = random.integers(0, values, (n, columns))
    if seed % 2:
        table = np.minimum(table, random.integers(0, values, (n, columns)))
    private = random.choice(n, max(2, int(n * random.uniform(0.1, 0.6))), replace=False)
    return [tuple(row) for row in table.tolist()], sorted(private.tolist())


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """Kernels compile at their first use, which would use up the seconds that tests give."""
    people, private = drawn(8)
    for part in parts(people, private):
        estimate_by_walk(part, np.random.default_rng(1), 1e9, most_rounds=1)
        nobody = np.zeros(len(part.people), np.bool_)
        Certain(part, nobody, nobody, 60.0).by_searching(np.random.default_rng(1))


# --- certain people ------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(buckets(most=10), st.booleans())
def test_certain_people_are_found_without_counting(bucket, walking):
    people, private = bucket
    random = np.random.default_rng(1) if walking else None
    found, _, of = ask(people, private, limit=0, random=random, seconds=0.5 if walking else 10.0)
    expected, _ = enumerated(people, private)
    assert list(found.certainly_in[of]) == [share == 1 for share in expected]
    assert list(found.certainly_out[of]) == [share == 0 for share in expected]
    assert not found.undecided.any()
    known = found.exact[of]
    assert [c for c, k in zip(found.chance[of], known, strict=True) if k] == [
        float(e) for e, k in zip(expected, known, strict=True) if k
    ]
    if not walking:
        assert np.isnan(found.chance[~found.exact]).all()
        assert not found.low[~found.exact].any()
        assert (found.high[~found.exact] == 1).all()


@pytest.mark.parametrize("seed", range(12))
def test_walks_and_programs_agree_with_counting(seed):
    people, private = drawn(seed)
    truth, _, _ = ask(people, private)
    assert truth.exact.all()
    guess, _, _ = ask(people, private, limit=0, random=np.random.default_rng(seed), seconds=1.0)
    assert (guess.certainly_in == truth.certainly_in)[~guess.undecided].all()
    assert (guess.certainly_out == truth.certainly_out)[~guess.undecided].all()


@pytest.mark.parametrize("seed", range(12))
def test_the_integer_program_alone_agrees_with_counting(seed):
    people, private = drawn(seed)
    # All but the private people are private: mostly in, which is where a sloppy proof would show.
    for inside in (private, sorted(set(range(len(people))) - set(private))):
        truth, _, _ = ask(people, inside)
        assert truth.exact.all()
        for part in parts(people, inside):
            nobody = np.zeros(len(part.people), np.bool_)
            sure = Certain(part, nobody, nobody, 10.0)
            sure.by_programming()
            assert not sure.unknown.any()
            assert sure.proven_in.tolist() == truth.certainly_in[part.own].tolist()
            assert sure.proven_out.tolist() == truth.certainly_out[part.own].tolist()


def test_the_integer_program_sees_what_no_count_sees():
    # Parity: each count alone can be met, all together cannot.
    tuples, many, _ = grouped([(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)])
    places = (tuples + np.array([0, 2, 4])).astype(np.int32)
    bucket = Bucket(places, many, np.ones(6, np.int64))
    nobody = np.zeros(4, np.bool_)
    part = component_of(bucket, np.zeros(4, np.int64), many, np.arange(4))
    with pytest.raises(DataError, match="population"):
        Certain(part, nobody, nobody, 5.0).by_programming()
    with pytest.raises(DataError, match="population"):
        membership(tuples, many, [np.ones(2, np.int64)] * 3, limit=0)


def test_without_time_everybody_is_undecided():
    people, private = drawn(3)
    part = max(parts(people, private), key=lambda own: len(own.people))
    nobody = np.zeros(len(part.people), np.bool_)
    sure = Certain(part, nobody, nobody, 0.0)
    sure.by_searching(np.random.default_rng(1))
    sure.by_programming()
    open_ = (part.least == 0) | (part.most == part.people)
    assert (sure.unknown == open_).all()
    assert not sure.proven_in.any()
    assert not sure.proven_out.any()


# --- estimates -----------------------------------------------------------------------------------------------


def test_intervals_hold_as_often_as_they_say():
    """95 % intervals of people in 60 buckets. People of one bucket go together, hence the room below 95 %."""
    inside, errors = [], []
    for seed in range(60):
        people, private = drawn(seed)
        truth, _, _ = ask(people, private, limit=300_000, seconds=0.0)
        if not truth.exact.all():
            continue
        for part in parts(people, private):
            found = estimate_by_walk(part, np.random.default_rng(seed), 1e9, most_rounds=20)
            exact = truth.chance[part.own]
            assert not (found.seen_in & (exact == 0)).any()
            assert not (found.seen_out & (exact == 1)).any()
            open_ = (exact > 0) & (exact < 1)
            if not np.isnan(found.chance).any():
                inside += ((found.low <= exact) & (exact <= found.high))[open_].tolist()
                errors += np.abs(found.chance - exact)[open_].tolist()
                assert (found.low[open_] < found.high[open_]).all()
    assert len(inside) > 700
    assert np.mean(inside) > 0.93
    assert np.mean(errors) < 0.03


def test_more_walking_is_more_precise():
    people, private = drawn(8)
    (part,) = parts(people, private)
    wide, narrow = (
        estimate_by_walk(part, np.random.default_rng(2), 1e9, most_rounds=rounds) for rounds in (20, 320)
    )
    assert (narrow.high - narrow.low).mean() < (wide.high - wide.low).mean() / 2


def test_estimates_say_that_they_are_estimates():
    people, private = drawn(8)
    found, _, _ = ask(people, private, limit=0, random=np.random.default_rng(1), seconds=0.5)
    open_ = ~found.exact
    assert open_.any()
    assert found.sets is None
    assert found.people_in is None
    assert ((found.low <= found.chance) & (found.chance <= found.high))[open_].all()
    assert (found.low < found.high)[open_].all()
    assert (found.low == found.high)[found.exact].all()


def test_a_small_limit_is_never_silent():
    random = np.random.default_rng(4)
    people = [tuple(int(v) for v in row) for row in random.integers(0, 4, (60, 4))]
    private = sorted(random.choice(60, 30, replace=False).tolist())
    found, _, _ = ask(people, private, limit=50, seconds=1.0)
    assert not found.exact.all()
    assert found.sets is None


# --- walks ---------------------------------------------------------------------------------------------------


@given(buckets())
def test_parts_keep_what_matters(bucket):
    people, private = bucket
    tuples, many, of = grouped(people)
    inside = np.bincount(of[private], minlength=len(tuples))
    for part in parts(people, private):
        own = inside[part.own]
        assert own.sum() == part.size
        assert not part.count_shortfall(own).any()
        assert ((part.least <= own) & (own <= part.most)).all()
        # One person more or less is noticed.
        assert part.count_shortfall(own + (np.arange(len(own)) == 0)).any()
        assert (part.people == many[part.own]).all()


@given(buckets(), st.integers(0, 99))
def test_any_set_has_the_right_size(bucket, seed):
    for part in parts(*bucket):
        inside = any_set(part, np.random.default_rng(seed))
        assert inside.sum() == part.size
        assert ((part.least <= inside) & (inside <= part.most)).all()


@given(buckets(), st.booleans())
def test_neighbours_are_mutual(bucket, few):
    from unittest import mock

    for part in parts(*bucket):
        with mock.patch("shoal.judging.membership.walk.MOST_COMPARED", 1 if few else 4000):
            start, near = neighbours(part)
        pairs = {(t, int(n)) for t in range(len(part.people)) for n in near[start[t] : start[t + 1]]}
        assert len(pairs) == len(near) == start[-1]
        assert all(one != other and (other, one) in pairs for one, other in pairs)


@given(buckets(), st.integers(0, 99))
def test_walk_sets(bucket, seed):
    from shoal.kernels.membership import walk_sets

    random = np.random.default_rng(seed)
    for part in parts(*bucket):
        start, near = neighbours(part)
        walks = Walks(part, random, [any_set(part, random) for _ in range(3)], np.array([0.5, 1.0, 3.0]))
        state = (walks.inside, walks.chosen, walks.left)
        copy = tuple(value.copy() for value in state)
        fixed = (part.counts_of, walks.least, walks.most, part.people, start, near, 0.2, walks.penalty)
        draws = random.random((3, 80, 3))
        seen, fits = walk_sets(*fixed, *state, draws)
        plain_seen, plain_fits = oracles.membership.walk_sets(*fixed, *copy, draws)
        assert seen.tolist() == plain_seen.tolist()
        assert fits.tolist() == plain_fits.tolist()
        for one, other in zip(state, copy, strict=True):
            assert one.tolist() == other.tolist()


@given(buckets(), st.integers(0, 99))
def test_seek_set(bucket, seed):
    from shoal.kernels.membership import seek_set

    random = np.random.default_rng(seed)
    for part in parts(*bucket):
        search = _Search(part, random)
        inside = any_set(part, random)
        state = (inside, part.count_shortfall(inside), np.full(len(part.wanted), 2))
        copy = tuple(value.copy() for value in state)
        fixed = (part.counts_of, search.column_of, part.least, part.most, search.start, search.member)
        draws = random.random((30, 4))
        assert seek_set(*fixed, *state, draws) == oracles.membership.seek_set(*fixed, *copy, draws)
        for one, other in zip(state, copy, strict=True):
            assert one.tolist() == other.tolist()
        assert (state[1] == part.count_shortfall(state[0])).all()


@pytest.mark.parametrize("seed", range(10))
def test_witnesses_fit_and_say_what_was_asked(seed):
    people, private = drawn(seed)
    truth, _, _ = ask(people, private)
    for part in parts(people, private):
        search = _Search(part, np.random.default_rng(seed))
        for t in range(len(part.people)):
            for outward in (False, True):
                found = search.witness(t, outward, 500)
                certain = truth.certainly_in if outward else truth.certainly_out
                if certain[part.own[t]]:
                    assert found is None
                elif found is not None:
                    assert not part.count_shortfall(found).any()
                    assert ((part.least <= found) & (found <= part.most)).all()
                    assert found[t] < part.people[t] if outward else found[t] > 0


def test_walks_see_every_set_equally_often():
    # Two tuples of 3 and 2 people, two of them in: (2,0), (1,1), (0,2) with 3, 6 and 1 sets; nothing else is asked.
    part = Component(
        own=np.arange(2),
        counts_of=np.zeros((2, 1), np.int32),
        people=np.array([3, 2]),
        least=np.zeros(2, np.int64),
        most=np.array([3, 2]),
        wanted=np.array([2]),
        size=2,
    )
    random = np.random.default_rng(5)
    walks = Walks(part, random, [np.array([2, 0])], np.array([1.0]))
    total, fits = np.zeros(2), 0
    for _ in range(60):
        seen, right = walks.go()
        total, fits = total + seen[0], fits + int(right[0])
    assert fits == 60_000
    # By symmetry everybody is in two of five sets.
    assert (total / fits / part.people).tolist() == pytest.approx([0.4, 0.4], abs=0.01)
