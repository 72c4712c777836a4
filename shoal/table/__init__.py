"""What was read: the plan of each column, columns as codes, everybody who could be in the table."""

from shoal.table.table import Attribute, CodedTable

__all__ = ["Attribute", "CodedTable"]
