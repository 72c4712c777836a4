"""Four generators of synthetic tables, of known order of risk."""

from __future__ import annotations

import numpy as np
import polars as pl

LEAF = 20
"""Training rows in a leaf of a tree, at least."""


def population(rows: int, seed: int) -> pl.DataFrame:
    """People whose columns depend on each other; numbers have few values, so that many people share them."""
    random = np.random.default_rng(seed)
    age = np.clip(random.normal(45, 15, rows), 18, 90).round().astype(int)
    town = random.choice(["Alm", "Bode", "Celle", "Dorn", "Eutin"], rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    school = random.choice(["none", "school", "college", "phd"], rows, p=[0.1, 0.5, 0.35, 0.05])
    skill = np.select([school == "none", school == "school", school == "college"], [0, 1, 2], 3)
    job = np.where(
        random.random(rows) < 0.6,
        np.char.add("job", skill.astype(str)),
        random.choice(["clerk", "cook"], rows),
    )
    hours = np.clip(random.normal(38 - 4 * (age > 60), 8, rows), 5, 80).round().astype(int)
    pay = np.clip(20 * age + 600 * skill + random.normal(0, 300, rows), 100, None).round(-1).astype(int)
    ill = random.choice(["none", "flu", "asthma", "cancer"], rows, p=[0.6, 0.25, 0.1, 0.05])
    return pl.DataFrame(
        {"age": age, "town": town, "school": school, "job": job, "hours": hours, "pay": pay, "ill": ill}
    )


def bootstrap(train: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Training rows, drawn with replacement: nothing is protected."""
    return train[np.random.default_rng(seed).integers(0, len(train), rows)]


def copies_with_noise(train: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """The same with noise on numbers (5 % of the range), and one category in ten replaced."""
    random = np.random.default_rng(seed)
    found = bootstrap(train, rows, seed)
    columns = []
    for column in found:
        if column.dtype.is_numeric():
            values = train[column.name].to_numpy()
            noisy = column.to_numpy() + random.normal(0, 0.05 * (values.max() - values.min()), rows)
            columns.append(
                pl.Series(column.name, np.clip(noisy, values.min(), values.max()).round().astype(int))
            )
        else:
            other = train[column.name].gather(random.integers(0, len(train), rows))
            columns.append(column.zip_with(pl.Series(random.random(rows) > 0.1), other).alias(column.name))
    return pl.DataFrame(columns)


def trees(train: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """One tree per column, on the columns before it; values are drawn from the training rows of a leaf."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    random = np.random.default_rng(seed)
    codes = {name: train[name].rank("dense").to_numpy().astype(np.float64) for name in train.columns}
    names = train.columns
    made = {names[0]: random.integers(0, len(train), rows)}  # which training row each value is from
    for at, name in enumerate(names[1:], start=1):
        known = np.column_stack([codes[one] for one in names[:at]])
        shown = np.column_stack([codes[one][made[one]] for one in names[:at]])
        kind = DecisionTreeRegressor if train[name].dtype.is_numeric() else DecisionTreeClassifier
        tree = kind(min_samples_leaf=LEAF, random_state=seed).fit(known, codes[name])
        leaf_of, wanted = tree.apply(known), tree.apply(shown)
        order = np.argsort(leaf_of, kind="stable")
        first = np.searchsorted(leaf_of[order], wanted, side="left")
        last = np.searchsorted(leaf_of[order], wanted, side="right")
        made[name] = order[first + (random.random(rows) * (last - first)).astype(int)]
    return pl.DataFrame({name: train[name].gather(made[name]) for name in names})


def shuffled_marginals(train: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Each column by itself: only the values themselves remain."""
    random = np.random.default_rng(seed)
    return pl.DataFrame(
        {name: train[name].gather(random.integers(0, len(train), rows)) for name in train.columns}
    )


GENERATORS = {
    "bootstrap": bootstrap,
    "copies with noise": copies_with_noise,
    "trees": trees,
    "shuffled marginals": shuffled_marginals,
}
"""From the largest risk to the smallest."""
