"""Every privacy model against plain definitions, and what each promises of itself."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.coding.hierarchy import Hierarchy, Level
from shoal.errors import PolicyError
from shoal.judging.models import MODELS
from shoal.judging.models.alpha_k import AlphaK
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from shoal.judging.models.model import Monotone
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from tests.inputs.model_cases import BY_THE_BOOK, OPTIONS, PLACE, evidence, of_counts, satisfies, simple_table
from tests.inputs.strategies import tables

# What every model promises


@pytest.mark.parametrize("name", MODELS)
def test_every_registered_model_says_what_it_stops(name):
    model = MODELS[name]
    assert model.name == name
    assert 20 < len(model.summary) < 125


def test_every_model_over_classes_has_a_definition():
    assert BY_THE_BOOK.keys() == OPTIONS.keys()


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(data=st.data())
def test_models_describe_themselves(name, data):
    model = data.draw(OPTIONS[name])
    assert type(model) is MODELS[name]
    assert model.name == name
    assert 20 < len(model.summary) < 100
    assert "\n" not in model.summary
    assert isinstance(model.monotone, Monotone)
    assert model.title


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(table=tables(), data=st.data())
def test_verify_is_the_definition(name, table, data):
    model = data.draw(OPTIONS[name])
    numbers = st.lists(st.integers(-1, 2), min_size=table.rows, max_size=table.rows)
    class_of = np.array(data.draw(numbers), np.int32)
    shown = evidence(table, class_of)
    verdict = model.verify(shown)
    classes = [np.flatnonzero(class_of == c).tolist() for c in range(3) if (class_of == c).any()]
    expected = [satisfies(model, table, rows) for rows in classes]
    assert verdict.holds == all(expected)
    assert verdict.model == model.title
    assert verdict.required == model.threshold
    assert (verdict.detail != "") == (not all(expected) or not classes)
    if classes:
        assert model.holds_in(shown.groups).tolist() == [
            satisfies(model, table, np.flatnonzero(class_of == c).tolist())
            for c in np.unique(class_of[class_of >= 0])
        ]


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(data=st.data())
def test_models_keep_no_state(name, data):
    model = data.draw(OPTIONS[name])
    counts = data.draw(st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), min_size=1, max_size=4))
    groups = of_counts(*counts)
    before = repr(model)
    first = model.holds_in(groups).tolist()
    one_by_one = [bool(model.holds_in(of_counts(row, totals=np.sum(counts, axis=0)))[0]) for row in counts]
    assert one_by_one == first
    assert model.holds_in(groups).tolist() == first
    assert repr(model) == before


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=20)
@given(data=st.data())
def test_empty_groups_satisfy_nothing(name, data):
    assert not data.draw(OPTIONS[name]).holds_in(of_counts([0, 0, 0, 0], totals=[1, 1, 1, 1]))[0]


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(table=tables(rows=st.integers(1, 7), columns=st.just(1)), data=st.data())
def test_hopeless_groups_have_no_satisfying_subset(name, table, data):
    model = data.draw(OPTIONS[name])
    members = sorted(data.draw(st.sets(st.integers(0, table.rows - 1), min_size=1)))
    class_of = np.full(table.rows, -1, np.int32)
    class_of[members] = 0
    groups = evidence(table, class_of).groups
    largest = max(
        (
            size
            for size in range(len(members) + 1)
            for rows in itertools.combinations(members, size)
            if satisfies(model, table, list(rows))
        ),
        default=0,
    )
    assert largest == 0 or not model.hopeless(groups)[0]
    assert largest <= model.keepable(groups)[0]


def test_nothing_published_breaks_no_promise():
    table = simple_table([0, 1])
    verdict = KAnonymity(k=2).verify(evidence(table, np.array([-1, -1], np.int32)))
    assert (verdict.holds, verdict.reached) == (True, None)


# Monotonicity, as declared


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(data=st.data())
def test_monotone_models_survive_merging(name, data):
    """Any two groups that satisfy a monotone model, each at its own best threshold, merge into one that does.

    The threshold is the worse of what the two reach, which is the sharpest that both satisfy.
    """
    model = data.draw(OPTIONS[name].filter(lambda model: model.monotone is not Monotone.NEVER))
    # Some models ask for every value in every class, which groups drawn at random seldom have.
    least = data.draw(st.sampled_from([0, 1]))
    counts = st.lists(st.integers(least, 6), min_size=4, max_size=4).filter(any)
    a, b, others = (
        data.draw(counts),
        data.draw(counts),
        data.draw(st.lists(st.integers(0, 6), min_size=4, max_size=4)),
    )
    both = np.add(a, b)
    groups = of_counts(a, b, both, totals=both + others)
    reached = model.score_groups(groups)
    assume(np.isfinite(reached).all())
    if model.higher_is_safer:
        assert reached[2] >= min(reached[:2]) - 1e-12
    else:
        assert reached[2] <= max(reached[:2]) + 1e-12
    good = model.holds_in(groups)
    assert good[2] or not (good[0] and good[1])


def test_recursive_is_monotone_in_exact_numbers():
    """All pairs of small histograms: r1 of the union stays below c times its rest, in fractions."""

    def needed(counts, l):  # noqa: E741
        ranked = sorted(counts, reverse=True)
        rest = sum(ranked[l - 1 :])
        return Fraction(ranked[0], rest) if rest else None

    small = [c for c in itertools.product(range(4), repeat=3) if any(c)]
    for l in (2, 3):  # noqa: E741
        for a, b in itertools.combinations(small, 2):
            own = needed(a, l), needed(b, l)
            if None not in own:
                assert needed(np.add(a, b).tolist(), l) <= max(own)


# Worked by hand


def test_distinct():
    groups = of_counts([3, 0, 0, 0], [1, 1, 0, 5], [1, 1, 1, 1])
    assert DistinctDiversity(l=3, **PLACE).score_groups(groups).tolist() == [1, 3, 4]
    assert DistinctDiversity(l=3, **PLACE).holds_in(groups).tolist() == [False, True, True]
    assert DistinctDiversity(l=3, **PLACE).title == "distinct 3-diversity of disease"


@pytest.mark.parametrize("l", [2, 3, 4])
def test_shares_of_exactly_one_over_l_pass(l):  # noqa: E741
    """One third is no binary number: the boundary must not be lost to rounding, nor a miss forgiven."""
    for times in (1, 7, 1001, 10**8 + 1):
        even = [times] * l + [0] * (4 - l)
        uneven = [times + 1] + [times] * (l - 1) + [0] * (4 - l)
        for model in (
            ProbabilisticDiversity(l=l, **PLACE),
            AlphaK(alpha=1 / l, **PLACE),
            EntropyDiversity(l=l, **PLACE),
        ):
            assert model.holds_in(of_counts(even))[0]
            if times < 1000:
                assert not model.holds_in(of_counts(uneven))[0]


def test_probabilistic_takes_a_fraction():
    groups = of_counts([2, 1, 1, 1], [4, 4, 2, 0])
    model = ProbabilisticDiversity(l=2.5, **PLACE)
    assert model.score_groups(groups).tolist() == [2.5, 2.5]
    assert model.holds_in(groups).all()
    assert model.title == "probabilistic 2.5-diversity of disease"


def test_entropy_l_is_never_truncated():
    """Shares 1/2, 1/4, 1/4 have entropy 1.5 log 2, so l = 2^1.5 = 2.828.., which is not 2 and not 3."""
    groups = of_counts([2, 1, 1, 0])
    assert EntropyDiversity(l=2, **PLACE).score_groups(groups)[0] == pytest.approx(2**1.5)
    assert EntropyDiversity(l=2.82, **PLACE).holds_in(groups)[0]
    assert not EntropyDiversity(l=2.83, **PLACE).holds_in(groups)[0]
    assert EntropyDiversity(l=2.83, **PLACE).title == "entropy 2.83-diversity of disease"


@pytest.mark.parametrize(("l", "limit"), [(2, Fraction(5, 3 + 2)), (3, Fraction(5, 2))])
def test_recursive_counts_from_the_most_frequent_value(l, limit):  # noqa: E741
    """Counts 5, 3, 2: r1 = 5 must stay below c (3 + 2) for l = 2 and below c 2 for l = 3, strictly."""
    for counts in itertools.permutations([5, 3, 2, 0]):
        groups = of_counts(counts)
        assert RecursiveDiversity(c=1, l=l, **PLACE).score_groups(groups)[0] == float(limit)
        assert not RecursiveDiversity(c=float(limit), l=l, **PLACE).holds_in(groups)[0]
        assert RecursiveDiversity(c=float(limit) + 1e-6, l=l, **PLACE).holds_in(groups)[0]


def test_recursive_needs_l_values():
    groups = of_counts([5, 3, 0, 0], [1, 1, 1, 0])
    model = RecursiveDiversity(c=3, l=3, **PLACE)
    assert model.score_groups(groups).tolist() == [math.inf, 1]
    assert model.title == "recursive (3, 3)-diversity of disease"
    table = simple_table([0, 0, 1, 1])
    verdict = model.verify(evidence(table, np.zeros(4, np.int32)))
    assert (verdict.holds, verdict.reached) == (False, None)


def test_equal_distance_is_half_the_sum_of_differences():
    groups = of_counts([4, 0, 0, 0], [1, 1, 1, 1], [2, 2, 0, 0], totals=[1, 1, 1, 1])
    model = EqualCloseness(t=0.5, **PLACE)
    assert model.score_groups(groups).tolist() == [0.75, 0, 0.5]
    assert model.holds_in(groups).tolist() == [False, True, True]
    assert model.title == "0.5-closeness (equal) of disease"


def test_ordered_distance_of_the_salary_example():
    """Li et al. 2007: nine salaries 3k..11k once each; {3k, 4k, 5k} is 0.375 away, {6k, 8k, 11k} 0.167."""
    leaves = pl.Series("leaves", list(range(3, 12)))
    salaries = Hierarchy(
        leaves,
        (
            Level(np.arange(9, dtype=np.int32), leaves.cast(pl.String)),
            Level(np.array([0], np.int32), pl.Series("n", ["*"])),
        ),
        free=True,
        ordered=9,
    )
    low, mixed = [1, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1, 0, 0, 1]
    groups = of_counts(low, mixed, hierarchy=salaries, totals=[1] * 9)
    assert OrderedCloseness(t=0.2, **PLACE).score_groups(groups) == pytest.approx([3 / 8, 1 / 6])


def test_ordered_distance_ignores_values_that_do_not_occur():
    groups = of_counts([1, 0, 0, 0], [0, 0, 0, 1])
    assert OrderedCloseness(t=0.5, **PLACE).score_groups(groups).tolist() == [0.5, 0.5]


def test_hierarchical_distance_follows_the_tree():
    """From flu alone: a quarter moves to cold (half the height), two quarters cross the root."""
    groups = of_counts([4, 0, 0, 0], [2, 0, 2, 0], totals=[1, 1, 1, 1])
    assert HierarchicalCloseness(t=0.5, **PLACE).score_groups(groups).tolist() == [
        0.25 * 0.5 + 0.5,
        0.5 * 0.5,
    ]


def test_the_threshold_is_the_one_that_was_asked_for():
    model = EqualCloseness(t=0.2, **PLACE)
    model.holds_in(of_counts([4, 0, 0, 0], [1, 1, 1, 1], totals=[1, 1, 1, 1]))
    assert model.t == 0.2
    assert not model.holds_in(of_counts([4, 0, 0, 0], totals=[1, 1, 1, 1]))[0]


def test_alpha_k():
    groups = of_counts([2, 2, 0, 0], [3, 1, 1, 1], [1, 1, 0, 0])
    model = AlphaK(alpha=0.5, k=4, **PLACE)
    assert model.score_groups(groups).tolist() == [0.5, 0.5, 0.5]
    assert model.holds_in(groups).tolist() == [True, True, False]
    assert model.title == "(0.5, 4)-anonymity of disease"


def test_alpha_k_of_chosen_values():
    groups = of_counts([1, 0, 3, 0], [2, 0, 1, 0], [0, 4, 0, 0])
    model = AlphaK(alpha=0.5, values=("flu", "cold"), **PLACE)
    assert model.score_groups(groups).tolist() == [0.25, 2 / 3, 1.0]
    with pytest.raises(PolicyError, match="did you mean 'ulcer'"):
        AlphaK(alpha=0.5, values=("ulcr",), **PLACE).score_groups(groups)


def test_p_sensitive_of_the_worked_example():
    """p-sensitive k-anonymity: 3-anonymous and only 1-sensitive, until one diagnosis differs."""
    rows = [(0, 2), (0, 2), (0, 0), (1, 1), (1, 0), (2, 1), (2, 0)]
    classes = np.array([0, 0, 0, 1, 1, 1, 1], np.int32)
    for changed, reached in ((False, 1), (True, 2)):
        pairs = [(2, 2), *rows[1:]] if changed else rows
        table = simple_table([a for a, _ in pairs], [b for _, b in pairs])
        shown = evidence(table, classes)
        assert KAnonymity(k=3).verify(shown).holds
        verdict = PSensitive(p=2).verify(shown)
        assert (verdict.reached, verdict.holds) == (reached, changed)
        assert PSensitive(p=2, column=1, column_name="income").verify(shown).holds


def test_verdicts_read_like_numbers():
    table = simple_table([0, 0, 1, 2])
    verdict = DistinctDiversity(l=2, **PLACE).verify(evidence(table, np.array([0, 0, 1, 1], np.int32)))
    assert (repr(verdict.required), repr(verdict.reached)) == ("2", "1")
    assert verdict.detail == "1 of 2 classes fall short"


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: KAnonymity(k=1), "privacy.k"),
        (lambda: DistinctDiversity(l=1, **PLACE), "privacy.l"),
        (lambda: DistinctDiversity(l=2.5, **PLACE), "privacy.l"),
        (lambda: ProbabilisticDiversity(l=1, **PLACE), "privacy.l"),
        (lambda: EntropyDiversity(l=math.nan, **PLACE), "privacy.l"),
        (lambda: EntropyDiversity(l=math.inf, **PLACE), "privacy.l"),
        (lambda: RecursiveDiversity(c=0, l=2, **PLACE), "privacy.l"),
        (lambda: RecursiveDiversity(c=1, l=1, **PLACE), "privacy.l"),
        (lambda: EqualCloseness(t=-0.1, **PLACE), "privacy.t"),
        (lambda: OrderedCloseness(t=1.1, **PLACE), "privacy.t"),
        (lambda: AlphaK(alpha=0, **PLACE), "privacy.alpha"),
        (lambda: AlphaK(alpha=0.5, k=0, **PLACE), "privacy.k"),
        (lambda: PSensitive(p=1), "privacy.p"),
    ],
)
def test_parameters_out_of_range(make, path):
    with pytest.raises(PolicyError) as caught:
        make()
    assert [problem.path for problem in caught.value.problems] == [path]
