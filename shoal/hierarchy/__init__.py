"""Hierarchies: every kind that a policy spells (`KINDS`) becomes a `Hierarchy` of code ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.registry import imported_late

if TYPE_CHECKING:
    from shoal.hierarchy.files import from_csv, to_csv
    from shoal.hierarchy.kinds import KINDS, build
    from shoal.hierarchy.tree import ROOT, Hierarchy, Level

# Late, so that a policy is checked before polars is imported.
__getattr__ = imported_late(
    __name__,
    {"files": ("from_csv", "to_csv"), "kinds": ("KINDS", "build"), "tree": ("ROOT", "Hierarchy", "Level")},
)

__all__ = ["KINDS", "ROOT", "Hierarchy", "Level", "build", "from_csv", "to_csv"]
