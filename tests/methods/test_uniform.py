"""`levels = "uniform"`: one set of labels per column, none of which covers another."""

from __future__ import annotations

import datetime as dt
from itertools import combinations, pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PolicyError
from shoal.methods import METHODS

TREE = {"tree": {"low": ["a", "b", "c"], "high": {"mid": ["d", "e"], "top": ["f", "g", "h"]}}}
KINDS = {
    "age": {"cuts": [[10, 20, 30, 40], [20]]},
    "zip": {"mask": "right"},
    "town": TREE,
    "day": {"dates": ["month", "year"]},
}


def table(rows=200):
    return pl.DataFrame(
        {
            "age": [row * 7 % 50 for row in range(rows)],
            "free": [row * 13 % 37 for row in range(rows)],
            "town": ["abcdefgh"[row * row % 8] for row in range(rows)],
            "zip": [f"{100 + row * 11 % 90}" for row in range(rows)],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(row * 29 % 700) for row in range(rows)],
            "sick": ["xyz"[row % 3] for row in range(rows)],
            "row": range(rows),
        }
    )


def overlapping(rows, data, columns):
    """Pairs of labels of a column that stand for a common value, by the values of their owners: two labels that are
    apart never show values between each other's, and a label never shows the value of another."""
    found = []
    for name in columns:
        of = dict(zip(data["row"], data[name], strict=True))
        values: dict[object, set[object]] = {}
        for row, label in zip(rows["row"], rows[name], strict=True):
            values.setdefault(label, set()).add(of[row])
        found += [(name, one, other) for one, other in combinations(values, 2) if values[one] & values[other]]
    return found


def asked(**more):
    keywords = {
        "quasi": ["age", "free", "town"], "plain": ["row", "zip", "day", "sick"], "k": 4, "levels": "uniform",
        "hierarchies": {"age": KINDS["age"], "town": TREE},
    }  # fmt: skip
    return shoal.Policy.from_keywords(**{**keywords, **more})


SUITED = sorted(name for name, kind in METHODS.items() if kind.shows.classes and not kind.can.presence_only)


@pytest.mark.parametrize("method", SUITED)
def test_labels_of_a_column_are_apart(method):
    data = table()
    more = {"sensitive": ["sick"], "plain": ["row", "zip", "day"], "p": 2} if "p-k" in method else {}
    made = shoal.anonymize(data, asked(method=method, **more))
    assert overlapping(made.table, data, ["age", "free", "town"]) == []
    assert shoal.audit(made.table, asked(method=method, **more), original=data).holds


def test_the_question_can_fail():
    data = table()
    made = shoal.anonymize(data, asked(levels=None))
    assert overlapping(made.table, data, ["age", "free", "town"])


def test_labels_of_the_codebook_are_apart():
    """Ranges by their ends (`<10` ends where `10-19` begins), nodes by their values."""
    data = table()
    names = ["age", "town", "day"]
    kinds = {name: KINDS[name] for name in names}
    made = shoal.anonymize(data, asked(quasi=names, plain=["row", "zip", "sick", "free"], hierarchies=kinds))
    for column in made.codebook.columns:
        if column.role != "quasi":
            continue
        meanings = [label.meaning for label in column.labels]
        if len(meanings) > 1:
            assert all(meaning.kind != "any" for meaning in meanings)
        ranges = sorted(meaning.ends for meaning in meanings if meaning.kind == "range")
        assert all(before[1] <= after[0] for before, after in pairwise(ranges))
        sets = [set(meaning.values) for meaning in meanings if meaning.values]
        assert not any(one & other for one, other in combinations(sets, 2))


@pytest.mark.parametrize("suppression", [0.0, 0.1])
@pytest.mark.parametrize("method", ["mondrian", "agglomerative"])
def test_it_costs_between_the_method_and_one_level_per_column(method, suppression):
    data = table()
    alone = shoal.anonymize(data, asked(levels=None, method=method, suppression=suppression))
    made = shoal.anonymize(data, asked(method=method, suppression=suppression))
    levels = shoal.anonymize(data, asked(levels=None, method="full-domain", suppression=suppression))
    assert alone.measures["lm"] <= made.measures["lm"] <= levels.measures["lm"] + 1e-9
    told = made.release.facts["uniform"]
    assert told["loss"] == pytest.approx(made.measures["lm"])
    assert told["loss_without"] == pytest.approx(alone.measures["lm"])
    assert told["labels"] == sum(made.table[name].n_unique() for name in ("age", "free", "town"))
    assert any("one set of labels per column" in note for note in made.notes)


@settings(max_examples=60, deadline=None)
@given(
    ages=st.lists(st.one_of(st.none(), st.integers(0, 12)), min_size=4, max_size=24).filter(any),
    towns=st.lists(st.sampled_from("abcdefgh"), min_size=24, max_size=24),
    k=st.integers(2, 3),
    free=st.booleans(),
)
def test_labels_are_apart_on_small_tables(ages, towns, k, free):
    data = pl.DataFrame(
        {"age": ages, "town": towns[: len(ages)], "row": range(len(ages))}, schema_overrides={"age": pl.Int64}
    )
    kinds = {"town": TREE} if free else {"town": TREE, "age": {"widths": [3, 6]}}
    made = shoal.anonymize(
        data, quasi=["age", "town"], plain=["row"], hierarchies=kinds, k=k, levels="uniform"
    )
    assert overlapping(made.table, data, ["age", "town"]) == []
    sizes = made.table.group_by("age", "town").len()["len"]
    assert sizes.min() >= k


def test_limits_and_other_models_hold():
    data = table()
    more = {
        "sensitive": ["sick"], "plain": ["row", "zip", "day"], "l": 2, "t": {"equal": 0.5}, "limits": {"town": ["low"]},
    }  # fmt: skip
    made = shoal.anonymize(data, asked(**more))
    assert made.holds
    assert overlapping(made.table, data, ["age", "free", "town"]) == []


@pytest.mark.parametrize("method", ["ring", "bucketization", "hybrid", "mpalm", "hilbert"])
def test_methods_that_cannot_are_refused(method):
    with pytest.raises(PolicyError, match="cannot show one set of labels per column"):
        asked(method=method)


def test_sets_are_no_labels():
    with pytest.raises(PolicyError, match="goes with labels"):
        asked(method={"name": "mondrian", "show": "sets"})


def test_comparisons_and_auto_heed_it():
    data = table(80)
    compared = shoal.compare(data, asked(), methods=["mondrian", "full-domain", "bucketization"])
    lm = {trial.method: trial.measures["lm"] for trial in compared.trials if trial.measures}
    assert set(lm) == {"mondrian", "full-domain"}
    assert lm["mondrian"] <= lm["full-domain"] + 1e-9
    made = shoal.anonymize(data, asked(method={"name": "auto", "methods": ["mondrian", "full-domain"]}))
    assert overlapping(made.table, data, ["age", "free", "town"]) == []


def test_labels_are_one_set_where_a_rule_asks_for_the_rows_of_a_class():
    data = table(60).select("age", "town", "sick")
    roles = {
        "quasi": ["age", "town"],
        "sensitive": ["sick"],
        "hierarchies": {"age": KINDS["age"], "town": TREE},
    }
    everyone = pl.concat([data, table(200).select("age", "town", "sick")]).select("age", "town")
    made = shoal.anonymize(
        data, **roles, k_map=5, levels="uniform", method="mondrian", population=everyone, seed=1
    )
    assert all(verdict.holds for verdict in made.verdicts)
