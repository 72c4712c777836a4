"""The tables that are measured: Adult (from the folder SHOAL_DATA) and the census sample, as codes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import polars as pl

from shoal import io
from shoal.apps.samples import sample
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE

DATA = Path(os.environ.get("SHOAL_DATA", "../shared/data"))
SHIPPED = Path(sys.modules["shoal"].__file__).parent / "apps" / "samples" / "data"

ADULT_COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)
CENSUS_COLUMNS = ("age", "gender", "education", "marital", "race", "workclass", "country", "occupation")


def adult_file(name=None):
    """The table, or the hierarchy of a column."""
    folder = DATA / "adult"
    if not folder.is_dir():
        sys.exit(f"{folder} is not there: set SHOAL_DATA to the folder that holds adult/")
    return folder / (f"adult_hierarchy_{name}.csv" if name else "adult.csv")


def adult(sensitive=()):
    """Adult with its hierarchies; all columns are quasi-identifiers but those named as sensitive."""
    plans = [
        ColumnPlan(name, SENSITIVE if name in sensitive else QUASI, adult_file(name))
        for name in ADULT_COLUMNS
    ]
    return encode(io.read(adult_file()), plans)


def _tree(name):
    """The hierarchy of a column of the census sample that ships with it."""
    if name == "gender":
        return None
    return {"widths": [5, 10, 20]} if name == "age" else SHIPPED / f"census_{name}.csv"


def census(rows, columns=8, *, trees=False, sensitive=()):
    """The first columns of the census sample; free ranges, or the hierarchies that ship with it."""

    plans = [ColumnPlan(name, QUASI, _tree(name) if trees else None) for name in CENSUS_COLUMNS[:columns]]
    plans += [ColumnPlan(name, SENSITIVE) for name in sensitive]
    return encode(sample("census", rows), plans)


def wide(rows, seed=1):
    """The census sample with sixteen more columns, drawn at random around those it has: 24 quasi-identifiers."""
    table = sample("census", rows)
    random = np.random.default_rng(seed)
    age, salary = table["age"].to_numpy(), table["salary"].to_numpy()
    near = {
        "commute": (random.gamma(2.0, 14.0, rows), {"widths": [5, 15, 60]}),
        "hours": (np.clip(random.normal(38, 9, rows), 0, 90), {"widths": [5, 10, 50]}),
        "weeks": (np.clip(52 - random.gamma(0.6, 8.0, rows), 0, 52), {"widths": [4, 12]}),
        "children": (random.poisson(np.where(age < 30, 0.5, 1.6)), {"widths": [2, 4]}),
        "household": (1 + random.poisson(1.7, rows), {"widths": [2, 4]}),
        "rooms": (2 + random.poisson(2 + salary / 40_000), {"widths": [2, 4]}),
        "cars": (random.poisson(0.4 + salary / 60_000), {"widths": [2]}),
        "rent": (random.lognormal(6.6, 0.5, rows) // 50 * 50, {"widths": [100, 500, 2500]}),
        "debt": (random.lognormal(9, 1.2, rows) // 1000 * 1000, {"widths": [5000, 25_000, 100_000]}),
        "salary": (salary, {"widths": [8000, 24_000, 72_000]}),
        "height": (random.normal(170, 10, rows), {"widths": [5, 10, 30]}),
        "arrived": (np.maximum(2020 - age, 2020 - random.gamma(1.5, 8.0, rows)), {"widths": [5, 10, 40]}),
        "birth_month": (random.integers(1, 13, rows), {"widths": [3, 6]}),
        "district": (random.zipf(1.5, rows) % 64, {"widths": [8, 32]}),
        "insurance": (random.choice(6, rows, p=[0.5, 0.2, 0.15, 0.1, 0.03, 0.02]), {"widths": [2]}),
        "disability": ((random.random(rows) < age / 400).astype(int), {"widths": [2]}),
    }
    columns = {name: pl.Series(name, values.astype(np.int64)) for name, (values, _) in near.items()}
    plans = [ColumnPlan(name, QUASI, _tree(name)) for name in CENSUS_COLUMNS]
    plans += [ColumnPlan(name, QUASI, spec) for name, (_, spec) in near.items()]
    return encode(table.with_columns(**columns), plans)
