"""`ColumnPlan`: what to do with one column. Policies produce plans, `encode` carries them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Role = Literal["quasi", "sensitive", "identifier", "plain"]

HierarchySpec = str | Path | Mapping[str, Any] | None
"""How a column may be generalized: the path of a CSV file; ``"auto"``; None or ``"none"`` (free ranges for
ordered values, the whole domain for others); or a mapping with exactly one of the keys

- ``widths = [5, 10, 20]``, with an optional ``origin``
- ``cuts = [[18, 30, 65], [65]]``
- ``mask = "right"`` or ``"left"``, with an optional ``keep`` and ``steps``
- ``dates = ["month", "year"]``
- ``tree = { Europe = ["Spain", "Greece"], .. }``
"""


@dataclass(frozen=True)
class ColumnPlan:
    """The role of one column, and for coded columns how they may be generalized."""

    name: str
    role: Role
    hierarchy: HierarchySpec = None
    weight: float = 1.0
    limit: int | tuple[str, ...] | None = None
    """How far values may be generalized: a level, or the names of the highest allowed nodes."""
