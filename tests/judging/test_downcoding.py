"""Downcoding: what minimal cells say, against all tables; ends of labels; and where it gains nothing or refuses."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import DataError
from tests.inputs.samples import CENSUS
from tests.oracles import downcoding as oracle

TREE = {"*": {"20s": ["21", "23"], "30s": ["31", "33"]}}
DOMAIN = ["21", "23", "31", "33"]
METHODS = ("mondrian", "agglomerative", "full-domain", "hilbert", "lexicographic")


def policy(method, **more):
    show = {"show": "ranges"} if method in ("hilbert", "lexicographic") else {}
    return shoal.Policy.from_dict(
        {
            "columns": {"age": {"role": "quasi", "hierarchy": {"tree": TREE}}, "tag": {"role": "plain"}},
            "privacy": {"k": 2},
            "method": {"name": method, **show},
            **more,
        }
    )


def framed(values):
    return pl.DataFrame({"age": list(values), "tag": range(len(values))})


@cache
def cells(method, values):
    made = shoal.anonymize(framed(values), policy(method), seed=1)
    return tuple(made.table.sort("tag")["age"].to_list())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "values", [("21", "31", "33", "33"), ("21", "23", "31", "33"), ("21", "21", "23", "31")]
)
def test_all_tables_are_tried(method, values):
    chances = oracle.learn(values, DOMAIN, lambda own: cells(method, tuple(own)))
    share, certain = oracle.score(values, cells(method, values), chances[1], DOMAIN)
    made = shoal.anonymize(framed(values), policy(method), seed=1)
    if share is None:
        with pytest.raises(DataError, match="no cell of the release is generalized"):
            shoal.attack(made, policy(method), original=framed(values), name="downcoding")
        return
    found = shoal.attack(made, policy(method), original=framed(values), name="downcoding")
    assert found.figures["exact"]
    assert found.figures["tables_that_give_the_release"] == chances[0]
    assert found.success == pytest.approx(share)
    assert found.figures["given_away"] == certain
    assert found.at_risk == 0


def test_the_example_of_the_page():
    """Two rows show `*`. Of the south alone they would show `south`, so one is from Kiel: 3 of 10 tables are left."""
    rows = pl.DataFrame({"town": ["Kiel", "Ulm"]})
    towns = {"*": {"north": ["Kiel"], "south": ["Trier", "Ulm", "Worms"]}}
    known = {"quasi": ["town"], "k": 2, "method": "mondrian", "hierarchies": {"town": {"tree": towns}}}
    made = shoal.anonymize(rows, **known, seed=1)
    assert made.table["town"].to_list() == ["*", "*"]
    found = shoal.attack(made, original=rows, name="downcoding", **known)
    assert found.figures["tables"] == 10
    assert found.figures["tables_that_give_the_release"] == 3
    assert found.figures["given_away"] == 1
    assert found.success == pytest.approx((1 + 1 / 3) / 2)
    assert found.baseline == pytest.approx((2 * 1 / 2) / 2)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_ends_of_labels_are_values_that_somebody_has(k):
    frame = pl.DataFrame({"age": CENSUS.frame(1500)["age"], "zip": np.arange(1500) % 700})
    known = {"quasi": ["age", "zip"], "k": k, "method": "mondrian"}
    made = shoal.anonymize(frame, **known, seed=1)
    found = shoal.attack(made, original=frame, name="downcoding", **known)
    assert not found.figures["exact"]
    assert found.success > found.baseline
    labels = [made.table[name].cast(pl.String) for name in ("age", "zip")]
    ranges = [own.filter(own.str.starts_with("[")) for own in labels]
    classes = pl.DataFrame(labels).group_by("age", "zip").len()
    named = sum(2 * classes.filter(pl.col(name).str.starts_with("[")).height for name in ("age", "zip"))
    assert found.figures["cells"] == sum(len(own) for own in ranges)
    assert found.figures["given_away"] == named
    from_rows = shoal.attack(made.table, original=frame, name="downcoding", **known)
    assert from_rows.success == pytest.approx(found.success)


def test_fewer_people_are_possible_if_the_population_is_known():
    """MPALM on four of six people: the adversary tries all choices of four."""
    population = pl.DataFrame(
        {"age": ["21", "21", "23", "31", "33", "33"], "member": [True, False, True, True, False, True]}
    )
    made_with = shoal.Policy.from_dict(
        {
            "columns": {"age": {"role": "quasi", "hierarchy": {"tree": TREE}}},
            "privacy": {"presence": [0.0, 0.8]},
            "method": {"name": "mpalm"},
            "population": {"column": "member"},
        }
    )
    made = shoal.anonymize(population, made_with, seed=1)
    found = shoal.attack(made, made_with, original=population, name="downcoding")
    assert found.figures["tables"] <= 15
    assert 1 <= found.figures["tables_that_give_the_release"] <= found.figures["tables"]
    assert 0 < found.success <= 1


def test_relocated_rows_may_have_any_values():
    frame = framed(("21", "21", "23", "31"))
    made_with = policy("hybrid")
    made = shoal.anonymize(frame, made_with, seed=1)
    found = shoal.attack(made, made_with, original=frame, name="downcoding")
    assert found.figures["tables"] == 35  # multisets of four of four values


def test_what_cannot_be_tried_is_refused():
    frame = CENSUS.frame(500)
    made_with = CENSUS.policy({"k": 3}, {"name": "full-domain"})
    made = shoal.anonymize(frame, made_with, seed=1)
    with pytest.raises(DataError, match="more than 10,000 tables"):
        shoal.attack(made, made_with, original=frame, name="downcoding")
    rows = framed(("21", "21", "33", "33"))
    other = policy("full-domain")
    release = rows.with_columns(age=pl.lit("*"))
    with pytest.raises(DataError, match="cannot reproduce"):
        shoal.attack(release, other, original=rows, name="downcoding")
    shuffled = CENSUS.policy({"l": {"probabilistic": 2}}, {"name": "slice-columns"})
    made = shoal.anonymize(frame, shuffled, seed=1)
    with pytest.raises(DataError, match="shuffled"):
        shoal.attack(made, shuffled, original=frame, name="downcoding")


def test_nothing_is_learned_where_all_values_are_as_likely_as_before():
    """One class of everybody at the root: not all are of one decade, which says the same of all four values."""
    rows = framed(("21", "31", "33"))
    made_with = shoal.Policy.from_dict({**policy("full-domain").to_dict(), "privacy": {"k": 3}})
    made = shoal.anonymize(rows, made_with, seed=1)
    found = shoal.attack(made, made_with, original=rows, name="downcoding")
    assert found.figures["given_away"] == 0
    assert found.figures["tables_that_give_the_release"] == found.figures["tables"] - 8
    assert found.success == pytest.approx(found.baseline)
