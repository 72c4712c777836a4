"""Steps in the tree of a column: each one reads the tree from the policy, changes it, and writes it back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from starlette.datastructures import FormData

from shoal.apps.studio.hierarchies.edited_tree import MOST, SHOWN, Branches, Node
from shoal.apps.studio.hierarchies.hierarchy_columns import (
    KEY,
    Coded,
    coded_columns,
    column_entry,
    counted,
    set_hierarchy,
    tried,
)
from shoal.apps.studio.hierarchies.preview import branches_of, count_rows
from shoal.apps.studio.project import Project, Tables
from shoal.coding.hierarchy.kinds.tree import Tree
from shoal.coding.hierarchy.nested_trees import tree_rows
from shoal.coding.hierarchy.tree_files import read_rows, read_text
from shoal.coding.hierarchy.tree_rows import from_rows, leaf_of
from shoal.errors import HierarchyError

MATCHES = 200
"""How many nodes a search shows."""


@dataclass
class View:
    """What is open in the tree of a column; it stays while the tree is edited."""

    opened: set[tuple[str, ...]]
    """Paths of the nodes that are unfolded."""
    shown: dict[tuple[str, ...], int]
    """How many nodes below a node are shown, if more than usual."""
    search: str = ""
    wanted: tuple[str, ...] = ()
    """The node that the last step was about: it gets the focus."""


def asked(project: Project, index: str) -> Coded:
    """Return the column with this place in the table."""
    found = next((one for one in coded_columns(project) if str(one.index) == index), None)
    if found is None:
        raise HierarchyError("this column has no hierarchy: it is neither a quasi-identifier nor sensitive")
    return found


def back(column: Coded) -> str:
    """Return the address of the column."""
    return f"/{KEY}?column={column.index}"


def view_of(project: Project, column: Coded, tree: Branches | None = None) -> View:
    """Return what is open in the tree of a column: at first the upper levels, as far as they are short."""
    views: dict[str, View] = project.store.setdefault(KEY, {}).setdefault("views", {})
    if column.name not in views:
        opened: set[tuple[str, ...]] = set()
        if tree is not None:
            lines = 0
            for node in sorted(tree.nodes, key=lambda one: (one.depth, one.number)):
                lines += min(len(node.below), SHOWN)
                if node.is_value or (lines > SHOWN and node.above is not None):
                    continue
                opened.add(node.path)
        views[column.name] = View(opened, {})
    return views[column.name]


def forget_view(project: Project, column: Coded) -> None:
    """Show the tree of a column as if it had never been seen, because it is another one now."""
    project.store.get(KEY, {}).get("views", {}).pop(column.name, None)


def tree_of(project: Project, column: Coded) -> Branches:
    """Return the tree of a column, made anew, with its rows."""
    found = counted(project, column.name)
    made = branches_of(tried(project, column.name, column.spec), found)
    if made is None:
        raise HierarchyError(
            f"the column has {found.distinct:,} values, and a tree in the policy at most {MOST:,}: use bands, a "
            "mask, or a file"
            if found.distinct > MOST
            else f"there is no tree to edit: {tried(project, column.name, column.spec).problem}"
        )
    return made


def plant(
    project: Project, column: Coded, tree: Branches, label: str, renamed: tuple[str, str] | None = None
) -> None:
    """Write a tree into the policy, or raise what is wrong with it as a tree."""
    spec = tree.spec()
    if len(tree.values) > MOST:
        raise HierarchyError(f"the tree has {len(tree.values):,} values; a policy takes at most {MOST:,}")
    found = counted(project, column.name)
    kind = Tree.parsed({Tree.name: spec})
    rows = tree_rows(kind.tree)
    there = leaf_of(found.plain, pl.Series([row[0] for row in rows], dtype=pl.String)) >= 0
    from_rows(found.values.filter(pl.Series(there)), rows, "the tree")

    def more(entry: dict[str, Any]) -> None:
        for key in ("limit", "protected"):
            if renamed is not None and isinstance(entry.get(key), list | tuple):
                entry[key] = [renamed[1] if name == renamed[0] else name for name in entry[key]]

    set_hierarchy(project, column, {Tree.name: spec}, label, more)


# --- forms ----------------------------------------------------------------------------------------------------


def act(project: Project, form: FormData) -> str:
    """Do one step in the tree."""
    column = asked(project, str(form["column"]))
    step = str(form.get("step", ""))
    if step not in STEPS and step not in MARKS:
        raise HierarchyError("choose what to do with the nodes")
    tree = tree_of(project, column)
    if str(form.get("stamp", "")) != tree.stamp:
        raise HierarchyError(
            "the tree has changed since this page was shown; look again, and repeat the step"
        )
    view = view_of(project, column, tree)
    if form.get("all") and view.search:
        chosen = tree.matches(view.search)
    else:
        chosen = [tree.find(int(text)) for text in str(form.get("nodes", "")).split(",") if text.isdecimal()]
    if not chosen:
        raise HierarchyError("choose one or more nodes first: click them, or press the space bar on them")
    if step in MARKS:
        _mark(project, column, MARKS[step], chosen[0])
        view.wanted = chosen[0].path
        return back(column)
    target = str(form.get("target", ""))
    former = chosen[0].name
    opened = [node for node in tree.nodes if node.path in view.opened]
    label, wanted = STEPS[step](
        tree, chosen, str(form.get("name", "")), tree.find(int(target)) if target.isdecimal() else None
    )
    renamed = (former, chosen[0].name) if step == "rename" else None
    plant(project, column, tree, label, renamed)
    view.opened |= {node.path for node in opened}  # paths of before stay, for those who undo it
    if wanted is not None:
        view.wanted = wanted.path
        view.opened |= {wanted.path[:end] for end in range(1, len(wanted.path))}
    return back(column)


Step = Callable[[Branches, Sequence[Node], str, Node | None], tuple[str, Node | None]]


def _rename(
    tree: Branches, chosen: Sequence[Node], name: str, _target: Node | None
) -> tuple[str, Node | None]:
    tree.rename(chosen[0], name)
    return "rename a node", chosen[0]


def _group(
    tree: Branches, chosen: Sequence[Node], name: str, _target: Node | None
) -> tuple[str, Node | None]:
    return "new group", tree.group(chosen, name)


def _move(tree: Branches, chosen: Sequence[Node], _name: str, target: Node | None) -> tuple[str, Node | None]:
    if target is None:
        raise HierarchyError("choose where to put the nodes")
    tree.move(chosen, target)
    return "move nodes", chosen[0]


def _merge(
    tree: Branches, chosen: Sequence[Node], name: str, _target: Node | None
) -> tuple[str, Node | None]:
    own = name if name.strip() and name.strip() not in {node.name for node in chosen} else ""
    return "merge nodes", tree.merge(chosen, own)


def _split(
    tree: Branches, chosen: Sequence[Node], _name: str, _target: Node | None
) -> tuple[str, Node | None]:
    return "split a node", tree.split(chosen[0])


def _dissolve(
    tree: Branches, chosen: Sequence[Node], _name: str, _target: Node | None
) -> tuple[str, Node | None]:
    above = chosen[0].above
    tree.dissolve(chosen)
    return "dissolve a node", above


def _up(tree: Branches, chosen: Sequence[Node], _name: str, _target: Node | None) -> tuple[str, Node | None]:
    tree.shift(chosen[0], -1)
    return "move a node up", chosen[0]


def _down(
    tree: Branches, chosen: Sequence[Node], _name: str, _target: Node | None
) -> tuple[str, Node | None]:
    tree.shift(chosen[0], 1)
    return "move a node down", chosen[0]


def _remove(
    tree: Branches, chosen: Sequence[Node], _name: str, _target: Node | None
) -> tuple[str, Node | None]:
    above = chosen[0].above
    tree.remove(chosen)
    return "remove values without rows", above


STEPS: dict[str, Step] = {
    "rename": _rename,
    "group": _group,
    "move": _move,
    "merge": _merge,
    "split": _split,
    "dissolve": _dissolve,
    "up": _up,
    "down": _down,
    "remove": _remove,
}
MARKS = {"limit": "limit", "protect": "protected"}
"""Steps that mark a node in the policy, and the key of the column that lists them."""


def _mark(project: Project, column: Coded, key: str, node: Node) -> None:
    def change(tables: Tables) -> None:
        entry = column_entry(tables, column.name)
        names = list(entry[key]) if isinstance(entry.get(key), list | tuple) else []
        names = [name for name in names if name != node.name] if node.name in names else [*names, node.name]
        entry.pop(key, None)
        if names:
            entry[key] = names

    project.edit(f"{column.name}: {key}", change)


def unfold(project: Project, form: FormData) -> str:
    """Unfold or fold a node, or show more nodes below it."""
    column = asked(project, str(form["column"]))
    tree = tree_of(project, column)
    view = view_of(project, column, tree)
    number = str(form.get("node", ""))
    node = tree.find(int(number) if number.isdecimal() else -1)
    if form.get("how") == "more":
        view.shown[node.path] = view.shown.get(node.path, SHOWN) + 10 * SHOWN
    elif form.get("how") == "all":
        view.opened = {one.path for one in tree.nodes if not one.is_value}
    elif form.get("how") == "none":
        view.opened = {tree.root.path}
    elif node.path in view.opened:
        view.opened.discard(node.path)
    else:
        view.opened.add(node.path)
    view.wanted = node.path
    return back(column)


def search(project: Project, form: FormData) -> str:
    """Show the nodes with a text in their names."""
    column = asked(project, str(form["column"]))
    view_of(project, column, tree_of(project, column)).search = (
        "" if form.get("clear") else str(form.get("search", "")).strip()
    )
    return back(column)


def place(project: Project, form: FormData) -> str:
    """Give values without a place one."""
    column = asked(project, str(form["column"]))
    homeless = [value for value, _ in tried(project, column.name, column.spec).homeless]
    number = str(form.get("value", ""))
    if number.isdecimal() and int(number) < len(homeless):
        homeless = [homeless[int(number)]]
    tree = tree_of(project, column)
    target, name = str(form.get("target", "")), str(form.get("name", "")).strip()
    if target.isdecimal():
        node = tree.find(int(target))
        tree.place(homeless, node)
    else:
        made = next((one for one in tree.root.below if one.name == name and not one.is_value), None)
        if made is None and name:
            made = Node(name, tree.root, grouped=True)
            tree.root.below.append(made)
        tree.place(homeless, made or tree.root)
    count_rows(tree, counted(project, column.name))
    plant(project, column, tree, "give values a place")
    return back(column)


def take_file(project: Project, path: Path, name: str, index: str) -> str:
    """Take a hierarchy file into the policy, as a tree."""
    column = asked(project, index)
    try:
        text = read_text(path, name)
    finally:
        path.unlink(missing_ok=True)
    rows, _ = read_rows(counted(project, column.name).plain, text, name)
    plant(project, column, Branches.from_rows(rows), f"tree of {name}")
    forget_view(project, column)
    return back(column)


ACTIONS: dict[str, Callable[[Project, FormData], str]] = {
    "tree": act,
    "unfold": unfold,
    "search": search,
    "place": place,
}
