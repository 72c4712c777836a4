"""`python_values`: numbers, texts and lists of numpy, pandas and polars as Python's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def python_values(given: Any) -> Any:
    """Return tables and lists with Python's own values: ``np.int64(5)`` is 5, and an array or a Series is a list.

    Keys become text, as in a file: a column of a pandas frame may be called 7. O(values).
    """
    if isinstance(given, Mapping):
        return {str(key): python_values(value) for key, value in given.items()}
    if isinstance(given, list | tuple):
        kind = tuple if isinstance(given, tuple) else list
        return kind(python_values(value) for value in given)
    for turn in (
        "tolist",
        "to_list",
    ):  # an array or a Series, whose values it turns too; a scalar of numpy as well
        if hasattr(given, turn):
            return getattr(given, turn)()
    return given
