"""Hierarchies: trees, intervals, masks, dates, none or automatic -> code ranges."""

from shoal.hierarchy.tree import ROOT, Hierarchy, Level, tiled

__all__ = ["ROOT", "Hierarchy", "Level", "tiled"]
