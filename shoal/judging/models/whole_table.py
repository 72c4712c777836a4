"""Tables as a single class, and their most frequent values: what no release can do better than."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.support.arrays import LongVector

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups


def one_class(table: CodedTable, column: int = 0, counts: LongVector | None = None) -> Groups:
    """Return the whole table as one group; with `counts`, what is left of it for one column."""
    from shoal.coding.groups import Groups, Histograms

    if not table.counting.adds_up and counts is not None:
        raise ValueError("what is left of people with several rows does not follow from counts")
    if table.shared is not None and counts is None:
        return table.group_rows(np.zeros(table.rows, np.int32), 1)
    columns = list(table.sensitive_counts)
    if counts is not None:
        columns[column] = counts
    codes = [np.flatnonzero(column) for column in columns]
    histograms = tuple(
        Histograms(np.array([0, len(own)], np.int64), own.astype(np.int32), column[own])
        for own, column in zip(codes, columns, strict=True)
    )
    size = table.rows if counts is None else int(counts.sum())
    return Groups(np.array([size], np.int64), histograms, table.counting.totals, table.sensitive)


def flatten_histogram(counts: LongVector, drop: int) -> LongVector:
    """Cut off the peaks of a histogram: no choice of at most `drop` rows to suppress makes it more even.

    Cuts at the highest level that removes at least `drop` rows, but never removes a value completely. For a given
    number of rows, cutting peaks gives shares that those of every other choice majorize, and cutting deeper
    evens them out further; so this bounds every rule that rewards evenness. O(values x log rows).
    """
    low, high = 1, max(int(counts.max(initial=1)), 1)
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.maximum(counts - middle, 0).sum()) >= drop:
            low = middle
        else:
            high = middle - 1
    return np.minimum(counts, low)
