"""Rows that can be followed: people look alike, not rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, LimitError
from shoal.methods import METHODS
from shoal.methods.numbers_of_rows import fewest_left_out
from tests import followers

COUNTING = [name for name, kind in METHODS.items() if kind.counts_people]
ROLES = {
    "quasi": ["zip", "age"],
    "sensitive": ["diagnosis"],
    "person": ["person"],
    "plain": ["row"],
    "publish": {"person": "pseudonym"},
}
RULES = [
    {},
    {"l": {"distinct": 2}},
    {"l": {"probabilistic": 1.5}},
    {"l": {"entropy": 1.5}},
    {"l": {"recursive": (2.0, 2)}},
    {"t": {"equal": 0.4}},
    {"alpha": 0.7},
    {"p": 2},
    {"beta": {"basic": 1.0}},
]


def rows_of(table: pl.DataFrame) -> list[followers.Row]:
    return [
        (row["person"], (str(row["zip"]), str(row["age"])), row["diagnosis"])
        for row in table.iter_rows(named=True)
    ]


@st.composite
def visits(draw):
    """Up to eight people with up to four rows each, in any order."""
    rows = []
    for person in range(draw(st.integers(2, 8))):
        home = draw(st.integers(0, 3))
        for _ in range(draw(st.sampled_from([1, 1, 2, 2, 3, 4]))):
            zip_code = home if draw(st.integers(0, 3)) else draw(st.integers(0, 3))
            rows.append(
                (f"p{person}", f"0213{zip_code}", draw(st.integers(20, 26)), draw(st.sampled_from("abc")))
            )
    rows = draw(st.permutations(rows))
    table = pl.DataFrame(rows, schema=["person", "zip", "age", "diagnosis"], orient="row")
    return table.with_columns(row=pl.int_range(len(rows)))


def crowded(people: int = 60, seed: int = 1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    often = random.integers(1, 5, people)
    person = np.repeat(np.arange(people), often)
    rows = len(person)
    return pl.DataFrame(
        {
            "person": [f"p{one}" for one in person],
            "zip": [f"0{one}" for one in random.integers(2100, 2110, people)[person]],
            "age": random.integers(20, 60, rows),
            "diagnosis": random.choice(["flu", "asthma", "gout"], rows),
            "row": range(rows),
        }
    )


# --- guarantees ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", COUNTING)
@settings(max_examples=40, deadline=None)
@given(table=visits(), k=st.integers(2, 4), data=st.data())
def test_releases_keep_what_an_outsider_counts(method, table, k, data):
    rule = data.draw(st.sampled_from(RULES))
    share = data.draw(st.sampled_from([0.0, 0.3, 0.6]))
    more = (
        {"order": {"person": data.draw(st.sampled_from(["row", "age"]))}} if data.draw(st.booleans()) else {}
    )
    asked = {"k": k, "suppression": share, **rule, **ROLES, **more}
    whole = rows_of(table)
    often = list(Counter(table["person"]).values())
    needed = followers.fewest_left_out(often, k)
    possible = needed <= int(share * table.height + 1e-9) and needed < table.height
    try:
        made = shoal.anonymize(table, seed=3, method=method, **asked)
    except InfeasibleError:
        assert not possible or rule
        return
    except LimitError:
        assert rule  # enough people share each number of rows, so k alone can be had
        return
    assert possible
    seen = rows_of(made.table)
    assert len(seen) == table.height - made.suppressed
    assert made.suppressed <= share * table.height + 1e-9
    # One token per person, and none that says whose it is.
    name = dict(table.select("row", "person").iter_rows())
    pairs = {(name[row], token) for row, token in made.table.select("row", "person").iter_rows()}
    assert len(pairs) == len({one for one, _ in pairs}) == len({token for _, token in pairs})
    assert followers.k(seen) >= k
    audit = shoal.audit(made.table, original=table, record=made.record, **asked)
    assert audit.holds, audit.verdicts
    alone = shoal.audit(made.table, **asked)
    for found in (made, audit, alone):
        assert found.verdicts[0].reached == followers.k(seen)
        assert found.fewest_people == followers.k(seen)
    if "beta" in rule:
        assert followers.beta(seen, whole) <= 1.0 + 1e-9
    if "alpha" in rule:
        assert followers.probabilistic_l(seen) >= 1 / 0.7 - 1e-9
    if "p" in rule:
        assert followers.distinct_l(seen) >= 2
    if "t" in rule:
        assert followers.t_equal(seen, whole) <= 0.4 + 1e-9
    if "l" in rule:
        ((kind, need),) = rule["l"].items()
        if kind == "recursive":
            assert followers.recursive_c(seen, need[1]) < need[0]
        else:
            reached = {
                "distinct": followers.distinct_l,
                "probabilistic": followers.probabilistic_l,
                "entropy": followers.entropy_l,
            }[kind](seen)
            assert reached >= need - 1e-9


@settings(max_examples=150, deadline=None)
@given(table=visits(), coarse=st.booleans())
def test_an_audit_judges_any_rows_as_an_outsider_does(table, coarse):
    """Whatever made them: here nothing did, or somebody who blurred ages."""
    if coarse:
        table = table.with_columns(age=pl.lit("*"))
    roles = {name: value for name, value in ROLES.items() if name != "plain"} | {"plain": ["row"]}
    rules = {
        "l": {"distinct": 2, "probabilistic": 1.5, "entropy": 1.5, "recursive": (2.0, 2)},
        "t": {"equal": 0.4},
        "alpha": 0.7,
        "p": 2,
        "beta": {"basic": 1.0},
    }
    seen = rows_of(table)
    found = {v.model.split(" of ")[0]: v for v in shoal.audit(table, k=2, **rules, **roles).verdicts}
    wanted = {
        "2-anonymity": followers.k(seen),
        "distinct 2-diversity": followers.distinct_l(seen),
        "probabilistic 1.5-diversity": followers.probabilistic_l(seen),
        "entropy 1.5-diversity": followers.entropy_l(seen),
        "2-sensitivity": followers.distinct_l(seen),
        "0.4-closeness (equal)": followers.t_equal(seen, seen),
        "recursive (2, 2)-diversity": followers.recursive_c(seen, 2),
    }
    for name, value in found.items():
        if name in wanted and value.reached is not None:
            assert value.reached == pytest.approx(float(wanted[name]), rel=1e-9), name
    assert len(set(found) & set(wanted)) == 7, list(found)


# --- how many rows people show ------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(often=st.lists(st.integers(1, 4), min_size=1, max_size=7), least=st.integers(1, 4))
def test_as_few_rows_as_possible_are_left_out(often, least):
    shown = fewest_left_out(np.array(often), least)
    assert (shown <= often).all()
    assert all(count >= least for number, count in Counter(shown.tolist()).items() if number)
    assert sum(often) - shown.sum() == followers.fewest_left_out(often, least)


@given(often=st.lists(st.integers(1, 30), min_size=1, max_size=300), least=st.integers(1, 6))
def test_people_who_are_not_looked_at_share_their_number(often, least):
    shown = fewest_left_out(np.array(often), least)
    assert (shown <= often).all()
    assert all(count >= least for number, count in Counter(shown.tolist()).items() if number)


# --- what audits read ---------------------------------------------------------------------------------------------


def test_lists_of_values_that_nobody_knows_are_told_apart():
    """Without the original, no value of a column has a code."""
    lists = pl.Series([["02130", "02131"]] * 2 + [["02130", "02132"]], dtype=pl.List(pl.String))
    release = pl.DataFrame({"zip": lists, "sick": ["a", "b", "c"]})
    assert shoal.audit(release, quasi=["zip"], sensitive=["sick"], k=2).verdicts[0].reached == 1
