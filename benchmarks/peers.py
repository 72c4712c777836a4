"""Other Python tools beside Shoal, in this process, on the same table and requirement: Adult, k = 5."""

from __future__ import annotations

import time

import pandas as pd
import polars as pl

import shoal
from benchmarks.data import ADULT_COLUMNS, adult_file
from benchmarks.timing import head, row, seconds

TREES = {name: adult_file(name) for name in ADULT_COLUMNS}


def adult_frame():
    return pl.read_csv(adult_file(), separator=";").to_pandas()


def anjana(frame):
    """Full-domain generalization by anjana, whose hierarchies are arrays per level."""
    from anjana.anonymity import k_anonymity

    trees = {}
    for name in ADULT_COLUMNS:
        lines = [line.split(";") for line in adult_file(name).read_text().splitlines()]
        values = [int(line[0]) if name == "age" else line[0] for line in lines]
        table = pd.DataFrame([[value, *line[1:]] for value, line in zip(values, lines, strict=True)])
        trees[name] = {level: table[level].to_numpy() for level in table.columns}
    return k_anonymity(frame.copy(), [], list(ADULT_COLUMNS), 5, 0, trees)


def anonypyx(frame):
    """Mondrian by anonypyx."""
    import anonypyx as tool

    coded = frame.copy()
    for name in ADULT_COLUMNS:
        if name != "age":
            coded[name] = coded[name].astype("category")
    made = tool.Anonymiser(
        coded,
        k=5,
        algorithm="Mondrian",
        feature_columns=list(ADULT_COLUMNS[:-1]),
        sensitive_column="salary-class",
        generalisation_strategy="human-readable",
    )
    return made.anonymise()


def ours(method):
    def work(frame):
        return shoal.anonymize(frame, quasi=ADULT_COLUMNS, k=5, method=method, hierarchies=TREES).table

    return work


def table():
    """Seconds from frame to frame. A tool that is not installed, or fails, is said to be so."""
    print()
    head("tool, Adult, k = 5, from a pandas frame to a pandas frame", "", "seconds", "")
    tools = {
        "shoal mondrian": ours("mondrian"),
        "anonypyx Mondrian (8 quasi-identifiers)": anonypyx,
        "shoal full-domain": ours("full-domain"),
        "anjana (full-domain)": anjana,
    }
    frame = adult_frame()
    for name, work in tools.items():
        try:
            if name.startswith("shoal"):
                work(frame)
            start = time.perf_counter()
            work(frame)
            row(name, "", seconds(time.perf_counter() - start))
        except ImportError as error:
            row(name, "", "-", f"not installed ({error.name})")
        except Exception as error:  # other people's tools may fail in any way
            row(name, "", "-", f"failed: {type(error).__name__}: {str(error)[:80]}")


if __name__ == "__main__":
    table()
