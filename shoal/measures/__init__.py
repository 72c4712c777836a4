"""Utility and risk. A new measure is a file here and a line in `MEASURES`."""

from shoal.measures.base import CellMeasure, ClassMeasure, Measure
from shoal.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    {},
)

__all__ = ["MEASURES", "CellMeasure", "ClassMeasure", "Measure"]
