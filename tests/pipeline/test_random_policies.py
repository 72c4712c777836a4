"""Random policies with rules about a population or about risk: a release, or an error that says why not."""

from __future__ import annotations

import random

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.policy import Policy

METHODS = (
    "full-domain",
    "incognito",
    "hybrid",
    "hybrid-mondrian",
    "mondrian",
    "forest",
    "relocate",
    "hilbert",
)
RISKS = (
    {"highest": 0.4, "by": "journalist"},
    {"average": 0.4, "by": "journalist"},
    {"share": 0.2, "above": 0.4, "by": "journalist"},
    {"highest": 0.5},
    {"average": 0.4},
)
CASES = range(100, 200)
"""Five of them failed when a search did not have the rows of its classes."""


def people(chosen: random.Random, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "who": [chosen.randrange(2 * rows) for _ in range(rows)],
            "a": [chosen.randrange(8) for _ in range(rows)],
            "b": [chosen.choice("xyz") for _ in range(rows)],
            "s": [chosen.choice("pqrst") for _ in range(rows)],
        }
    )


def case(number: int) -> tuple[dict[str, object], pl.DataFrame, pl.DataFrame | None]:
    chosen = random.Random(number)
    table = people(chosen, chosen.choice((8, 20, 40)))
    privacy: dict[str, object] = {"k": 2} if chosen.random() < 0.5 else {}
    utility: dict[str, object] = {}
    among = chosen.random()
    if among < 0.7:
        privacy["k_map"] = chosen.choice((2, 3, 5))
    if among > 0.6:
        privacy["risk"] = chosen.choice(RISKS)
    if chosen.random() < 0.3:
        privacy["l"] = {"distinct": 2}
    if chosen.random() < 0.3:
        utility["suppression"] = chosen.choice((0.1, 0.5))
    if chosen.random() < 0.6:
        utility["levels"] = "uniform"
    elif chosen.random() < 0.3:
        utility["suppress"] = "cells"
    policy: dict[str, object] = {
        "columns": {
            "who": {"role": "person" if chosen.random() < 0.2 else "drop"},
            "a": {"role": "quasi", "hierarchy": {"widths": [2, 4]}},
            "b": {"role": "quasi"},
            "s": {"role": "sensitive"},
        },
        "privacy": privacy,
        "utility": utility,
        "method": {"name": chosen.choice(METHODS)},
    }
    if chosen.random() < 0.3:
        policy["population"] = {"size": chosen.choice((1, 5)) * table.height}
        return policy, table, None
    others = people(chosen, chosen.choice((5, 100)))
    return policy, table, pl.concat([table, others]).select("a", "b")


@pytest.mark.parametrize("first", CASES[::20])
def test_rules_about_people_are_kept_or_refused_with_a_reason(first):
    made = 0
    for number in range(first, first + 20):
        policy, table, population = case(number)
        try:
            shoal.anonymize(table, Policy.from_dict(policy), population=population, seed=1)
        except ShoalError:
            continue
        made += 1
    assert made
