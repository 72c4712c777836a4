"""`python_values`: numbers, texts and lists of numpy, pandas and polars as Python's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from shoal.errors import PolicyError, Problem
from shoal.judging.models.keys import LARGEST
from shoal.policy.problems import format_path
from shoal.support.wording import kind_name

DEEPEST = 100
"""Tables and lists inside each other; the nested hierarchies of people have a few levels."""


class FromColumn(list[Any]):
    """A list that was an array or a Series. It may hold a column of the data, so messages do not show it (`shown`)."""


def python_values(given: Any, path: tuple[str | int, ...] = ()) -> Any:
    """Return tables and lists with Python's own values: ``np.int64(5)`` is 5, and an array or a Series is a list.

    Keys become text, as in a file: a column of a pandas frame may be called 7. Raises `PolicyError` for whole numbers
    and for nesting that no file should have, and for frames. O(values).
    """
    if len(path) > DEEPEST:
        raise PolicyError(
            [Problem(format_path(*path[:3]), f"has more than {DEEPEST} tables inside each other")]
        )
    if isinstance(given, int) and not -LARGEST - 1 <= given <= LARGEST:
        size = f"about {math.log10(abs(given)):.0f} digits"
        message = f"is too large: a number of {size}, and the largest is {LARGEST:,}"
        raise PolicyError([Problem(format_path(*path), message)])
    if isinstance(given, Mapping):
        return {str(key): python_values(value, (*path, str(key))) for key, value in given.items()}
    if isinstance(given, list | tuple):
        return _convert_list(given, path)
    if hasattr(given, "collect") or hasattr(given, "columns"):
        message = f"is a {kind_name(given)}: a policy contains names, numbers and paths, and no tables"
        raise PolicyError([Problem(format_path(*path) or "policy", message)])
    # An array or a Series, whose values are converted too, or a scalar of numpy.
    convert = getattr(given, "tolist", None) or getattr(given, "to_list", None)
    found = convert() if convert else given
    return python_values(FromColumn(found), path) if isinstance(found, list) else found


def _convert_list(given: list[Any] | tuple[Any, ...], path: tuple[str | int, ...]) -> Any:
    """Return a list of the same kind; lists inside a list that was a column were in the column, too."""
    if isinstance(given, FromColumn):
        return FromColumn(
            python_values(FromColumn(value) if isinstance(value, list) else value, (*path, place))
            for place, value in enumerate(given)
        )
    found = [python_values(value, (*path, place)) for place, value in enumerate(given)]
    return tuple(found) if isinstance(given, tuple) else found
