"""The analyses that `[utility]` names: their spelling, the file of a workload, and both in the codes of a table."""

from __future__ import annotations

import datetime as dt
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, model_validator

from shoal.coding.roles import CODED, PLAIN, QUASI, SENSITIVE
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.policy.problems import explain_errors, format_path
from shoal.policy.section import Number, Part, Text, wrong
from shoal.policy.toml import load_toml
from shoal.support.arrays import BoolVector
from shoal.support.machine.files import read_text
from shoal.support.wording import format_value

if TYPE_CHECKING:
    from shoal.coding import Attribute, CodedTable
    from shoal.coding.hierarchy import Hierarchy
    from shoal.coding.purpose import Condition, Query
    from shoal.policy.column_section import Column
    from shoal.policy.policy import Policy
    from shoal.policy.sections import Utility

EXAMPLE = '[[query]] with where = { age = { from = 30, to = 45 }, sex = "Female" }'
PUBLISHED = (QUASI, SENSITIVE, PLAIN)


# --- spelling ---------------------------------------------------------------------------------------------


def _formula(value: Any) -> Any:
    """Read ``outcome ~ one + other``."""
    if not isinstance(value, str):
        return value
    outcome, sign, rest = value.partition("~")
    names = [name.strip().strip("`").strip() for name in (outcome, *rest.split("+"))]
    if not sign or not all(names):
        raise wrong(f"{format_value(value)} is not a formula", 'for example "income ~ age + sex"')
    return {"outcome": names[0], "on": names[1:]}


class Regression(Part):
    """A regression that analysts will run on the release."""

    outcome: Text
    """The column that is explained: a number, or one with two values."""
    on: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The columns that explain it."""

    @model_validator(mode="after")
    def _differ(self) -> Regression:
        twice = [name for name in self.on if self.on.count(name) > 1 or name == self.outcome]
        if twice:
            raise wrong(f"'{twice[0]}' is there twice", "name each column once")
        return self


Formula = Annotated[
    Regression,
    BeforeValidator(_formula),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "outcome": {"type": "string"},
                        "on": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    },
                    "required": ["outcome", "on"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
"""A text such as ``income ~ age + sex``, or a table."""


class AskedQuery(Part):
    """One query of a workload."""

    name: Text | None = None
    """What the report calls it."""
    weight: Annotated[Number, Field(gt=0)] = 1.0
    """How much it counts."""
    where: dict[Text, Any] = Field(default_factory=dict)
    """Column -> a value, a list of values, or ``{ from = .., to = .. }``; all must hold."""
    sum: Text | None = None
    """Ask for the sum of this column instead of the number of rows."""
    mean: Text | None = None
    """Ask for the mean of this column."""

    @model_validator(mode="after")
    def _asks(self) -> AskedQuery:
        if self.sum is not None and self.mean is not None:
            raise wrong("asks for a sum and a mean", "write two queries")
        if not self.where and self.sum is None and self.mean is None:
            raise wrong("asks nothing: every release has all rows or says how many are missing", EXAMPLE)
        return self

    @property
    def mistakes(self) -> list[str]:
        """What is wrong with its conditions, whatever the columns hold."""
        checked = {name: _find_mistake(value) for name, value in self.where.items()}
        return [f"{name}: {why}" for name, why in checked.items() if why]

    @property
    def columns(self) -> list[str]:
        """All columns that it names."""
        return [*self.where, *(name for name in (self.sum, self.mean) if name is not None)]


def _find_mistake(value: Any) -> str:
    """Return what is wrong with a condition, whatever its column holds."""
    if isinstance(value, Mapping):
        return _find_range_mistake(value)
    one_of = value if isinstance(value, list) else [value]
    if not one_of:
        return "the list has no values"
    if any(isinstance(one, list | dict) for one in one_of):
        return f"must be a value, a list of values, or a range, not {format_value(value)}"
    return ""


def _find_range_mistake(value: Mapping[str, Any]) -> str:
    """Return what is wrong with the ends of a range."""
    ends = [value[end] for end in ("from", "to") if end in value]
    numbers = all(_is_number(end) for end in ends)
    if not ends or value.keys() - {"from", "to"}:
        return f"must have from, to or both, not {format_value(value)}"
    if not numbers and not all(isinstance(end, dt.date | dt.time) for end in ends):
        return f"the ends of a range must be numbers or dates, not {ends}"
    if len(ends) == 2 and (type(ends[0]) is type(ends[1]) or numbers) and ends[0] > ends[1]:
        return f"from {ends[0]} is above to {ends[1]}"
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class WorkloadFile(Part):
    """The queries that analysts will run on the release."""

    query: Annotated[tuple[AskedQuery, ...], Field(min_length=1)]
    """One table `[[query]]` per query."""


# --- checks of a policy -----------------------------------------------------------------------------------


def read_workload(name: str, base: Path) -> tuple[AskedQuery, ...]:
    """Read the queries of a file relative to the policy. Raises PolicyError with everything that is wrong with it."""
    path, key = base / name, "utility.workload"
    try:
        raw = load_toml(read_text(path))
        return WorkloadFile.model_validate(raw).query
    except FileNotFoundError:
        nearby = sorted(file.name for file in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        hint = did_you_mean(path.name, nearby) if nearby else "paths are relative to the policy file"
        raise PolicyError([Problem(key, f"there is no file {path}", hint)]) from None
    except ValidationError as error:
        found = explain_errors(error, WorkloadFile)
        raise PolicyError(
            [Problem(key, f"{path.name}: {one.path}: {one.message}", one.hint or EXAMPLE) for one in found]
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PolicyError([Problem(key, f"{path.name} is not TOML: {error}", EXAMPLE)]) from None
    except OSError as error:
        raise PolicyError([Problem(key, f"{path} cannot be read: {error.strerror}")]) from None


def purpose_problems(
    utility: Utility, columns: Mapping[str, Column], others: bool, base: Path
) -> list[Problem]:
    """Return what is wrong with the analyses of a policy, before any data is read. `others` are columns that the policy
    does not name, but publishes.
    """
    from shoal.judging.measures import MEASURES

    found = []

    def check(path: str, name: str, roles: Sequence[str]) -> None:
        if name not in columns:
            if not others or roles == CODED:
                known = [own for own, column in columns.items() if column.role in roles]
                found.append(Problem(path, f"the policy has no column '{name}'", did_you_mean(name, known)))
        elif columns[name].role not in roles:
            can = f"it must be one of {', '.join(roles)}"
            found.append(Problem(path, f"'{name}' has the role {columns[name].role}", can))

    if utility.predict is not None:
        check("utility.predict", utility.predict, (SENSITIVE, PLAIN))
    if utility.regression is not None:
        for name in (utility.regression.outcome, *utility.regression.on):
            check("utility.regression", name, PUBLISHED)
    if utility.workload is not None:
        try:
            for number, query in enumerate(read_workload(utility.workload, base), start=1):
                path = f"utility.workload: {_name_query(query, number)}"
                found += [Problem(path, problem) for problem in query.mistakes]
                for name in query.columns:
                    check(path, name, CODED)
        except PolicyError as error:
            found += error.problems
    kind = MEASURES[utility.measure]
    if kind.analysis.key and not kind.analysis.assumes and getattr(utility, kind.analysis.key) is None:
        message = f"'{utility.measure}' is about utility.{kind.analysis.key}, which the policy does not have"
        found.append(
            Problem("utility.measure", message, f"set utility.{kind.analysis.key}, or choose another measure")
        )
    return found


def _name_query(query: AskedQuery, number: int) -> str:
    return f"query {number}" if query.name is None else f"query {number} ({query.name})"


# --- in the codes of a table ------------------------------------------------------------------------------


def with_purpose(table: CodedTable, policy: Policy) -> CodedTable:
    """Return a table with the analyses that its policy names, if any.

    Raises PolicyError with all values and ranges of the workload that its columns cannot have.
    """
    utility = policy.utility
    if utility.predict is None and utility.regression is None and utility.workload is None:
        return table
    from shoal.coding.purpose import Formula as Resolved
    from shoal.coding.purpose import Purpose, with_borders

    asked = utility.regression
    named = {"predict": [utility.predict] if utility.predict is not None else []}
    named["regression"] = [] if asked is None else [asked.outcome, *asked.on]
    missing = [
        Problem(f"utility.{key}", f"the table has no column '{name}'", did_you_mean(name, table.columns))
        for key, names in named.items()
        for name in names
        if name not in table.columns
    ]
    if missing:
        raise PolicyError(missing)
    queries: list[Query] = []
    if utility.workload is not None:
        columns = {own.name: own for own in (*table.attributes, *table.sensitive)}
        problems: list[Problem] = []
        for number, query in enumerate(read_workload(utility.workload, policy.base), start=1):
            queries.append(_query(query, number, columns, problems))
        if problems:
            raise PolicyError(problems)
        table = replace(table, quasi=table.quasi.with_attributes(with_borders(table.attributes, queries)))
    formula = None if asked is None else Resolved(asked.outcome, asked.on)
    return table.with_context(purpose=Purpose(utility.predict, formula, tuple(queries)))


def _query(
    query: AskedQuery, number: int, columns: Mapping[str, Attribute], problems: list[Problem]
) -> Query:
    from shoal.coding.purpose import Condition, Query

    path = f"utility.workload: {_name_query(query, number)}"
    conditions: list[Condition] = []
    for name, value in query.where.items():
        inside, problem = _inside(columns[name].hierarchy, value)
        if problem:
            problems.append(Problem(path, f"{format_path('where', name)}: {problem}"))
        conditions.append(Condition(name, inside))
    of = query.sum or query.mean
    if of is not None and columns[of].hierarchy.positions is None:
        problems.append(Problem(path, f"'{of}' has no numbers to add up", "ask for the number of rows"))
    asks: Any = "sum" if query.sum is not None else "mean" if query.mean is not None else "count"
    return Query(query.name or f"query {number}", query.weight, tuple(conditions), asks, of)


def _inside(tree: Hierarchy, value: Any) -> tuple[BoolVector, str]:
    """Return which codes a condition takes, and what is wrong with it, if anything. No value of the data is named."""
    import polars as pl

    inside = np.zeros(tree.size, np.bool_)
    if isinstance(value, Mapping):
        if tree.positions is None:
            return inside, "a range needs numbers or dates, and the column holds texts: list the values"
        ends = {"from": -np.inf, "to": np.inf}
        try:
            ends |= {end: _position(tree, end, value[end]) for end in ends if value.get(end) is not None}
        except ValueError as error:
            return inside, str(error)
        return (tree.positions >= ends["from"]) & (tree.positions <= ends["to"]), ""
    for one in value if isinstance(value, list) else [value]:
        if _is_number(one) and abs(one) <= sys.float_info.max and tree.positions is not None:
            inside |= tree.positions == one
            continue
        text = str(one).lower() if isinstance(one, bool) else str(one)
        low, high, known = tree.read(pl.Series("names", [text], pl.String))
        if not known[0]:
            return inside, f"{format_value(one)} is not a value of the column, nor a node of its hierarchy"
        inside[low[0] : high[0] + 1] = True
    return inside, ""


def _position(tree: Hierarchy, end: str, at: Any) -> float:
    """Return where an end of a range is among the values of a column, or raise ValueError."""
    import polars as pl

    from shoal.coding.hierarchy.distinct_values import numbers_of

    dated = tree.leaves.dtype.is_temporal()
    if isinstance(at, dt.date | dt.time) != dated:
        raise ValueError(
            f"the column holds {'dates' if dated else 'numbers'}, and {end} is {format_value(str(at))}"
        )
    try:
        return float(numbers_of(pl.Series([at]).cast(tree.leaves.dtype))[0] if dated else at)
    except pl.exceptions.PolarsError:
        raise ValueError(f"{end} is {at}, which cannot be compared with {tree.leaves.dtype} values") from None
    except OverflowError:
        raise ValueError(f"{end} is {format_value(str(at))}, which is too large for a number") from None
