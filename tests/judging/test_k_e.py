"""(k,e)-anonymity: by hand, against its definition, in releases, and what it refuses."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.errors import InfeasibleError, PolicyError
from shoal.judging.models.k_e import KE

PLACE = {"column": 0, "column_name": "salary"}


def groups_of(classes, tree=None):
    """Classes given as lists of sensitive values."""
    frame = pl.DataFrame(
        {
            "q": [str(i) for i, own in enumerate(classes) for _ in own],
            "salary": [v for own in classes for v in own],
        }
    )
    plans = [ColumnPlan("q", QUASI), ColumnPlan("salary", SENSITIVE, tree)]
    table = encode(frame, plans)
    return table, table.group_rows(table.quasi.wide[:, 0].copy(), len(classes))


def test_by_hand():
    _, groups = groups_of([[9, 30, 40, 45], [30, 30, 31, 32], [50, 50], [None, 1, 8]])
    assert KE(k=2, e=1, **PLACE).score_groups(groups).tolist() == [36, 2, 0, 7]
    assert KE(k=3, e=1, **PLACE).score_groups(groups).tolist() == [36, 2, 0, 0], "null is no number"
    assert KE(k=4, e=36, **PLACE).holds_in(groups).tolist() == [True, False, False, False]
    assert not KE(k=4, e=36.5, **PLACE).holds_in(groups).any()


def test_values_of_a_tree_are_a_step_apart():
    _, groups = groups_of([["low", "high"], ["low", "middle"]], {"tree": {"all": ["low", "middle", "high"]}})
    assert KE(k=2, e=2, **PLACE).score_groups(groups).tolist() == [2, 1]


numbers = st.none() | st.integers(-5, 5).map(float) | st.sampled_from([0.5, 2.25])


@given(
    st.lists(st.lists(numbers, min_size=1, max_size=6), min_size=1, max_size=4),
    st.integers(2, 4),
    st.sampled_from([0.25, 1.0, 3.0, 7.5]),
)
def test_it_is_the_definition_and_monotone(classes, k, e):
    if all(value is None for own in classes for value in own):
        return
    model = KE(k=k, e=e, **PLACE)
    table, groups = groups_of(classes)

    def holds(own):
        real = {value for value in own if value is not None}
        return len(real) >= k and max(real) - min(real) >= e

    assert model.holds_in(groups).tolist() == [holds(own) for own in classes]
    assert model.hopeless(groups).tolist() == [not holds(own) for own in classes]
    whole = [value for own in classes for value in own]
    assert holds(whole) or not any(map(holds, classes))
    # Whatever is suppressed, no class has more numbers than the table.
    assert (model.infeasible(table, suppressible=2) is None) == holds(whole)


PEOPLE = pl.DataFrame({"age": [20, 21, 22, 23, 40, 41, 42, 43], "salary": [10, 10, 11, 50, 20, 21, 21, 90]})
ASKED = {"quasi": ["age"], "sensitive": ["salary"], "k": 2}


@pytest.mark.parametrize(
    "method", ["mondrian", "agglomerative", "full-domain", "bucketization", "anatomy", "p-k"]
)
def test_releases_spread(method):
    asked = {**ASKED, "hierarchies": {"age": {"widths": [2, 4, 20]}}}
    if method in ("bucketization", "anatomy"):
        asked.pop("k")
    chosen = {"name": method, **({"partitioner": "mondrian"} if method == "anatomy" else {})}
    made = shoal.anonymize(PEOPLE, **asked, ke=[2, 30], method=chosen, seed=1)
    verdict = next(v for v in made.verdicts if "30" in v.model)
    assert verdict.model == "(2, 30)-anonymity of salary"
    assert verdict.holds
    if method == "mondrian":
        found = made.table.group_by("age").agg(pl.col("salary").unique())
        assert all(len(own) >= 2 and max(own) - min(own) >= 30 for own in found["salary"].to_list())


def test_the_audit_and_what_cannot_be():
    verdicts = shoal.audit(PEOPLE, quasi=["age"], sensitive=["salary"], ke={"salary": [2, 5]}).verdicts
    assert not verdicts[0].holds
    with pytest.raises(InfeasibleError, match="spread over 80 in the whole table, but 100 is required"):
        shoal.anonymize(PEOPLE, **ASKED, ke=[2, 100])
    with pytest.raises(InfeasibleError, match="needs 7 different numbers, but `salary` has 6"):
        shoal.anonymize(PEOPLE, **ASKED, ke=[7, 1])
    with pytest.raises(PolicyError, match="more than 0, not 0"):
        shoal.anonymize(PEOPLE, **ASKED, ke=[2, 0])
    text = PEOPLE.with_columns(pl.Series("salary", list("abcdefgh")))
    with pytest.raises(PolicyError, match="has no order") as caught:
        shoal.anonymize(text, **ASKED, ke=[2, 1])
    assert "instead of" not in caught.value.problems[0].hint
