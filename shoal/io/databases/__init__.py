"""Tables in databases: addresses, names, sessions, and what becomes of their types.

The databases themselves are formats, one file each in `shoal/io/formats/`. Nothing here imports polars or a driver
before a table is read.
"""

from __future__ import annotations

from shoal.io.databases.database_table import DatabaseTable, in_database

__all__ = ["DatabaseTable", "in_database"]
