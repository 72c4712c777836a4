"""Steps in the tree of a column: each one reads the tree from the policy, changes it, and writes it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.form_values import pick, read_count, read_field
from shoal.apps.studio.hierarchies.edited_tree import MOST, SHOWN, Branches, Node
from shoal.apps.studio.hierarchies.hierarchy_columns import (
    KEY,
    Coded,
    column_entry,
    count_column,
    list_columns,
    set_hierarchy,
    store_of,
    try_hierarchy,
)
from shoal.apps.studio.hierarchies.preview import branches_of, count_rows
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy.kinds.tree_kind import Tree
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


def find_column(project: Project, form: Mapping[str, Any]) -> Coded:
    """Return the column that a form names by its place in the table."""
    place = read_count(form, "column")
    found = next((one for one in list_columns(project) if one.index == place), None)
    if found is None:
        raise HierarchyError("this column has no hierarchy: it is neither a quasi-identifier nor sensitive")
    return found


def back(column: Coded) -> str:
    """Return the address of the column."""
    return f"/{KEY}?column={column.index}"


def view_of(project: Project, column: Coded, tree: Branches | None = None) -> View:
    """Return what is open in the tree of a column: at first the upper levels, as far as they are short."""
    views: dict[str, View] = store_of(project).setdefault("views", {})
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
    store_of(project).get("views", {}).pop(column.name, None)


def tree_of(project: Project, column: Coded) -> Branches:
    """Return the tree of a column, made anew, with its rows."""
    found = count_column(project, column.name)
    made = branches_of(try_hierarchy(project, column.name, column.spec), found)
    if made is None:
        raise HierarchyError(
            f"the column has {found.distinct:,} values, and a tree in the policy at most {MOST:,}: use bands, a "
            "mask, or a file"
            if found.distinct > MOST
            else f"there is no tree to edit: {try_hierarchy(project, column.name, column.spec).problem}"
        )
    return made


def plant(
    project: Project, column: Coded, tree: Branches, label: str, renamed: tuple[str, str] | None = None
) -> None:
    """Write a tree into the policy, or raise what is wrong with it as a tree."""
    spec = tree.spec()
    if len(tree.values) > MOST:
        raise HierarchyError(f"the tree has {len(tree.values):,} values; a policy takes at most {MOST:,}")
    found = count_column(project, column.name)
    kind = Tree.parse({Tree.name: spec})
    rows = tree_rows(kind.tree)
    there = leaf_of(found.plain, pl.Series([row[0] for row in rows], dtype=pl.String)) >= 0
    from_rows(found.values.filter(pl.Series(there)), rows, "the tree")
    set_hierarchy(project, column, {Tree.name: spec}, label, renamed)


# --- forms ----------------------------------------------------------------------------------------------------


def act(project: Project, form: FormData) -> str:
    """Do one step in the tree."""
    column = find_column(project, form)
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
    former = chosen[0].name
    opened = [node for node in tree.nodes if node.path in view.opened]
    target = read_count(form, "target")
    label, take = STEPS[step]
    wanted = take(tree, chosen, str(form.get("name", "")), tree.find(target) if target >= 0 else None)
    renamed = (former, chosen[0].name) if step == "rename" else None
    plant(project, column, tree, label, renamed)
    view.opened |= {node.path for node in opened}  # paths of before stay, for those who undo it
    if wanted is not None:
        view.wanted = wanted.path
        view.opened |= {wanted.path[:end] for end in range(1, len(wanted.path))}
    return back(column)


Step = Callable[[Branches, Sequence[Node], str, Node | None], Node | None]
"""Changes a tree, given the chosen nodes, a name and a target; returns the node to look at next."""
STEPS: dict[str, tuple[str, Step]] = {
    "rename": ("rename a node", lambda tree, chosen, name, _: tree.rename(chosen[0], name)),
    "group": ("new group", lambda tree, chosen, name, _: tree.group(chosen, name)),
    "move": ("move nodes", lambda tree, chosen, _, target: tree.move(chosen, target)),
    "merge": ("merge nodes", lambda tree, chosen, name, _: tree.merge(chosen, name)),
    "split": ("split a node", lambda tree, chosen, *_: tree.split(chosen[0])),
    "dissolve": ("dissolve a node", lambda tree, chosen, *_: tree.dissolve(chosen)),
    "up": ("move a node up", lambda tree, chosen, *_: tree.shift(chosen[0], -1)),
    "down": ("move a node down", lambda tree, chosen, *_: tree.shift(chosen[0], 1)),
    "remove": ("remove values without rows", lambda tree, chosen, *_: tree.remove(chosen)),
}
MARKS = {"limit": "limit", "protect": "protected"}
"""Steps that mark a node in the policy, and the key of the column that lists them."""


def _mark(project: Project, column: Coded, key: str, node: Node) -> None:
    with project.edit(f"{column.name}: {key}") as tables:
        entry = column_entry(tables, column.name)
        names = list(entry[key]) if isinstance(entry.get(key), list | tuple) else []
        names = [name for name in names if name != node.name] if node.name in names else [*names, node.name]
        entry.pop(key, None)
        if names:
            entry[key] = names


def unfold(project: Project, form: FormData) -> str:
    """Unfold or fold a node, or show more nodes below it."""
    column = find_column(project, form)
    tree = tree_of(project, column)
    view = view_of(project, column, tree)
    node = tree.find(read_count(form, "node"))
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
    column = find_column(project, form)
    view_of(project, column, tree_of(project, column)).search = (
        "" if form.get("clear") else read_field(form, "search")
    )
    return back(column)


def place(project: Project, form: FormData) -> str:
    """Give values without a place one."""
    column = find_column(project, form)
    homeless = [value for value, _ in try_hierarchy(project, column.name, column.spec).homeless]
    one = pick(form, "value", homeless)
    homeless = homeless if one is None else [one]
    tree = tree_of(project, column)
    target, name = read_count(form, "target"), read_field(form, "name")
    if target >= 0:
        tree.place(homeless, tree.find(target))
    else:
        made = next((node for node in tree.root.below if node.name == name and not node.is_value), None)
        if made is None and name:
            made = Node(name, tree.root, grouped=True)
            tree.root.below.append(made)
        tree.place(homeless, made or tree.root)
    count_rows(tree, count_column(project, column.name))
    plant(project, column, tree, "give values a place")
    return back(column)


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> str:
    """Take a hierarchy file of a column into the policy, as a tree."""
    column = find_column(project, query)
    try:
        text = read_text(path, name)
    finally:
        path.unlink(missing_ok=True)
    rows, _ = read_rows(count_column(project, column.name).plain, text, name)
    plant(project, column, Branches.from_rows(rows), f"tree of {name}")
    forget_view(project, column)
    return back(column)


ACTIONS: dict[str, Callable[[Project, FormData], str]] = {
    "tree": act,
    "unfold": unfold,
    "search": search,
    "place": place,
}
