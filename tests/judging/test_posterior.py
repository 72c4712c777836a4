"""How likely each pair is if all complete assignments are equally likely: counted, estimated, and reported."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.judging.linking import posterior as module
from shoal.judging.linking.posterior import posterior
from shoal.judging.models.k_type import GlobalOneK
from shoal.judging.models.requirements import Requirements
from shoal.kernels import posterior as kernels
from shoal.methods.cells.global_one_k import GlobalOneK as GlobalMethod
from shoal.support.run import Run
from tests import oracles
from tests.methods.test_k_type import coded, fits, generalizations, shown

MANY = 100_000


def by_enumeration(inside):
    """The share of all assignments of published rows to different people with each pair, as fractions."""
    people, rows = inside.shape
    found = [[0] * rows for _ in range(people)]
    total = 0
    for chosen in itertools.permutations(range(people), rows):
        if all(inside[person, row] for row, person in enumerate(chosen)):
            total += 1
            for row, person in enumerate(chosen):
                found[person][row] += 1
    return [[Fraction(one, total) for one in line] for line in found]


def by_person(shares, evidence):
    """``[row of the table, published row]`` the share of each pair."""
    graph, published = shares.graph, evidence.published
    out = np.zeros((len(graph.people.row_of), published.rows))
    class_of = np.repeat(np.arange(len(graph.size)), np.diff(graph.start))
    for link, u in enumerate(graph.links.tolist()):
        if class_of[link] < published.classes:
            who = np.flatnonzero(graph.people.row_of == u)
            what = np.flatnonzero(published.class_of == class_of[link])
            out[np.ix_(who, what)] = shares.share[link]
    return out


@given(data=generalizations())
@settings(max_examples=1000)
def test_shares_are_those_of_all_assignments(data):
    """Suppressed rows included: whoever has no published row is assigned to one of those."""
    table, low, high, owner = data
    evidence = shown(table, low, high, owner)
    found = posterior(evidence.consistency, np.random.default_rng(1))
    assert found.estimated == 0
    expected = np.array(by_enumeration(fits(table, low, high)), dtype=float).reshape(table.rows, -1)
    assert by_person(found, evidence) == pytest.approx(expected, abs=1e-9)


def small_release(random):
    """A global (1,k) release of at most eight people with one or two columns."""
    rows, k = int(random.integers(3, 9)), int(random.integers(2, 4))
    columns = int(random.integers(1, 3))
    table = coded(random.integers(0, 5, (columns, rows)), [5] * columns)
    asked = Requirements(models=(GlobalOneK(k=min(k, rows)),))
    return (
        table,
        GlobalMethod().anonymize(table, asked, Run.start(int(random.integers(1 << 30)))),
        min(k, rows),
    )


def test_one_thousand_small_releases_against_enumeration(repeated):
    """One thousand with --thorough."""
    random, above, largest = np.random.default_rng(16), 0, Fraction(0)
    count = round(1000 * repeated)
    for _ in range(count):
        table, release, k = small_release(random)
        low, high = release.low[release.region_of], release.high[release.region_of]
        evidence = shown(table, low, high)
        found = posterior(evidence.consistency, random)
        assert found.estimated == 0
        expected = by_enumeration(fits(table, low, high))
        assert by_person(found, evidence) == pytest.approx(np.array(expected, dtype=float), abs=1e-9)
        likeliest = [max(line) for line in expected]
        assert found.people_above(1 / k, found.share) == sum(one > Fraction(1, k) for one in likeliest)
        above += max(likeliest) > Fraction(1, k)
        largest = max(largest, *likeliest)
    # Global (1,k) leaves k possible rows for everybody, and no more than that.
    assert above > 0.3 * count
    assert largest > Fraction(1, 2)


@st.composite
def counted(draw):
    """Kinds of people and classes of rows, as many of one as of the other, and which match."""
    total = draw(st.integers(1, 6))

    def split():
        cuts = sorted(draw(st.sets(st.integers(1, total - 1)))) if total > 1 else []
        return np.diff([0, *cuts, total])

    people, places = split(), split()
    inside = draw(
        st.lists(st.booleans(), min_size=len(people) * len(places), max_size=len(people) * len(places))
    )
    return np.array(inside).reshape(len(people), len(places)), people, places


@given(data=counted())
@settings(max_examples=200)
def test_pair_shares(data):
    inside, people, places = data
    expected = oracles.posterior.pair_shares(inside, people, places, MANY)
    found = kernels.pair_shares(inside, people, places, MANY)
    assert found.shape == expected.shape
    assert found == pytest.approx(expected, abs=1e-12)


def test_pair_shares_gives_up_where_there_are_too_many_states():
    inside = np.ones((8, 8), np.bool_)
    assert kernels.pair_shares(inside, np.ones(8, np.int64), np.ones(8, np.int64), 10).size == 0
    assert kernels.pair_shares(inside, np.ones(8, np.int64), np.ones(8, np.int64), 1000).size == 64


RING = np.array([[(person - position) % 5 < 3 for position in range(5)] for person in range(5)])


def test_uniform_belief_over_a_ring_of_five():
    """13 assignments: 5/13 at distance 1, 4/13 at 0 and 2."""
    ones = np.ones(5, np.int64)
    found = kernels.pair_shares(RING, ones, ones, MANY)
    expected = [
        [(4 / 13, 5 / 13, 4 / 13, 0, 0)[(person - place) % 5] for place in range(5)] for person in range(5)
    ]
    assert found == pytest.approx(np.array(expected))


def walk(kernel, inside, people, places, steps, seed, batches=3):
    """Walk over the assignments of a small graph, from one that some order of people gives."""
    kind = np.repeat(np.arange(len(people)), people)
    who, classes = np.nonzero(inside)
    start = np.searchsorted(who, np.arange(len(people) + 1))
    before = np.concatenate(
        [[0, *np.cumsum(places[classes[start[u] : start[u + 1]]])] for u in range(len(people))]
    )
    first = np.cumsum(places) - places
    rows = np.repeat(np.arange(len(places)), places)
    complete = next(
        (
            chosen
            for chosen in itertools.permutations(range(len(kind)))
            if all(inside[kind[p], rows[row]] for row, p in enumerate(chosen))
        ),
        None,
    )
    if complete is None:
        return None
    holder = np.array(complete)
    link = np.zeros(len(kind), np.int64)
    for row, p in enumerate(complete):
        link[p] = next(e for e in range(start[kind[p]], start[kind[p] + 1]) if classes[e] == rows[row])
    counts, left = np.zeros((batches, len(who)), np.int64), np.zeros(len(who), np.int64)
    visits, state = np.zeros(batches, np.int64), np.array([seed], np.uint64)
    kernel(kind, start, before, classes, first, holder, link, 8, steps, state, counts, left, visits)
    return counts, left, visits, holder, link, state


@given(data=counted(), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=60)
def test_walk_assignments(data, seed):
    expected = walk(oracles.posterior.walk_assignments, *data, 40, seed)
    found = walk(kernels.walk_assignments, *data, 40, seed)
    if expected is None:
        return
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


def test_the_chain_visits_all_assignments_equally():
    """Against the counted shares of a ring, and of kinds and classes with several members."""
    inside = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], np.bool_)
    for graph, people, places in (
        (RING, np.ones(5, np.int64), np.ones(5, np.int64)),
        (inside, np.array([3, 1, 2]), np.array([2, 3, 1])),
    ):
        counts, _, visits, *_ = walk(kernels.walk_assignments, graph, people, places, 300_000, 7)
        exact = kernels.pair_shares(graph, people, places, MANY)
        each = (people[:, None] * places[None, :])[graph]
        assert counts.sum(axis=0) / visits.sum() / each == pytest.approx(exact[graph], abs=0.01)


def test_estimates_cover_what_can_be_counted(monkeypatch):
    random = np.random.default_rng(5)
    table = coded(random.integers(0, 9, (2, 300)), [9, 9])
    release = GlobalMethod().anonymize(table, Requirements(models=(GlobalOneK(k=4),)), Run.start(1))
    graph = shown(table, release.low[release.region_of], release.high[release.region_of]).consistency
    exact = posterior(graph, random)
    monkeypatch.setattr(module, "count_shares", lambda *_: None)
    found = posterior(graph, random, effort=4.0)
    assert found.estimated > 0
    known = exact.exact & ~found.exact
    assert known.any()
    assert (found.low[known] <= exact.share[known] + 1e-9).all()
    assert (exact.share[known] <= found.high[known] + 1e-9).all()
    assert found.share[known] == pytest.approx(exact.share[known], abs=0.1)


def test_linkage_reports_the_likeliest_pair():
    """Three assignments: the first row is that of age 1 in two of them, the last one that of age 3."""
    people = pl.DataFrame({"age": [1, 2, 3], "s": list("abc")})
    release = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[2, 3]"], "s": list("abc")})
    asked = {"original": people, "quasi": ["age"], "sensitive": ["s"], "k": 2}
    found = shoal.attack(release, **asked, adversary="members").figures["likeliest_pair"]
    assert found == {
        "largest": pytest.approx(2 / 3),
        "exact": True,
        "estimated_components": 0,
        "people_estimated": 0,
        "above_one_in_k": 2,
    }
    assert "likeliest_pair" not in shoal.attack(release, **asked, adversary="some").figures
    without = shoal.attack(release, **asked, adversary="members", options={"likeliest": False})
    assert "likeliest_pair" not in without.figures


def test_an_estimate_says_so(monkeypatch):
    monkeypatch.setattr(module, "count_shares", lambda *_: None)
    people = pl.DataFrame({"age": [1, 2, 3], "s": list("abc")})
    release = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[2, 3]"], "s": list("abc")})
    asked = {"original": people, "quasi": ["age"], "sensitive": ["s"], "k": 2}
    found = shoal.attack(release, **asked, adversary="members", seed=1)
    pair = found.figures["likeliest_pair"]
    assert not pair["exact"]
    assert pair["interval"][0] <= 2 / 3 <= pair["interval"][1]
    assert any("Markov chain" in note for note in found.notes)
