"""What was read: the plan of each column, columns as codes, everybody who could be in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.table.table import Attribute, CodedTable


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: policies need plans, and are checked before polars is imported."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from shoal.table import table

    return getattr(table, name)


__all__ = ["Attribute", "CodedTable"]
