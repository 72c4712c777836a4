"""Benedetti and Franconi's individual risk against the sum and the closed forms that define it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shoal.judging.linking.individual_risk import compute_expected_inverse, individual_risk


def by_sum(f, p):
    """The sum over all F >= f of P(F | f) / F, with F negative binomial: plainly, term by term."""
    q, h, probability, total, reached = 1 - p, f, p**f, 0.0, 0.0
    while reached < 1 - 1e-13 and h < 200_000:
        total += probability / h
        reached += probability
        probability *= q * h / (h - f + 1)
        h += 1
    return total


def risk(f, p):
    return compute_expected_inverse(np.array([f]), np.array([f / p]))[0]


@given(st.integers(1, 60), st.floats(0.01, 1))
@example(20, 0.4999)
@example(20, 0.5)
@example(21, 0.01)
@example(1, 1.0)
def test_it_is_the_expectation(f, p):
    assert risk(f, p) == pytest.approx(by_sum(f, f / max(f / p, f)), rel=1e-9)


@given(st.floats(1e-9, 1 - 1e-6))
def test_closed_forms(p):
    """For f = 1, 2 and 3, where these lose no digits."""
    q = 1 - p
    assert risk(1, p) == pytest.approx(p / q * math.log(1 / p), rel=1e-9)
    if q > 0.05:
        assert risk(2, p) == pytest.approx(p / q**2 * (p * math.log(p) + 1 - p), rel=1e-9)
        third = p / (2 * q**3) * (q * (3 * q - 2) - 2 * p**2 * math.log(p))
        assert risk(3, p) == pytest.approx(third, rel=1e-8)


@given(st.integers(1, 100_000), st.floats(1e-9, 1))
def test_bounds(f, p):
    """Between one over the expected number of people (Jensen) and one over the rows; it grows with p."""
    p = f / max(f / p, f)
    assert p / f * (1 - 1e-9) <= risk(f, p) <= 1 / f * (1 + 1e-9)
    assert risk(f, p / 2) <= risk(f, p) * (1 + 1e-9)


def test_the_third_form_by_its_integral():
    """p times the integral of s^2 / (p + q s): by long division s/q - p/q^2 + p^2/q^2 / (p + q s)."""
    p, q = 0.2, 0.8
    by_hand = p * (1 / (2 * q) - p / q**2 + p**2 / q**3 * math.log(1 / p))
    assert risk(3, p) == pytest.approx(by_hand)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0.1, 500)), min_size=1, max_size=20))
def test_rows_and_their_sum(rows):
    names = sorted({name for name, _ in rows})
    class_of = np.array([names.index(name) for name, _ in rows], np.int32)
    found = individual_risk(class_of, len(names), np.array([weight for _, weight in rows]))
    expected = []
    for name, _ in rows:
        own = [weight for other, weight in rows if other == name]
        expected.append(risk(len(own), min(1.0, len(own) / sum(own))))
    assert found.of_row.tolist() == pytest.approx(expected)
    assert found.expected == pytest.approx(sum(expected))
    assert found.highest == pytest.approx(max(expected))
    assert found.mean == pytest.approx(sum(expected) / len(rows))


def test_a_sample_of_everybody_and_nobody():
    """Weights of 1: the prosecutor's risk. Weights below 1 are no protection. No rows: no risk."""
    class_of = np.array([0, 0, 0, 1], np.int32)
    for weight in (1.0, 0.5):
        assert individual_risk(class_of, 2, np.full(4, weight)).of_row.tolist() == [1 / 3, 1 / 3, 1 / 3, 1]
    none = individual_risk(np.zeros(0, np.int32), 0, np.zeros(0))
    assert (none.highest, none.mean, none.expected) == (0, 0, 0)
