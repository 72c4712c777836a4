"""The nearest promise that can be kept: following the advice leaves no reason against it, and less would not."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.pipeline.explanation.nearest_policies import nearest, reasons
from shoal.policy import Policy
from shoal.policy.encode_table import encode_with_population

ROWS = pl.DataFrame(
    {
        "age": list(range(20, 60)),
        "sex": ["m", "f"] * 20,
        "d": ["a"] * 30 + ["b"] * 8 + ["c"] * 2,
        "e": ["x", "y"] * 20,
    }
)


def policy(**asked):
    return Policy.from_keywords(
        quasi=["age", "sex"], sensitive=["d", "e"], hierarchies={"sex": "auto"}, **asked
    )


def found(**asked):
    made = policy(**asked)
    table = encode_with_population(shoal.io.read(ROWS), made)
    assert reasons(table, made), "this policy should be impossible"
    changes = nearest(table, made)
    for one in changes:
        again = encode_with_population(shoal.io.read(ROWS), one.policy)
        assert not reasons(again, one.policy), one.words
    return [one.words for one in changes]


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        # 40 rows; d has 3 values, e has 2.
        ({"k": 100}, "k: 100 → 40"),
        ({"k": 5, "l": 9}, "distinct l: 9 → 2"),
        ({"k": 5, "l": 5000}, "distinct l: 5,000 → 2"),
        ({"k": 5, "l": {"d": {"distinct": 9}}}, "distinct l of d: 9 → 3"),
        ({"k": 5, "p": {"d": 7}}, "p of d: 7 → 3"),
        # Two of three rows have a: 1 in 1.33.
        ({"k": 5, "l": {"d": {"probabilistic": 2.0}}}, "probabilistic l of d: 2 → 1.33"),
        # Limits split the table into 20 and 20 rows.
        ({"k": 30, "limits": {"sex": 0}}, "k: 30 → 20"),
        ({"k": 30, "limits": {"sex": 0}}, "limits: of sex → none"),
    ],
)
def test_the_advice_is_the_least_that_helps(asked, advice):
    assert advice in found(**asked)


def test_two_impossible_requirements_are_relaxed_together():
    (words,) = found(k=50, l={"d": {"distinct": 4}})
    assert words == "k: 50 → 40; distinct l of d: 4 → 3"


def test_a_column_named_like_a_rule_loses_its_own_requirement_only():
    rows = ROWS.rename({"d": "distinct"})
    made = Policy.from_keywords(
        quasi=["age", "sex"], sensitive=["distinct", "e"], k=5,
        l={"distinct": {"distinct": 2, "probabilistic": 1.9}, "e": {"distinct": 2}},
    )  # fmt: skip
    table = encode_with_population(shoal.io.read(rows), made)
    for one in nearest(table, made):
        assert one.policy.privacy.l["distinct"].given["distinct"] == 2
