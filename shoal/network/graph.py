"""`Network`: people and their edges, as sparse rows, read from tables, GraphML or graph libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from shoal.support.arrays import BoolVector, IntVector, LongVector
from shoal.support.brief import Brief

ID = "id"

AsShown = Callable[[pl.Series, str, IntVector], pl.Series]
"""From the values that a release shows, the name of their column and the published rows to the values in their type."""


def keep_type(values: pl.Series, name: str, rows: IntVector) -> pl.Series:
    """Return values unchanged: their type was declared, so it follows from no row."""
    return values


@dataclass(frozen=True, eq=False, repr=False)
class Network(Brief):
    """A simple undirected graph. Nodes are positions 0..n-1; the neighbours of x are
    ``neighbours[start[x]:start[x + 1]]``, ascending.
    """

    attributes: pl.DataFrame
    """One row per node, without the column that names it."""
    start: LongVector
    neighbours: IntVector
    id_column: str = ID
    kind: str = "polars"
    """The kind of frame of the node table; results are returned as the same kind."""
    digests: tuple[str | None, ...] = ()
    """SHA-256 of the files that were read."""
    notes: tuple[str, ...] = ()
    """What was corrected: self-loops, multiple edges, directions."""
    as_shown: AsShown = keep_type
    """Gives values the type that follows from published nodes only. Types of text are guessed from all nodes, so they
    would show what a suppressed node had; see `shoal.io.narrow_types`."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.start) - 1

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.neighbours) // 2

    @cached_property
    def degree(self) -> LongVector:
        """``[nodes]`` number of neighbours."""
        return np.diff(self.start)

    def pairs(self) -> tuple[IntVector, IntVector]:
        """Return the ends of all edges, the smaller one first. O(edges)."""
        source = np.repeat(np.arange(self.nodes, dtype=np.int32), self.degree)
        once = source < self.neighbours
        return source[once], self.neighbours[once]

    def without(self, dropped: BoolVector) -> Network:
        """Return the network without some nodes and their edges. O(nodes + edges)."""
        place = np.cumsum(~dropped) - 1
        a, b = self.pairs()
        kept = ~(dropped[a] | dropped[b])
        start, neighbours = sparse_rows(place[a[kept]], place[b[kept]], int((~dropped).sum()))
        attributes = self.attributes.filter(pl.Series(~dropped))
        return replace(self, attributes=attributes, start=start, neighbours=neighbours, as_shown=keep_type)


def sparse_rows(
    a: IntVector | LongVector, b: IntVector | LongVector, nodes: int
) -> tuple[LongVector, IntVector]:
    """Return sparse rows of edges without loops and duplicates. O(edges log edges)."""
    keys = np.concatenate([a.astype(np.int64) * nodes + b, b.astype(np.int64) * nodes + a])
    keys.sort()
    start = np.searchsorted(keys, np.arange(nodes + 1, dtype=np.int64) * nodes)
    return start.astype(np.int64), (keys % max(nodes, 1)).astype(np.int32)


def network_from_pairs(
    a: IntVector | LongVector, b: IntVector | LongVector, attributes: pl.DataFrame, **rest: Any
) -> Network:
    """Make a network from edges between positions; self-loops and duplicate edges are dropped, and reported. O(edges
    log edges).
    """
    nodes, given = attributes.height, len(a)
    notes = list(rest.pop("notes", ()))
    proper = a != b
    loops = given - int(proper.sum())
    low, high = np.minimum(a, b)[proper].astype(np.int64), np.maximum(a, b)[proper].astype(np.int64)
    keys = np.unique(low * nodes + high)
    more = len(low) - len(keys)
    if loops:
        notes.append(f"{_count(loops, 'self-loop')} dropped: an edge needs two people")
    if more:
        notes.append(f"{_count(more, 'edge')} dropped: the same two nodes already have an edge")
    start, neighbours = sparse_rows(keys // max(nodes, 1), keys % max(nodes, 1), nodes)
    return Network(attributes, start, neighbours, notes=tuple(notes), **rest)


def _count(number: int, word: str) -> str:
    return f"1 {word} was" if number == 1 else f"{number:,} {word}s were"
