from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import LimitError
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.full_domain.full_domain import FullDomain
from shoal.methods.full_domain.incognito import Incognito
from shoal.support.run import Run
from tests.inputs.strategies import tables
from tests.methods.test_full_domain import cases, travellers
from tests.oracles.all_mappings import minimal, satisfying


@settings(max_examples=300)
@given(cases())
def test_minimal_mappings_are_those_of_trying_all(case):
    table, requirements = case
    expected = satisfying(table, requirements)
    if not expected:
        with pytest.raises(LimitError, match="rows"):
            Incognito().anonymize(table, requirements, Run.start(1))
        return
    lowest = minimal(expected)
    release = Incognito().anonymize(table, requirements, Run.start(1))
    assert release.facts["minimal"] == sorted(list(levels) for levels in lowest)
    best = min(entry for entry in expected if entry[3] in lowest)
    assert release.levels == best[3]
    assert int((release.region_of < 0).sum()) == best[1]


@given(tables(), st.integers(2, 5))
def test_without_suppression_the_best_minimal_mapping_is_the_optimum(table, k):
    requirements = Requirements(models=(KAnonymity(k=k),), measure="lm")
    if table.rows >= k:
        best = Incognito().anonymize(table, requirements, Run.start(1))
        assert best.levels == FullDomain().anonymize(table, requirements, Run.start(1)).levels


def test_minimal_mappings_of_the_travellers():
    """By hand: with k = 3, q4 (23, Spain, 49703) needs company. Either it joins the other Europeans (age 2,
    nation 2, zip 4), or columns give way entirely."""
    release = Incognito().anonymize(travellers(), Requirements(models=(KAnonymity(k=3),)), Run.start(1))
    assert [2, 2, 4] in release.facts["minimal"]
    assert release.levels == (2, 2, 4)
    for levels in release.facts["minimal"]:
        for other in release.facts["minimal"]:
            assert levels == other or not all(a <= b for a, b in zip(levels, other, strict=True))


def test_it_is_registered():
    assert METHODS["incognito"] is Incognito
