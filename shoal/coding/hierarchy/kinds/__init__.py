"""Hierarchy kinds. A new one is a file here and a line in `KINDS`.

A kind knows how a policy spells it, checks what was written, and builds the `Hierarchy` of a column. Neither the
registry nor the classes import polars before a hierarchy is built.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from shoal.coding.hierarchy.kinds.kind import Flaw, Kind, Misspelled, TableKind
from shoal.errors import did_you_mean
from shoal.support.registry import Registry
from shoal.support.wording import format_value

if TYPE_CHECKING:
    import polars as pl

    from shoal.coding.hierarchy.tree import Hierarchy

KINDS: Registry[Kind] = Registry(
    "hierarchy kind",
    {
        "none": "shoal.coding.hierarchy.kinds.none:NoHierarchy",
        "auto": "shoal.coding.hierarchy.kinds.auto_kind:Automatic",
        "widths": "shoal.coding.hierarchy.kinds.widths:Widths",
        "grid": "shoal.coding.hierarchy.kinds.grid:Grid",
        "cuts": "shoal.coding.hierarchy.kinds.cuts:Cuts",
        "mask": "shoal.coding.hierarchy.kinds.mask:Mask",
        "dates": "shoal.coding.hierarchy.kinds.dates:Dates",
        "known": "shoal.coding.hierarchy.kinds.known_kind:Known",
        # Its keys are also settings of other kinds, so it comes after them.
        "top": "shoal.coding.hierarchy.kinds.ends:Ends",
        "tree": "shoal.coding.hierarchy.kinds.tree_kind:Tree",
        # Takes every text that is not the name of another kind, so it comes last.
        "file": "shoal.coding.hierarchy.kinds.file:File",
    },
)

Spec = str | os.PathLike[str] | Mapping[str, Any] | Kind | None
"""A hierarchy as a policy spells it: a word, the name of a file, or a table with the name of a kind as a key."""


def parse_hierarchy(spec: Spec) -> Kind:
    """Parse a hierarchy as written in a policy; raise `Misspelled` with everything that is wrong."""
    if isinstance(spec, Kind):
        return spec
    if isinstance(spec, Mapping):
        tables = [name for name, kind in KINDS.items() if issubclass(kind, TableKind)]
        named = [key for key in spec if key in tables and spec[key] is not None]
        settings = {entry.name for name in named for entry in fields(KINDS[name]) if entry.name != name}
        named = [name for name in named if name not in settings]
        if len(named) > 1:
            raise Misspelled([Flaw((), f"has two kinds, '{named[0]}' and '{named[1]}'", "keep one of them")])
    for kind in KINDS.values():
        if kind.claims(spec):
            return kind.parse(spec)
    if isinstance(spec, Mapping) and spec:
        word = str(next(iter(spec)))
        raise Misspelled([Flaw((), f"unknown hierarchy kind '{word}'", did_you_mean(word, tables))])
    message = f"must be the name of a file, 'auto', 'none', or a table, not {format_value(spec)}"
    raise Misspelled([Flaw((), message, "for example { widths = [5, 10] }")])


def build(values: pl.Series, spec: Spec = None) -> Hierarchy:
    """Make the hierarchy of a column from its distinct values and what a policy spells (see `KINDS`).

    `values` may come in any order, with null and NaN. Raises HierarchyError if the two do not match.
    """
    return parse_hierarchy(spec).build(values)


__all__ = ["KINDS", "Flaw", "Kind", "Misspelled", "Spec", "TableKind", "build", "parse_hierarchy"]
