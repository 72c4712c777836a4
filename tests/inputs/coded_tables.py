"""Coded tables with other codes, for tests."""

from dataclasses import replace

from shoal.coding import CodedTable
from shoal.coding.columns import Columns, Kept
from shoal.coding.counting import ByRows


def table_of_matrices(attributes, codes, sensitive, sensitive_codes, kept, columns, **more):
    """Return a table of matrices of codes, ``[rows, columns]``, and a frame of what is published as it is."""
    quasi, secrets = Columns.of(attributes, codes), Columns.of(sensitive, sensitive_codes)
    countings = more.pop("countings", (ByRows.of(secrets),))
    return CodedTable(quasi, secrets, Kept.of(kept), tuple(columns), countings, **more)


def with_changes(table, *, attributes=None, codes=None, sensitive_codes=None, kept=None, **more):
    """Return a table with some parts replaced: columns given as matrices, what is kept given as a frame."""
    if attributes is not None and codes is None:
        more["quasi"] = table.quasi.with_attributes(attributes)
    elif codes is not None:
        more["quasi"] = Columns.of(table.attributes if attributes is None else attributes, codes)
    if sensitive_codes is not None:
        table = table.with_secrets(Columns.of(table.sensitive, sensitive_codes))
    if kept is not None:
        more["kept"] = Kept.of(kept)
    return replace(table, **more)
