"""Figures of releases whose columns were shuffled within buckets: about the buckets, whatever the shuffle."""

from __future__ import annotations

import math

import polars as pl
import pytest

import shoal
from shoal.judging.measures import MEASURES
from shoal.judging.read_case import Received, read_case
from shoal.methods import METHODS
from shoal.release.record import card_markdown

PEOPLE = pl.DataFrame(
    {
        "a": [1, 1, 2, 2, 3, 3, 4, 4] * 2,
        "b": [10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60, 70, 70, 80, 80],
        "s": ["u", "v", "w", "x"] * 4,
    }
)
SHUFFLING = [name for name, kind in METHODS.items() if kind.shows.buckets]
ASKED = {"quasi": ["a", "b"], "sensitive": ["s"]}


def wanted(method: str) -> dict[str, object]:
    if method == "anatomy":
        return ASKED | {"method": method, "l": {"distinct": 4}}
    if method == "slicing":
        return ASKED | {"method": {"name": method, "k": 8}, "l": {"slicing": 1.5}}
    people = pl.concat([PEOPLE, PEOPLE]).drop("s")
    return ASKED | {"method": {"name": method, "k": 8}, "presence": [0, 1], "population": people}


def of_buckets(rows: pl.DataFrame) -> dict[str, float]:
    """The definitions, by counting: DM, AVG without k, and the number of buckets."""
    sizes = rows.group_by("bucket").len()["len"].to_list()
    return {
        "dm": sum(size * size for size in sizes) + (len(PEOPLE) - len(rows)) * len(PEOPLE),
        "avg": len(PEOPLE) / len(sizes),
        "classes": len(sizes),
    }


@pytest.mark.parametrize("method", SHUFFLING)
def test_measures_are_about_buckets_and_not_about_the_shuffle(method: str) -> None:
    asked = wanted(method)
    population = asked.pop("population", None)
    made = [
        shoal.anonymize(PEOPLE, **asked, population=population, seed=seed)
        for seed in (range(1) if method == "permute-generalize" else range(4))
    ]
    for one in made:
        audited = shoal.audit(one.table, **asked, original=PEOPLE, second=one.second, population=population)
        for told in (one, audited):
            measured = {name: told.measures[name] for name in ("dm", "avg", "classes")}
            assert measured == of_buckets(one.table)
            assert told.classes is None
            assert told.buckets == measured["classes"]
            assert not [name for name in told.measures if MEASURES[name].needs.classes]
        asked_for = shoal.audit(
            one.table, **asked, original=PEOPLE, second=one.second, population=population,
            measures=["risk-prosecutor-max"],
        )  # fmt: skip
        assert asked_for.measures["risk-prosecutor-max"] != asked_for.measures["risk-prosecutor-max"]
        assert one.card["classes"] is None
        assert "bucket" in card_markdown(one.card)
        assert one.record["classes"] is None


def test_eight_rows_in_one_bucket_cost_64() -> None:
    rows = pl.DataFrame({"a": [1, 2, 1, 2, 1, 2, 1, 2], "b": [1, 1, 2, 2, 3, 3, 3, 3], "s": list("xyxyxyxy")})
    asked = ASKED | {"method": "slice-columns", "presence": [0, 1]}
    for seed in range(4):
        shuffled = rows.select(pl.col(name).shuffle(seed + i) for i, name in enumerate(rows.columns))
        found = shoal.audit(shuffled.with_columns(bucket=pl.lit(0)), **asked, original=rows, population=rows)
        assert found.measures["dm"] == 64
        assert found.measures["avg"] == 8


def test_compare_and_explain_count_buckets() -> None:
    asked = ASKED | {"l": {"distinct": 4}, "method": "anatomy"}
    compared = shoal.compare(PEOPLE, **asked, methods=["anatomy"], seed=1)
    trial = compared.trials[0]
    assert trial.classes == trial.measures["classes"] == 4
    assert trial.measures["dm"] == 4 * 16
    told = shoal.explain(PEOPLE, **asked, seed=1)
    assert told.classes is None
    assert told.buckets == 4
    assert "4 buckets" in str(told)


def test_rows_that_are_generalized_separately_have_no_risk_by_classes_even_if_asked() -> None:
    """(2,2)-anonymous: every person matches two rows, every row two people, but no two rows are alike."""
    people = pl.DataFrame({"age": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    rows = pl.DataFrame({"age": ["[1, 2]", "[1, 3]", "[2, 4]", "[3, 4]"], "s": ["x", "y", "x", "y"]})
    asked = {"quasi": ["age"], "sensitive": ["s"], "k": 2, "notion": "k-k"}
    found = shoal.audit(rows, **asked, original=people, measures=["unique-after"])
    assert found.holds
    assert found.measures["unique-after"] != found.measures["unique-after"]
    assert any("risk-prosecutor-max" in note and "who can be found" in note for note in found.notes)


def test_the_record_of_a_bucket_release_belongs_to_it() -> None:
    asked = wanted("anatomy")
    made = shoal.anonymize(PEOPLE, **asked, seed=1)
    told = shoal.report(
        made.table, **asked, original=PEOPLE, second=made.second, record=made.record, edition="private"
    )
    assert "may be the record of another release" not in told.html
    fewer = dict(made.record) | {"buckets": 3}
    with pytest.raises(shoal.DataError, match="a release of 3 buckets"):
        shoal.report(
            made.table, **asked, original=PEOPLE, second=made.second, record=fewer, edition="private"
        )


def test_part_sizes_are_buckets_or_classes() -> None:
    policy = shoal.Policy.from_keywords(**ASKED, k=2)
    case = read_case(Received(PEOPLE, original=PEOPLE), policy)
    assert case.published.part_sizes.tolist() == [2] * 8
    assert case.published.rows_intact


def test_a_measure_that_cannot_be_known_of_a_release_has_no_value() -> None:
    """The size of a class of shuffled rows does not say who can be found, so it is no risk to compare releases by."""
    policy = shoal.Policy.from_keywords(**ASKED, method={"name": "slicing", "k": 8}, l={"slicing": 1.5})
    case = read_case(Received(shoal.anonymize(PEOPLE, policy, seed=1), PEOPLE), policy)
    unknown = [name for name, kind in MEASURES.items() if kind.needs.classes]
    assert "risk-prosecutor-max" in unknown
    for name in unknown:
        assert MEASURES[name]().why_unknown(case)
        assert math.isnan(MEASURES[name]().value(case)), name
