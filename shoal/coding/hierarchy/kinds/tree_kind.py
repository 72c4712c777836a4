"""A tree written into the policy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shoal.coding.hierarchy.kinds.kind import Flaw, TableKind
from shoal.support.wording import format_value

DEEPEST = 64


@dataclass(frozen=True)
class Tree(TableKind):
    """A tree written into the policy."""

    tree: Mapping[str, Any]
    """Node name -> table of nodes, or list of values."""

    name: ClassVar[str] = "tree"
    example: ClassVar[Mapping[str, Any]] = {"tree": {"Coast": ["02108", "06510"], "Inland": ["01001"]}}
    builder: ClassVar[str] = "shoal.coding.hierarchy.nested_trees:from_tree"
    meaning: ClassVar[str] = "a tree of categories"
    knows_domain: ClassVar[bool] = True
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {"tree": {"type": "object"}}

    def flaws(self) -> Iterator[Flaw]:
        """Yield the first node that is neither a table of nodes nor a list of values."""
        if not isinstance(self.tree, Mapping) or not self.tree:
            message = f"must be a table of nodes, not {format_value(self.tree)}"
            yield Flaw(("tree",), message, 'for example { north = ["a", "b"] }')
            return
        for flaw in _bad_nodes(self.tree, (), 0):
            yield flaw
            return


def _bad_nodes(node: object, path: tuple[str, ...], depth: int) -> Iterator[Flaw]:
    if depth > DEEPEST:
        yield Flaw(("tree",), f"is cyclic, or deeper than {DEEPEST} levels, below '{path[0]}'")
    elif isinstance(node, Mapping):
        for name, below in node.items():
            yield from _bad_nodes(below, (*path, str(name)), depth + 1)
    elif isinstance(node, list | tuple):
        for item in node:
            yield from _bad_nodes(item, path, depth + 1)
    elif not isinstance(node, str | int | float | dt.date):
        message = f"holds {format_value(node)} below {' > '.join(path)}"
        yield Flaw(("tree",), message, "nodes are tables of nodes, or lists of values")
