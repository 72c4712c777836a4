"""The role `weight`: published as it is, checked before the work, and read for the individual risk."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.coding.survey_weights import read_weights
from shoal.errors import DataError, PolicyError
from shoal.policy.suggestions import look_at

ROWS = 60
POLICY = {
    "columns": {"age": "quasi", "town": "quasi", "ill": "sensitive", "w": "weight"},
    "privacy": {"k": 3},
}


def table(**columns):
    return pl.DataFrame(
        {
            "age": [20 + i % 12 for i in range(ROWS)],
            "town": ["Ulm" if i % 3 else "Bonn" for i in range(ROWS)],
            "ill": [["flu", "cold"][i % 2] for i in range(ROWS)],
            "w": [1.5 + i % 7 for i in range(ROWS)],
            **columns,
        }
    )


def policy(**more):
    return shoal.Policy.from_dict({**POLICY, **more})


def test_weights_are_published_as_they_are():
    made = shoal.anonymize(table(), policy(), seed=1)
    assert made.table.columns == ["age", "town", "ill", "w"]
    assert sorted(made.table["w"]) == sorted(table()["w"])
    assert {entry["name"]: entry["published"] for entry in made.card["columns"]}["w"] == "as it is"
    names = ("risk-individual-max-before", "risk-individual-expected-after")
    assert all(made.measures[name] > 0 for name in names)
    # Nothing about them is public.
    assert not any(name.startswith(("risk-individual", "unique-in")) for name in made.card["measures"])


def test_an_audit_reads_them_from_the_release(tmp_path):
    made = shoal.anonymize(table(), policy(), seed=1)
    path = tmp_path / "release.csv"
    made.table.write_csv(path)
    alone = shoal.audit(path, policy())
    known = shoal.audit(path, policy(), original=table())
    for name in ("max", "mean", "expected"):
        figure = made.measures[f"risk-individual-{name}-after"]
        assert alone.measures[f"risk-individual-{name}-after"] == pytest.approx(figure)
        assert known.measures[f"risk-individual-{name}-after"] == pytest.approx(figure)
        assert f"risk-individual-{name}-before" not in alone.measures
    without = shoal.audit(made.table.drop("w"), policy(), original=table())
    assert "risk-individual-max-after" not in without.measures
    assert any("shows no survey weights" in note for note in without.notes)


@pytest.mark.parametrize(
    "cells",
    [
        [0.0] + [1.0] * (ROWS - 1),
        [None] + [1.0] * (ROWS - 1),
        [-2.0] + [1.0] * (ROWS - 1),
        [math.inf] + [1.0] * (ROWS - 1),
        ["many"] + ["1"] * (ROWS - 1),
        [True] * ROWS,
    ],
)
def test_what_is_no_weight_is_refused(cells):
    with pytest.raises(
        DataError, match=r"column 'w' holds survey weights, but .* of 60 are empty, 0, negative"
    ):
        shoal.anonymize(table(w=cells), policy())


def test_weights_may_be_text_or_whole_numbers():
    found, wrong = read_weights(pl.Series("w", ["1.5", "2", None, "x", "-1"]))
    assert found[:2].tolist() == [1.5, 2.0]
    assert wrong == 3
    assert shoal.anonymize(table(w=[str(1 + i % 4) for i in range(ROWS)]), policy()).measures[
        "risk-individual-max-before"
    ]


def test_mistakes_in_the_policy():
    columns = {**POLICY["columns"], "v": "weight", "w": {"role": "weight", "hierarchy": "auto", "weight": 2}}
    with pytest.raises(PolicyError) as error:
        policy(columns=columns)
    text = str(error.value)
    assert "columns.w.hierarchy: goes with quasi and sensitive columns, but the column is weight" in text
    assert "columns.w.weight: goes with quasi-identifiers, but the column is weight" in text
    assert "second column of survey weights" in text


def test_keywords_and_options(tmp_path):
    made = shoal.Policy.from_keywords(quasi=["age", "town"], sensitive=["ill"], survey_weight="w", k=3)
    assert made == policy()
    table().write_csv(tmp_path / "data.csv")
    files = ["anonymize", str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.csv")]
    roles = ["--quasi", "age,town", "--sensitive", "ill", "--survey-weight", "w"]
    done = CliRunner().invoke(main, [*files, *roles, "--k", "3", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["measures"]["risk-individual-max-before"] > 0


def test_people_with_several_rows_are_refused():
    whose = [i // 2 for i in range(ROWS)]
    made = shoal.anonymize(
        table(who=whose), policy(columns={**POLICY["columns"], "who": "person"}, population={"size": 500})
    )
    assert not any(name.startswith("risk-individual") for name in made.measures)
    assert not any(name.startswith("unique-in-population") for name in made.measures)
    audit = shoal.audit(
        made, policy(columns={**POLICY["columns"], "who": "person"}), original=table(who=whose)
    )
    assert any("some people have several rows" in note for note in audit.notes)


def test_a_weight_is_no_quasi_identifier():
    """Rows that differ in their weights alone are in one class."""
    same = table(age=[30] * ROWS, town=["Ulm"] * ROWS)
    made = shoal.anonymize(same, policy(), seed=1)
    assert made.classes == 1
    assert made.measures["lm"] == 0


def test_rare_weights_are_told():
    few = table(w=[3.0] * (ROWS - 2) + [7.5, 7.5])
    told = "2 of 60 published rows have a survey weight that fewer than 3 rows share"
    made = shoal.anonymize(few, policy(), seed=1)
    assert any(told in note for note in made.notes)
    assert any(told in note for note in shoal.audit(made.table, policy()).notes)
    many = shoal.anonymize(table(w=[3.0] * ROWS), policy(), seed=1)
    assert not any("survey weight" in note for note in many.notes)


def test_starter_policies_guess_by_names_that_mean_nothing_else():
    """A weight of a body is none, and weights that few people share would identify them."""
    for name, role in (
        ("PWGTP", "weight"),
        ("llcpwt", "weight"),
        ("sample_weight", "quasi"),
        ("weight", "quasi"),
    ):
        guess = next(one for one in look_at(table().rename({"w": name})).columns if one.name == name)
        assert guess.role == role
        assert (name == "sample_weight") == ("role weight" in guess.advice)
    rare = table(w=[1000.0 + 7 * row for row in range(ROWS)]).rename({"w": "fnlwgt"})
    guess = next(one for one in look_at(rare).columns if one.name == "fnlwgt")
    assert (guess.role, "role weight" in guess.advice) == ("quasi", True)
    both = table().rename({"w": "PWGTP"}).with_columns(WGTP=pl.col("PWGTP"))
    assert {one.name: one.role for one in look_at(both).columns if "WGTP" in one.name} == {
        "PWGTP": "weight",
        "WGTP": "drop",
    }


def test_releases_are_not_ranked_by_what_nobody_can_know():
    for measure, missing in (
        ("risk-individual-mean-after", "needs survey weights"),
        ("unique-in-population-snb-after", "needs the size of the population"),
    ):
        with pytest.raises(PolicyError, match=f"utility.measure: '{measure}' {missing}"):
            shoal.Policy.from_keywords(quasi=["age"], k=3, method="auto", measure=measure)
    asked = {"survey_weight": ["w"], "population": {"size": 900}}
    for measure in ("risk-individual-mean-after", "unique-in-population-snb-after"):
        assert shoal.Policy.from_keywords(quasi=["age"], k=3, method="auto", measure=measure, **asked)
