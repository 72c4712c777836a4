"""The p-k clusterings: Adult with three sensitive columns, and how time grows with the rows of the census sample.

Run as ``python -m benchmarks.p_sensitive [rows ..]``; rows are those of the census sample.
"""

from __future__ import annotations

import sys

import polars as pl

from benchmarks.data import ADULT_COLUMNS, SHIPPED, adult_file, census
from benchmarks.timing import best, head, row, seconds
from shoal.apps.samples import sample
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode
from shoal.coding.roles import QUASI, SENSITIVE
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.support.run import Run

SECRETS = ("education", "education-num", "occupation")


def adult(rows=None):
    """Adult with six quasi-identifiers and three sensitive columns; the third tells how the first is numbered."""
    data = pl.read_csv(adult_file(), separator=";", infer_schema=False)
    data = data.sample(rows, seed=1) if rows else data
    data = data.with_columns(
        pl.col("age").cast(pl.Int64), pl.col("education").rank("dense").alias("education-num")
    )
    quasi = [name for name in ADULT_COLUMNS if name not in (*SECRETS, "salary-class")]
    plans = [ColumnPlan(name, QUASI, None if name == "age" else adult_file(name)) for name in quasi]
    return encode(data, plans + [ColumnPlan(name, SENSITIVE) for name in SECRETS])


def people(rows):
    """The census sample with six quasi-identifiers and three sensitive columns."""
    plans = [ColumnPlan("age", QUASI, {"widths": [5, 10, 20]}), ColumnPlan("gender", QUASI)]
    plans += [
        ColumnPlan(name, QUASI, SHIPPED / f"census_{name}.csv")
        for name in ("marital", "race", "workclass", "country")
    ]
    plans += [ColumnPlan(name, SENSITIVE) for name in ("education", "occupation", "salary")]
    return encode(sample("census", rows, seed=1), plans)


def measure(name, table, target, times):
    for p in (3, 10):
        wanted = Requirements(models=(KAnonymity(k=10), PSensitive(p=p)))
        for method in ("greedy-p-k", "enhanced-p-k"):
            taken, release = best(
                lambda m=method, w=wanted: METHODS[m]().anonymize(table, w, Run.start(1)), times
            )
            note = f"{release.facts['clusters']:,} of {release.facts['most_clusters']:,} classes"
            row(f"{name}, p = {p}, {method}", target, seconds(taken), note)


def main(sizes):
    head("work, k = 10", "target", "measured", "note")
    wanted = Requirements(models=(KAnonymity(k=10), PSensitive(p=2)))
    METHODS["p-k"]().anonymize(adult(1_000), wanted, Run.start(1))
    measure("Adult, 10,000 rows", adult(10_000), "1 s", 5)
    measure("Adult, all rows", adult(), "6 s", 3)
    for rows in sizes:
        measure(f"census, {rows:,} rows, 6 + 3 columns", people(rows), "60 s" if rows == 100_000 else "", 1)
    largest = max(sizes)
    table = census(largest, trees=True, sensitive=("salary",))
    measure(f"census, {largest:,} rows, 8 + 1 columns", table, "60 s" if largest == 100_000 else "", 1)


if __name__ == "__main__":
    main([int(rows) for rows in sys.argv[1:]] or [12_500, 25_000, 50_000, 100_000])
