"""The population as a number: `[population] size`."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.errors import PolicyError
from shoal.judging.read_case import Received, read_case
from shoal.policy import Policy

ROWS = pl.DataFrame({"age": [31, 32, 33, 34, 41, 42], "who": ["a", "a", "b", "c", "d", "e"]})
ROLES = {"quasi": ["age"], "drop": ["who"]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "is empty: give a file, a column or a size"),
        ({"file": "a.csv", "size": 9}, "has file and size"),
        ({"column": "a", "size": 9}, "has column and size"),
        ({"size": 9, "table": "people"}, "has a size and a table of a database"),
        ({"size": 0}, "1"),
        ({"size": 2.5}, "whole"),
        ({"size": "many"}, "many"),
    ],
)
def test_a_population_is_a_file_a_column_or_a_size(given, told):
    with pytest.raises(PolicyError, match=told):
        Policy.from_keywords(quasi=["age"], k=2, population=given)


def test_a_size_is_written_and_set():
    policy = Policy.from_toml(
        '[columns]\nage = "quasi"\n[privacy]\nk = 2\n[population]\nsize = 9_000_000\n', name="p"
    )
    assert policy.population_size == 9_000_000
    assert Policy.from_toml(policy.to_toml()) == policy
    assert policy.override(["population.size=7"]).population_size == 7


def test_a_size_below_the_number_of_people_is_told_before_the_work():
    with pytest.raises(PolicyError, match="is 5, but the table alone has 6 people"):
        shoal.anonymize(ROWS, Policy.from_keywords(k=2, population={"size": 5}, **ROLES))


def test_a_size_counts_people_where_they_have_several_rows():
    roles = {"quasi": ["age"], "person": ["who"]}
    policy = Policy.from_keywords(k=2, population={"size": 5}, **roles)
    assert shoal.anonymize(ROWS, policy).table.height == 6
    smaller = Policy.from_keywords(k=2, population={"size": 4}, **roles)
    with pytest.raises(PolicyError, match="is 4, but the table alone has 5 people"):
        shoal.anonymize(ROWS, smaller)


def test_a_case_knows_the_size_with_and_without_the_original():
    policy = Policy.from_keywords(k=2, population={"size": 50}, **ROLES)
    release = shoal.anonymize(ROWS, policy).table
    assert read_case(Received(release), policy).population_size == 50
    assert read_case(Received(release, original=ROWS), policy).population_size == 50
    assert shoal.audit(release, policy, original=ROWS).holds
    small = Policy.from_keywords(k=2, population={"size": 5}, **ROLES)
    with pytest.raises(PolicyError, match="is 5"):
        read_case(Received(release), small)


def test_a_table_of_the_population_says_its_size():
    policy = Policy.from_keywords(k=2, **ROLES)
    release = shoal.anonymize(ROWS, policy).table
    everybody = pl.concat([ROWS, ROWS, ROWS])
    assert read_case(Received(release, original=ROWS, population=everybody), policy).population_size == 18
    assert read_case(Received(release, original=ROWS), policy).population_size is None


def test_presence_needs_more_than_a_size():
    policy = Policy.from_keywords(presence=[0, 0.5], method="mpalm", population={"size": 50}, **ROLES)
    with pytest.raises(PolicyError, match="needs a table of the population"):
        shoal.anonymize(ROWS, policy)
