"""Spark against the local engine: the same table and policy, releases compared row by row as multisets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.spark.unsupported import by_classes
from shoal.judging.models import MODELS, GroupModel
from shoal.methods import METHODS
from shoal.policy import Policy

pytestmark = pytest.mark.xdist_group("spark")

QUASI = ["age", "zip", "sex"]
DETERMINED = {"mondrian", "full-domain", "incognito"}
"""Methods whose release follows from the table, whatever the order of its rows."""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    random = np.random.default_rng(18)
    n = 600
    zips = random.integers(0, 40, n)
    age = [None if random.random() < 0.02 else int(random.integers(18, 60)) for _ in range(n)]
    return pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": age,
            "zip": [f"{zip_:03d}" for zip_ in zips],
            "sex": random.choice(["f", "m"], n),
            "disease": random.choice(
                ["flu", "cold", "asthma", "gout", "angina"], n, p=[0.3, 0.3, 0.2, 0.1, 0.1]
            ),
            "stay": random.integers(1, 9, n),
        }
    )


@pytest.fixture(scope="module")
def place(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spark") / "people.parquet"
    people.write_parquet(path)
    return path


def policy(method: str, part_rows: int = 200, **asked) -> Policy:
    options = {"show": "ranges"} if method in ("hilbert", "lexicographic") else {}
    base = {
        "quasi": QUASI,
        "sensitive": ["disease"],
        "identifier": ["name"],
        "plain": ["stay"],
        "hierarchies": {
            "zip": {"mask": "right"},
            **({"disease": DISEASES} if asked.pop("tree", False) else {}),
        },
        "method": {"name": method, **options},
        "k": 3,
    }
    made = Policy.from_keywords(**{**base, **asked})
    return made.override([f"engine.part_rows={part_rows}", "engine.name=spark"])


ASKED = {
    "k-anonymity": {},
    "distinct-l": {"l": {"distinct": 3}},
    "probabilistic-l": {"l": {"probabilistic": 2}},
    "entropy-l": {"l": {"entropy": 2}},
    "recursive-cl": {"l": {"recursive": [2.0, 2]}},
    "t-equal": {"t": {"equal": 0.4}},
    "t-ordered": {"t": {"ordered": 0.3}, "sensitive": ["stay"], "plain": ["disease"]},
    "t-hierarchical": {"t": {"hierarchical": 0.4}, "tree": True},
    "beta-likeness": {"beta": 2.0},
    "delta-disclosure": {"delta": {"present": 1.5}},
    "alpha-k": {"alpha": 0.6},
    "k-e": {"ke": [2, 2.0], "sensitive": ["stay"], "plain": ["disease"]},
    "p-sensitive": {"p": 2},
    "extended-p-sensitive": {"p": 2, "tree": True, "protected": {"disease": ["lungs"]}},
    "highest-risk": {"risk": {"highest": "1/7"}},
    "generalization-limit": {"limits": {"zip": 2}, "suppression": 0.2},
    "hidden-values": {
        "hierarchies": {"age": {"widths": [10], "top": 60}, "zip": {"mask": "right", "show": 2}}
    },
}
"""How a policy asks for each model that Spark can judge."""

DISEASES = {"tree": {"lungs": ["flu", "cold", "asthma"], "others": ["gout", "angina"]}}


def locally(policy: Policy) -> Policy:
    return Policy.from_dict({name: part for name, part in policy.to_dict().items() if name != "engine"})


def rows_of(table) -> pl.DataFrame:
    if not isinstance(table, pl.DataFrame):
        table = pl.from_arrow(table.toArrow())
    texts = table.select(pl.all().cast(pl.String))
    return texts.sort(texts.columns)


def compared(spark, place: Path, chosen: Policy) -> tuple[shoal.Result, shoal.Result]:
    there = shoal.anonymize(spark.read.parquet(str(place)), chosen)
    here = shoal.anonymize(place, locally(chosen))
    return there, here


def check_same(there: shoal.Result, here: shoal.Result) -> None:
    assert rows_of(there.table).equals(rows_of(here.table))
    assert there.verdicts == here.verdicts
    # Where values are hidden, the cluster does not know how many rows were alone before.
    known = {name: value for name, value in there.measures.items() if value == value}
    assert known.keys() >= here.measures.keys() - {"unique-before"}
    assert known == pytest.approx({name: here.measures[name] for name in known})
    assert there.losses == pytest.approx(here.losses)
    assert (there.rows, there.suppressed, there.classes) == (here.rows, here.suppressed, here.classes)
    for key in ("rows_published", "share_suppressed_at_most", "classes", "levels", "columns", "guarantees"):
        assert there.card[key] == here.card[key], key
    assert there.card["measures"] == pytest.approx(here.card["measures"])
    assert any("loss" in column for column in there.card["columns"])


def check_valid(there: shoal.Result, place: Path, chosen: Policy) -> None:
    """The release is a release of the same table: the local engine audits its rows next to the original."""
    assert there.holds
    table = pl.from_arrow(there.table.toArrow())
    audit = shoal.audit(table, locally(chosen), original=place)
    assert audit.holds, [verdict for verdict in audit.verdicts if not verdict.holds]
    assert "truthful" in [verdict.model for verdict in audit.verdicts]
    assert audit.measures == pytest.approx({name: there.measures[name] for name in audit.measures})
    assert (audit.rows, audit.suppressed, audit.classes) == (there.rows, there.suppressed, there.classes)


METHOD_NAMES = [name for name, kind in METHODS.items() if by_classes(kind)]


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_method_that_works_by_classes(spark, place: Path, method: str):
    asked = {"p": 2} if "p-k" in method else {}
    if method in ("full-domain", "incognito"):
        asked["suppression"] = 0.1
    chosen = policy(method, **asked)
    if method in DETERMINED:
        check_same(*compared(spark, place, chosen))
    else:
        check_valid(shoal.anonymize(spark.read.parquet(str(place)), chosen), place, chosen)


def test_every_model_that_spark_can_judge_is_asked_for():
    able = {
        name for name, kind in MODELS.items() if issubclass(kind, GroupModel) or kind.asked_in == "columns"
    }
    able -= {name for name, kind in MODELS.items() if kind.readings == "any"}
    assert able == set(ASKED)


@pytest.mark.parametrize("model", ASKED)
@pytest.mark.parametrize("method", ["mondrian", "full-domain"])
def test_every_model_by_a_method_whose_release_is_determined(spark, place: Path, method: str, model: str):
    asked = {"suppression": 0.1, **ASKED[model]}
    check_same(*compared(spark, place, policy(method, **asked)))
