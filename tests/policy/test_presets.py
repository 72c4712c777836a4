"""Presets: each is a valid policy, and does what its name says."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

import shoal
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.policy.suggestions.presets import PRESETS, with_preset

ROLES = {"age": "quasi", "sex": "quasi", "disease": "sensitive", "name": "identifier", "note": "plain"}


def policy(**roles: str) -> Policy:
    columns = {name: {"role": role} for name, role in {**ROLES, **roles}.items()}
    return Policy.from_dict(
        {"columns": columns, "privacy": {"k": 2, "t": {"equal": 0.3}}, "utility": {"suppression": 0.5}}
    )


def people(rows: int = 240) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + row % 60 for row in range(rows)],
            "sex": ["f" if row % 2 else "m" for row in range(rows)],
            "disease": [f"d{row % 7}" for row in range(rows)],
            "name": [f"n{row}" for row in range(rows)],
            "note": ["x"] * rows,
        }
    )


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_valid_policy_of_its_own_that_a_release_satisfies(name):
    made = with_preset(policy(), name)
    assert made.privacy.t is None  # nothing of the former promise is left
    assert made.utility.suppression == PRESETS[name].suppression
    result = shoal.anonymize(people(), made)
    assert result.holds
    # A table without sensitive columns can have it, too.
    plain = Policy.from_keywords(quasi=["age", "sex"], plain=["disease"], k=2)
    assert with_preset(plain, name).privacy.values_by_key.keys() == PRESETS[name].privacy.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_says_what_it_means_and_where_it_comes_from(name):
    preset = PRESETS[name]
    assert preset.name == name
    assert preset.title
    assert f"{with_preset(policy(), name).requirements().k} rows" in preset.means
    assert preset.source.endswith(".")


def test_open_data_keeps_the_risk_below_5_percent_and_research_below_20():
    for name, risk, values in (("open-data", 0.05, 3), ("research", 0.2, 2)):
        made = with_preset(policy(), name)
        assert 1 / made.requirements().k <= risk
        rows = shoal.anonymize(people(), made).table
        groups = rows.group_by("age", "sex").agg(pl.len(), pl.col("disease").n_unique().alias("values"))
        assert groups["len"].min() >= 1 / risk
        assert groups["values"].min() >= values


def test_presets_ask_of_each_sensitive_column_for_what_suits_it():
    table = people().with_columns(rare=pl.Series([int(row % 40 == 0) for row in range(240)]))
    given = policy(rare="sensitive")
    for name, values in (("open-data", 3), ("research", 2)):
        made = with_preset(given, name, table=table)
        found = {
            (one.column, one.rule): one.value for one in made.privacy.requirements if one.column is not None
        }
        assert found == {("disease", "distinct"): values, ("rare", "equal"): 0.2}
    assert with_preset(given, "ema-0070", table=table).privacy.l is None


def test_ema_uses_the_smallest_group_that_stays_below_its_threshold():
    k = with_preset(policy(), "ema-0070").requirements().k
    assert 1 / k <= 0.09 < 1 / (k - 1)


def test_safe_harbor_says_what_every_column_is():
    given = policy(
        birthDate="quasi", zip_code="quasi", city="plain", visited="sensitive", state="quasi", year="quasi"
    )
    types = {"visited": pl.Date(), "birthDate": pl.Date(), "zip_code": pl.String(), "age": pl.Int64()}
    first = date.today().year - 89
    expected = {
        "name": ("identifier", "identifier", None),
        "city": ("drop", "identifier", None),
        "zip_code": ("quasi", "zip", {"mask": "right", "show": 3, "small": ["036"]}),
        "birthDate": ("quasi", "birth", {"dates": ["year", "decade"], "finest": "year", "bottom": first}),
        "visited": ("quasi", "date", {"dates": ["year", "decade"], "finest": "year"}),
        "age": ("quasi", "age", {"top": 90}),
        **dict.fromkeys(("sex", "state", "year"), ("quasi", "other", None)),
        "disease": ("sensitive", "other", None),
        "note": ("plain", "other", None),
    }
    after, reasons = PRESETS["safe-harbor"].apply_to(given.to_dict(), types, ["036"])
    found = {
        name: (entry["role"], entry["safe_harbor"], entry.get("hierarchy"))
        for name, entry in after["columns"].items()
    }
    assert found == expected
    assert set(reasons) == {"city", "zip_code", "birthDate", "visited", "age"}
    assert Policy.from_dict(after).privacy.k == 5
    # Again, it changes nothing; another preset leaves nothing of it but the hierarchies.
    again, none = PRESETS["safe-harbor"].apply_to(after, types)
    assert (again, none) == (after, {})
    other = PRESETS["research"].apply_to(after, types)[0]
    assert not any("safe_harbor" in entry for entry in other["columns"].values())


def test_safe_harbor_takes_the_safe_way_if_something_is_not_known():
    given = policy(zip="quasi", plz="quasi", admission="quasi", birth="quasi")
    types = {"zip": pl.String(), "plz": pl.Int64(), "admission": pl.String(), "birth": pl.Int64()}
    after, reasons = PRESETS["safe-harbor"].apply_to(given.to_dict(), types)
    assert {name: after["columns"][name]["role"] for name in ("zip", "plz", "admission", "birth")} == {
        "zip": "drop", "plz": "drop", "admission": "drop", "birth": "quasi"
    }  # fmt: skip
    assert "give the list" in reasons["zip"]
    assert "read them as text" in reasons["plz"]
    assert after["columns"]["birth"]["safe_harbor"] == "birth"


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(PolicyError, match="ema-0070"):
        with_preset(policy(), "emma")
