"""Estimators of population uniqueness against brute force, their own models, and simulated populations."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal.judging.linking.uniqueness import (
    ESTIMATORS,
    Refusal,
    Sample,
    estimate_uniques,
    pitman,
    slide,
    zayatz,
)

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=25)


def sample(sizes, people):
    return Sample(np.array(sizes, np.int64), people)


def drawn(population, rows, seed=1):
    """The classes of a random sample without replacement, of a population given by the class of each person."""
    chosen = np.random.default_rng(seed).choice(population, rows, replace=False)
    return np.unique(chosen, return_counts=True)[1]


# Zayatz ---------------------------------------------------------------------------------------------------


@given(SIZES, st.integers(0, 60))
def test_zayatz_is_bayes_rule(sizes, more):
    assume(1 in sizes)
    rows = sum(sizes)
    people = rows + more

    def shows_one(size):
        return Fraction(size * math.comb(people - size, rows - 1), math.comb(people, rows))

    alone = Fraction(sizes.count(1)) * shows_one(1)
    share = alone / sum(shows_one(size) for size in sizes) * Fraction(sizes.count(1), rows)
    assert zayatz.zayatz(sample(sizes, people)) == pytest.approx(float(share))


# Pitman ---------------------------------------------------------------------------------------------------


def plain_likelihood(sizes, theta, alpha):
    found = sum(math.log(theta + i * alpha) for i in range(1, len(sizes)))
    found -= sum(math.log(theta + i) for i in range(1, sum(sizes)))
    return found + sum(math.log(i - alpha) for size in sizes for i in range(1, size))


@given(SIZES, st.floats(0.01, 50), st.floats(0.001, 0.99))
def test_likelihood_is_the_product_of_what_happens_to_each_person(sizes, theta, alpha):
    found = pitman.likelihood(sample(sizes, 10**6), theta, alpha)
    assert found == pytest.approx(plain_likelihood(sizes, theta, alpha), abs=1e-8)


@given(st.floats(0.01, 500), st.floats(0.01, 0.99), st.integers(1, 300))
def test_expected_uniques_of_pitman_person_by_person(theta, alpha, people):
    """Whoever comes next founds a class, or joins one of the unique people with (1 - alpha) / (theta + n) each."""
    classes, alone = 1.0, 1.0
    for n in range(1, people):
        new = (theta + alpha * classes) / (theta + n)
        classes, alone = classes + new, alone + new - alone * (1 - alpha) / (theta + n)
    assert pitman.uniques(theta, alpha, people) == pytest.approx(alone, rel=1e-8)


@given(SIZES)
@settings(max_examples=40)
def test_no_parameters_near_or_far_are_more_likely(sizes):
    try:
        theta, alpha = pitman.fit(sample(sizes, 10**6))
    except Refusal:
        # No maximum inside: the best of a grid lies at its edge.
        assume(1 < len(sizes) < sum(sizes))
        tried = [(t, a) for t in np.geomspace(1e-3, 1e9, 60) for a in (1e-7, 0.05, 0.2, 0.5, 0.8, 0.99)]
        best = max(tried, key=lambda pair: plain_likelihood(sizes, *pair))
        assert best[1] <= 0.2 or best[0] > 1e3
        return
    here = plain_likelihood(sizes, theta, alpha)
    for t in (theta - 1e-3, theta + 1e-3, theta / 2, theta * 2, 0.1, 1, 10, 100, 1000):
        for a in (alpha - 1e-3, alpha + 1e-3, alpha, 0.01, 0.3, 0.6, 0.9):
            if 0 < a < 1 and t > -a + 1e-9:
                assert plain_likelihood(sizes, t, a) <= here + 1e-7


def test_long_sums_are_exact():
    """Beyond two thousand terms an integral takes over; also for an alpha that is nearly 0."""
    for last in (2000, 2001, 5000, 200_000):
        for theta, alpha in ((3.0, 0.5), (1e4, 1e-9), (1e-3, 0.999)):
            i = np.arange(1.0, last + 1)
            for term in (lambda i: np.log(theta + i * alpha), lambda i: i / (theta + i * alpha)):  # noqa: B023
                assert pitman._sum(term, last) == pytest.approx(math.fsum(term(i)), rel=1e-10)


def chinese_restaurant(theta, alpha, people, seed):
    """A population of Pitman's model: labels, by drawing a person whom the next one joins."""
    rng = np.random.default_rng(seed)
    labels, counts = np.zeros(people, np.int64), [1]
    for n in range(1, people):
        if rng.random() * (theta + n) < theta + alpha * len(counts):
            labels[n] = len(counts)
            counts.append(1)
            continue
        while True:
            label = labels[rng.integers(n)]
            if rng.random() * counts[label] < counts[label] - alpha:
                break
        labels[n] = label
        counts[label] += 1
    return labels


def test_pitman_on_its_own_model():
    labels = chinese_restaurant(50, 0.5, 20_000, 3)
    truth = np.count_nonzero(np.bincount(labels) == 1) / 20_000
    for fraction in (0.05, 0.1, 0.5):
        found = pitman.pitman(sample(drawn(labels, int(20_000 * fraction)), 20_000))
        assert found == pytest.approx(truth, rel=0.35)


# Slide negative binomial ----------------------------------------------------------------------------------


def plain_moments(classes, mean, shape, fraction):
    """Expected classes and unique rows of a sample: over all sizes of classes of the population, term by term."""
    excess = np.arange(0, 3000)
    size = excess + 1
    how_often = stats.nbinom.pmf(excess, shape, shape / (shape + mean))
    none, one = (stats.binom.pmf(shown, size, fraction) for shown in (0, 1))
    return classes * (1 - how_often @ none), classes * (how_often @ one), classes * how_often[0]


@given(st.floats(0.1, 20), st.floats(0.1, 10), st.sampled_from([0.05, 0.1, 0.5]))
@example(0.125, 0.125, 0.05)
@example(0.125, 1.0, 0.05)
@example(0.355, 1.0, 0.05)
@settings(max_examples=30)
def test_slide_gives_back_the_moments_of_the_sample(mean, shape, fraction):
    people = round(50_000 * (1 + mean))
    # The share of the people who are in a sample of whole rows: of few pairs, a small difference says much.
    drawn = round(people * fraction)
    shown, once, truth = plain_moments(50_000, people / 50_000 - 1, shape, drawn / people)

    class Moments(Sample):
        rows = drawn
        classes, uniques = shown, once

    found = slide.fit(Moments(np.ones(1, np.int64), people))
    # Some other parameters may have the same moments, but those that were put in are among them.
    assert min(abs(one[0] / 50_000 - 1) for one in found) < 0.02
    assert slide.slide_negative_binomial(Moments(np.ones(1, np.int64), people)) >= truth / people * 0.95
    for classes, mean_, shape_ in found:
        back = plain_moments(classes, mean_, shape_, Moments.rows / people)
        assert back[0] == pytest.approx(shown, rel=1e-5)
        assert back[1] == pytest.approx(once, rel=1e-5)


def test_slide_on_its_own_model():
    rng = np.random.default_rng(2)
    sizes = 1 + rng.negative_binomial(2, 2 / 7, 30_000)
    population = np.repeat(np.arange(30_000), sizes)
    truth = np.count_nonzero(sizes == 1) / len(population)
    for fraction in (0.1, 0.5):
        rows, people = int(len(population) * fraction), len(population)
        found = [
            slide.slide_negative_binomial(sample(drawn(population, rows, seed), people)) for seed in range(5)
        ]
        assert np.median(found) == pytest.approx(truth, rel=0.25)


# All together ---------------------------------------------------------------------------------------------


@given(SIZES, st.integers(1, 200))
def test_answers_are_shares_or_reasons(sizes, more):
    """An estimator answers with a share no larger than that of the sample's unique rows, or says why not."""
    found = estimate_uniques(np.array(sizes), sum(sizes) + more)
    most = sizes.count(1) / sum(sizes)
    assert [one.name for one in found.all] == list(ESTIMATORS)
    for one in found.all:
        assert one.assumes
        assert (one.refused is not None) == math.isnan(one.share)
        if one.refused is None:
            assert 0 <= one.share <= most
            assert (one.share == 0) == (most == 0)
    low, high = found.range
    assert low <= found.rule.share <= high
    assert found["dankar"].share == found.rule.share
    assert (found.proven is not None) == (most == 0)


def test_what_is_proven():
    whole = estimate_uniques(np.array([1, 1, 2]), 4)
    assert [one.share for one in whole.all] == [0.5] * 3
    assert whole.proven == "the table is the whole population"
    alike = estimate_uniques(np.array([2, 5]), 1000)
    assert alike.range == (0.0, 0.0)
    assert "no row is unique in the table" in alike.proven


def test_the_rule_takes_pitman_for_small_fractions():
    labels = chinese_restaurant(20, 0.6, 4000, 5)
    few, many = (estimate_uniques(drawn(labels, rows), 4000) for rows in (400, 401))
    assert few["pitman"].refused is None
    assert few.rule.share == few["pitman"].share
    assert many.rule.share == min(one.share for one in (many["snb"], many["zayatz"]) if not one.refused)


def test_refusals_say_why():
    """All unique: nothing repeats, so Pitman and SNB have nothing to go by, and Zayatz expects the worst."""
    found = estimate_uniques(np.ones(50, np.int64), 10_000)
    assert "all rows are unique" in found["pitman"].refused
    assert found["snb"].refused.startswith("does not converge")
    assert found.range == (1.0, 1.0)
    assert found.rule.share == 1.0
    even = estimate_uniques(np.array([3] * 40 + [1]), 10_000)
    assert "more even" in even["pitman"].refused
    for people in (49, None):
        with pytest.raises(ValueError, match="population"):
            estimate_uniques(np.ones(50, np.int64), people)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5])
def test_a_population_of_known_uniqueness(fraction):
    """A skewed population: the range is not below the truth, and narrows down to it with the fraction."""
    rng = np.random.default_rng(7)
    chances = rng.lognormal(0, 1.5, 10_000)
    population = rng.choice(10_000, 40_000, p=chances / chances.sum())
    truth = np.count_nonzero(np.bincount(population) == 1) / 40_000
    found = estimate_uniques(drawn(population, int(40_000 * fraction)), 40_000)
    low, high = found.range
    assert high >= truth * 0.9
    assert low <= truth * (8 if fraction < 0.1 else 2.5 if fraction < 0.5 else 1.4)


# The page ---------------------------------------------------------------------------------------------


def test_the_page_about_samples_has_the_tables_of_the_experiment():
    page = (EXPERIMENTS.parent / "docs" / "how-to" / "population-risk.md").read_text()
    parts = (EXPERIMENTS / "population_risk.md").read_text().split("\n## ")[1:]
    assert [part.split("\n")[0] for part in parts] == ["simulated", "adult", "seconds"]
    for part in parts:
        name, table = part.split("\n", 1)
        begin = f"<!-- {name}: written by experiments/population_risk.py -->"
        assert page.split(begin)[1].split(f"<!-- end of {name} -->")[0].strip() == table.strip()


def test_what_the_page_about_samples_says():
    """Medians of Zayatz are above the truth; from half of the people, others are within 30 % of it."""
    page = (EXPERIMENTS / "population_risk.md").read_text().split("\n## seconds")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if re.search(r"\| \d+% \|", line)]
    assert len(rows) == 20

    def number(cell):
        found = re.match(r"(?:< )?([\d.]+) %", cell)
        return float(found[1]) if found else None

    for _, fraction, _, *answers, _, truth in rows:
        pitman, zayatz, snb, _ = map(number, answers)
        assert zayatz > number(truth)
        if fraction == "50%":
            near = [one for one in (pitman, snb) if one is not None]
            assert all(abs(one / number(truth) - 1) < 0.3 for one in near)
