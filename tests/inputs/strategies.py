"""Hypothesis strategies: random hierarchies and coded tables, with the corners that matter."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import strategies as st

from shoal.coding import Attribute
from shoal.coding.hierarchy import Hierarchy, Level
from tests.inputs.coded_tables import table_of_matrices


def tiled(names):
    """Build levels from one name per code and level; a new node begins wherever the name changes.

    Equal names must already be neighbours, and level 0 must have one node per code.
    """
    levels = [Level(np.arange(len(names[0]), dtype=np.int32), names[0].cast(pl.String))]
    for column in names[1:]:
        text = column.cast(pl.String)
        starts = np.flatnonzero(text.rle_id().diff().fill_null(1).to_numpy()).astype(np.int32)
        levels.append(Level(starts, text.gather(starts)))
    return tuple(levels)


def _levels(draw, size):
    """Random levels over `size` codes: each level merges neighbouring nodes of the one below, up to the root."""
    levels = [Level(np.arange(size, dtype=np.int32), pl.Series("names", [f"v{i}" for i in range(size)]))]
    while len(levels[-1].starts) > 1 and len(levels) < 4:
        below = levels[-1].starts
        keep = [0, *(i for i in range(1, len(below)) if draw(st.booleans()))]
        starts = below[keep]
        if len(starts) == len(below) or len(starts) == 1:
            break
        names = pl.Series("names", [f"L{len(levels)}-{start}" for start in starts])
        levels.append(Level(starts.astype(np.int32), names))
    if size > 1:
        levels.append(Level(np.zeros(1, np.int32), pl.Series("names", ["*"])))
    return tuple(levels)


@st.composite
def hierarchies(draw, sizes=st.integers(1, 7), free=None):
    """A tree over a few string values, or (free) numbers with any range permitted, perhaps with a null at the end."""
    size = draw(sizes)
    levels = _levels(draw, size)
    is_free = draw(st.booleans()) if free is None else free
    if not is_free:
        return Hierarchy(pl.Series("leaves", [f"v{i}" for i in range(size)]), levels)
    with_null = size > 1 and draw(st.booleans())
    ordered = size - 1 if with_null else size
    steps = draw(st.lists(st.integers(1, 5), min_size=ordered, max_size=ordered))
    values = [int(v) for v in np.cumsum(steps)]
    leaves = pl.Series("leaves", values + [None] * with_null, dtype=pl.Int64)
    two = [Level(np.arange(size, dtype=np.int32), leaves.cast(pl.String).rename("names"))]
    if size > 1:
        two.append(Level(np.zeros(1, np.int32), pl.Series("names", ["*"])))
    positions = np.array([*values, *([np.nan] * with_null)], np.float64)
    return Hierarchy(leaves, tuple(two), free=True, ordered=ordered, positions=positions)


@st.composite
def tables(draw, rows=st.integers(1, 14), columns=st.integers(1, 4), sensitive=st.integers(1, 2), free=None):
    """A small coded table: ties, duplicates, one row, one value, nulls all occur."""
    count = draw(rows)
    attributes = tuple(
        Attribute(f"q{j}", draw(hierarchies(free=free)), draw(st.sampled_from([1.0, 1.0, 2.0, 0.5])))
        for j in range(draw(columns))
    )
    secret = tuple(
        Attribute(f"s{j}", draw(hierarchies(sizes=st.integers(1, 4), free=False)))
        for j in range(draw(sensitive))
    )

    def matrix(columns_):
        cells = [
            draw(st.lists(st.integers(0, a.hierarchy.size - 1), min_size=count, max_size=count))
            for a in columns_
        ]
        return np.asfortranarray(np.array(cells, np.int32).reshape(len(columns_), count).T)

    codes, sensitive_codes = matrix(attributes), matrix(secret)
    kept = pl.DataFrame(
        {a.name: a.hierarchy.leaves.gather(sensitive_codes[:, j]) for j, a in enumerate(secret)}
    )
    names = tuple(a.name for a in attributes + secret)
    return table_of_matrices(attributes, codes, secret, sensitive_codes, kept, names)
