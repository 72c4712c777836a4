"""Hierarchies: every kind that a policy spells (`KINDS`) becomes a `Hierarchy` of code ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.support.registry import import_late

if TYPE_CHECKING:
    from shoal.coding.hierarchy.kinds import KINDS, build
    from shoal.coding.hierarchy.tree import ROOT, Hierarchy, Level
    from shoal.coding.hierarchy.tree_files import from_csv, to_csv

# Late, so that a policy is checked before polars is imported.
__getattr__ = import_late(
    __name__,
    {
        "tree_files": ("from_csv", "to_csv"),
        "kinds": ("KINDS", "build"),
        "tree": ("ROOT", "Hierarchy", "Level"),
    },
)

__all__ = ["KINDS", "ROOT", "Hierarchy", "Level", "build", "from_csv", "to_csv"]
