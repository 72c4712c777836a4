"""Hierarchies: trees, intervals, masks, dates, none or automatic -> code ranges."""

from shoal.hierarchy.build import build
from shoal.hierarchy.files import from_csv, to_csv
from shoal.hierarchy.tree import ROOT, Hierarchy, Level, tiled

__all__ = ["ROOT", "Hierarchy", "Level", "build", "from_csv", "tiled", "to_csv"]
