"""Every registered attack on releases of all kinds: it runs where it applies, counts as defined, and refuses others."""

from __future__ import annotations

import math
from functools import cache

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.judging.attacks import ATTACKS
from tests.inputs.samples import CENSUS
from tests.oracles import outsider

K = 3
POPULATION = {"population": {"column": "member"}}
RELEASES = {
    "classes": ({"k": K, "l": {"probabilistic": 1.5}}, "mondrian", {}),
    "levels": ({"k": K}, "full-domain", {}),
    "cells": ({"k": K, "notion": "k-k"}, "k-k", {}),
    "rings": ({"k": K, "notion": "probabilistic-k"}, "ring", {}),
    "buckets": ({"l": {"probabilistic": 1.5}}, "bucketization", {}),
    "two tables": ({"l": {"probabilistic": 1.5}}, "anatomy", {}),
    "slices": ({"l": {"slicing": 1.5}}, "slicing", {}),
    "relocated": ({"k": K}, "hybrid", {}),
    "means": ({"k": K, "relocation": {"budget": 1.0}}, "microaggregation", {}),
    "members": ({"presence": [0.0, 0.75]}, "mpalm", POPULATION),
}
"""Kind of release -> the section `[privacy]`, the method, and more of the policy."""
TRUE = {"classes", "levels", "cells", "rings", "buckets", "two tables", "members"}
"""Releases whose rows show nothing but what their owners have."""
RUNS = {
    "linkage": TRUE | {"relocated", "means"},
    "few-known": TRUE,
    "record-linkage": {"relocated", "means"},
    "membership": {"members"},
    "statistical": {"relocated"},
    "attribute-disclosure": set(RELEASES),
    "corruption": {"rings"},
    "algorithm-aware": {"rings", "relocated"},
    "minimality": {"classes"},
    "refinement": set(),  # it needs cells of several levels: test_refinement.py
    "intersection": {"classes", "levels", "cells", "rings"},
    "singling-out": {"rings"},
    "definetti": RELEASES.keys() - {"relocated", "means"},
    "downcoding": set(),  # small tables: test_downcoding.py
}
"""Attack -> the releases on which it must run."""
REFUSES = {
    "linkage": RELEASES.keys() - TRUE - {"relocated", "means"},
    "few-known": RELEASES.keys() - TRUE,
    "record-linkage": RELEASES.keys() - {"relocated", "means"},
    "membership": RELEASES.keys() - {"members"},
    "statistical": RELEASES.keys() - {"relocated"},
    "attribute-disclosure": set(),
    "corruption": RELEASES.keys() - {"rings"},
    "algorithm-aware": RELEASES.keys() - {"rings", "relocated"},
    "minimality": RELEASES.keys() - {"classes"},
    "refinement": RELEASES.keys()
    - {"classes", "cells", "members"},  # of unknown methods, they may be local recodings
    "intersection": {"buckets", "two tables", "slices", "members"},
    "singling-out": RELEASES.keys() - {"rings"},
    "definetti": {"relocated", "means"},
    "downcoding": {"buckets", "two tables", "slices", "relocated", "means"},
}
"""Attack -> the releases that it must refuse, because they lack what it needs."""
NEEDS_EARLIER = {"intersection"}
"""Attacks on several releases of the same people: here on the same release twice."""
NEEDS_OWNER = {"corruption", "algorithm-aware", "record-linkage"}
"""Attacks that only whoever made the release can judge."""
BY_VALUES = {("algorithm-aware", "rings")}
"""They can be judged by sensitive values, too."""


def test_the_lists_are_the_registry():
    """A new attack needs the releases on which it runs, and those that it refuses."""
    assert RUNS.keys() == REFUSES.keys() == ATTACKS.keys()


@cache
def release(kind):
    """Return a release, its policy, the frame that it was made from, and how an outsider reads it."""
    privacy, method, more = RELEASES[kind]
    frame = CENSUS.frame(60)
    source = frame.with_columns(member=pl.int_range(60) % 2 == 0) if more else frame
    policy = CENSUS.policy(privacy, {"name": method}, **more)
    made = shoal.anonymize(source, policy, seed=1)
    inside = source.filter("member") if more else source
    return made, policy, source, CENSUS.read(made, inside, source if more else None)


def attacked(kind, name, *, owner, **options):
    made, policy, source, _ = release(kind)
    given = (made, {}) if owner else (made.table, {"second": made.second})
    if name in NEEDS_EARLIER:
        given[1]["earlier"] = [{"release": made.table, "original": None if kind == "members" else source}]
    return shoal.attack(given[0], policy, original=source, name=name, seed=1, **given[1], **options)


@pytest.mark.parametrize("owner", [True, False], ids=["made here", "from its rows"])
@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_runs_or_refuses(name, kind, owner):
    try:
        found = attacked(kind, name, owner=owner)
    except ShoalError:
        assert kind not in RUNS[name] or (name in NEEDS_OWNER and not owner)
        return
    assert kind not in REFUSES[name]
    assert owner or name not in NEEDS_OWNER or (name, kind) in BY_VALUES
    people = len(release(kind)[3].people)
    assert len(found.chances) == people
    assert all(0 <= chance <= 1 for chance in found.chances)
    assert 0 <= found.success <= 1
    assert 0 <= found.baseline <= 1
    assert 0 <= found.at_risk <= people
    assert found.holds == (found.at_risk == 0)
    assert len(found.most_exposed) <= people
    assert "most_exposed" not in found.summary()


@pytest.mark.parametrize("kind", sorted(TRUE))
def test_linkage_counts_the_rows_that_fit(kind):
    fits = release(kind)[3].fits
    for adversary, candidates in (
        ("some", outsider.rows_per_person(fits)),
        ("members", [len(own) for own in outsider.matches(fits)]),
    ):
        found = attacked(kind, "linkage", owner=False, adversary=adversary)
        assert found.chances.tolist() == pytest.approx([1 / many for many in candidates])
        assert found.success == pytest.approx(sum(1 / many for many in candidates) / len(fits))
        asked = "k" in RELEASES[kind][0]
        assert found.at_risk == (sum(many < K for many in candidates) if asked else 0)


@pytest.mark.parametrize("kind", ["classes", "levels", "cells", "rings", "buckets", "two tables", "slices"])
def test_disclosure_believes_by_shares(kind):
    reading = release(kind)[3]
    if reading.rows[0].bucket is None:
        believed = []
        for own, value in zip(reading.fits, reading.values, strict=True):
            fitting = [row.value for row, fit in zip(reading.rows, own, strict=True) if fit]
            believed.append(fitting.count(value) / len(fitting))
    else:
        found = outsider.beliefs(reading)
        believed = [float(own[value]) for own, value in zip(found, reading.values, strict=True)]
    for owner in (True, False):
        assert attacked(kind, "attribute-disclosure", owner=owner).chances.tolist() == pytest.approx(believed)


def test_membership_is_the_share_of_everybody_who_fits():
    """The boxes of mpalm do not overlap, so that everybody in one is there with the same chance."""
    reading = release("members")[3]
    chances = []
    for person in reading.people:
        rows = [row for row in reading.rows if reading.covers(row, person)]
        crowd = [other for other in reading.population if reading.covers(rows[0], other)]
        assert len({row.cells for row in rows}) == 1
        chances.append(len(rows) / len(crowd))
    found = attacked("members", "membership", owner=False)
    assert found.chances.tolist() == pytest.approx(chances)
    assert found.success == pytest.approx(sum(chances) / len(chances))
    assert found.baseline == len(reading.people) / len(reading.population)


def test_the_statistician_is_judged_by_the_rows_that_were_relocated():
    reading = release("relocated")[3]
    untrue = [row for row in reading.rows if not reading.covers(row, reading.people[row.owner])]
    found = attacked("relocated", "statistical", owner=True)
    assert untrue
    assert found.figures["relocated"] == len(untrue)
    assert found.baseline == len(untrue) / len(reading.rows)
    assert {i for i, chance in enumerate(found.chances) if chance > 0} <= {row.owner for row in untrue}
    assert found.success * found.figures["accused"] == pytest.approx(sum(found.chances))


def test_whoever_knows_the_method_does_no_better_than_chance_on_rings():
    """A drawn assignment leaves each of the k rows that a person matches with the same chance."""
    for name in sorted(NEEDS_OWNER - {"record-linkage"}):
        found = attacked("rings", name, owner=True)
        assert found.holds
        assert found.figures["k"] == K
        assert found.success < 2 / (K - 1)


def test_nothing_sensitive_is_nothing_to_disclose():
    frame = CENSUS.frame(30).drop("salary")
    policy = {"quasi": list(CENSUS.quasi), "plain": ["tag"], "k": K}
    made = shoal.anonymize(frame, **policy)
    with pytest.raises(ShoalError, match="no sensitive column"):
        shoal.attack(made, original=frame, name="attribute-disclosure", **policy)
    assert math.isclose(shoal.attack(made, original=frame, **policy).baseline, 1 / 30)
