"""An audit of a written release says what `anonymize` said of it: in every format, for models about a population."""

from __future__ import annotations

import datetime as dt
from random import Random
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import DatabaseTable
from shoal.io import FORMATS
from shoal.io.formats.format import FileFormat
from shoal.pipeline.anonymize import anonymize_file
from shoal.release.published_types import restore_type

ROWS, PEOPLE = 24, 60
POPULATION: dict[str, Any] = {"column": "member"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "k-map": {"privacy": {"k_map": 3}, "population": POPULATION, "method": {"name": "mondrian"}},
    "k-map, value sets": {
        "privacy": {"k_map": 3},
        "population": POPULATION,
        "method": {"name": "lexicographic", "show": "sets"},
    },
    "k-map by size": {
        "privacy": {"k_map": 3},
        "population": {"size": 90},
        "method": {"name": "hilbert", "show": "sets"},
    },
    "risk of the population": {
        "privacy": {"risk": {"highest": 0.4, "by": "journalist"}},
        "population": POPULATION,
        "method": {"name": "agglomerative"},
    },
    "presence": {
        "privacy": {"presence": [0, 0.9]},
        "population": POPULATION,
        "method": {"name": "mpalm"},
    },
}


def people() -> pl.DataFrame:
    """Everybody who could be in the table, in columns of all types that formats write in ways of their own."""
    random = Random(4)
    day = dt.date(2020, 1, 1)
    return pl.DataFrame(
        {
            "smokes": [random.random() < 0.5 for _ in range(PEOPLE)],
            "age": [random.randint(20, 29) for _ in range(PEOPLE)],
            "weight": [random.choice([0.5, 61.0, 70.25]) for _ in range(PEOPLE)],
            "seen": [day + dt.timedelta(days=random.randint(0, 9)) for _ in range(PEOPLE)],
            "ill": [random.random() < 0.5 for _ in range(PEOPLE)],
            "paid": [random.random() < 0.5 for _ in range(PEOPLE)],
            "member": [row < ROWS for row in range(PEOPLE)],
        }
    )


QUASI = {"k-map": ("smokes",), "presence": ("smokes", "age")}
"""The quasi-identifiers of a question: with few of them, a column shows its own values."""


def _is_written(kind: Any) -> bool:
    """Whether Shoal writes this format by itself, and what it needs is installed."""
    as_file = isinstance(kind, FileFormat) and not kind.is_folder and bool(kind.suffixes)
    return (kind.is_database or as_file) and not kind.what_to_install(writing=True)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", [name for name in FORMATS if _is_written(FORMATS[name]())])
def test_an_audit_agrees_with_the_verdicts_of_anonymize(name, question, tmp_path, request):
    kind = FORMATS[name]()
    asked = QUESTIONS[question]
    table = people()
    if "size" in asked["population"]:
        table = table[:ROWS].drop("member")
    table.write_parquet(tmp_path / "in.parquet")
    quasi = QUASI.get(question, ("smokes", "age", "weight", "seen"))
    roles = {name: {"role": "quasi"} for name in quasi} | {"ill": {"role": "sensitive"}}
    roles |= {name: {"role": "plain"} for name in table.columns if name not in (*roles, "member")}
    policy = shoal.Policy.from_dict({"columns": roles, **asked})
    if kind.is_database:
        url = (
            request.getfixturevalue("server").url if name == "postgresql" else f"{name}:///{tmp_path}/out.db"
        )
        output: Any = DatabaseTable(url, "released")
    else:
        output = tmp_path / f"out{next(iter(kind.suffixes))}"
    made = anonymize_file(tmp_path / "in.parquet", policy, output, seed=1, force=True)
    for record in (None, made.record):
        found = shoal.audit(output, policy, original=tmp_path / "in.parquet", record=record)
        own = {verdict.model: (verdict.reached, verdict.holds) for verdict in found.verdicts}
        assert found.holds, found.failing
        assert {verdict.model: own[verdict.model] for verdict in made.verdicts} == {
            verdict.model: (verdict.reached, verdict.holds) for verdict in made.verdicts
        }


@pytest.mark.parametrize("values", [[0, 1, None], [1.0, 0.0], [1]])
def test_zero_and_one_are_booleans_where_the_original_has_booleans(values):
    found = restore_type(pl.Series("a", values), pl.Boolean())
    assert found.to_list() == [None if value is None else bool(value) for value in values]


def test_other_numbers_are_not():
    assert restore_type(pl.Series("a", [0, 1, 2]), pl.Boolean()).dtype == pl.Int64
