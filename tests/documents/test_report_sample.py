"""The section of a private report about the table as a sample; the public edition has nothing of it."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from tests.coding.test_survey_weights import POLICY, ROWS, table

SECRETS = ("SUDA", "Pitman", "Zayatz", "survey weights (Benedetti", "singles", "single out")


def private(frame, policy, **more):
    made = shoal.anonymize(frame, policy, seed=1)
    found = shoal.report(made, policy, original=frame, edition="private", **more)
    return {section.key: section for section in found.sections}["sample"], made, found


def policy(**more):
    return shoal.Policy.from_dict({**POLICY, **more})


def tables(section):
    return {part.caption: part.rows for part in section.parts if part.kind == "table"}


def words(section):
    return " ".join(part.text for part in section.parts if part.kind == "words")


def test_estimates_risks_and_sets_are_in_the_private_edition_alone():
    frame = table(age=[*range(20, 20 + ROWS // 2), *[20] * (ROWS // 2)])
    asked = policy(population={"size": 900})
    section, made, _ = private(frame, asked)
    found = tables(section)
    estimates = found["Share of rows that are unique in the population, by estimate"]
    assert [row[0] for row in estimates] == ["Pitman", "Zayatz", "SNB", "rule of Dankar and others", "range"]
    assert all(row[1] and row[2] and row[3] for row in estimates)
    assert "no row is unique in the table" in estimates[-1][3]
    zayatz = made.measures["unique-in-population-zayatz-before"]
    assert estimates[1][2] == f"{zayatz:.2%}"
    risks = found["Individual risk by survey weights (Benedetti and Franconi)"]
    assert risks[0][1] == f"{made.measures['risk-individual-max-before']:.2%}"
    assert risks[2][2] == f"{made.measures['risk-individual-expected-after']:,.1f}"
    # Ages 21 to 49 occur once, and nobody else is unique.
    sets = found["Minimal combinations of columns that single people out, in the original"]
    assert sets == [("age", "29", f"{29 / ROWS:.2%}")]
    assert "single out 29 of 60 people" in words(section)
    assert "After: 0 of 60" in words(section)
    public = shoal.report(made, asked, original=frame)
    assert "sample" not in [section.key for section in public.sections]
    assert not [secret for secret in SECRETS if secret in public.html]
    assert not [secret for secret in SECRETS if secret in str(made.card)]


def test_without_a_population_and_weights():
    asked = policy(columns={**POLICY["columns"], "w": "plain"})
    section, _, _ = private(table(), asked)
    assert "not estimated" in words(section)
    assert not [title for title in tables(section) if "Individual" in title]
    # Twelve ages and two towns, five rows or more of each pair that occurs: nobody is singled out.
    assert "single out 0 of 60 people" in words(section)
    assert "Minimal combinations of columns that single people out, in the original" not in tables(section)


@pytest.mark.parametrize("method", ["k-k", "anatomy"])
def test_releases_whose_classes_say_nothing(method):
    privacy = {"k": 3, "notion": "k-k"} if method == "k-k" else {"l": 2}
    asked = policy(method={"name": method}, privacy=privacy, population={"size": 900})
    section, _, _ = private(table(age=[20 + i % 30 for i in range(ROWS)]), asked)
    estimates = tables(section)["Share of rows that are unique in the population, by estimate"]
    assert "does not say who can be found" in estimates[0][3]
    assert "After: not known, because the size of an equivalence class" in words(section)


def test_people_with_several_rows():
    frame = table(who=[i // 2 for i in range(ROWS)]).with_columns(pl.lit("Ulm").alias("town"))
    asked = policy(columns={**POLICY["columns"], "who": "person"}, population={"size": 900})
    section, _, _ = private(frame, asked)
    assert "some people have several rows" in words(section)
    assert "of 30 people" in words(section)
