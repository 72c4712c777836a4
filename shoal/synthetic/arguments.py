"""The arguments of an audit of synthetic data: checked before anything is read, without showing rows in messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import ARGUMENTS, PolicyError, Problem, did_you_mean
from shoal.support.wording import format_count, format_value, some_values

SHOWN = 8
"""More unknown names are counted and not shown: they may be a column of the data."""


def check_numbers(targets: Any, limit: Any) -> None:
    """Raise PolicyError for a number of targets or a limit that means nothing."""
    problems = []
    if not isinstance(targets, int | np.integer) or isinstance(targets, bool) or targets < 1:
        problems.append(Problem("targets", f"must be a whole number from 1 on, not {format_value(targets)}"))
    number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if limit is not None and not (number and 0.0 <= limit <= 1.0):
        hint = "0.1 allows a residual risk of 10 %"
        problems.append(Problem("limit", f"must be from 0 to 1, not {format_value(limit)}", hint))
    if problems:
        raise PolicyError(problems, where=ARGUMENTS)


def read_names(option: str, given: Any) -> tuple[str, ...]:
    """Return names of columns; PolicyError if they are something else, such as rows."""
    names = (given,) if isinstance(given, str) else given
    plain = type(names) in (list, tuple, set, frozenset) and all(isinstance(name, str) for name in names)
    if not plain:
        problem = Problem(option, f"must be names of columns, not {format_value(given)}")
        raise PolicyError([problem], where=ARGUMENTS)
    if len(set(names)) < len(names):
        raise PolicyError([Problem(option, "must name each column once")], where=ARGUMENTS)
    return tuple(names)


def format_names(names: Sequence[str]) -> str:
    """List wrong names for a message, if they are few enough to be names."""
    if len(names) > SHOWN:
        return format_count(len(names), "name")
    return some_values(names)


def check_named(option: str, given: Any, known: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns that are audited; PolicyError if some are not."""
    names = read_names(option, given)
    unknown = [name for name in names if name not in known]
    if unknown:
        message = f"{format_names(unknown)} {'is' if len(unknown) == 1 else 'are'} not audited"
        raise PolicyError([Problem(option, message, did_you_mean(unknown[0], known))], where=ARGUMENTS)
    return names
