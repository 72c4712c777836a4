"""What to do with each column of a table, by a policy; and the tables that a policy does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.coding.column_plan import ColumnPlan
from shoal.coding.roles import DROP, IDENTIFIER, PLAIN, Role
from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.policy.column_checks import collisions
from shoal.policy.hierarchies import plan_hierarchy
from shoal.policy.problems import format_path
from shoal.support.wording import format_setting

if TYPE_CHECKING:
    from shoal.policy.policy import Policy

LISTED = 12
"""How many columns a message names."""


def plan_columns(policy: Policy, names: Sequence[str]) -> tuple[ColumnPlan, ...]:
    """Return what to do with the columns of a table; raise PolicyError if the table does not fit the policy."""
    problems = _check_missing(policy, names, [name for name in policy.columns if name not in names], "table")
    problems += collisions(policy.columns, names)
    problems += [
        Problem(
            format_path("columns", name, "order"),
            f"the table has no column '{own.order}'",
            did_you_mean(own.order, names),
        )
        for name, own in policy.columns.items()
        if own.order is not None and own.order not in names
    ]
    plans = _plan(policy, names, PLAIN if policy.data.other_columns == "plain" else DROP)
    other = [own.name for own in plans if own.name not in policy.columns and own.role != IDENTIFIER]
    if other and policy.data.other_columns == "refuse":
        more = f" and {len(other) - LISTED} more" if len(other) > LISTED else ""
        listed = ", ".join(other[:LISTED]) + more
        drop = format_setting("data.other_columns", "drop")
        hint = "give each a role, or decide for all: " + drop + ', or "plain"'
        problems.append(Problem("columns", f"the table has columns without a role: {listed}", hint))
    if problems:
        raise PolicyError(problems)
    return plans


def plan_release(policy: Policy, names: Sequence[str]) -> tuple[ColumnPlan, ...]:
    """Return what the columns of a release are: it need not have those that are removed, and others are plain."""
    wanted = [name for name, own in policy.columns.items() if own.role.has_codes]
    problems = _check_missing(policy, names, [name for name in wanted if name not in names], "release")
    if problems:
        raise PolicyError(problems)
    return _plan(policy, names, PLAIN)


def _check_missing(policy: Policy, names: Sequence[str], lacking: Sequence[str], what: str) -> list[Problem]:
    """Return the columns that a table or a release lacks; raise PolicyError if it has none of the policy's."""
    missing = f"the {what} has no such column"
    if len(lacking) > 1 and not set(policy.columns) & set(names):
        # Without a header line, the names would be the first row: somebody's.
        hint = "if the file has no header line, " + format_setting("data.header", False)
        message = f"{missing}s: {', '.join(lacking[:LISTED])}; it has none of the policy's columns"
        raise PolicyError([Problem("columns", message, hint)])
    return [Problem(format_path("columns", name), missing, did_you_mean(name, names)) for name in lacking]


def _plan(policy: Policy, names: Sequence[str], other: Role) -> tuple[ColumnPlan, ...]:
    """Return what to do with columns; those that the policy does not name have the `other` role, except the one that
    says who is in the table."""
    member = None if policy.population is None else policy.population.column
    return tuple(
        policy.column_plans.get(name) or ColumnPlan(name, IDENTIFIER if name == member else other)
        for name in names
    )


def plan_column(policy: Policy, name: str) -> ColumnPlan:
    """Return what to do with a column that a policy names."""
    own = policy.columns[name]
    tree = plan_hierarchy(own.hierarchy, policy.base)
    return ColumnPlan(
        name, own.role, tree, own.weight, own.limit, own.publish, own.order, group=own.group, show=own.show
    )
