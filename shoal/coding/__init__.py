"""What was read: the plan of each column, columns as codes, everybody who could be in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.support.registry import import_late

if TYPE_CHECKING:
    from shoal.coding.table import Attribute, CodedTable, Context

# Late, because policies need plans, and are checked before polars is imported.
__getattr__ = import_late(__name__, {"table": ("Attribute", "CodedTable", "Context")})

__all__ = ["Attribute", "CodedTable", "Context"]
