"""The table that was read: a plan per column, the columns as codes, and the population."""

from shoal.table.table import Attribute, CodedTable

__all__ = ["Attribute", "CodedTable"]
