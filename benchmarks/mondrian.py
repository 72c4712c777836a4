"""Mondrian: time and loss of its options, on Adult and on the census sample of 1,000,000 (or so many) rows."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.data import adult, census
from benchmarks.timing import best, head, row, seconds
from shoal.coding.columns import Columns
from shoal.coding.hierarchy import build
from shoal.judging.models import MODELS
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.requirements import Requirements
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.support.run import Run


def without_trees(table):
    """The same table with every column as ordered codes; any range of codes may be published."""
    attributes = []
    codes = table.quasi.wide.copy(order="F")
    for j, attribute in enumerate(table.attributes):
        present, codes[:, j] = np.unique(codes[:, j], return_inverse=True)
        attributes.append(replace(attribute, hierarchy=build(pl.Series(np.arange(len(present))))))
    return replace(table, quasi=Columns.of(attributes, codes))


def lm(table, release):
    """Mean share of the domain that a cell shows, by leaves."""
    sizes = np.array([max(attribute.hierarchy.size - 1, 1) for attribute in table.attributes])
    return float(((release.high - release.low) / sizes)[release.region_of].mean())


def measure(name, table, k=5, method=None, models=(), times=7):
    """Print one line; return the shortest time."""
    wanted = Requirements(models=(KAnonymity(k=k), *models))
    method = method or Mondrian()
    best(lambda: method.anonymize(table, wanted, Run.start(1)), 1)
    taken, release = best(lambda: method.anonymize(table, wanted, Run.start(1)), times)
    row(name, k, seconds(taken), f"{len(release.low):,} classes, LM {lm(table, release):.4f}")
    return taken


def main():
    """Print a table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    head("work", "k", "best time", "result")
    trees = adult()
    for name, table in (("Adult, trees", trees), ("Adult, free ranges", without_trees(trees))):
        for k in (5, 10):
            for strict in (True, False):
                for choose in ("gain", "width"):
                    options = f"{'strict' if strict else 'relaxed'}, by {choose}"
                    measure(f"{name}, {options}", table, k, Mondrian(strict=strict, choose=choose))
    table = adult(sensitive=("occupation",))
    plain = measure("Adult, 8 columns", table)
    extra = {
        "distinct-l": {"l": 3},
        "entropy-l": {"l": 3},
        "recursive-cl": {"c": 3, "l": 3},
        "t-equal": {"t": 0.3},
    }
    for name, options in extra.items():
        taken = measure(
            f"Adult, 8 columns, {name} {options}",
            table,
            models=[MODELS[name](column=0, column_name="occupation", **options)],
            times=3,
        )
        print(f"  {taken / plain:.1f}x plain k")
    for name, with_trees in (("no trees", False), ("trees", True)):
        table = census(rows, trees=with_trees)
        measure(f"census {rows:,} x 8, {name}", table, times=3)


if __name__ == "__main__":
    main()
