"""`Branches`: a tree of values while somebody edits it. It is read from the policy and written back after each step."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.coding.hierarchy.labels import ROOT
from shoal.errors import HierarchyError

SHOWN = 60
"""How many nodes below one node are shown before somebody asks for more."""
MOST = 50_000
"""The most values of a tree that is written into the policy."""


@dataclass(eq=False)
class Node:
    """A node of the tree; one without nodes below it is a value."""

    name: str
    above: Node | None = None
    below: list[Node] = field(default_factory=list)
    number: int = 0
    """Its place when the whole tree is read from the top to the bottom."""
    rows: int = 0
    depth: int = 0
    grouped: bool = False
    """It had nodes below it, so it is no value even if it has lost them."""

    @property
    def is_value(self) -> bool:
        """Whether it is a value and no group of values."""
        return not self.below and not self.grouped

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the root down to it."""
        return (*(self.above.path if self.above is not None else ()), self.name)

    def inside(self) -> Iterator[Node]:
        """Yield it and all nodes below it, from the top to the bottom."""
        yield self
        for node in self.below:
            yield from node.inside()

    def values(self) -> Iterator[Node]:
        """Yield the values below it, or itself."""
        return (node for node in self.inside() if node.is_value)


class Branches:
    """A tree of values, and what can be done to it. Nodes are named by their number until the next step."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.nodes: list[Node] = []
        self._number()

    def _number(self) -> None:
        self.root.above = None
        self.nodes = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            node.number, node.depth = len(self.nodes), 0 if node.above is None else node.above.depth + 1
            node.grouped = node.grouped or bool(node.below)
            self.nodes.append(node)
            for child in reversed(node.below):
                child.above = node
                stack.append(child)

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]]) -> Branches:
        """Make the tree of rows ``value, level 1, .., top``. A value that repeats its name further up is one node."""
        tops = {row[-1] for row in rows}
        paths = [tuple(reversed(row)) for row in rows]
        if len(tops) > 1 or any(len(path) == 1 for path in paths):
            paths = [(ROOT, *path) for path in paths]
        root = Node(paths[0][0])
        known: dict[tuple[str, ...], Node] = {}
        for path in paths:
            node = root
            for end in range(2, len(path) + 1):
                found = known.get(path[:end]) if end < len(path) else None
                if found is None:
                    found = known[path[:end]] = Node(path[end - 1], node)
                    node.below.append(found)
                node = found
        deepest = len(paths[0])
        short = [_shorter(child) for child in root.below]
        if max(map(_height, short), default=0) + 1 == deepest:
            # The levels of a tree are counted from its deepest branch, so one must stay as deep as it was.
            root.below = short
        return cls(root)

    @property
    def values(self) -> list[Node]:
        """All values."""
        return [node for node in self.nodes if node.is_value]

    @property
    def height(self) -> int:
        """The level of the root."""
        return max(node.depth for node in self.nodes)

    def spec(self) -> dict[str, Any]:
        """Return the tree as a policy spells it."""
        top = self.root.below
        if self.root.name == ROOT and len(top) > 1 and not all(node.is_value for node in top):
            return _inside(self.root)  # type: ignore[return-value]
        return {self.root.name: _inside(self.root)}

    @property
    def stamp(self) -> str:
        """A short text that changes with the tree: numbers of nodes hold as long as it is the same."""
        return hashlib.sha1(json.dumps(self.spec()).encode(), usedforsecurity=False).hexdigest()[:12]

    def find(self, number: int) -> Node:
        """Return a node by its number."""
        if not 0 <= number < len(self.nodes):
            raise HierarchyError("this node is not in the tree any more")
        return self.nodes[number]

    def matches(self, text: str) -> list[Node]:
        """Return the nodes with a text in their names, groups first."""
        wanted = text.casefold()
        found = [node for node in self.nodes[1:] if wanted in node.name.casefold()]
        return sorted(found, key=lambda node: node.is_value)

    def count(self, rows: Mapping[int, int]) -> None:
        """Set how many rows each node has, from those of the values by their number."""
        for node in self.nodes:
            node.rows = rows.get(node.number, 0)
        for node in reversed(self.nodes):
            if node.above is not None:
                node.above.rows += node.rows

    # --- steps ---------------------------------------------------------------------------------------------

    # Each returns the node to look at next.

    def rename(self, node: Node, name: str) -> Node:
        """Give a group another name."""
        if node.is_value:
            raise HierarchyError(
                "a value keeps its name: the data have it; put it into a group with the name you want"
            )
        node.name = _check_name(name)
        self._tidy()
        return node

    def group(self, chosen: Sequence[Node], name: str) -> Node:
        """Put nodes under a new one, where they have been or in their nearest common group."""
        chosen = self._apart(chosen)
        place = _common(chosen)
        made = Node(_check_name(name), place)
        at = min((place.below.index(_ancestor_below(node, place)) for node in chosen), default=0)
        place.below.insert(at, made)
        self._put(chosen, made)
        return made

    def move(self, chosen: Sequence[Node], target: Node | None) -> Node:
        """Put nodes into a group; a value as the target means its group."""
        if target is None:
            raise HierarchyError("choose where to put the nodes")
        first, place = chosen[0], _group_at(target)
        chosen = [node for node in self._apart(chosen) if node.above is not place]
        if any(place is inner for node in chosen for inner in node.inside()):
            raise HierarchyError("a group cannot be put into itself")
        self._put(chosen, place)
        return first

    def merge(self, chosen: Sequence[Node], name: str = "") -> Node:
        """Make one group of several, with everything that is in them."""
        given, chosen = chosen, self._apart(chosen)
        groups = [node for node in chosen if not node.is_value]
        if len(chosen) < 2 or not groups:
            raise HierarchyError(
                "choose two or more nodes to merge, and a group among them; values alone are grouped"
            )
        first = groups[0]
        name = "" if name.strip() in {node.name for node in given} else name.strip()
        inside = [inner for node in chosen if node is not first for inner in (node.below or [node])]
        first.name = _check_name(name or _join_names(groups))
        for node in chosen:
            if node is not first and node.above is not None:
                node.above.below.remove(node)
        for inner in inside:
            inner.above = first
            first.below.append(inner)
        self._tidy()
        return first

    def split(self, node: Node) -> Node:
        """Make two groups of one, with about as many rows each."""
        if len(node.below) < 2 or node.above is None:
            raise HierarchyError("only a group with two or more nodes can be split")
        taken = [sum(child.rows for child in node.below[:at]) for at in range(1, len(node.below))]
        half = sum(child.rows for child in node.below) / 2
        at = min(range(len(taken)), key=lambda i: abs(taken[i] - half)) + 1
        second = Node(self._free(f"{node.name} 2"), node.above, node.below[at:])
        node.below = node.below[:at]
        node.name = self._free(f"{node.name} 1")
        node.above.below.insert(node.above.below.index(node) + 1, second)
        self._tidy()
        return node

    def dissolve(self, chosen: Sequence[Node]) -> Node | None:
        """Remove groups; what is in them moves up."""
        above = chosen[0].above
        for node in self._apart(chosen):
            if node.is_value or node.above is None:
                raise HierarchyError("only groups can be dissolved; values stay, and so does the top")
            at = node.above.below.index(node)
            node.above.below[at : at + 1] = node.below
            for child in node.below:
                child.above = node.above
        self._tidy()
        return above

    def shift(self, node: Node, by: int) -> Node:
        """Move a node up or down among its neighbours."""
        if node.above is not None:
            siblings = node.above.below
            at = siblings.index(node)
            siblings.insert(max(0, min(at + by, len(siblings) - 1)), siblings.pop(at))
            self._tidy()
        return node

    def remove(self, chosen: Sequence[Node]) -> Node | None:
        """Remove values that no row has."""
        above = chosen[0].above
        chosen = self._apart(chosen)
        if any(node.rows for node in chosen):
            raise HierarchyError(
                "only nodes without rows can be removed: every value of the data needs a place"
            )
        for node in chosen:
            if node.above is not None:
                node.above.below.remove(node)
        self._tidy()
        return above

    def place(self, values: Sequence[str], target: Node) -> None:
        """Add values to a group."""
        place = _group_at(target)
        place.below += [Node(value, place) for value in values]
        self._tidy()

    def _apart(self, chosen: Sequence[Node]) -> list[Node]:
        """Return the chosen nodes without those that lie inside another, and without the root."""
        numbers = {node.number for node in chosen}

        def is_covered(node: Node) -> bool:
            above = node.above
            while above is not None and above.number not in numbers:
                above = above.above
            return above is not None

        kept = [node for node in chosen if node.above is not None]
        kept = sorted((node for node in kept if not is_covered(node)), key=lambda node: node.number)
        if not kept:
            raise HierarchyError("choose a node below the top first")
        return kept

    def _put(self, chosen: Sequence[Node], place: Node) -> None:
        gone = set(map(id, chosen))
        for above in {id(node.above): node.above for node in chosen if node.above is not None}.values():
            above.below = [child for child in above.below if id(child) not in gone]
        for node in chosen:
            node.above = place
            place.below.append(node)
        self._tidy()

    def _free(self, name: str) -> str:
        taken = {node.name for node in self.nodes}
        number = 2
        made = name
        while made in taken:
            made, number = f"{name} ({number})", number + 1
        return made

    def _tidy(self) -> None:
        """Drop groups that lost everything, refuse two neighbours of one name, and number the nodes anew."""
        self._number()
        while True:
            gone = [node for node in self.nodes if node.grouped and not node.below and node.above]
            if not gone:
                break
            for node in gone:
                assert node.above is not None
                node.above.below.remove(node)
            self._number()
        if not self.root.below:
            raise HierarchyError("the tree would be empty")
        for node in self.nodes:
            seen: set[str] = set()
            for child in node.below:
                if child.name in seen:
                    raise HierarchyError(
                        f"two nodes next to each other would be called {child.name[:80]!r}: merge them, or choose "
                        "another name"
                    )
                seen.add(child.name)


def _group_at(node: Node) -> Node:
    """Return a group; for a value, the one that it is in."""
    return node if not node.is_value or node.above is None else node.above


def _join_names(groups: Sequence[Node]) -> str:
    """Return a name for several groups together."""
    joined = " and ".join(node.name for node in groups)
    return joined if len(joined) <= 60 else groups[0].name


def _check_name(name: str) -> str:
    if not name.strip():
        raise HierarchyError("a group needs a name: it is what the release shows")
    return name.strip()


def _inside(node: Node) -> list[str] | dict[str, Any]:
    if all(child.is_value for child in node.below):
        return [child.name for child in node.below]
    return {child.name: [] if child.is_value else _inside(child) for child in node.below}


def _shorter(node: Node) -> Node:
    node.below = [_shorter(child) for child in node.below]
    if len(node.below) == 1 and node.below[0].is_value and node.below[0].name == node.name:
        return node.below[0]
    return node


def _height(node: Node) -> int:
    return 1 + max(map(_height, node.below), default=0)


def _common(chosen: Sequence[Node]) -> Node:
    """Return the lowest group that has all of the nodes below it."""
    ways: list[list[Node]] = []
    for node in chosen:
        way = []
        above = node.above
        while above is not None:
            way.append(above)
            above = above.above
        ways.append(way[::-1])
    together: list[Node] = [
        each[0] for each in zip(*ways, strict=False) if all(one is each[0] for one in each)
    ]
    return together[-1]


def _ancestor_below(node: Node, place: Node) -> Node:
    while node.above is not place:
        assert node.above is not None
        node = node.above
    return node


__all__ = ["MOST", "SHOWN", "Branches", "Node"]
