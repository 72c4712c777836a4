"""The shipped samples, small, with policies to try things on, and how an outsider reads releases of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.apps.samples import sample
from tests.oracles import outsider

DATA = Path(shoal.__file__).parent / "apps" / "samples" / "data"
TAG = "tag"
"""A plain column that numbers the people, so that a published row tells whose it is."""


@dataclass(frozen=True)
class Sampled:
    """A sample, what an outsider knows of its columns, and the policy that ships with it."""

    name: str
    quasi: tuple[str, ...]
    sensitive: str

    def frame(self, rows: int, seed: int = 1) -> pl.DataFrame:
        """Return the first columns that matter, and who is who."""
        return drawn(self.name, rows, seed).select(*self.quasi, self.sensitive, pl.int_range(rows).alias(TAG))

    def policy(self, privacy: dict[str, Any], method: dict[str, Any], **more: Any) -> shoal.Policy:
        """Return the policy of the sample with other requirements, another method, perhaps protected nodes of the
        sensitive column and limits of quasi-identifiers.
        """
        base = shoal.Policy.read(DATA / f"{self.name}.toml")
        raw = base.to_dict()
        columns = {name: raw["columns"][name] for name in (*self.quasi, self.sensitive)}
        protected, limits = more.pop("protected", None), more.pop("limits", None) or {}
        if protected:
            columns[self.sensitive] = {**columns[self.sensitive], "protected": protected}
        columns |= {name: {**columns[name], "limit": limit} for name, limit in limits.items()}
        parts = {"columns": {**columns, TAG: {"role": "plain"}}, "privacy": privacy, "method": method}
        return shoal.Policy.from_dict({**parts, **more}, base.base)

    def read(self, made: shoal.Result, original: pl.DataFrame, population: Any = None) -> outsider.Reading:
        """Read a release as an outsider does."""
        return outsider.read(
            made.table,
            original,
            {column: names(self.name)[column] for column in self.quasi},
            self.sensitive,
            names(self.name)[self.sensitive],
            order(self.name, self.sensitive),
            second=made.second,
            population=population,
            together=made.card.get("shuffled_together"),
        )


drawn = cache(sample)
"""A sample is drawn once, and frames do not change."""


@cache
def names(sample_name: str) -> dict[str, outsider.Names]:
    """Column -> the names under which its values may be published, by the shipped files and policies."""
    files = {path.stem: outsider.tree_names(path) for path in DATA.glob(f"{sample_name}_*.csv")}
    found: dict[str, Any] = {
        stem.removeprefix(f"{sample_name}_"): tree.__getitem__ for stem, tree in files.items()
    }
    return found | {
        "age": outsider.interval_names(5, 10, 20),
        "birth_date": outsider.date_names("month", "quarter", "year", "decade"),
        "gender": outsider.flat_names,
        "sex": outsider.flat_names,
        "salary": outsider.flat_names,
    }


def order(sample_name: str, column: str) -> Any:
    """How values of a column are ordered: numbers as numbers, others as their file lists them."""
    path = DATA / f"{sample_name}_{column}.csv"
    return list(outsider.tree_names(path)).index if path.exists() else float


def small_table(rows: int, seed: int) -> pl.DataFrame:
    """Return random people: two quasi-identifiers, and a sensitive column of four values, some of them rare."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "town": random.choice(["Ulm", "Bonn", "Kiel"], rows),
            "ill": random.choice(["flu", "cold", "ulcer", "gout"], rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


PATIENTS = Sampled("patients", ("birth_date", "sex", "zip"), "diagnosis")
CENSUS = Sampled("census", ("age", "gender", "education"), "salary")
