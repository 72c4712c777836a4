"""Statements that are true of exactly one person: against a plain twin on text, and what no longer works where labels
follow from the policy.
"""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, LimitError
from shoal.judging.attacks.singling_out import RARE
from shoal.support.confidence_intervals import wilson
from tests.oracles import statements as plain

EXAMPLE = pl.DataFrame({"age": [20, 22, 25, 31, 40, 40]})
METHODS = [
    {"name": "mondrian"},
    {"name": "mondrian", "show": "sets"},
    {"name": "agglomerative"},
    {"name": "lexicographic", "show": "ranges"},
    {"name": "hilbert"},
]


def attacked(made, rows, policy, **more):
    return shoal.attack(made, original=rows, name="singling-out", **policy, **more)


def texts(made, columns):
    """The cells as a text file shows them, sets in braces."""
    return [
        tuple(
            "{" + ", ".join(map(str, cell)) + "}" if isinstance(cell, list) and len(cell) > 1
            else str(cell[0]) if isinstance(cell, list)
            else str(cell)
            for cell in row
        )
        for row in made.table.select(columns).iter_rows()
    ]  # fmt: skip


def test_the_worked_example():
    """Ages 20 22 25 | 31 40 40: three of the four ends have one person each."""
    policy = {"quasi": ["age"], "k": 3}
    made = shoal.anonymize(EXAMPLE, method="mondrian", **policy)
    found = attacked(made, EXAMPLE, policy)
    assert found.figures["statements"] == 4
    assert found.figures["isolating"] == 3
    assert found.success == 0.75
    assert found.baseline == pytest.approx((1 - 1 / 6) ** 5)
    assert found.chances.tolist() == [0.75, 0, 0.75, 0.75, 0, 0]
    assert found.figures["columns"]["age"]["share"] == 0.75
    assert found.at_risk == 0
    assert "no requirement of a policy is about singling out" in found.notes[0]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=4, max_size=14),
    st.sampled_from(METHODS),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=40),
)
def test_statements_are_counted_as_on_text(people, method, others):
    rows = pl.DataFrame(people, schema=["a", "b"], orient="row")
    policy = {"quasi": ["a", "b"], "k": 2}
    try:
        made = shoal.anonymize(rows, method=method, **policy)
    except LimitError:
        return
    shown = texts(made, ["a", "b"])
    every = plain.statements_of(shown)
    more = {"population": pl.DataFrame([*people, *others], schema=["a", "b"], orient="row")} if others else {}
    if not every:
        with pytest.raises(DataError, match="names a value"):
            attacked(made, rows, policy, **more)
        return
    found = attacked(made, rows, policy, **more)
    true = [plain.true_of(one, people) for one in every]
    isolated = {at for who in true if len(who) == 1 for at in who}
    assert found.figures["statements"] == len(every)
    assert found.figures["isolating"] == sum(len(who) == 1 for who in true)
    assert found.success == pytest.approx(found.figures["isolating"] / len(every))
    assert {at for at, chance in enumerate(found.chances) if chance > 0} == isolated
    assert found.figures["classes_with_an_isolated_person"] == len(
        {one[0] for one, who in zip(every, true, strict=True) if len(who) == 1}
    )
    if others:
        counts = [len(plain.true_of(one, others)) for one in every]
        chances = [float(plain.chance_of_one(count, len(others), len(people))) for count in counts]
        assert found.baseline == pytest.approx(sum(chances) / len(every))
        assert found.figures["fresh_rows"] == len(others)
        rare = found.figures["people_isolated_by_rare_statements"]
        if len(others) * RARE >= len(people):
            wanted = {
                who[0]
                for who, count in zip(true, counts, strict=True)
                if len(who) == 1 and count * len(people) <= RARE * len(others)
            }
            assert rare == len(wanted)
        else:
            assert rare is None
    else:
        assert found.baseline == pytest.approx((1 - 1 / len(people)) ** (len(people) - 1))


@pytest.mark.parametrize("hierarchy", [{"widths": [5, 10]}, {"cuts": [[20, 30, 40]]}])
@pytest.mark.parametrize("method", ["mondrian", "agglomerative", "full-domain"])
def test_labels_that_follow_from_the_policy_name_no_value(hierarchy, method):
    policy = {"quasi": ["age"], "k": 3, "hierarchies": {"age": hierarchy}}
    made = shoal.anonymize(EXAMPLE, method=method, **policy)
    with pytest.raises(DataError, match="labels that follow from the policy"):
        attacked(made, EXAMPLE, policy)


def test_a_private_report_tries_it_and_judges_nobody():
    policy = {"quasi": ["age"], "k": 3}
    made = shoal.anonymize(EXAMPLE, method="mondrian", **policy)
    report = shoal.report(made, original=EXAMPLE, edition="private", **policy)
    assert report.conclusion.decision == "pass"
    assert "no requirement of a policy is about singling out" in report.html


def test_the_interval_is_wilsons():
    """From the definition: both ends are shares that differ from 3 of 10 by 1.96 of their own standard errors."""
    low, high = wilson(0.3, 10)
    for end in (low, high):
        assert abs(0.3 - end) == pytest.approx(1.959964 * (end * (1 - end) / 10) ** 0.5, rel=1e-5)
    assert low < 0.3 < high
    assert wilson(0, 0) == (0.0, 1.0)
