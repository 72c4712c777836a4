"""The analyses that a policy names, and measures that analysts know: each against its definition, computed plainly."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import shoal
from shoal.apps.samples import sample
from shoal.coding.encode import encode
from shoal.coding.purpose import Condition, Formula, Purpose, Query, with_borders
from shoal.errors import PolicyError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.origins import RECEIVED
from shoal.judging.measures import MEASURES
from shoal.judging.measures.evaluate import explain_unmeasured, measure_all
from shoal.judging.measures.marginals import KMarginal, groups_of
from shoal.judging.measures.prediction import PredictionR2
from shoal.judging.measures.propensity import propensity
from shoal.judging.measures.regression import overlap, regressions
from shoal.judging.measures.regressions import linear, logistic
from shoal.judging.measures.workload import REST, answers
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.kernels import losses as kernels
from shoal.methods.loss_tables import losses_of
from shoal.methods.partitioning import mondrian as cutting
from shoal.methods.partitioning.windows import list_values
from shoal.policy import Policy
from shoal.policy.purposes import with_purpose
from shoal.release import Release
from shoal.release.layout import Buckets
from tests import oracles
from tests.inputs.coded_tables import with_changes
from tests.inputs.strategies import tables
from tests.judging.test_measures import (
    flat,
    merged,
    numbers,
    publish,
    releases,
    suppressed,
    table_of,
    untouched,
)
from tests.methods.test_counted_cuts import descend
from tests.methods.test_mondrian import cut, members

CENSUS = shoal.Policy.read(
    shoal.policy.policy.Path(shoal.__file__).parent / "apps" / "samples" / "data" / "census.toml"
)


def close(a, b, tolerance=1e-9):
    return a == pytest.approx(b, rel=tolerance, abs=tolerance)


def spread_rows(table, evidence):
    """Every row of a release as (weight, codes per column): spread evenly over the values that it may have."""
    published = evidence.published
    secrets = [attribute.hierarchy.size for attribute in table.sensitive]
    for row, c in enumerate(published.class_of):
        ranges = [
            range(low, high + 1)
            for low, high in zip(*(ends[c] for ends in published.cell_ranges), strict=True)
        ]
        ranges += [[int(code)] for code in published.sensitive_codes[row]]
        yield ranges
    for _ in range(published.suppressed):
        yield [range(a.hierarchy.size) for a in table.attributes] + [range(size) for size in secrets]


def density(rows, columns, groups):
    """The share of rows per combination of groups, by going through all values of all cells."""
    found, total = {}, 0
    for ranges in rows:
        total += 1
        cells = [ranges[j] for j in columns]
        share = 1 / math.prod(len(cell) for cell in cells)
        for codes in itertools.product(*cells):
            key = tuple(int(groups[j][code]) for j, code in zip(columns, codes, strict=True))
            found[key] = found.get(key, 0.0) + share
    return {key: value / total for key, value in found.items()}


# k-marginal -----------------------------------------------------------------------------------------------


@given(data=releases())
@settings(max_examples=40)
def test_the_k_marginal_score_is_its_definition(data):
    table, evidence = data
    columns = (*table.attributes, *table.sensitive)
    counts = (*table.value_counts, *table.sensitive_counts)
    groups = [groups_of(own, seen, 20, 50) for own, seen in zip(columns, counts, strict=True)]
    exact = list(spread_rows(table, untouched(table)))
    shown = list(spread_rows(table, evidence))
    apart = []
    for marginal in itertools.combinations(range(len(columns)), min(3, len(columns))):
        before, after = (density(rows, marginal, groups) for rows in (exact, shown))
        apart.append(sum(abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys()))
    assert close(KMarginal().value(evidence), 500 * (2 - sum(apart) / len(apart)))
    assert close(KMarginal().value(untouched(table)), 1000)


def test_the_k_marginal_score_by_hand():
    """Two values, half of the rows each; the release shows both as one. With the constant secret there are two columns,
    so one marginal: nothing differs. If all rows have the first value and are suppressed, half of the density is
    elsewhere.
    """
    table = table_of([flat("ab")], [0, 0, 1, 1])
    assert KMarginal().similarity(merged(table)).score == 1000
    table = table_of([flat("ab")], [0, 0, 0, 0])
    found = KMarginal().similarity(suppressed(table))
    assert (found.score, found.columns, found.marginals, found.possible) == (500, 2, 1, 1)
    assert found.worst == ("q0", "s")
    assert close(KMarginal(columns=1).value(suppressed(table)), (500 + 1000) / 2)


def test_marginals_are_drawn_if_there_are_many():
    random = np.random.default_rng(1)
    table = table_of([flat("abc")] * 6, random.integers(0, 3, (30, 6)))
    shown = publish(table, (np.arange(30) // 10).tolist())
    some = KMarginal(marginals=10).similarity(shown)
    assert (some.marginals, some.possible) == (10, 35)
    assert some == KMarginal(marginals=10).similarity(shown)
    assert some.score != KMarginal().value(shown)
    with pytest.raises(PolicyError, match=r"k-marginal\.bins: must be at least 1, not 0"):
        KMarginal(bins=0)


def test_bins_have_about_equally_many_rows():
    many = table_of([numbers(range(1000), nulls=1)], [*range(1000), 1000])
    groups = groups_of(many.attributes[0], many.value_counts[0], 20, 50)
    assert np.bincount(groups).tolist() == [50] * 20 + [1]
    few = table_of([numbers([1, 2, 3])], [0] * 90 + [1] * 5 + [2] * 5)
    assert len(set(groups_of(few.attributes[0], few.value_counts[0], 2, 50))) == 2
    assert groups_of(few.sensitive[0], np.ones(1, np.int64), 2, 50).tolist() == [0]


# pMSE -----------------------------------------------------------------------------------------------------


def moved(before, after):
    """The release of one table, judged with another as its original."""
    return replace(untouched(after), table=before, origin=RECEIVED)


@given(
    st.lists(st.integers(0, 2), min_size=8, max_size=40), st.lists(st.integers(0, 2), min_size=8, max_size=40)
)
@settings(max_examples=40)
def test_pmse_of_categories_is_that_of_their_table(before, after):
    """A model with an indicator per value is saturated: a value's chance is its share of released rows."""
    before, after = ([0, 1, 2, *values][: min(len(before), len(after))] for values in (before, after))
    tables_ = [table_of([flat("abc")], values) for values in (before, after)]
    found = propensity(moved(*tables_))
    expected = 0.0
    for value in range(3):
        old, new = before.count(value), after.count(value)
        expected += (old + new) * (new / (old + new) - 0.5) ** 2
    assert close(found.pmse, expected / (2 * len(before)), 1e-6)
    assert found.parameters == 3
    assert close(found.ratio, found.pmse / (2 * 0.25 * 0.5 / (2 * len(before))))


@given(data=releases())
@settings(max_examples=30)
def test_nobody_can_tell_an_untouched_release(data):
    table, evidence = data
    assert close(propensity(untouched(table)).pmse, 0)
    found = propensity(evidence)
    assert -1e-12 <= found.pmse <= 0.25 + 1e-12
    assert (found.ratio > 1e-6) == (
        found.pmse > 1e-6 * 0.25 * 0.5 / (2 * table.rows) * (found.parameters - 1)
    )


def test_pmse_fits_the_model_that_it_states():
    """Two numbers and a category, by a general minimizer over rows with the terms written out."""
    random = np.random.default_rng(3)
    codes = np.stack(
        [random.integers(0, 6, 120), random.integers(0, 4, 120), random.integers(0, 3, 120)], axis=1
    )
    table = table_of([numbers([0, 1, 3, 6, 8, 10]), numbers([5, 6, 7, 9]), flat("abc")], codes)
    evidence = publish(table, (codes[:, 0] // 2 * 2 + (codes[:, 1] > 1)).tolist())
    lines = [np.array([0, 1, 3, 6, 8, 10]) / 10, (np.array([5, 6, 7, 9]) - 5) / 4, np.array([0, 0.5, 1])]
    terms, released = [], []
    for side, rows in enumerate((spread_rows(table, untouched(table)), spread_rows(table, evidence))):
        for ranges in rows:
            means = [np.mean([lines[j][code] for code in ranges[j]]) for j in range(3)]
            squares = [np.mean([lines[j][code] ** 2 for code in ranges[j]]) for j in range(2)]
            kinds = [np.mean([code == value for code in ranges[2]]) for value in (1, 2)]
            pairs = [means[0] * means[1], means[0] * means[2], means[1] * means[2]]
            terms.append([1.0, *means[:2], *squares, *kinds, *pairs])
            released.append(side)
    design, wanted = np.array(terms), np.array(released)

    def deviance(slopes):
        odds = design @ slopes
        return np.logaddexp(0, odds).sum() - odds[wanted == 1].sum()

    best = minimize(deviance, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-9}).x
    chance = 1 / (1 + np.exp(-design @ best))
    found = propensity(evidence)
    assert found.parameters == design.shape[1]
    assert close(found.pmse, ((chance - 0.5) ** 2).mean(), 1e-5)


def test_the_ratio_is_about_1_if_the_release_is_drawn_from_the_original():
    """With replacement. Two samples of one population differ by both draws, so their ratio is about 2."""
    random = np.random.default_rng(5)
    drawn, apart = [], []
    for _ in range(150):
        rows = random.integers(0, (5, 3), (300, 2))
        before = table_of([numbers(range(5)), flat("abc")], rows)
        for other, found in (
            (rows[random.integers(0, 300, 300)], drawn),
            (random.integers(0, (5, 3), (300, 2)), apart),
        ):
            found.append(propensity(moved(before, table_of([numbers(range(5)), flat("abc")], other))).ratio)
    assert 0.9 < np.mean(drawn) < 1.1
    assert 1.8 < np.mean(apart) < 2.2


def test_terms_may_be_too_many_to_keep(monkeypatch):
    table = table_of([numbers(range(9)), flat("abc")], [(i % 9, i % 3) for i in range(60)])
    shown = publish(table, [i // 20 for i in range(60)])
    kept = propensity(shown)
    monkeypatch.setattr("shoal.judging.measures.propensity.KEPT", 0)
    assert propensity(shown) == kept


# Regressions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((1, 1), (1, 1), 1.0),
        ((0, 1), (1.959963984540054, 1), 0.5),
        ((0, 1), (9, 1), 0.0),
        ((0, 1), (0, 0.5), 0.5 * (0.5 + 1)),
        ((0, 1), (math.nan, math.nan), 0.0),
        ((2, 0), (2, 0), 1.0),
        ((2, 0), (3, 0), 0.0),
    ],
)
def test_the_overlap_of_intervals_by_hand(first, second, expected):
    """As shares of both intervals: [-1.96, 1.96] and [0, 3.92] share half of each."""
    assert close(overlap(*first, *second), expected)


def test_least_squares_by_hand():
    """x = 1..4, y = 2, 4, 5, 8: slope 9.5 / 5, intercept 0, residuals 0.1, 0.2, -0.7, 0.4."""
    design = np.array([[1.0, x] for x in (1, 2, 3, 4)])
    fit = linear(design, np.array([2.0, 4, 5, 8]), np.ones(4))
    assert close(fit.coefficients.tolist(), [0.0, 1.9])
    variance = (0.01 + 0.04 + 0.49 + 0.16) / 2
    assert close(fit.errors.tolist(), [math.sqrt(variance * 30 / 20), math.sqrt(variance / 5)])
    twice = linear(np.column_stack([design, design[:, 1] * 2]), np.array([2.0, 4, 5, 8]), np.ones(4))
    assert math.isnan(twice.coefficients[2])
    assert close(twice.coefficients[:2].tolist(), [0.0, 1.9])


def test_logistic_regression_by_hand():
    """Two by two: 30 and 10 without, 15 and 25 with: log odds, and the root of the sum of 1 / counts."""
    design = np.array([[1.0, x] for x in [0] * 40 + [1] * 40])
    outcome = np.array([0.0] * 30 + [1] * 10 + [0] * 15 + [1] * 25)
    fit = logistic(design, outcome, np.ones(80))
    assert close(fit.coefficients.tolist(), [math.log(10 / 30), math.log(25 / 15) - math.log(10 / 30)], 1e-8)
    errors = [math.sqrt(1 / 30 + 1 / 10), math.sqrt(1 / 30 + 1 / 10 + 1 / 15 + 1 / 25)]
    assert close(fit.errors.tolist(), errors, 1e-6)
    counted = logistic(np.array([[1.0, 0], [1, 1]]), np.array([0.25, 0.625]), np.array([40.0, 40]))
    assert close(counted.coefficients.tolist(), fit.coefficients.tolist(), 1e-8)


def test_an_infinite_coefficient_is_not_determined_and_the_others_are_as_without_its_rows():
    random = np.random.default_rng(2)
    kind, number = random.integers(0, 3, 200), random.normal(size=200)
    outcome = (random.random(200) < 1 / (1 + np.exp(-number))).astype(float)
    outcome[kind == 2] = 1.0
    design = np.column_stack([np.ones(200), number, kind == 1, kind == 2]).astype(float)
    fit = logistic(design, outcome, np.ones(200))
    assert math.isnan(fit.coefficients[3])
    assert math.isnan(fit.errors[3])
    rest = logistic(design[kind < 2][:, :3], outcome[kind < 2], np.ones((kind < 2).sum()))
    assert close(fit.coefficients[:3].tolist(), rest.coefficients.tolist(), 1e-6)
    assert close(fit.errors[:3].tolist(), rest.errors.tolist(), 1e-5)
    assert logistic(design[:, :1], np.ones(200), np.ones(200)) is None


def modelled(secrets=None):
    """Income grows by 2 per year, and by 5 for the second kind; with noise."""
    random = np.random.default_rng(7)
    codes = np.stack([random.integers(0, 10, 200), random.integers(0, 2, 200)], axis=1)
    table = table_of([numbers(range(20, 30)), flat("ab")], codes, secrets)
    income = 2.0 * codes[:, 0] + 5 * codes[:, 1] + random.normal(size=200)
    table = with_changes(
        table,
        kept=table.kept.whole.with_columns(income=pl.Series(income)),
        columns=(*table.columns, "income"),
    )
    return table.with_context(purpose=Purpose(regression=Formula("income", ("q0", "q1")))), income


def test_a_linear_regression_of_a_plain_column():
    table, income = modelled()
    found = regressions(untouched(table))
    assert (found.kind, found.rows_before, found.rows_after) == ("linear", 200, 200)
    assert close(found.overlap, 1)
    # The most frequent kind is the reference.
    reference = int(np.bincount(table.quasi.wide[:, 1]).argmax())
    other = table.quasi.wide[:, 1] != reference
    design = np.column_stack([np.ones(200), 20 + table.quasi.wide[:, 0], other])
    expected = np.linalg.lstsq(design, income, rcond=None)[0]
    assert close([one.before for one in found.coefficients], expected.tolist(), 1e-6)
    assert [one.name for one in found.coefficients] == ["(intercept)", "q0", f"q1 = {'ba'[reference]}"]
    halves = regressions(publish(table, (table.quasi.wide[:, 0] // 5).tolist()))
    assert 0 <= halves.overlap < 1
    # Classes of two: each row shows the middle of its class, by hand.
    shown = publish(table, (table.quasi.wide[:, 0] // 2 * 2 + table.quasi.wide[:, 1]).tolist())
    design[:, 1] = 20.5 + table.quasi.wide[:, 0] // 2 * 2
    expected = np.linalg.lstsq(design, income, rcond=None)[0]
    assert close([one.after for one in regressions(shown).coefficients], expected.tolist(), 1e-6)
    one = regressions(merged(table))
    assert [math.isnan(each.after) for each in one.coefficients] == [False, True, True]
    assert regressions(suppressed(table)).overlap == 0
    assert regressions(suppressed(table)).rows_after == 0


def test_a_column_with_two_values_is_explained_by_logistic_regression():
    random = np.random.default_rng(8)
    table, _ = modelled(random.integers(0, 2, 200))
    table = table.with_context(purpose=Purpose(regression=Formula("s", ("q1",))))
    secret = table.secrets.wide[:, 0]
    counts = [
        [int((secret[table.quasi.wide[:, 1] == kind] == value).sum()) for value in (0, 1)] for kind in (0, 1)
    ]
    found = regressions(untouched(table))
    assert found.kind == "logistic"
    reference = int(np.bincount(table.quasi.wide[:, 1]).argmax())
    odds = [math.log(one / none) for none, one in counts]
    expected = [odds[reference], odds[1 - reference] - odds[reference]]
    assert close([one.before for one in found.coefficients], expected, 1e-7)
    assert close(MEASURES["regression-overlap"]().value(untouched(table)), 1)


def test_a_model_that_cannot_be_is_unknown_with_its_reason():
    table, _ = modelled(np.arange(200) % 3)
    rule = MEASURES["regression-overlap"]()

    def why(outcome, on, table=table):
        own = table.with_context(purpose=Purpose(regression=Formula(outcome, on)))
        assert math.isnan(rule.value(untouched(own)))
        return rule.why_unknown(untouched(own))

    assert why("s", ("q0",)) == "the outcome s has 3 values: it must be a number, or have two"
    assert why("nothing", ("q0",)) == "the column nothing is not published"
    few = table_of([numbers(range(2)), flat("ab")], [(0, 0), (1, 1)])
    assert "too few rows" in why("q0", ("q1",), few)
    names = with_changes(table, kept=table.kept.whole.with_columns(name=pl.int_range(200).cast(pl.String)))
    assert why("q0", ("name",), names) == "name has 200 values: a category of a model has at most 100"
    assert rule.why_unknown(untouched(table.with_context(purpose=Purpose()))).startswith("needs a regression")
    blind = replace(untouched(modelled()[0]), origin=RECEIVED)
    assert rule.why_unknown(blind) == "needs to know what each published row shows in income"


def test_rows_without_a_value_are_left_out():
    table = table_of([numbers(range(4), nulls=1)], [0, 1, 2, 3, 4, 4], [0, 0, 1, 1, 0, 1])
    kept = table.kept.whole.with_columns(y=pl.Series([1.0, 3.0, 5.0, 7.5, 100.0, None]))
    table = with_changes(table, kept=kept).with_context(purpose=Purpose(regression=Formula("y", ("q0",))))
    found = regressions(untouched(table))
    assert (found.rows_before, found.rows_after) == (4, 4)
    assert close(found.coefficients[1].before, 2.15)


# Workloads ------------------------------------------------------------------------------------------------


@st.composite
def workloads(draw, table):
    """Random queries over the columns of a table."""
    columns = [*table.attributes, *table.sensitive]
    queries = []
    for number in range(draw(st.integers(1, 4))):
        chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))
        conditions = []
        for own in chosen:
            size = own.hierarchy.size
            conditions.append(
                Condition(own.name, np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
            )
        lines = [own.name for own in columns if own.hierarchy.positions is not None]
        asks, of = "count", None
        if lines and draw(st.booleans()):
            asks, of = draw(st.sampled_from(["sum", "mean"])), draw(st.sampled_from(lines))
        weight = draw(st.sampled_from([1.0, 2.0, 0.5]))
        queries.append(Query(f"query {number + 1}", weight, tuple(conditions), asks, of))
    return tuple(queries)


def naive_answer(rows, table, query, everywhere=False):
    names = [own.name for own in (*table.attributes, *table.sensitive)]
    counted = total = 0.0
    for ranges in rows:
        share = 1 / math.prod(len(cell) for cell in ranges)
        for codes in itertools.product(*ranges):
            own = dict(zip(names, codes, strict=True))
            if not everywhere and not all(one.inside[own[one.column]] for one in query.conditions):
                continue
            value = 1.0
            if query.of is not None:
                j = names.index(query.of)
                value = float((*table.attributes, *table.sensitive)[j].hierarchy.positions[own[query.of]])
                if math.isnan(value):
                    continue
                value = abs(value) if everywhere else value
            counted += share
            total += share * value
    if query.asks != "mean":
        return total
    return total / counted if counted > 1e-9 else math.nan


@given(st.data(), releases())
@settings(max_examples=40)
def test_the_answers_of_a_workload_are_those_of_all_values(data, made):
    table, evidence = made
    queries = data.draw(workloads(table))
    table = table.with_context(purpose=Purpose(workload=queries))
    evidence = replace(evidence, table=table)
    exact, shown = (list(spread_rows(table, one)) for one in (untouched(table), evidence))
    found = answers(evidence)
    for query, answer in zip(queries, found, strict=True):
        before, after = (naive_answer(rows, table, query) for rows in (exact, shown))
        assert answer.before == pytest.approx(before, abs=1e-9, nan_ok=True)
        assert answer.after == pytest.approx(after, abs=1e-9, nan_ok=True)
        if math.isnan(before) or math.isnan(after):
            assert answer.error == (math.isnan(before) != math.isnan(after))
            continue
        least = 0.001 * naive_answer(exact, table, query, everywhere=True)
        least = max(least, 1.0) if query.asks == "count" else least
        assume(max(abs(before), least) > 1e-6)
        assert close(answer.error, abs(after - before) / max(abs(before), least), 1e-6)
    mean = sum(one.weight * one.error for one in found) / sum(one.weight for one in found)
    assert close(MEASURES["workload-error"]().value(evidence), mean)
    assert close(MEASURES["workload-error-max"]().value(evidence), max(one.error for one in found))
    assert MEASURES["workload-error"]().value(untouched(table)) == 0


def test_a_workload_by_hand():
    """Ages 20, 21, 22, 23 in one class: below 22 are 2, as spread evenly; 20 alone is one, too."""
    table = table_of([numbers([20, 21, 22, 23])], [0, 0, 0, 3])
    line = np.array([20, 21, 22, 23])
    queries = (
        Query("young", 1.0, (Condition("q0", line < 22),)),
        Query("twenty", 3.0, (Condition("q0", line == 20),)),
        Query("mean", 1.0, (), "mean", "q0"),
    )
    table = table.with_context(purpose=Purpose(workload=queries))
    found = answers(merged(table))
    assert [(one.before, one.after) for one in found] == [(3, 2), (3, 1), (20.75, 21.5)]
    errors = [1 / 3, 2 / 3, 0.75 / 20.75]
    assert close([one.error for one in found], errors)
    assert close(measure_all(merged(table))["workload-error"], (errors[0] + 3 * errors[1] + errors[2]) / 5)
    assert close(measure_all(merged(table))["workload-error-max"], 2 / 3)
    assert [one.error for one in answers(suppressed(table))] == [one.error for one in found]


def test_borders_by_hand():
    """A condition on 30..39 has two borders; one from 60 on has one and weighs double; nobody asks about kinds."""
    ages, kinds = numbers([20, 30, 39, 40, 60, 70]), flat("abc")
    table = table_of([ages, kinds], [(0, 0)])
    line = np.array([20, 30, 39, 40, 60, 70])
    queries = (
        Query("thirties", 1.0, (Condition("q0", (line >= 30) & (line < 40)),)),
        Query("old", 2.0, (Condition("q0", line >= 60),)),
    )
    asked = with_borders(table.attributes, queries)
    assert close(asked[0].asked.tolist(), [0, 0.25, 0.25, 0.5, 1, 1])
    assert asked[1].asked.tolist() == [0, 0, 0]
    rule = MEASURES["workload-loss"]()
    low, high = np.array([1, 0, 3], np.int32), np.array([2, 5, 4], np.int32)
    found = rule.loss(asked[0], table.value_counts[0], low, high)
    assert close(found.tolist(), [REST / 5, 1.0, (1 - REST) * 0.5 + REST / 5])
    summed = with_borders(table.attributes, [Query("sum", 1.0, (), "sum", "q0")])
    assert close(summed[0].asked.tolist(), [0, 0.2, 0.4, 0.6, 0.8, 1])


@given(st.data(), tables())
def test_kernels_know_what_a_workload_asks(data, table):
    table = with_changes(table, attributes=with_borders(table.attributes, data.draw(workloads(table))))
    losses = losses_of(table, "workload-loss")
    rule = MEASURES["workload-loss"]()
    weights = sum(attribute.weight for attribute in table.attributes)
    for j, attribute in enumerate(table.attributes):
        for low, high in itertools.combinations_with_replacement(range(attribute.hierarchy.size), 2):
            found = kernels.range_loss(losses, j, low, high)
            assert found == oracles.losses.range_loss(losses, j, low, high)
            shown = attribute.hierarchy.lift(np.array([low], np.int32), np.array([high], np.int32))
            expected = rule.loss(attribute, table.value_counts[j], *shown)[0] * attribute.weight / weights
            assert found == pytest.approx(expected, abs=1.01 * kernels.GRAIN, rel=0)


@given(st.data(), tables(rows=st.integers(4, 14)), st.integers(2, 4))
@settings(max_examples=40)
def test_all_ways_to_cut_agree_about_a_workload(data, table, k):
    """Mondrian's kernel for plain k, the one that asks models, and the rule over counts."""
    table = with_changes(table, attributes=with_borders(table.attributes, data.draw(workloads(table))))
    fast = cut(table, k, measure="workload-loss")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "MOST_CELLS", 0)
        general = cut(table, k, measure="workload-loss")
    requirements = Requirements(models=(KAnonymity(k=k),), measure="workload-loss")
    counted = descend(table, cutting.Mondrian(), requirements)
    assert members(fast.region_of) == members(general.region_of) == members(counted)


def test_a_method_that_knows_the_workload_answers_it_better(tmp_path):
    frame = sample("census", 2000, 1)
    (tmp_path / "queries.toml").write_text(
        """
        [[query]]
        where = { age = { from = 25, to = 34 }, gender = "Female" }
        [[query]]
        where = { age = { from = 65 } }
        [[query]]
        weight = 2
        where = { education = ["Bachelor's degree", "Master's degree"], age = { to = 39 } }
        """.replace("Bachelor's degree", frame["education"][0]).replace(
            "Master's degree", frame["education"][1]
        ),
        encoding="utf-8",
    )
    errors = {}
    for method in ("mondrian", "agglomerative"):
        for measure in ("lm", "workload-loss"):
            raw = CENSUS.to_dict()
            raw |= {"privacy": {"k": 10}, "method": {"name": method}}
            raw["utility"] = {"measure": measure, "workload": str(tmp_path / "queries.toml")}
            made = shoal.anonymize(frame, Policy.from_dict(raw, CENSUS.base), seed=1)
            errors[method, measure] = made.measures["workload-error"]
        assert errors[method, "workload-loss"] < 0.5 * errors[method, "lm"]


# Policies -------------------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {
        "age": [20, 30, 40, 50] * 3,
        "born": pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 12, 1), "1mo", eager=True),
        "sex": ["f", "m"] * 6,
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 2,
        "ill": ["yes", "no", "no"] * 4,
    }
)
COLUMNS = {"quasi": ["age", "born", "sex"], "sensitive": ["ill"], "plain": ["pay"]}


def asked(tmp_path, queries, **more):
    (tmp_path / "queries.toml").write_text(queries, encoding="utf-8")
    return Policy.from_keywords(**COLUMNS, k=2, workload="queries.toml", base=tmp_path, **more)


def test_a_workload_in_codes(tmp_path):
    policy = asked(
        tmp_path,
        """
        [[query]]
        where = { age = { from = 25, to = 40 }, sex = "f" }
        [[query]]
        name = "spring"
        weight = 2.5
        where = { born = { from = 2000-03-01, to = 2000-05-31 }, age = [20, 50.0] }
        mean = "age"
        [[query]]
        where = { ill = "yes", born = 2000-01-01 }
        """,
    )
    table = with_purpose(encode(FRAME, policy.plans(FRAME.columns)), policy)
    first, second, third = table.context.purpose.workload
    assert (first.name, first.weight, first.asks) == ("query 1", 1.0, "count")
    assert [one.inside.tolist() for one in first.conditions] == [[False, True, True, False], [True, False]]
    assert (second.name, second.weight, second.asks, second.of) == ("spring", 2.5, "mean", "age")
    assert np.flatnonzero(second.conditions[0].inside).tolist() == [2, 3, 4]
    assert second.conditions[1].inside.tolist() == [True, False, False, True]
    assert [np.flatnonzero(one.inside).tolist() for one in third.conditions] == [[1], [0]]
    assert table.attributes[0].asked is not None
    made = shoal.anonymize(FRAME, policy, seed=1)
    truth = FRAME.filter(pl.col("age").is_between(25, 40), pl.col("sex") == "f").height
    evidence = Evidence.of_release(table, made.release)
    assert answers(evidence)[0].before == truth
    assert made.measures["workload-error"] >= 0
    assert "workload-error" not in made.card.get("measures", {})


def test_a_node_of_a_hierarchy_stands_for_its_values(tmp_path):
    (tmp_path / "queries.toml").write_text('[[query]]\nwhere = { sex = "people" }\n', encoding="utf-8")
    policy = Policy.from_keywords(
        **COLUMNS,
        k=2,
        workload="queries.toml",
        base=tmp_path,
        hierarchies={"sex": {"tree": {"people": ["f", "m"]}}},
    )
    table = with_purpose(encode(FRAME, policy.plans(FRAME.columns)), policy)
    assert table.context.purpose.workload[0].conditions[0].inside.tolist() == [True, True]


def test_all_problems_of_analyses_at_once(tmp_path):
    (tmp_path / "queries.toml").write_text(
        """
        [[query]]
        where = { agee = { from = 1 }, age = { from = 2, to = 1 } }
        [[query]]
        name = "paid"
        where = { pay = 3, name = "x" }
        """,
        encoding="utf-8",
    )
    with pytest.raises(PolicyError) as caught:
        Policy.from_keywords(
            **COLUMNS, identifier=["name"], k=2, workload="queries.toml", regression="pay ~ age + wrong",
            predict="sex", base=tmp_path,
        )  # fmt: skip
    assert [(one.path, one.message) for one in caught.value.problems] == [
        ("utility.predict", "'sex' has the role quasi"),
        ("utility.regression", "the policy has no column 'wrong'"),
        ("utility.workload: query 1", "age: from 2 is above to 1"),
        ("utility.workload: query 1", "the policy has no column 'agee'"),
        ("utility.workload: query 2 (paid)", "'pay' has the role plain"),
        ("utility.workload: query 2 (paid)", "'name' has the role identifier"),
    ]
    assert caught.value.problems[3].hint == "did you mean 'age'?"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "query: is missing"),
        ("[[query]]\n", "asks nothing"),
        ("[[query]]\nwhere = { age = { from = 5, to = 3 } }", "age: from 5 is above to 3"),
        ("[[query]]\nwhere = { age = { form = 5 } }", "age: must have from, to or both"),
        ("[[query]]\nwhere = { age = { from = 'x' } }", "the ends of a range must be numbers or dates"),
        (
            "[[query]]\nwhere = { age = { from = 2000-01-01, to = 3 } }",
            "must be numbers or dates, not [datetime",
        ),
        ("[[query]]\nwhere = { age = [] }", "the list has no values"),
        ("[[query]]\nwhere = { age = [[1]] }", "must be a value, a list of values, or a range"),
        ("[[query]]\nwhere = { age = 1 }\nweight = 0", "must be more than 0, not 0"),
        ("[[query]]\nsum = 'age'\nmean = 'age'", "asks for a sum and a mean"),
        ("[[query]]\nwhere = { age = 1 }\nwieght = 2", "is unknown here"),
        ("[[query", "is not TOML"),
    ],
)
def test_a_workload_that_is_misspelled(tmp_path, written, message):
    with pytest.raises(PolicyError) as caught:
        asked(tmp_path, written)
    (problem,) = caught.value.problems
    assert problem.path.startswith("utility.workload")
    assert "queries.toml" in problem.message or problem.path == "utility.workload: query 1"
    assert message in problem.message


def test_values_and_ranges_that_columns_cannot_have(tmp_path):
    policy = asked(
        tmp_path,
        """
        [[query]]
        where = { sex = "x", ill = { from = 1 } }
        [[query]]
        where = { age = { from = 2000-01-01 }, born = { to = 7 } }
        sum = "sex"
        """,
    )
    with pytest.raises(PolicyError) as caught:
        shoal.anonymize(FRAME, policy)
    assert [(one.path, one.message) for one in caught.value.problems] == [
        (
            "utility.workload: query 1",
            "where.sex: 'x' is not a value of the column, nor a node of its hierarchy",
        ),
        (
            "utility.workload: query 1",
            "where.ill: a range needs numbers or dates, and the column holds texts: list the values",
        ),
        ("utility.workload: query 2", "where.age: the column holds numbers, and from is '2000-01-01'"),
        ("utility.workload: query 2", "where.born: the column holds dates, and to is '7'"),
        ("utility.workload: query 2", "'sex' has no numbers to add up"),
    ]


def test_a_workload_that_is_not_there(tmp_path):
    (tmp_path / "querys.toml").touch()
    with pytest.raises(
        PolicyError, match=r"there is no file .*queries\.toml \(did you mean 'querys\.toml'\?\)"
    ):
        Policy.from_keywords(**COLUMNS, k=2, workload="queries.toml", base=tmp_path)
    with pytest.raises(
        PolicyError, match=r"'workload-loss' is about utility\.workload, which the policy does not have"
    ):
        Policy.from_keywords(**COLUMNS, k=2, method="mondrian", measure="workload-loss")
    with pytest.raises(PolicyError, match=r"'regression-overlap' is about utility\.regression"):
        Policy.from_keywords(**COLUMNS, k=2, method="auto", measure="regression-overlap")


@pytest.mark.parametrize(
    "spelled", ["pay ~ age + sex", {"outcome": "pay", "on": ["age", "sex"]}, "pay~`age`+ sex"]
)
def test_a_formula_is_a_text_or_a_table(spelled):
    policy = Policy.from_keywords(**COLUMNS, k=2, regression=spelled)
    assert (policy.utility.regression.outcome, policy.utility.regression.on) == ("pay", ("age", "sex"))
    assert Policy.from_toml(policy.to_toml()) == policy


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("pay", "is not a formula"),
        ("pay ~ ", "is not a formula"),
        ("pay ~ pay", "'pay' is there twice"),
        ("pay ~ age + age", "'age' is there twice"),
        ({"outcome": "pay", "on": []}, "must have 1 entries"),
        (5, "must be a table"),
    ],
)
def test_a_formula_that_is_none(spelled, message):
    with pytest.raises(PolicyError, match=message):
        Policy.from_keywords(**COLUMNS, k=2, regression=spelled)


# A column to predict --------------------------------------------------------------------------------------


def test_the_policy_names_the_column_to_predict():
    frame = FRAME.sample(400, with_replacement=True, seed=1)
    policy = Policy.from_keywords(**COLUMNS, k=2, predict="pay", measure="lm")
    made = shoal.anonymize(frame, policy, seed=1)
    assert {"prediction-r2", "prediction-r2-loss", "classification-loss"} <= made.measures.keys()
    other = shoal.anonymize(frame, Policy.from_keywords(**COLUMNS, k=2), seed=1)
    assert not {"prediction-r2", "classification"} & other.measures.keys()


def test_a_number_is_predicted_from_a_release():
    table, income = modelled()
    table = table.with_context(purpose=Purpose(predict="income"))
    exact = PredictionR2().predict(untouched(table))
    assert exact.released == exact.original > 0.95
    nothing = PredictionR2().predict(merged(table))
    assert nothing.released <= 0 < nothing.original
    assert PredictionR2().predict(suppressed(table)).released < 0
    # By the textbook: ridge regression on 0..1 and both indicators, trained on the rows that are not tested.
    random = np.random.Generator(np.random.PCG64(PredictionR2().seed))
    drawn = random.permutation(200)
    tested, seen = drawn[:60], drawn[60:]
    design = np.column_stack(
        [table.quasi.wide[:, 0] / 9, table.quasi.wide[:, 1] == 0, table.quasi.wide[:, 1] == 1]
    ).astype(float)
    middle, mean = design[seen].mean(axis=0), income[seen].mean()
    own = design[seen] - middle
    slopes = np.linalg.inv(own.T @ own + np.eye(3)) @ own.T @ (income[seen] - mean)
    rest = income[tested] - mean - (design[tested] - middle) @ slopes
    assert close(exact.original, 1 - (rest**2).sum() / ((income[tested] - income[tested].mean()) ** 2).sum())
    rule = PredictionR2(target="s")
    assert rule.why_unknown(untouched(table)) == "s holds no numbers; classification measures categories"
    missing = explain_unmeasured(replace(untouched(table), origin=RECEIVED))
    assert {"prediction-r2", "classification"} <= missing.keys()


def test_a_number_with_many_values_is_not_classified():
    table, _ = modelled()
    table = table.with_context(purpose=Purpose(predict="income"))
    why = MEASURES["classification"]().why_unknown(untouched(table))
    assert why == "income has 200 values, but a learner can distinguish only 100"


def test_without_the_library_the_other_measures_are_there(monkeypatch):
    monkeypatch.setattr("shoal.judging.measures.evaluate.find_spec", lambda name: None)
    table, _ = modelled()
    table = table.with_context(purpose=Purpose(predict="income"))
    assert "classification" not in measure_all(untouched(table))
    assert "prediction-r2" in measure_all(untouched(table))
    assert 'pip install "shoal[learn]"' in explain_unmeasured(untouched(table))["classification"]


# Releases that show sets, or shuffle ----------------------------------------------------------------------


def test_sets_of_values_are_spread_over_their_values():
    """Classes {a, c} and {b}: a set says more than the range a..c."""
    table = table_of([flat("abc")], [0, 2, 1, 1], [0, 1, 0, 1])
    queries = (Query("b", 1.0, (Condition("q0", np.array([False, True, False])),)),)
    table = table.with_context(purpose=Purpose(workload=queries))
    low, high = np.array([[0], [1]], np.int32), np.array([[2], [1]], np.int32)
    shown = list_values(table, Release(np.array([0, 0, 1, 1], np.int32), low, high))
    evidence = Evidence.of_release(table, shown)
    assert answers(evidence)[0].after == 2
    assert (
        KMarginal().value(evidence) == 750
    )  # {a, c} shares its secrets evenly: a quarter of the rows is elsewhere


def test_shuffled_rows_are_no_records():
    table = table_of([flat("abc")], [0, 2, 1, 1], [0, 1, 0, 1])
    shown = untouched(table)
    shuffled = replace(shown, published=replace(shown.published, layout=Buckets(np.zeros(4, np.int32))))
    for name in ("k-marginal", "pmse", "pmse-ratio"):
        assert math.isnan(MEASURES[name]().value(shuffled))
        assert "shuffled within buckets" in MEASURES[name]().why_unknown(shuffled)


# Where people see it --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A release of people in a census, with everything that a policy can say about analysts."""
    folder = tmp_path_factory.mktemp("served")
    frame = sample("census", 300, 1)
    (folder / "queries.toml").write_text(
        '[[query]]\nname = "old"\nwhere = { age = { from = 65 } }\n', encoding="utf-8"
    )
    raw = CENSUS.to_dict()
    raw |= {"privacy": {"k": 3}, "method": {"name": "mondrian"}}
    raw["utility"] = {
        "workload": str(folder / "queries.toml"), "regression": "salary ~ age + gender", "predict": "salary",
    }  # fmt: skip
    policy = Policy.from_dict(raw, CENSUS.base)
    return frame, policy, shoal.anonymize(frame, policy, seed=1)


def test_the_private_report_tells_what_analysts_will_find(served):
    frame, policy, made = served
    private = shoal.report(made, policy, original=frame, edition="private")
    assert "analyses" in [section.key for section in private.sections]
    truth = frame.filter(pl.col("age") >= 65).height
    for text in (
        "Queries of the workload",
        "Coefficients of the regression",
        "k-marginal score",
        f">{truth}<",
    ):
        assert text in private.html
    assert "Learners that predict salary, tested on original rows" in private.html
    public = shoal.report(made, policy, original=frame, edition="public")
    assert "analyses" not in [section.key for section in public.sections]
    for name in ("workload-error", "regression-overlap", "prediction-r2", "k-marginal"):
        assert name not in public.html
        assert name not in str(made.card)


def test_a_report_of_a_file_takes_learners_from_the_record(served):
    frame, policy, made = served
    told = shoal.report(made.table, policy, original=frame, record=made.record, edition="private")
    assert "Learners that predict salary, by the record of the run" in told.html
    alone = shoal.report(made.table, policy, original=frame, edition="private")
    assert "Learners that predict salary were not tried" in alone.html


def test_explain_and_compare_tell_it(served):
    frame, policy, _ = served
    found = shoal.explain(frame, policy, seconds=20, seed=1)
    assert set(found.analyses) == {"workload-error", "regression-overlap", "prediction-r2-loss"}
    assert "For what analysts will do: workload-error" in str(found)
    assert set(found.summary()["analyses"]) == set(found.analyses)
    compared = shoal.compare(frame, policy, methods=["mondrian"], seed=1)
    assert set(compared.analyses) == set(found.analyses)
    assert "workload-error" in compared._repr_html_()
    raw = policy.to_dict()
    raw["utility"]["measure"], raw["method"] = "workload-error", {"name": "auto"}
    ranked = shoal.compare(frame, Policy.from_dict(raw, CENSUS.base), methods=["mondrian", "hilbert"], seed=1)
    errors = [trial.measures["workload-error"] for trial in ranked.candidates()]
    assert errors == sorted(errors)
    assert "analyses" not in shoal.explain(frame, CENSUS, seconds=5, seed=1).summary()


def test_spark_and_networks_refuse_analyses(served):
    from shoal.engines.spark.unsupported import check_judging
    from shoal.network import anonymize_network as anonymize

    _, policy, _ = served
    refused = {one.path for one in check_judging(policy)}
    assert refused == {"utility.workload", "utility.regression", "utility.predict"}
    with pytest.raises(PolicyError, match=r"utility\.workload: .* is for tables, not for networks"):
        anonymize.anonymize_network(pl.DataFrame({"id": [1, 2]}), pl.DataFrame({"a": [1], "b": [2]}), policy)


def test_studio_sets_and_clears_analyses():
    from shoal.apps.studio.requirements.screen import _formula

    assert _formula({"outcome": "pay", "on": ["age", "sex"]}) == "pay ~ age + sex"
    assert _formula("pay ~ age") == "pay ~ age"
    assert _formula(None) == ""


@pytest.mark.parametrize("condition", ["{ from = %s }", "%s", "[20, %s]"])
def test_a_number_beyond_all_numbers_is_a_problem_of_its_query(tmp_path, condition):
    (tmp_path / "queries.toml").write_text(f"[[query]]\nwhere = {{ age = {condition % ('9' * 400)} }}\n")
    with pytest.raises(PolicyError) as caught:
        shoal.anonymize(FRAME, **COLUMNS, k=2, workload=str(tmp_path / "queries.toml"))
    (problem,) = caught.value.problems
    assert problem.path == "utility.workload: query 1"
