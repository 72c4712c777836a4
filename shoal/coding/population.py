"""The population: everybody who could be in a table. A release may have to hide who of them is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.coding import CodedTable, Context
from shoal.coding.column_plan import ColumnPlan
from shoal.errors import DataError, PolicyError, Problem, did_you_mean
from shoal.support.arrays import BoolVector, IntMatrix, IntVector
from shoal.support.wording import either

if TYPE_CHECKING:
    import polars as pl

    from shoal.io import Frame


def how_to_name() -> str:
    """Say how to tell who could be in the table."""
    own = '[population] with file = ".." or column = ".." in the policy'
    return own + either(command="; `shoal attack` also takes --population", python=", or population=..")


def how_to_count() -> str:
    """Say how to tell who, or how many people, could be in the table."""
    own = '[population] with file = "..", column = ".." or size = .. in the policy'
    return own + either(command="", python=", or population=..")


def members_of(frame: Frame, column: str) -> BoolVector:
    """Read a membership column: true and false, 1 and 0, or yes and no."""
    import polars as pl

    if column not in frame.columns:
        hint = did_you_mean(column, frame.columns)
        raise PolicyError([Problem("population.column", f"the table has no column '{column}'", hint)])
    text = frame.column(column).cast(pl.String).str.to_lowercase()
    yes, no = text.is_in(["true", "1", "yes", "y"]), text.is_in(["false", "0", "no", "n"])
    if not (yes | no).fill_null(False).all():
        raise DataError(
            f"column '{column}' must say who is in the table, but some of its cells are neither true nor false"
        )
    if not yes.any():
        raise DataError(f"column '{column}' says that nobody is in the table: it is false in every row")
    return np.asarray(yes.to_numpy(), np.bool_)


def check_size(size: int, people: int) -> None:
    """Refuse a population that is smaller than the table."""
    if size < people:
        message = f"is {size:,}, but the table alone has {people:,} people"
        hint = "it must count everybody who could be in the table, those in it included"
        raise PolicyError([Problem("population.size", message, hint)])


def encode_both(rows: pl.DataFrame, people: pl.DataFrame, plans: Sequence[ColumnPlan]) -> CodedTable:
    """Code the table and the population with the same hierarchies."""
    import polars as pl

    from shoal.coding.encode import encode

    quasi = [plan for plan in plans if plan.role.generalized]
    missing = [plan.name for plan in quasi if plan.name not in people.columns]
    if missing:
        hint = did_you_mean(missing[0], people.columns)
        raise DataError(f"the population has no column '{missing[0]}' ({hint})")
    stacked = {}
    for plan in quasi:
        above, below = rows[plan.name], people[plan.name]
        if above.dtype != below.dtype and not (above.dtype.is_numeric() and below.dtype.is_numeric()):
            above, below = above.cast(pl.String), below.cast(pl.String)
        stacked[plan.name] = pl.concat(
            [above.to_frame(), below.to_frame()], how="vertical_relaxed"
        ).to_series()
    coded = encode(pl.DataFrame(stacked), quasi)
    rest = encode(rows, [plan for plan in plans if not plan.role.generalized])
    population = np.asfortranarray(coded.quasi.wide[rows.height :])
    table = replace(
        rest,
        quasi=coded.quasi.take(np.arange(rows.height)),
        columns=tuple(
            plan.name for name in rows.columns for plan in plans if plan.name == name and not plan.is_removed
        ),
        context=Context(population=population, population_size=len(population)),
    )
    outside = strangers(table)
    if outside:
        raise DataError(
            f"{outside:,} of {table.rows:,} rows of the table do not match enough people in the population of "
            f"{len(population):,}: the population must contain everybody in the table"
        )
    return table


def population_of(table: CodedTable) -> IntMatrix:
    """Return the people of the population, or raise an error if it is missing."""
    if table.context.population is None:
        raise PolicyError(
            [Problem("population", "is missing: Shoal must know who could be in the table", how_to_name())]
        )
    return table.context.population


def strangers(table: CodedTable) -> int:
    """Return how many rows of the table have no person of their own in the population. O(people)."""
    people, inside = count_with_population(table)[1:]
    return int(np.maximum(inside - people, 0).sum())


def count_with_population(table: CodedTable) -> tuple[IntVector, IntVector, IntVector]:
    """Return the distinct tuples of population and table, with the number of people and of rows of each."""
    from shoal.kernels.grouping import distinct

    everyone = population_of(table)
    both = np.asfortranarray(np.concatenate([everyone, table.quasi.wide]))
    number, first = distinct(both)
    count = len(first)
    people = np.bincount(number[: len(everyone)], minlength=count)
    inside = np.bincount(number[len(everyone) :], minlength=count)
    return both[first], people.astype(np.int32), inside.astype(np.int32)
