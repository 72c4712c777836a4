"""Starter policies, unedited: information loss (LM) of hierarchies that mean something, and of those that lose least.

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
from shoal.policy.suggestions.number_bands import bands

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


def with_least_loss(policy, data):
    """Return the policy with irregular bands for numbers and codes, and groups by the alphabet for texts."""
    columns = policy.to_dict()["columns"]
    for name, column in columns.items():
        spec, values = column.get("hierarchy"), data[name]
        regular = isinstance(spec, dict) and not {"mask", "dates"} & set(spec)
        if column["role"] == "quasi" and values.n_unique() > 3 and (regular or spec == "none"):
            column["hierarchy"] = bands(values) if values.dtype.is_numeric() else "auto"
    return Policy.from_dict({**policy.to_dict(), "columns": columns})


def main():
    """Print the table."""
    head("table", "LM, as proposed", "LM, irregular bands and alphabetical groups")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in tables(Path(folder)):
            policy = shoal.suggest(path)
            data = shoal.io.read(path, policy.read_options()).data
            losses = [
                shoal.anonymize(path, own, seed=1).measures["lm"]
                for own in (policy, with_least_loss(policy, data))
            ]
            print(f"| {name} | {losses[0]:.1%} | {losses[1]:.1%} |", flush=True)


if __name__ == "__main__":
    main()
