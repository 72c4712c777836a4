"""Limits on risk and k-map: what thresholds mean, estimates against simulation, and that methods reach them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, LimitError, PolicyError
from shoal.judging.models.keys import Bounds
from shoal.judging.models.overall import Overall, Seen
from shoal.judging.models.population_estimates import compute_expected_risk, size_for_people, size_for_risk
from shoal.judging.models.ratios import exact, format_ratio, least_size, size_in_words
from shoal.judging.models.risk_limits import HighestRisk
from shoal.kernels.crowds import people_within
from shoal.methods import METHODS
from shoal.pipeline.explanation.relaxations import relaxations
from shoal.policy import Policy
from tests import oracles
from tests.judging.test_refusals import partitions

# --- thresholds -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "size", "words"),
    [
        (0.09, 12, "classes of 12 or more"),
        (0.0909, 12, 'classes of 12 or more; "1/11" means 11'),
        ("1/11", 11, "classes of 11 or more"),
        ("0.0910", 11, "classes of 11 or more"),
        (0.33, 4, "classes of 4 or more"),
        ("1/3", 3, "classes of 3 or more"),
        (0.2, 5, "classes of 5 or more"),
        (0.1, 10, "classes of 10 or more"),
        (0.05, 20, "classes of 20 or more"),
        (0.3, 4, "classes of 4 or more"),
        (0.001, 1000, "classes of 1,000 or more"),
    ],
)
def test_which_class_size_a_threshold_means(threshold, size, words):
    assert least_size(exact(threshold)) == size
    assert size_in_words(exact(threshold)) == words
    model = Policy.from_keywords(quasi=["a"], risk={"highest": threshold}).models()[0]
    assert words in model.title
    assert model.by_classes.k == size


@given(st.integers(1, 10**6), st.integers(2, 10**6))
def test_a_fraction_is_exact(top, bottom):
    value = Fraction(top, bottom)
    assert exact(f"{top}/{bottom}") == value
    assert exact(format_ratio(value)) == value
    if value < 1:
        size = least_size(value)
        assert Fraction(1, size) <= value
        assert size == 1 or Fraction(1, size - 1) > value


@pytest.mark.parametrize("text", ["x", "1/0", "", "1/2/3", "1:2", "1e-999999999", "-1/2", "½"])
def test_what_is_no_fraction_is_told(text):
    with pytest.raises(PolicyError, match="not a number or a fraction"):
        Policy.from_keywords(quasi=["a"], risk={"highest": text})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        *(
            (value, "too close to 0: .*the smallest is")
            for value in (1e-320, 5e-324, "1/9999999999999999999")
        ),
        *((value, "must be .*less than 1, not ") for value in (1e300, "9999999999999999999/3")),
        *(
            (value, "not a number or a fraction: .*at most 19 digits")
            for value in (
                f"1/{10**400}",
                f"{10**400}/3",
                f"0.{'0' * 30}1",
                "0." + "3" * 4300,
                "12." + "9" * 4299,
            )
        ),
    ],
)
def test_a_threshold_that_no_class_size_can_mean_is_told(value, told):
    for key in ("highest", "average"):
        with pytest.raises(PolicyError, match=f"privacy.risk.*{key}.*{told}"):
            Policy.from_keywords(quasi=["a"], risk={key: value})
    with pytest.raises(PolicyError, match=told):
        Policy.from_keywords(quasi=["a"], risk={"share": 0.5, "above": value})


def test_a_huge_number_breaks_its_bounds_without_a_float():
    assert Bounds(ge=1).broken(10**400, int) == ""
    assert "at most 5" in Bounds(le=5).broken(Fraction(10**400, 3), float)
    assert "whole" in Bounds(ge=1).broken(float("inf"), int)
    assert "whole" in Bounds(ge=1).broken(float("nan"), int)


def test_a_policy_with_risk_is_written_as_it_was_read():
    asked = {"average": 0.09, "highest": "1/3", "by": "journalist"}
    policy = Policy.from_keywords(quasi=["a"], risk=asked, k_map={"people": 5, "error": 0.05})
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.to_dict()["privacy"]["risk"] == asked
    changed = policy.override(["privacy.risk.highest=1/11", "privacy.k_map=7"])
    assert changed.models()[0].highest == Fraction(1, 11)
    assert policy.override(["privacy.k_map.error=0.1"]).models()[-1].error == 0.1


@pytest.mark.parametrize(
    ("risk", "told"),
    [
        ({}, "is an empty table"),
        ({"by": "journalist"}, "asks for nothing"),
        ({"highest": 0.2, "above": 0.1}, "`above` goes with share"),
        ({"highest": 0.2, "by": "marketer"}, "only an average is defined"),
        ({"share": 0.2, "by": "marketer"}, "only an average is defined"),
        ({"highest": 0.2, "by": "marketeer"}, "'marketeer' is unknown"),
        ({"highest": 1}, "less than 1, not 1"),
        ({"average": 0}, "greater than 0"),
        ({"share": -0.1}, "at least 0"),
    ],
)
def test_what_is_wrong_with_a_risk_is_told(risk, told):
    with pytest.raises(PolicyError, match=told):
        Policy.from_keywords(quasi=["a"], risk=risk)


def test_relaxing_keeps_a_policy_valid():
    asked = {"average": 0.09, "highest": "1/11", "share": 0.05, "above": "1/5", "by": "prosecutor"}
    policy = Policy.from_keywords(quasi=["a", "b"], risk=asked, k_map=3, population={"size": 9})
    words = [one.words for one in relaxations(policy) if one.kind == "requirement"]
    assert "risk highest: 1/11 (classes of 11 or more) → 1/5 (classes of 5 or more)" in words
    assert "risk average: 0.09 → 0.135" in words
    assert "risk share: 0.05 → 0.1" in words
    assert "k_map people: 3 → 2" in words
    alone = Policy.from_keywords(quasi=["a", "b"], k=2, risk={"highest": "1/2", "by": "prosecutor"})
    assert any(one.after == "none" and "risk" in one.what for one in relaxations(alone))


# --- estimates ------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(1, 30), st.floats(0.02, 1.0))
def test_expected_risk_is_the_mean_over_draws(size, share):
    """Given f people in the table, the population has F with the probability that draw F is the f-th success."""
    from scipy.stats import nbinom

    more = np.arange(0, 20_000)
    mean = float((nbinom.pmf(more, size, share) / (more + size)).sum())
    assert compute_expected_risk(np.array([size]), share)[0] == pytest.approx(mean, rel=1e-6)


def test_expected_risk_of_unique_rows_is_the_known_formula():
    share = 0.1
    assert compute_expected_risk(np.array([1]), share)[0] == pytest.approx(
        share / (1 - share) * np.log(1 / share)
    )
    pair = share / (1 - share) ** 2 * (share * np.log(share) + 1 - share)
    assert compute_expected_risk(np.array([2]), share)[0] == pytest.approx(pair)
    assert compute_expected_risk(np.array([1, 4]), 1.0).tolist() == [1.0, 0.25]
    assert size_for_risk(0.2, 1.0, 5) == 5


@settings(max_examples=60)
@given(st.integers(2, 12), st.integers(1, 40), st.integers(0, 60), st.sampled_from([0.01, 0.05, 0.2]))
def test_a_class_that_is_too_small_goes_unnoticed_with_the_stated_error(k, people, others, error):
    """For every class of fewer than k people, by counting all samples of the population."""
    from math import comb

    population = people + others
    size = size_for_people(k, people, population, error)
    assert 1 <= size <= k
    for few in range(1, min(k, population + 1)):
        ways = {f: comb(few, f) * comb(population - few, people - f) for f in range(0, min(few, people) + 1)}
        seen = sum(ways[f] for f in ways if f >= 1)
        missed = sum(ways[f] for f in ways if f >= max(size, 1))
        if seen and size > 1:
            assert missed <= error * seen * (1 + 1e-9)
        elif seen and few == k - 1:
            assert error >= 1 or missed == seen


def test_the_error_in_a_simulation():
    """Classes that are fixed before the sample is drawn: of the small ones that appear, at most the error passes."""
    random = np.random.default_rng(5)
    for skew in (0.0, 1.0, 2.0):
        weights = random.lognormal(0, skew, 1500)
        for share in (0.05, 0.3):
            crowd = random.multinomial(8000, weights / weights.sum())
            size = size_for_people(6, int(share * 8000), 8000, 0.05)
            small = passed = 0
            for _ in range(40):
                table = random.multivariate_hypergeometric(crowd, int(share * 8000))
                there = (table > 0) & (crowd < 6)
                small += int(there.sum())
                passed += int((there & (table >= size)).sum())
            assert small > 500
            assert passed <= 0.05 * small


# --- rules over all classes -----------------------------------------------------------------------------------


def by_definition(sizes, average=None, share=None, above=None):
    rows = sum(sizes)
    if average is not None:
        return Fraction(len(sizes), rows) <= average
    return Fraction(sum(size for size in sizes if Fraction(1, size) > above), rows) <= share


RATIOS = st.fractions(Fraction(1, 12), Fraction(11, 12), max_denominator=12)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), RATIOS, RATIOS, st.integers(0, 12))
def test_rules_over_all_classes(sizes, most, above, allowed):
    own = np.array(sizes, np.int64)
    rules = [
        (Overall(title="", most=most, enough=least_size(most)), {"average": most}),
        (
            Overall(title="", most=most, enough=least_size(above), above=above),
            {"share": most, "above": above},
        ),
    ]
    for rule, asked in rules:
        assert rule.holds(Seen(own)) == by_definition(sizes, **asked)
        if min(sizes) >= rule.enough:
            assert rule.holds(Seen(own))
        gone = rule.fewest_dropped(own, allowed)
        left = sizes if gone is None else np.delete(own, gone).tolist()
        if gone is not None:
            assert int(own[gone].sum()) <= allowed
            assert left
            assert by_definition(left, **asked)
        if rule.holds(Seen(own)):
            assert gone is not None
            assert not len(gone)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), RATIOS, RATIOS, st.integers(0, 3))
def test_what_is_out_of_reach_is(sizes, most, above, allowed):
    """By trying all ways to split the classes and to suppress some rows of them."""
    own = np.array(sizes, np.int64)
    rows = [(at, row) for at, size in enumerate(sizes) for row in range(size)][:6]
    sizes = list(Counter(at for at, _ in rows).values())
    own = np.array(sizes, np.int64)
    for rule, asked in [
        (Overall(title="", most=most, enough=least_size(most)), {"average": most}),
        (
            Overall(title="", most=most, enough=least_size(above), above=above),
            {"share": most, "above": above},
        ),
    ]:
        if not rule.out_of_reach(own, allowed):
            continue
        for left in range(1, 1 << len(rows)):
            kept = [row for at, row in enumerate(rows) if left >> at & 1]
            if len(rows) - len(kept) > allowed:
                continue
            for parts in partitions(kept):
                if all(len({at for at, _ in part}) == 1 for part in parts):
                    assert not by_definition([len(part) for part in parts], **asked)


@settings(max_examples=60)
@given(st.data())
def test_people_within(data):
    width = data.draw(st.integers(1, 3))
    code = st.integers(0, 4)
    rows = np.array(data.draw(st.lists(st.tuples(*[code] * width), min_size=1, max_size=12)), np.int32)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    weights = np.array([data.draw(st.integers(1, 3)) for _ in rows], np.int64)
    boxes = data.draw(st.lists(st.tuples(*[st.tuples(code, code)] * width), min_size=1, max_size=5))
    low = np.array([[min(ends) for ends in box] for box in boxes], np.int32)
    high = np.array([[max(ends) for ends in box] for box in boxes], np.int32)
    begin = np.searchsorted(rows[:, 0], low[:, 0], side="left").astype(np.int64)
    end = np.searchsorted(rows[:, 0], high[:, 0], side="right").astype(np.int64)
    most = data.draw(st.integers(1, 9))
    args = rows, weights, low, high, begin, end, most
    assert people_within(*args).tolist() == oracles.crowds.people_within(*args).tolist()
    whole = [
        int(weights[((rows >= a) & (rows <= b)).all(axis=1)].sum()) for a, b in zip(low, high, strict=True)
    ]
    found = people_within(rows, weights, low, high, begin, end, 10**9).tolist()
    assert found == whole


# --- methods --------------------------------------------------------------------------------------------------

CLASSES = [
    name
    for name, kind in METHODS.items()
    if kind.shows.classes and not kind.can.presence_only and not kind.false_cells.how
]


def table(seed, rows=60):
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "town": random.choice(["a", "b", "c", "d", "e"], rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "ill": random.choice(["u", "v", "w"], rows),
        }
    )


def sizes_of(release):
    return list(Counter(release.select("age", "town").rows()).values())


@pytest.mark.parametrize("method", CLASSES)
@pytest.mark.parametrize("suppression", [0.0, 0.1])
def test_methods_reach_averages_and_shares(method, suppression):

    for seed in range(3):
        rows = table(seed)
        more = {"p": 2} if method.endswith("p-k") else {}
        base = {"quasi": ["age", "town"], "sensitive": ["ill"], "method": method, "suppression": suppression}
        average = shoal.anonymize(rows, risk={"average": "1/6"}, seed=1, **base, **more)
        shown = sizes_of(average.table)
        assert Fraction(len(shown), sum(shown)) <= Fraction(1, 6)
        strict = shoal.anonymize(rows, risk={"average": "1/6", "highest": 0.33}, seed=1, **base, **more)
        shown = sizes_of(strict.table)
        assert Fraction(len(shown), sum(shown)) <= Fraction(1, 6)
        assert min(shown) >= 4
        share = shoal.anonymize(rows, risk={"share": 0.1, "above": 0.2}, seed=1, **base, **more)
        shown = sizes_of(share.table)
        assert sum(size for size in shown if size < 5) <= 0.1 * sum(shown)


@pytest.mark.parametrize("method", ["mondrian", "agglomerative", "forest", "full-domain", "incognito"])
def test_an_average_loses_no_more_than_its_class_size(method):
    rows = table(4, 200)
    base = {"quasi": ["age", "town"], "drop": ["ill"], "method": method}
    own = shoal.anonymize(rows, risk={"average": 0.09}, **base)
    assert own.measures["lm"] <= shoal.anonymize(rows, k=12, **base).measures["lm"]


@pytest.mark.parametrize("asked", [{"average": "1/4"}, {"share": 0.2, "above": "1/3"}])
def test_full_domain_finds_a_mapping_that_cannot_be_finer(asked):
    """Against all mappings: it satisfies the rule, and no specialization of it does."""
    rows = table(9, 40)
    widths = (1, 5, 10, 20, 100)
    base = {"quasi": ["age", "town"], "drop": ["ill"], "hierarchies": {"age": {"widths": widths[1:4]}}}
    made = shoal.anonymize(rows, risk=asked, method="full-domain", **base)
    good = []
    for age, width in enumerate(widths):
        for town in (0, 1):
            cells = Counter(
                (value - value % width, "*" if town else place)
                for value, place in rows.select("age", "town").rows()
            )
            if by_definition(list(cells.values()), **{word: exact(value) for word, value in asked.items()}):
                good.append((age, town))
    levels = made.release.levels
    assert levels in good
    assert [own for own in good if own != levels and own[0] <= levels[0] and own[1] <= levels[1]] == []


def test_methods_without_classes_refuse():
    rows = table(1)
    for method in ("ring", "k-k", "global-1-k", "bucketization", "anatomy"):
        with pytest.raises(PolicyError):
            shoal.anonymize(
                rows, quasi=["age", "town"], sensitive=["ill"], method=method, risk={"average": 0.3}, l=2
            )


# --- verdicts -------------------------------------------------------------------------------------------------

ROLES = {"quasi": ["age", "town"], "drop": ["ill"]}


def test_an_audit_says_which_class_size_decides():
    rows = table(2)
    made = shoal.anonymize(rows, k=5, **ROLES)
    found = shoal.audit(made.table, risk={"highest": 0.2, "average": 0.2, "share": 0}, **ROLES)
    assert found.holds
    assert "classes of 5 or more" in found.verdicts[0].model
    bad = shoal.audit(made.table, risk={"highest": "1/50"}, **ROLES)
    assert not bad.holds
    assert "classes fall short" in bad.verdicts[0].detail


def test_without_a_population_an_audit_counts_the_people_of_the_release():
    rows = table(2)
    made = shoal.anonymize(rows, k=5, **ROLES)
    upper = shoal.audit(made.table, k_map=5, risk={"highest": 0.2, "by": "journalist"}, **ROLES)
    assert upper.holds
    assert all("population is not known" in verdict.detail for verdict in upper.verdicts[:2])
    assert not shoal.audit(made.table, k_map=60, **ROLES).holds
    with pytest.raises(PolicyError, match="needs to know the population"):
        shoal.anonymize(rows, k_map=5, **ROLES)


def test_an_estimate_says_so():
    rows = table(2)
    made = shoal.anonymize(rows, k_map=5, population={"size": 6000}, **ROLES)
    verdict = made.verdicts[0]
    assert verdict.holds
    assert verdict.detail.startswith("estimate: 0.01 of the population is in the table")
    assert min(sizes_of(made.table)) >= size_for_people(5, 60, 6000, 0.01) == 3
    risky = shoal.anonymize(
        rows, risk={"highest": 0.2, "by": "journalist"}, population={"size": 6000}, **ROLES
    )
    assert risky.verdicts[0].detail.startswith("estimate")
    assert min(sizes_of(risky.table)) == 1 or risky.verdicts[0].reached <= 0.2


def test_a_table_of_the_population_is_counted():
    random = np.random.default_rng(3)
    everybody = table(3, 600)
    rows = everybody[np.sort(random.choice(600, 60, replace=False)).tolist()]
    strict = shoal.anonymize(rows, k=20, **ROLES)
    made = shoal.anonymize(rows, k_map=20, population=everybody, **ROLES)
    assert made.verdicts[0].reached >= 20
    assert made.measures["lm"] < strict.measures["lm"]
    journalist = {"highest": "1/20", "average": "1/40", "by": "journalist"}
    policy = Policy.from_keywords(risk=journalist, **ROLES)
    both = shoal.anonymize(rows, policy, population=everybody)
    assert all(verdict.holds for verdict in both.verdicts)
    for method in ("hilbert", "lexicographic", {"name": "mondrian", "show": "sets"}):
        lists = Policy.from_keywords(k_map=5, risk=journalist | {"highest": "1/5"}, method=method, **ROLES)
        assert all(verdict.holds for verdict in shoal.anonymize(rows, lists, population=everybody).verdicts)
    by_levels = Policy.from_keywords(k_map=20, method="full-domain", **ROLES)
    assert shoal.anonymize(rows, by_levels, population=everybody).verdicts[0].reached >= 20


def test_people_count_where_they_have_several_rows():
    rows = pl.DataFrame({"age": [1, 1, 1, 2, 2, 2, 3, 3], "who": ["a", "a", "b", "c", "d", "e", "f", "g"]})
    roles = {"quasi": ["age"], "person": ["who"]}
    made = shoal.anonymize(rows, risk={"average": "1/3", "highest": "1/2"}, **roles)
    owner = made.record["owners"].split()
    whose = [rows["who"][int(at)] for at in owner]
    classes = {}
    for cell, who in zip(made.table["age"].to_list(), whose, strict=True):
        classes.setdefault(cell, set()).add(who)
    sizes = [len(own) for own in classes.values()]
    assert Fraction(len(sizes), sum(sizes)) <= Fraction(1, 3)
    assert min(sizes) >= 2
    with pytest.raises(PolicyError, match="count groups of them, too"):
        Policy.from_keywords(
            quasi=["age"], person=["who"], groups={"household": ["home"]}, risk={"average": 0.3}
        )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"risk": {"average": 0.1}}, "even one class of all 6 rows reaches 0.1667"),
        ({"risk": {"highest": 0.1}}, "it takes classes of 10, and the table has 6 people"),
        ({"risk": {"share": 0.5, "above": 0.1}}, "even one class of all 6 rows reaches 1"),
        ({"k_map": 9, "population": {"size": 7}}, "it takes classes of"),
    ],
)
def test_what_cannot_be_is_told_before_the_work(asked, told):
    rows = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6]})
    with pytest.raises((InfeasibleError, LimitError), match=told):
        shoal.anonymize(rows, Policy.from_keywords(quasi=["age"], **asked))


@pytest.mark.parametrize(
    "asked",
    [{"risk": {"average": 0.2}}, {"risk": {"highest": 0.2, "by": "journalist"}}, {"k_map": 5}],
)
def test_spark_refuses_what_is_judged_over_all_classes(asked):
    from shoal.engines.spark.unsupported import check_judging

    policy = Policy.from_keywords(population={"size": 600}, **ROLES, **asked)
    assert "Spark does not do" in check_judging(policy)[0].message
    assert check_judging(Policy.from_keywords(risk={"highest": 0.2}, **ROLES)) == []


def test_the_highest_risk_is_a_class_size_for_searches():
    rule = HighestRisk(highest=Fraction(1, 11)).by_classes
    assert rule is not None
    assert rule.k == 11


def test_a_wrong_word_in_a_table_is_compared_with_its_own_words():
    with pytest.raises(PolicyError, match="did you mean 'average'"):
        Policy.from_keywords(quasi=["a"], risk={"averag": 0.1})


def test_a_release_that_suppresses_every_row_is_weighed_like_any_other():
    rows = pl.DataFrame({"age": [23, 58, 21], "pay": [4, 1, 8]})
    policy = shoal.Policy.from_dict(
        {
            "columns": {
                "age": {"role": "quasi", "hierarchy": {"bottom": 30}},
                "pay": {"role": "quasi", "hierarchy": {"top": 5}},
            },
            "privacy": {"risk": {"average": "1/5"}},
            "method": "full-domain",
            "utility": {"suppression": 1.0, "suppress": "cells"},
        }
    )
    assert shoal.anonymize(rows, policy, seed=1).suppressed == 3
