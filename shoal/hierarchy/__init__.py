"""Hierarchies: every kind that a policy spells (`KINDS`) becomes a `Hierarchy` of code ranges."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.hierarchy.files import from_csv, to_csv
    from shoal.hierarchy.kinds import KINDS, build
    from shoal.hierarchy.tree import ROOT, Hierarchy, Level, tiled

# Imported when first asked for, so that a policy is checked before polars is imported.
_PLACES = {
    "KINDS": "kinds",
    "ROOT": "tree",
    "Hierarchy": "tree",
    "Level": "tree",
    "build": "kinds",
    "from_csv": "files",
    "tiled": "tree",
    "to_csv": "files",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


__all__ = ["KINDS", "ROOT", "Hierarchy", "Level", "build", "from_csv", "tiled", "to_csv"]
