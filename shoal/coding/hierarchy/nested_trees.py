"""Trees written into the policy: tables of tables, with lists of values at the bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from shoal.coding.hierarchy.tree import ROOT, Hierarchy
from shoal.coding.hierarchy.tree_rows import from_rows


def from_tree(values: pl.Series, tree: Mapping[str, object]) -> Hierarchy:
    """Build the hierarchy of a nested tree, with or without its root.

    If branches differ in depth, shorter ones repeat their value at the lower levels, so that nodes with
    the same distance from the root are at the same level.
    """
    return from_rows(values, tree_rows(tree), "the tree")


def tree_rows(tree: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Return the rows ``value, level 1, .., root`` of a nested tree, all of one length."""
    only = next(iter(tree))
    inside = tree[only] if len(tree) == 1 else None
    has_root = (
        len(tree) == 1 and isinstance(inside, Mapping | Sequence) and not isinstance(inside, str) and inside
    )
    top, root = (inside, str(only)) if has_root else (tree, ROOT)
    paths = list(_paths(top, (root,)))
    deepest = max(map(len, paths))
    return [(path[-1],) * (deepest - len(path)) + path[::-1] for path in paths]


def _paths(node: object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the names from the root down to each value."""
    if isinstance(node, Mapping):
        for name, below in node.items():
            empty = isinstance(below, Mapping | list | tuple) and not below
            yield from _paths(str(name) if empty else below, above if empty else (*above, str(name)))
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for item in node:
            yield from _paths(item, above)
    elif isinstance(node, bool):
        yield (*above, str(node).lower())
    else:
        yield (*above, str(node))
