"""Explanations: each cost is what a run of the relaxed policy loses less, and no record is in them."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.apps.cli import main
from shoal.apps.samples import write_sample
from shoal.pipeline.explanation import Cost, Explanation
from shoal.pipeline.explanation.relaxations import relaxations


def people(rows: int = 80) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (i * 7) % 41 for i in range(rows)],
            "city": [("Rome", "Oslo", "Bern", "Lima")[(i * i) % 4] for i in range(rows)],
            "disease": [("flu", "cold", "gout", "mumps")[(i * 3 + i // 7) % 4] for i in range(rows)],
        }
    )


ASKED = {"quasi": ["age", "city"], "sensitive": ["disease"]}


def cost(found: Explanation, what: str) -> Cost:
    return next(cost for cost in found.costs if cost.what == what)


# --- one step less ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("privacy", "what", "before", "after"),
    [
        ({"k": 10}, "k", "10", "5"),
        ({"k": 3}, "k", "3", "2"),
        ({"k": 2, "l": {"distinct": 3}}, "k", "2", "none"),
        ({"k": 5, "l": 3}, "distinct l", "3", "2"),
        ({"k": 5, "l": 2}, "distinct l", "2", "none"),
        ({"k": 5, "l": {"disease": {"entropy": 2.5}}}, "entropy l of disease", "2.5", "1.5"),
        ({"k": 5, "l": {"recursive": [2.0, 3]}}, "recursive l", "(2, 3)", "(2, 2)"),
        ({"k": 5, "t": {"equal": 0.2}}, "equal t", "0.2", "0.3"),
        ({"k": 5, "t": {"disease": {"equal": 0.8}}}, "equal t of disease", "0.8", "1"),
        ({"k": 5, "p": 3}, "p", "3", "2"),
        ({"k": 5, "p": {"disease": 2}}, "p of disease", "2", "none"),
        ({"k": 5, "alpha": 0.5}, "alpha", "0.5", "0.75"),
        ({"k": 5, "alpha": 0.9}, "alpha", "0.9", "none"),
        ({"k": 5, "t": {"equal": 0}}, "equal t", "0", "none"),
        ({"k": 5, "relocation": {"budget": 0.1, "alpha": 0.05}}, "relocation budget", "0.1", "0.2"),
        ({"k": 5, "relocation": {"budget": 0.1, "alpha": 0.05}}, "relocation alpha", "0.05", "0.025"),
    ],
)
def test_each_requirement_is_relaxed_by_one_sensible_step(
    privacy: dict[str, object], what: str, before: str, after: str
) -> None:
    policy = shoal.Policy.from_keywords(**ASKED, **privacy)  # type: ignore[arg-type]
    found = {relaxed.what: relaxed for relaxed in relaxations(policy) if relaxed.kind == "requirement"}
    assert (found[what].before, found[what].after) == (before, after)
    # Nothing else is touched.
    changed = found[what].policy.to_dict()
    for part in ("columns", "utility", "method"):
        assert changed[part] == policy.to_dict()[part]
    others = set(policy.privacy.values_by_key) - set(what.split(" of ")[0].split())
    for key in others:
        assert getattr(found[what].policy.privacy, key) == getattr(policy.privacy, key)


def test_a_policy_without_its_only_requirement_is_none() -> None:
    policy = shoal.Policy.from_keywords(**ASKED, k=2, notion="k-k")
    assert "k" not in [relaxed.what for relaxed in relaxations(policy)]


def test_limits_are_taken_off_and_their_nodes_are_not_named() -> None:
    tree = {"South": ["Rome", "Lima"], "North": ["Oslo", "Bern"]}
    policy = shoal.Policy.from_keywords(
        **ASKED,
        k=3,
        hierarchies={"city": {"tree": tree}},
        limits={"city": ["South", "North"]},
        suppression=0.1,
    )
    found = {relaxed.what: relaxed for relaxed in relaxations(policy)}
    assert found["limit of city"].words == "limit of city: 2 nodes → none"
    assert found["limit of city"].policy.columns["city"].limit is None
    assert found["suppression"].after == "0.2"
    assert found["age"].policy.columns["age"].role == "plain"


# --- what it costs ----------------------------------------------------------------------------------------


def test_costs_are_the_losses_of_the_relaxed_policies() -> None:
    found = shoal.explain(people(), **ASKED, k=8, l={"distinct": 3}, seed=1)
    whole = shoal.anonymize(people(), **ASKED, k=8, l={"distinct": 3}, seed=1).measures["lm"]
    less_k = shoal.anonymize(people(), **ASKED, k=4, l={"distinct": 3}, seed=1).measures["lm"]
    assert found.loss == pytest.approx(whole)
    assert cost(found, "k").loss == pytest.approx(less_k)
    assert cost(found, "k").won == pytest.approx(whole - less_k)
    # Age as it is loses nothing, and counts as one of two columns.
    only_city = shoal.anonymize(
        people(), quasi=["city"], plain=["age"], sensitive=["disease"], k=8, l={"distinct": 3}, seed=1
    )
    assert cost(found, "age").loss == pytest.approx(only_city.measures["lm"] / 2)
    assert cost(found, "age").kind == "column"
    assert cost(found, "method").after == "agglomerative"
    best = found.best()
    assert all(one.won > 0 for one in best)
    # First what weakens no requirement, then weaker requirements, last columns as they are; the best of each first.
    order = {"method": 0, "requirement": 1, "column": 2}
    ranks = [(0 if one.what == "suppression" else order[one.kind], -one.won) for one in best]
    assert ranks == sorted(ranks)
    said = str(found)
    assert said.index("Without weakening a requirement") < said.index("With a weaker requirement")
    assert said.index("With a weaker requirement") < said.index(
        "With a column that nothing protects any more"
    )
    assert said.index("With a column that") < said.rindex("age published as it is")


def test_costs_are_told_in_the_measure_of_the_policy() -> None:
    by_dm = {**ASKED, "k": 8, "method": "full-domain", "measure": "dm"}
    found = shoal.explain(people(), **by_dm, seed=1)
    assert found.measure == "dm"
    assert found.loss == shoal.anonymize(people(), **by_dm, seed=1).measures["dm"]
    # These steer no method, but auto ranks releases by them.
    auto = {**ASKED, "k": 8, "method": {"name": "auto", "methods": ["mondrian"]}}
    many = shoal.explain(people(), **auto, measure="classes", seed=1)
    # More classes are better, so a gain is an increase.
    assert cost(many, "k").won == cost(many, "k").loss - many.loss > 0
    assert shoal.explain(people(), **auto, measure="query-error", seed=1).measure == "lm"


def test_a_limit_that_costs_is_found_out() -> None:
    tree = {"South": ["Rome", "Lima"], "North": ["Oslo", "Bern"]}
    asked = {**ASKED, "k": 5, "hierarchies": {"city": {"tree": tree}}}
    found = shoal.explain(people(), **asked, limits={"city": 0}, seed=1)
    free = shoal.anonymize(people(), **asked, seed=1).measures["lm"]
    assert cost(found, "limit of city").loss == pytest.approx(free)


@given(st.integers(2, 12), st.integers(2, 4), st.integers(0, 3))
@settings(max_examples=10)
def test_the_same_seed_gives_the_same_words(k: int, l: int, seed: int) -> None:  # noqa: E741
    asked = {**ASKED, "k": k, "l": {"distinct": l}, "method": "ring", "notion": "probabilistic-k"}
    first, second = (str(shoal.explain(people(40), **asked, seed=seed)) for _ in range(2))
    assert first == second


# --- what cannot be ---------------------------------------------------------------------------------------


def test_an_impossible_policy_is_explained_by_what_would_make_it_possible() -> None:
    found = shoal.explain(people(), **ASKED, k=5, l={"distinct": 5}, seed=1)
    assert not found.feasible
    text = str(found)
    assert "No release of these 80 rows by mondrian satisfies the policy" in text
    assert "distinct 5-diversity of disease" in text
    # There are four diseases, so one step is enough, and k is not what stands in the way.
    assert cost(found, "distinct l").loss is not None
    assert cost(found, "distinct l").won is None
    assert cost(found, "k").loss is None
    assert found.best()[0].what == "distinct l"
    assert "1. distinct l: 5 → 4 (a release with loss" in text
    assert re.search(r"k: 5 → 2 +no release either", text)


def test_a_k_that_cannot_be_is_explained_by_its_reason() -> None:
    found = shoal.explain(people(), **ASKED, k=1000, seed=1)
    assert not found.feasible
    assert found.best() == []
    assert re.search(r"What would help\s+No single step that Shoal tried .* the reason above", str(found))
    assert "80 rows" in str(found).split("\n\n")[0]


def test_buckets_are_counted_as_such() -> None:
    found = shoal.explain(people(), **ASKED, l={"distinct": 2}, method="bucketization", seed=1)
    assert found.buckets is not None
    assert f"80 rows, in {found.buckets} buckets by bucketization" in str(found)
    assert found.summary()["buckets"] == found.buckets


def test_time_that_is_up_leaves_the_rest_untried() -> None:
    start = time.monotonic()
    found = shoal.explain(people(), **ASKED, k=5, seconds=1e-9)
    assert found.feasible
    assert {cost.reason for cost in found.costs} == {"not tried: no time left"}
    assert "not tried: no time left" in str(found)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"seed": -1}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(shoal.PolicyError, match="must be"):
        shoal.explain(people(), **ASKED, k=5, **wrong)  # type: ignore[arg-type]


def test_no_value_of_the_table_is_in_the_words() -> None:
    table = people().with_columns(city=pl.col("city") + "-town", disease=pl.col("disease") + "-illness")
    tree = {"South": ["Rome-town", "Lima-town"], "North": ["Oslo-town", "Bern-town"]}
    found = shoal.explain(
        table,
        **ASKED,
        k=5,
        l={"distinct": 2},
        hierarchies={"city": {"tree": tree}},
        limits={"city": ["South", "North"]},
    )
    said = str(found) + json.dumps(found.summary())
    assert "-town" not in said
    assert "-illness" not in said


def test_what_auto_chose_is_what_is_explained() -> None:
    asked = {**ASKED, "k": 5}
    method = {"name": "auto", "methods": ["mondrian", "agglomerative"]}
    found = shoal.explain(people(), **asked, method=method, seed=1)
    assert found.method in ("mondrian", "agglomerative")
    assert "auto chose" in str(found)
    assert found.choice.startswith(f"auto chose {found.method}")


# --- the command ------------------------------------------------------------------------------------------


def test_the_command_tells_it_in_words_and_as_json(tmp_path: Path) -> None:
    write_sample("patients", 300, tmp_path / "patients.csv")
    asked = ["explain", str(tmp_path / "patients.csv"), "-p", str(tmp_path / "patients.toml"), "--seed", "1"]
    run = CliRunner().invoke
    said = run(main, asked)
    assert said.exit_code == 0, said.output
    for heading in (
        "Why this method",
        "What each requirement costs",
        "What each column costs",
        "What would help",
    ):
        assert heading in said.output
    told = json.loads(run(main, [*asked, "--json"]).output)
    assert told["feasible"] is True
    assert {cost["what"] for cost in told["costs"]} >= {"k", "distinct l", "suppression", "zip", "method"}
    no = run(main, [*asked, "--set", "privacy.l.distinct=200"])
    assert no.exit_code == 4
    assert "No release of these 300 rows" in no.output
