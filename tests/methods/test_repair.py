"""The repair of global (1,k): no pair more likely than 1/k, or than a confidence, by enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import shoal
from shoal.errors import LimitError, PolicyError
from shoal.judging.linking import posterior as counting
from shoal.judging.models.k_type import GlobalOneK
from shoal.judging.models.requirements import Requirements
from shoal.methods.cells.global_one_k import GlobalOneK as GlobalMethod
from shoal.support.run import Run
from tests.judging.test_posterior import by_enumeration
from tests.methods.test_k_type import PEOPLE, ROLES, coded, fits, shown


def tables(many, seed):
    """Small tables, some with equal rows, and a k for each."""
    random = np.random.default_rng(seed)
    for _ in range(many):
        rows, columns = int(random.integers(3, 8)), int(random.integers(1, 3))
        yield (
            coded(random.integers(0, 5, (columns, rows)), [5] * columns),
            int(random.integers(2, min(rows, 4) + 1)),
        )


def largest(table, release):
    low, high = release.low[release.region_of], release.high[release.region_of]
    return max(max(line) for line in by_enumeration(fits(table, low, high)))


def repaired(table, k, **options):
    asked = Requirements(models=(GlobalOneK(k=k),))
    release = GlobalMethod(repair=True, **options).anonymize(table, asked, Run.start(1))
    low, high = release.low[release.region_of], release.high[release.region_of]
    assert (table.quasi.wide >= low).all()
    assert (table.quasi.wide <= high).all()
    assert GlobalOneK(k=k).verify(shown(table, low, high)).holds
    return release


def test_no_pair_is_above_one_in_k(repeated):
    before, count = 0, round(300 * repeated)
    for table, k in tables(count, 1):
        asked = Requirements(models=(GlobalOneK(k=k),))
        before += largest(table, GlobalMethod().anonymize(table, asked, Run.start(1))) > Fraction(1, k)
        release = repaired(table, k)
        assert largest(table, release) <= Fraction(1, k)
        assert release.facts["largest_share"] == pytest.approx(float(largest(table, release)))
    assert before > count / 6


def test_no_pair_is_above_the_confidence(repeated):
    """A confidence above 1/k leaves more of the cells, one below asks for more rows than k."""
    for table, k in tables(round(150 * repeated), 2):
        for confidence in (0.5, 0.3):
            if table.rows * confidence < 1:
                continue
            found = largest(table, repaired(table, k, confidence=confidence))
            assert float(found) <= confidence + 1e-12


def test_components_that_cannot_be_counted_get_classes(monkeypatch):
    """The proof is then that rows which show the same cells are equally likely."""
    monkeypatch.setattr(counting, "MOST_STATES", 1)
    for table, k in tables(200, 3):
        assert largest(table, repaired(table, k)) <= Fraction(1, k)


def test_a_confidence_that_limits_forbid_is_refused():
    table = coded([[0, 1, 2]], [3])
    with pytest.raises(LimitError, match="takes 4 rows that can be alike"):
        repaired(table, 2, confidence=0.25)


def test_options_are_checked():
    with pytest.raises(PolicyError, match="must be a probability"):
        GlobalMethod(repair=True, confidence=1.5)
    with pytest.raises(PolicyError, match="only the repair"):
        GlobalMethod(confidence=0.2)


def test_linkage_finds_nobody_above_one_in_k():
    options = {"notion": "global-1-k", "method": {"name": "global-1-k", "repair": True}}
    release = shoal.anonymize(PEOPLE, **ROLES, k=4, **options).table
    found = shoal.attack(release, original=PEOPLE, **ROLES, k=4).figures["likeliest_pair"]
    assert found["exact"]
    assert found["above_one_in_k"] == 0
