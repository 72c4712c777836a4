"""Reasons why nothing can be released: each must be a proof."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy
from shoal.judging.models import GroupModel
from shoal.judging.models.alpha_k import AlphaK
from shoal.judging.models.demands import Outlook, SensitivityBound, most_sensitive_classes, outlook
from shoal.judging.models.feasibility import reasons_against
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import (
    DistinctDiversity,
    ProbabilisticDiversity,
    RecursiveDiversity,
)
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.t_closeness import EqualCloseness
from shoal.judging.models.whole_table import one_class
from tests.inputs.coded_tables import with_changes
from tests.inputs.model_cases import OPTIONS, PLACE, models, satisfies, simple_table
from tests.inputs.strategies import tables, tiled


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=50)
@given(table=tables(rows=st.integers(1, 7), columns=st.just(1)), drop=st.integers(0, 3), data=st.data())
def test_infeasible_is_a_proof(name, table, drop, data):
    """Where a reason is given, no part of the table that suppression may leave satisfies the model."""
    model = data.draw(OPTIONS[name])
    reason = model.infeasible(table, drop)
    least = max(table.rows - drop, 1)
    possible = any(
        satisfies(model, table, rows)
        for size in range(least, table.rows + 1)
        for rows in itertools.combinations(range(table.rows), size)
    )
    if reason is not None:
        assert reason.startswith("no release can")
        assert not possible
    elif drop == 0:
        assert possible


def test_reasons_carry_numbers():
    table = simple_table([0, 0, 0, 1], [0, 0, 0, 0])
    small = KAnonymity(k=5).infeasible(table)
    assert small is not None
    assert small.startswith("no release can be 5-anonymous: the table has 4 rows (ask for k = 4 at most")
    assert PSensitive(p=2).infeasible(table) == "no release can be 2-sensitive: `s1` has 1 value"
    few = DistinctDiversity(l=3, **PLACE).infeasible(table, 2)
    assert few is not None
    assert "it needs 3 values, but `disease` has 2" in few
    common = ProbabilisticDiversity(l=2, **PLACE).infeasible(table)
    assert common is not None
    assert "reaches only 1.333" in common
    rest = RecursiveDiversity(c=3, l=2, **PLACE).infeasible(table)
    assert rest is not None
    assert "needs a c above 3" in rest
    share = AlphaK(alpha=0.6, **PLACE).infeasible(table)
    assert share is not None
    assert "share of 0.75" in share
    assert EqualCloseness(t=0, **PLACE).infeasible(table) is None


@given(tables(columns=st.just(1)), models)
def test_hopeless_groups_have_no_good_part(table, model):
    assume(table.rows <= 7)
    assert isinstance(model, GroupModel)
    if model.hopeless(one_class(table))[0]:
        assert not any(
            satisfies(model, table, rows)
            for size in range(1, table.rows + 1)
            for rows in itertools.combinations(range(table.rows), size)
        )


# Generalization limits

CITIES = Hierarchy(
    pl.Series("leaves", ["San Diego", "Los Angeles", "Wichita", "Kansas City", "Lincoln"]),
    tiled(
        [
            pl.Series(["San Diego", "Los Angeles", "Wichita", "Kansas City", "Lincoln"]),
            pl.Series(["California", "California", "Kansas", "Kansas", "Nebraska"]),
            pl.Series(["West Coast", "West Coast", "Midwest", "Midwest", "Midwest"]),
            pl.Series(["United States"] * 5),
        ]
    ),
).with_limit(["California", "Midwest"])


def asking(*wanted, suppression=0.0):
    return Requirements(models=wanted, suppression=suppression)


def test_blocks_of_the_worked_example_are_fine_alone():
    """Constrained 2-sensitive 2-anonymity: California holds two rows and values, Kansas four and two."""
    table = simple_table([0, 1, 1, 2, 1, 1], quasi=(Attribute("city", CITIES), [0, 1, 2, 3, 2, 3]))
    assert reasons_against(table, asking(KAnonymity(k=2), PSensitive(p=2))) == []


def test_a_block_that_cannot_be_served_is_named():
    table = simple_table([0, 0, 1, 2, 1, 1], quasi=(Attribute("city", CITIES), [0, 1, 2, 3, 2, 3]))
    reason, possible = reasons_against(table, asking(KAnonymity(k=2), PSensitive(p=2)))
    assert possible == "p = 2 is impossible, the largest possible p is 1, with at most 3 classes"
    assert "1 of them cannot satisfy 2-sensitivity" in reason
    assert "city = California (2 rows)" in reason
    assert "Midwest" not in reason
    assert "At least 2 rows would have to be suppressed, but only 0 may be" in reason
    assert reasons_against(table, asking(PSensitive(p=2), suppression=0.34)) == []
    assert len(reasons_against(table, asking(PSensitive(p=2), suppression=0.33))) == 2


def test_all_reasons_are_given_at_once():
    table = simple_table([0, 0, 1])
    reasons = reasons_against(table, asking(KAnonymity(k=4), DistinctDiversity(l=3, **PLACE)))
    assert [reason.split(":")[0] for reason in reasons] == [
        "no release can be 4-anonymous",
        "no release can satisfy distinct 3-diversity of disease",
    ]


@settings(max_examples=60)
@given(table=tables(rows=st.integers(1, 6), columns=st.just(2), free=False), data=st.data())
def test_reasons_of_blocks_are_proofs(table, data):
    """Where explain speaks, no way to drop rows and share the rest among classes within blocks works."""
    limits = [data.draw(st.integers(0, a.hierarchy.height)) for a in table.attributes]
    table = with_changes(
        table,
        attributes=tuple(
            replace(a, hierarchy=a.hierarchy.with_limit(limit))
            for a, limit in zip(table.attributes, limits, strict=True)
        ),
    )
    model, drop = data.draw(models), data.draw(st.integers(0, 2))
    requirements = asking(model, suppression=min(drop / table.rows, 1.0))
    if reasons_against(table, requirements):
        # For a monotone rule one class per block is the best use of the rows that are kept.
        for gone in range(min(drop, table.rows - 1) + 1):
            for left in itertools.combinations(range(table.rows), table.rows - gone):
                blocks: dict[int, list[int]] = {}
                for row in left:
                    blocks.setdefault(int(table.block_of[row]), []).append(row)
                assert not all(satisfies(model, table, rows) for rows in blocks.values())


# How many p-sensitive classes there can be


def most_classes(columns, p, k):
    """Brute force: the most classes of a partition in which every class has k rows and p values per column."""
    rows = list(range(len(columns[0])))

    def partitions(rest):
        if not rest:
            yield []
            return
        first, *others = rest
        for parts in partitions(others):
            yield [[first], *parts]
            for at in range(len(parts)):
                yield [*parts[:at], [first, *parts[at]], *parts[at + 1 :]]

    def good(part):
        return len(part) >= k and all(len({column[row] for row in part}) >= p for column in columns)

    return max((len(parts) for parts in partitions(rows) if all(map(good, parts))), default=0)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_no_partition_has_more_classes_than_the_bound(rows, p, k):
    columns = list(zip(*rows, strict=True))
    bound = most_sensitive_classes([np.bincount(column, minlength=4) for column in columns], p, k)
    assert most_classes(columns, p, k) <= bound.classes
    for column in columns:
        # With one column and no k the bound is reached: that is what the enhanced clustering builds on.
        single = most_sensitive_classes([np.bincount(column, minlength=4)], p)
        assert most_classes([column], p, 1) == single.classes


def test_the_bound_by_hand():
    """10 rows with counts 6, 2, 1, 1 and p = 3: i = 1 gives (10 - 8)/1 = 2, i = 2 gives (10 - 6)/2 = 2."""
    hard, easy = np.array([6, 2, 1, 1]), np.array([3, 3, 2, 2])
    assert most_sensitive_classes([hard], 3) == SensitivityBound(2, 0, (1,))
    # Evenly spread: i = 1 gives 10 - 6 = 4, i = 2 gives (10 - 3) / 2 = 3.5.
    assert most_sensitive_classes([easy, hard], 3) == SensitivityBound(2, 1, (2, 1))
    assert most_sensitive_classes([easy], 3, k=5).classes == 2
    assert most_sensitive_classes([easy, hard], 5).classes == 0
    # Each class has at least p rows, whatever k says: (5 - 2)/1 = 3 classes would need 6.
    assert most_sensitive_classes([np.array([2, 2, 1])], 2).classes == 2
    assert most_sensitive_classes([easy], 1, k=3).classes == 3


# How far p can go


def test_the_outlook_in_words():
    """Counts 6, 2, 1, 1: three values per class take one of the rarer two, so two classes; k = 3 alone permits 3."""
    table = simple_table([0] * 6 + [1, 1, 2, 3])
    far = outlook(table, asking(KAnonymity(k=3), PSensitive(p=3)))
    assert far == Outlook(3, 3, 2, 3, "s0", 1, 4, 1)
    assert str(far) == (
        "p = 3 allows at most 2 classes; sensitive values limit it: k = 3 alone would allow 3. `s0` is the hardest "
        "column to make sensitive: each class takes 1 of its values from the rarer ones. "
        "The largest possible p is 4, with a single class"
    )
    easy = outlook(table, asking(KAnonymity(k=5), PSensitive(p=2)))
    assert str(easy) == (
        "p = 2 allows at most 2 classes; k = 5 limits it, not sensitive values. "
        "The largest possible p is 4, with a single class"
    )
    assert outlook(table, asking(KAnonymity(k=3))) is None
    reasons = reasons_against(table, asking(KAnonymity(k=3), PSensitive(p=5)))
    assert reasons == [
        "no release can be 5-sensitive: `s0` has 4 values",
        "p = 5 is impossible, the largest possible p is 4, with a single class",
    ]


@settings(max_examples=60)
@given(
    table=tables(rows=st.integers(1, 6), columns=st.just(1), free=False),
    p=st.integers(2, 4),
    k=st.integers(2, 3),
    data=st.data(),
)
def test_the_outlook_is_a_bound(table, p, k, data):
    (quasi,) = table.attributes
    limit = data.draw(st.integers(0, quasi.hierarchy.height))
    table = with_changes(table, attributes=(replace(quasi, hierarchy=quasi.hierarchy.with_limit(limit)),))
    far = outlook(table, asking(KAnonymity(k=k), PSensitive(p=p)))
    assert far is not None
    blocks = [np.flatnonzero(table.block_of == block) for block in range(table.block_of.max() + 1)]
    exact = [most_classes(table.secrets.wide[rows].T.tolist(), p, k) for rows in blocks]
    assert sum(exact) <= far.classes if all(exact) else far.classes == 0
    assert far.by_rows == sum(len(rows) // k for rows in blocks)
    assert far.largest_p == min(
        len(set(column)) for rows in blocks for column in table.secrets.wide[rows].T.tolist()
    )
