"""The risk of a table as it is: from Python and from the command line."""

from __future__ import annotations

import json
import stat

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.apps.cli import main
from shoal.judging.linking.individual_risk import individual_risk
from shoal.judging.linking.uniqueness import estimate_uniques
from tests.coding.test_survey_weights import POLICY, table

AGES = [20, 20, 20, 30, 40, 40, 50, 50]
TOWNS = ["a", "a", "b", "b", "a", "a", "a", "b"]
FRAME = pl.DataFrame({"age": AGES, "town": TOWNS, "w": [4.0, 6, 10, 2, 3, 3, 8, 8]})
ASKED = {"quasi": ["age", "town"], "survey_weight": ["w"], "k": 2}


def test_row_by_row():
    """Rows 0 and 1, 4 and 5 are equal; 30 is alone in its age; 20-b, 50-a and 50-b are alone in both columns."""
    found = shoal.assess(FRAME, **ASKED)
    assert found.class_sizes.tolist() == [2, 2, 1, 1, 2, 2, 1, 1]
    # Two columns: one alone counts (2 - 1) times 1, because a factor 0 counts as 1; both count 1.
    assert found.singled_out.scores.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert found.singled_out.fewest.tolist() == [0, 0, 2, 1, 0, 0, 2, 2]
    assert found.columns == ("age", "town")
    assert found.singled_out.contribution.tolist() == [1.0, 0.75]
    alone = individual_risk(np.zeros(1, np.int32), 1, np.array([10.0])).highest
    assert found.individual.of_row[2] == pytest.approx(alone)
    assert found.estimates is None
    assert "size of the population" in found.not_estimated
    assert found.by_row.columns == ["row", "class_size", "individual_risk", "suda_score", "fewest_columns"]
    assert found.by_row["class_size"].to_list() == found.class_sizes.tolist()


def test_estimates_are_those_of_the_sizes():
    asked = shoal.Policy.from_dict({**POLICY, "population": {"size": 500}})
    found = shoal.assess(table(), asked)
    sizes = table().group_by("age", "town").len()["len"].to_numpy()
    assert found.estimates.all == estimate_uniques(sizes, 500).all
    assert shoal.assess(table(), asked).summary()["population"]["people"] == 500


def test_without_weights_and_with_another_size():
    found = shoal.assess(FRAME.drop("w"), quasi=["age", "town"], k=2, size=1)
    assert found.individual is None
    assert "survey weights" in found.no_individual
    assert found.by_row["individual_risk"].null_count() == len(AGES)
    assert [one.columns for one in found.singled_out.sets] == [(0,)]
    assert found.summary()["individual_risk"] == {"unknown": found.no_individual}
    with pytest.raises(shoal.PolicyError, match="size: must be 1 or more, not 0"):
        shoal.assess(FRAME.drop("w"), quasi=["age", "town"], k=2, size=0)


def test_the_command(tmp_path):
    FRAME.write_csv(tmp_path / "data.csv")
    (tmp_path / "policy.toml").write_text(shoal.Policy.from_keywords(**ASKED).to_toml())
    words = ["assess", str(tmp_path / "data.csv"), "-p", str(tmp_path / "policy.toml")]
    done = CliRunner().invoke(
        main, [*words, "--set", "population.size=100", "-o", str(tmp_path / "rows.csv")]
    )
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "4 of 8 rows (50.00%) are unique by all quasi-identifiers" in told
    assert "unique in the population of 100" in told
    assert "4 of 8 people (50.00%) are singled out by at most 2 columns" in told
    assert "3 by age + town" in told
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert rows["class_size"].to_list() == [2, 2, 1, 1, 2, 2, 1, 1]
    assert stat.S_IMODE((tmp_path / "rows.csv").stat().st_mode) == 0o600
    again = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "rows.csv")])
    assert again.exit_code == 6
    plain = CliRunner().invoke(main, [*words, "--json"])
    assert json.loads(plain.output)["singled_out"]["people"] == 4
    assert json.loads(plain.output)["population"] == {
        "unknown": "needs the size of the population: [population] size = .. in the policy"
    }
    wrong = CliRunner().invoke(main, [*words, "--set", "population.size=7"])
    assert wrong.exit_code != 0
    assert "8" in wrong.output


def test_people_who_can_be_followed_are_counted_once():
    """Two visits each, with one pseudonym: a class is the people who show the same rows."""
    visits = pl.DataFrame(
        {
            "who": [i // 2 for i in range(40)],
            "age": [30 + i % 2 + 10 * (i // 8 % 2) for i in range(40)],
            "ill": ["flu", "cold"] * 20,
        }
    )
    asked = shoal.Policy.from_dict(
        {
            "columns": {
                "who": {"role": "person", "publish": "pseudonym"},
                "age": "quasi",
                "ill": "sensitive",
            },
            "privacy": {"k": 2},
            "population": {"size": 900},
        }
    )
    # People 0-3, 8-11 and 16-19 show 30 and 31, people 4-7 and 12-15 show 40 and 41.
    found = shoal.assess(visits, asked)
    assert found.estimates.all == estimate_uniques(np.array([12, 8]), 900).all
    assert found.estimates.rows == 20
    made = shoal.anonymize(visits, asked, seed=1)
    assert made.measures["unique-in-population-zayatz-after"] == 0
    assert found.individual is None
    odd = visits.with_columns(
        pl.when(pl.col("who") == 19).then(pl.col("age") + 40).otherwise(pl.col("age")).alias("age")
    )
    alone = shoal.assess(odd, asked)
    assert alone.estimates.uniques == 1
    assert alone.singled_out.people == 1
    assert alone.singled_out.of == 20
