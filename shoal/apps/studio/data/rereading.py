"""Whether the open table was read as the policy says now; if not, Studio reads it again."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError

if TYPE_CHECKING:
    from shoal.io import Frame, ReadOptions


def was_read_so(frame: Frame | None, tables: Mapping[str, Any]) -> bool:
    """Whether a table was read as a policy says, even one with problems; what it leaves open was detected."""
    from shoal.coding.roles import REMOVED
    from shoal.policy.sections import Data

    if frame is None:
        return True
    try:
        asked, used = options_of(tables), frame.options
    except PolicyError:
        return True  # pages show the problem
    others = [one.name for one in fields(asked) if one.name in Data.model_fields]
    if any(getattr(asked, name) not in (None, getattr(used, name)) for name in others):
        return False
    names = {*asked.columns, *used.columns}
    differ = [name for name in names if asked.columns.get(name) != used.columns.get(name)]
    # How a column is read that is not published makes no difference.
    columns = tables.get("columns", {})
    return all(name in columns and columns[name].get("role") in REMOVED for name in differ)


def options_of(tables: Mapping[str, Any]) -> ReadOptions:
    """Return how a policy says to read the table, whatever else may be wrong with it."""
    from pydantic import ValidationError

    from shoal.policy.column_section import Column
    from shoal.policy.problems import explain_errors
    from shoal.policy.sections import Data

    columns = {}
    for name, entry in tables.get("columns", {}).items():
        with contextlib.suppress(ValidationError):
            columns[name] = Column.model_validate(entry)
    try:
        data = Data.model_validate(tables.get("data", {}))
    except ValidationError as error:
        raise PolicyError(explain_errors(error, Data, "data")) from None
    return data.options({name: one for name, one in columns.items() if not one.role.removed})
