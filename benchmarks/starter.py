"""Starter policies, unedited: information loss (LM) with bands of equal widths and by the distribution.

Run as ``python -m benchmarks.starter``. Adult and CMC need SHOAL_DATA.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from benchmarks.data import adult_file
from benchmarks.timing import head
from shoal.apps.samples import SAMPLES, sample
from shoal.policy import Policy
from shoal.policy.suggestions.number_bands import even_widths

ROWS = 10_000


def tables(folder):
    """Yield the name and the file of each table."""
    for name in SAMPLES:
        sample(name, ROWS).write_csv(folder / f"{name}.csv")
        yield f"{name} sample, {ROWS:,} rows", folder / f"{name}.csv"
    random = np.random.default_rng(5)
    amounts = pl.DataFrame(
        {"age": random.integers(18, 90, 3000), "amount": random.lognormal(7.2, 1.1, 3000).round(2)}
    )
    amounts.write_csv(folder / "amounts.csv")
    yield "skewed amounts, 3,000 rows", folder / "amounts.csv"
    cmc = adult_file().parents[1] / "cmc" / "cmc.csv"
    for name, path in (("Adult", adult_file()), ("CMC", cmc)):
        if path.is_file():
            yield name, path


def with_widths(policy, data):
    """Return the policy with bands of equal widths where it has cuts."""
    columns = policy.to_dict()["columns"]
    for name, column in columns.items():
        if isinstance(column.get("hierarchy"), dict) and "cuts" in column["hierarchy"]:
            column["hierarchy"] = even_widths(data[name])
    return Policy.from_dict({**policy.to_dict(), "columns": columns})


def main():
    """Print the table."""
    head("table", "LM, bands of equal widths", "LM, bands by the distribution")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in tables(Path(folder)):
            policy = shoal.suggest(path)
            data = shoal.io.read(path, policy.read_options()).data
            losses = [
                shoal.anonymize(path, own, seed=1).measures["lm"]
                for own in (with_widths(policy, data), policy)
            ]
            print(f"| {name} | {losses[0]:.1%} | {losses[1]:.1%} |", flush=True)


if __name__ == "__main__":
    main()
