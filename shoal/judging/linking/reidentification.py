"""Risk of re-identification: prosecutor, journalist and marketer (El Emam 2013), and uniqueness.

The prosecutor knows that a person is in the release and looks for that person's row. The journalist looks for the row
of anyone in a larger population. The marketer links as many rows as possible. Suppressed rows are not published, so
they are not at risk: shares are shares of the published rows.

Where some people have several rows, people are counted: a person has a part in every class that shows a row of theirs,
and what is said here about rows is said about these parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.followed_people import crowds
from shoal.release.published import Published
from shoal.support.arrays import IntMatrix, LongVector

THRESHOLD = 0.2
"""The usual limit for data released to the public: one in five."""


@dataclass(frozen=True)
class Risk:
    """All risks of one release, for reports. Probabilities of re-identification, 0..1."""

    prosecutor_max: float
    """Of the row in the smallest class."""
    prosecutor_mean: float
    """Averaged over rows."""
    threshold: float
    at_risk: float
    """Share of rows whose prosecutor risk is above the threshold."""
    journalist_max: float
    marketer: float
    """Expected share of rows that are re-identified if the adversary tries all."""
    population_known: bool
    """False if the release itself stands for the population; then journalist and marketer risks are upper bounds."""
    unique_before: float
    """Share of the original's rows whose quasi-identifiers no other row has; NaN without the original."""
    unique_after: float
    """Share of the published rows that are alone in their class."""


def assess(
    published: Published,
    original: CodedTable | None = None,
    *,
    population: LongVector | None = None,
    sizes: LongVector | None = None,
) -> Risk:
    """Assess all risks. `population` is how many people of the population match each class, see
    `population_sizes`, and `sizes` how many people each class has, if not as many as rows. O(classes), plus grouping
    the original.
    """
    sizes = published.sizes if sizes is None else sizes
    rows = max(int(sizes.sum()), 1)
    crowd = sizes if population is None else np.maximum(population, sizes)
    return Risk(
        prosecutor_max=_highest(sizes),
        prosecutor_mean=len(sizes) / rows,
        threshold=THRESHOLD,
        at_risk=share_above(sizes, THRESHOLD),
        journalist_max=_highest(crowd),
        marketer=float((sizes / crowd).sum()) / rows,
        population_known=population is not None,
        unique_before=unique_share(original) if original is not None else float("nan"),
        unique_after=float((sizes == 1).sum()) / rows,
    )


def share_above(sizes: LongVector, threshold: float) -> float:
    """Return the share of rows in classes of these sizes whose prosecutor risk is above a threshold."""
    return float(sizes[1.0 / sizes > threshold].sum()) / max(int(sizes.sum()), 1)


def _highest(sizes: LongVector) -> float:
    return float(1.0 / sizes.min()) if len(sizes) else 0.0


def unique_share(table: CodedTable) -> float:
    """Return the share of rows whose quasi-identifiers no other row has; no other person, if some have several rows.
    If rows can be followed, it is the share of people whose list of rows nobody else has.

    O(rows x quasi-identifiers).
    """
    from shoal.kernels.grouping import distinct

    if table.rows == 0:
        return 0.0
    if not table.counting.adds_up:
        number, first = table.number_rows(as_read=True)
        if table.counting.followed:
            crowd = crowds(number, table.counting.owner)
            return float(np.count_nonzero(np.bincount(crowd) == 1)) / len(crowd)
        parts = distinct(np.asfortranarray(np.column_stack([number, table.counting.owner])))[1]
        return float(np.count_nonzero(np.bincount(number[parts], minlength=len(first)) == 1)) / len(parts)
    if not table.quasi.exact:
        return float(np.count_nonzero(table.alike == 1)) / table.rows
    return float(np.count_nonzero(np.bincount(table.number_rows(as_read=True)[0]) == 1)) / table.rows


def population_sizes(published: Published, population: IntMatrix) -> LongVector:
    """Count the people of a population who match each class, at least as many as the class has rows.

    The population must be coded by the same hierarchies. Its distinct rows are sorted by the column with the
    most values, so each class looks only at the rows within its range there: O(classes x rows) at worst.
    """
    from shoal.kernels.grouping import distinct

    low, high = published.cell_ranges
    if published.sets is not None:
        raise ValueError("people can be counted only if cells are ranges of known codes")
    numbers, first = distinct(population)
    weights = np.bincount(numbers, minlength=len(first)).astype(np.int64)
    rows = population[first]
    if not len(rows) or not rows.shape[1]:
        return np.maximum(published.sizes, len(population) if not rows.shape[1] else 0)
    lead = int(np.argmax([attribute.hierarchy.size for attribute in published.attributes]))
    order = np.argsort(rows[:, lead], kind="stable")
    rows, weights = np.asfortranarray(rows[order]), weights[order]
    begin = np.searchsorted(rows[:, lead], low[:, lead], side="left")
    end = np.searchsorted(rows[:, lead], high[:, lead], side="right")
    fitting = np.zeros(published.classes, np.int64)
    for c in range(published.classes):
        part = rows[begin[c] : end[c]]
        inside = np.ones(len(part), np.bool_)
        for j in range(part.shape[1]):
            inside &= (part[:, j] >= low[c, j]) & (part[:, j] <= high[c, j])
        fitting[c] = weights[begin[c] : end[c]][inside].sum()
    return np.maximum(fitting, published.sizes)
