"""Rates, residual risks and their intervals, and the scaling of the success on a smaller holdout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from shoal.support.confidence_intervals import wilson
from shoal.synthetic.rates import Attempt, Rate, find_residual
from shoal.synthetic.singling_out import chance_to_isolate, isolate_in_part, scale_success
from tests import oracles


def test_residual_risk_by_hand():
    """60 % of training rows and 20 % of holdout rows: of the 80 % on whom it would fail, half fall: R = 0.5."""
    found = find_residual(Rate(0.6, 1000), Rate(0.2, 1000))
    assert found.value == pytest.approx(0.5)
    (low, high), (least, most) = wilson(0.6, 1000), wilson(0.2, 1000)

    def residual(own, other):
        return (own - other) / (1 - other)

    down = np.hypot(0.5 - residual(low, 0.2), 0.5 - residual(0.6, most))
    up = np.hypot(residual(high, 0.2) - 0.5, residual(0.6, least) - 0.5)
    assert (found.low, found.high) == pytest.approx((0.5 - down, 0.5 + up))


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 5000), st.integers(1, 5000))
def test_the_interval_contains_the_value_and_stays_within_0_and_1(train, control, own, other):
    found = find_residual(Rate(train, own), Rate(control, other))
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    assert found.value == pytest.approx(max((train - control) / (1 - control), 0.0) if control < 1 else 0.0)


def test_without_a_difference_there_is_no_risk_and_without_targets_anything_is_possible():
    assert find_residual(Rate(0.3, 2000), Rate(0.3, 2000)).value == 0.0
    assert find_residual(Rate(0.3, 2000), Rate(0.3, 2000)).low == 0.0
    assert find_residual(Rate(1.0, 50), Rate(1.0, 50)).value == 0.0
    unknown = find_residual(Rate(0.0, 0), Rate(0.0, 0))
    assert (unknown.low, unknown.high) == (0.0, 1.0)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(4)
    for train, control, targets in ((0.3, 0.2, 300), (0.9, 0.5, 200), (0.02, 0.01, 500), (0.1, 0.1, 500)):
        truth = max((train - control) / (1 - control), 0.0)
        own, other = random.binomial(targets, train, 2000), random.binomial(targets, control, 2000)
        found = [
            find_residual(Rate(a / targets, targets), Rate(b / targets, targets))
            for a, b in zip(own, other, strict=True)
        ]
        covered = np.mean([one.low <= truth <= one.high for one in found])
        assert covered >= 0.935, (train, control)


def test_the_upper_end_covers_the_control_as_it_was_counted():
    scaled = Attempt(
        question="singling_out",
        name="univariate",
        train=Rate(0.5, 1000),
        control=Rate(0.4, 1000),
        control_measured=Rate(0.1, 1000),
    ).residual()
    assert scaled is not None
    assert scaled.value == pytest.approx(1 / 6)
    assert scaled.high == find_residual(Rate(0.5, 1000), Rate(0.1, 1000)).high


def test_parts_of_a_holdout_by_counting_all_of_them():
    for rows in range(1, 8):
        for part in range(1, rows + 1):
            counts = np.arange(rows + 1)
            by_hand = np.mean([oracles.synthetic.isolates_in_parts(count, rows, part) for count in counts])
            assert isolate_in_part(counts, rows, part) == pytest.approx(by_hand)


def test_the_chance_to_isolate_is_the_integral():
    for people in (1, 7, 500):
        for limit in (1e-4, 0.03, 0.9):
            by_hand = quad(lambda w, n=people: n * w * (1 - w) ** (n - 1), 0, limit)[0] / limit
            assert chance_to_isolate(np.array([people]), limit)[0] == pytest.approx(by_hand, rel=1e-6)


def test_success_in_a_smaller_holdout_is_scaled_to_what_fresh_people_give():
    """2,000 statements with weights uniform up to a limit: 250 people foretell the success among 1,000."""
    random = np.random.default_rng(8)
    for limit in (0.0005, 0.002, 0.02):
        weights = random.uniform(0, limit, 2000)
        small, large = random.binomial(250, weights), random.binomial(1000, weights)
        foretold = scale_success(small, 250, 1000)
        assert foretold == pytest.approx(float((large == 1).mean()), abs=0.06), limit
        # In a larger holdout nothing is fitted.
        assert scale_success(large, 1000, 250) == pytest.approx(float((small == 1).mean()), abs=0.04)
    assert scale_success(np.zeros(10, np.int64), 20, 100) == 0.0
    assert scale_success(np.array([1, 1, 0]), 20, 20) == pytest.approx(2 / 3)
