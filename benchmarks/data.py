"""The tables that are measured: Adult (from the folder SHOAL_DATA) and the census sample, as codes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shoal import frames
from shoal.samples import sample
from shoal.table.encode import encode
from shoal.table.plan import ColumnPlan

DATA = Path(os.environ.get("SHOAL_DATA", "../shared/data"))
SHIPPED = Path(sys.modules["shoal"].__file__).parent / "samples" / "data"

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
        ColumnPlan(name, "sensitive" if name in sensitive else "quasi", adult_file(name))
        for name in ADULT_COLUMNS
    ]
    return encode(frames.read(adult_file()), plans)


def census(rows, columns=8, *, trees=False, sensitive=()):
    """The first columns of the census sample; free ranges, or the hierarchies that ship with it."""

    def spec(name):
        if not trees or name == "gender":
            return None
        return {"widths": [5, 10, 20]} if name == "age" else SHIPPED / f"census_{name}.csv"

    plans = [ColumnPlan(name, "quasi", spec(name)) for name in CENSUS_COLUMNS[:columns]]
    plans += [ColumnPlan(name, "sensitive") for name in sensitive]
    return encode(sample("census", rows), plans)
