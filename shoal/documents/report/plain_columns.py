"""Columns that are published as they are, in bins: they differ from the original only by the suppressed rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.coding import Attribute
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode_column
from shoal.coding.roles import PLAIN
from shoal.documents.report.bins import Bins, bins_of
from shoal.documents.report.subject import Subject
from shoal.errors import ShoalError
from shoal.io import factorize
from shoal.io.coded import code_column
from shoal.support.arrays import FloatVector


def plain_distributions(subject: Subject) -> Iterator[tuple[Bins, FloatVector, FloatVector]]:
    """Yield each plain column of both tables: its bins, and the rows in them before and after. O(rows) each.

    Columns without an order, such as lists, are skipped, and so are values that the original lacks.
    """
    for name, after in subject.plain.items():
        before = subject.table.kept[name]
        try:
            hierarchy, codes = encode_column(code_column(before), ColumnPlan(name, PLAIN))
        except ShoalError:
            continue
        people = np.bincount(codes, minlength=hierarchy.size)
        bins = bins_of(Attribute(name, hierarchy), people, subject.gate)
        places, values = factorize(after)
        found = hierarchy.locate(values)[places]
        shown = np.bincount(found[found >= 0], minlength=hierarchy.size)
        yield bins, bins.count(people), bins.count(shown)
