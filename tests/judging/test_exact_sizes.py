"""The exact test of class sizes: by hand, against all outcomes, with an interval, and as a policy asks for it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, multinomial

import shoal
from shoal.coding.encode import encode
from shoal.judging.models import exact_sizes
from shoal.judging.models.exact_sizes import exact_test, interval, pearson
from shoal.judging.models.hybrid_k import AlphaHybrid, Expected, too_few
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run
from tests.inputs.samples import CENSUS
from tests.methods.test_hybrid import evidence_by


def counts(*values):
    return np.array(values, np.int64)


def by_all_outcomes(sizes, truth):
    """Add up the probabilities of all outcomes that are at least as far away."""
    rows, least = sum(truth), sum((s - t) ** 2 / t for s, t in zip(sizes, truth, strict=True))
    chances = multinomial(rows, [t / rows for t in truth])
    return sum(
        chances.pmf(outcome)
        for outcome in itertools.product(range(rows + 1), repeat=len(truth))
        if sum(outcome) == rows
        and sum((s - t) ** 2 / t for s, t in zip(outcome, truth, strict=True)) >= least - 1e-9
    )


def test_by_hand():
    """Two rows in two groups of one: both in one group has X^2 = 2 and happens half of the time."""
    assert pearson(counts(2, 0), counts(1, 1)) == 2
    assert exact_test(counts(2, 0), counts(1, 1), 0.05)[:3] == pytest.approx((0.5, 0.5, 0.5))
    # Three rows, of which two were expected in the first group. (1, 2) and (3, 0) have X^2 = 1.5, (0, 3) has 6; their
    # probabilities are 6/27, 8/27 and 1/27.
    assert exact_test(counts(1, 2), counts(2, 1), 0.05).value == pytest.approx(15 / 27)
    assert exact_test(counts(2, 1), counts(2, 1), 0.05).value == 1
    assert exact_test(counts(2, 1, 1), counts(2, 2, 0), 0.05).value == 0, "a class that covers nobody"


@settings(max_examples=60)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=4), st.randoms())
def test_all_outcomes_are_listed(truth, random):
    sizes = [0] * len(truth)
    for _ in range(sum(truth)):
        sizes[random.randrange(len(truth))] += 1
    found = exact_test(counts(*sizes), counts(*truth), 0.05)
    assert found.draws == 0
    assert found.value == pytest.approx(by_all_outcomes(sizes, truth))


def test_drawn_tables_bracket_the_exact_value(monkeypatch):
    cases = [([3, 0, 1], [1, 1, 2]), ([5, 1, 0, 0], [2, 2, 1, 1]), ([0, 6], [3, 3]), ([4, 2, 2], [3, 3, 2])]
    exact = [by_all_outcomes(*case) for case in cases]
    monkeypatch.setattr(exact_sizes, "MOST_OUTCOMES", 0)
    for (sizes, truth), value in zip(cases, exact, strict=True):
        found = exact_test(counts(*sizes), counts(*truth), value)
        assert found.draws == exact_sizes.LOOKS[-1], (
            "alpha is the value itself, so the first look cannot decide"
        )
        assert found.low < value < found.high
        assert found.low < found.value < found.high
        assert found == exact_test(counts(*sizes), counts(*truth), value), "an audit repeats it"
    # Far from alpha the first look decides.
    assert exact_test(counts(4, 2, 2), counts(3, 3, 2), 0.01).draws == exact_sizes.LOOKS[0]


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_that_of_clopper_and_pearson(pair):
    hits, draws = pair
    low, high = interval(hits, draws)
    assert low == pytest.approx(beta.ppf(0.0005, hits, draws - hits + 1) if hits else 0)
    assert high == pytest.approx(beta.ppf(0.9995, hits + 1, draws - hits) if hits < draws else 1)
    if not hits:
        assert high == pytest.approx(1 - 0.0005 ** (1 / draws))


def test_small_groups_are_told_by_cochran_s_rule():
    assert "fewer than 5 rows" in too_few(Expected(counts(5, 5, 9), counts(4)))
    assert too_few(Expected(counts(5, 5, 9, 9), counts(4))) == ""


def test_the_lower_end_counts(monkeypatch):
    """A p-value whose interval contains alpha does not hold: what is unknown is read against the release."""
    people = CENSUS.frame(400)
    policy = CENSUS.policy({"k": 3}, {"name": "hybrid", "variant": "statistical", "budget": 0.05})
    table = encode(people, policy.plans(people.columns))
    wish = Requirements(models=(KAnonymity(k=3),))
    release = METHODS["hybrid"](variant="statistical", budget=0.05).anonymize(table, wish, Run.start(1))
    evidence = evidence_by(table, release)
    monkeypatch.setattr(
        "shoal.judging.models.hybrid_k.exact_test", lambda *_: exact_sizes.PValue(0.06, 0.04, 0.08, 10)
    )
    assert not AlphaHybrid(alpha=0.05, exact=True).verify(evidence).holds
    assert AlphaHybrid(alpha=0.04, exact=True).verify(evidence).holds
    assert "lower end" in AlphaHybrid(alpha=0.04, exact=True).verify(evidence).detail


@pytest.mark.parametrize("method", ["hybrid", "hybrid-mondrian", "relocate"])
def test_a_policy_asks_for_the_exact_test(method):
    people = CENSUS.frame(400)
    asked = {"name": method, "variant": "statistical", "budget": 0.05}
    rough = shoal.anonymize(people, CENSUS.policy({"k": 3, "relocation": {"alpha": 0.05}}, asked), seed=1)
    exact = shoal.anonymize(people, CENSUS.policy({"k": 3, "relocation": {"exact": 0.05}}, asked), seed=1)
    assert any("too many for Pearson" in note for note in rough.notes)
    assert not any("too many for Pearson" in note for note in exact.notes)
    verdict, truth = exact.verdicts[-2:]
    assert truth.model == "truthful"
    assert verdict.holds
    assert verdict.model == "0.05-hybrid by the exact test"
    assert verdict.reached >= 0.05
