"""What the screen of hierarchies shows about its columns: plain data for its templates."""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any

from starlette.datastructures import QueryParams

from shoal.apps.studio.data.column_facts import type_words
from shoal.apps.studio.form_values import read_count
from shoal.apps.studio.hierarchies import number_line
from shoal.apps.studio.hierarchies.edited_tree import MOST, SHOWN, Branches, Node
from shoal.apps.studio.hierarchies.hierarchy_columns import (
    Coded,
    count_column,
    find_troubles,
    list_columns,
    lose_together,
    propose_hierarchies,
    store_of,
    suggest_k,
    trouble_in,
    try_hierarchy,
)
from shoal.apps.studio.hierarchies.preview import (
    Counted,
    Tried,
    branches_of,
    describe_hierarchy,
    examples,
    measure,
)
from shoal.apps.studio.hierarchies.tree_editor import MATCHES, View, view_of
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy.kinds import KINDS, TableKind
from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.coding.hierarchy.kinds.tree_kind import Tree
from shoal.coding.hierarchy.labels import Ends
from shoal.errors import ShoalError
from shoal.policy.field_docs import field_notes
from shoal.policy.problems import format_path
from shoal.policy.suggestions.proposals import Proposal

TARGETS = 400
"""How many groups a list to choose from has at most."""
HOMELESS = 12
"""How many values without a place are listed."""
ALIKE = 2_000
"""Among how many values of a tree a similar one is looked for."""


def context(project: Project, query: QueryParams) -> dict[str, Any]:
    """Return the list of columns, and everything about the one that is named, or the one shown before: who takes a step
    back stays where they are."""
    columns, kept = list_columns(project), store_of(project)
    wanted = read_count(query, "column", kept.get("here", -1))
    chosen = next((one for one in columns if one.index == wanted), columns[0] if columns else None)
    kept["here"] = -1 if chosen is None else chosen.index
    troubles, _ = find_troubles(project)
    page: dict[str, Any] = {
        "columns": columns,
        "here": kept["here"],
        "troubles": troubles,
        "kinds": {one.name: _kind_name(one.spec) for one in columns},
        "column": chosen,
    }
    return page if chosen is None else page | column_page(project, chosen, troubles.get(chosen.name, ""))


def _kind_name(spec: Any) -> str:
    return next((name for name, kind in KINDS.items() if kind.claims(spec)), "")


def column_page(project: Project, column: Coded, trouble: str) -> dict[str, Any]:
    """Return everything about one column."""
    now = try_hierarchy(project, column.name, column.spec)
    try:
        found = count_column(project, column.name)
    except ShoalError:
        return {"found": None, "trouble": now.problem}
    trouble = trouble or trouble_in(column, now)
    tree = load_tree(project, column, now, found)
    line = number_line.line_of(found.some, now)
    return {
        "found": found,
        "type": type_words(found.values.dtype),
        "now": now,
        "k": suggest_k(project),
        "sampled": len(found.some.values) if found.many and not now.homeless else 0,
        "measure": measure().name.upper(),
        "trouble": trouble,
        "told": describe_hierarchy(column.spec, now.kind),
        "kind": now.kind.name if now.kind is not None else "",
        "proposals": _cards(project, column),
        "examples": examples(now),
        "limit_level": _limit_level(column, now),
        "line": line,
        "cuts": _cut_editor(now, line),
        "settings": _settings(column, now),
        "tree": _tree_page(project, column, now, tree) if tree is not None else None,
        "most": MOST,
        "targets": _targets(tree),
        "homeless": _likely_places(now, tree),
        "size": number_line,
        "wanted_by": _explain_need(project, column),
    }


def load_tree(project: Project, column: Coded, now: Tried, found: Counted) -> Branches | None:
    """Return the tree of a column to look at; the last one is kept, because it stays the same from click to click."""
    kept = store_of(project)
    if kept.get("tree", (None,))[0] is not now:
        kept["tree"] = (now, branches_of(now, found))
    tree: Branches | None = kept["tree"][1]
    return tree


def _likely_places(now: Tried, tree: Branches | None) -> list[tuple[str, int, int]]:
    """Return the first values without a place, with their rows and the number of the group that has the most similar
    value: the list to choose from begins there."""
    names = {node.name: node for node in tree.values[:ALIKE]} if tree is not None else {}
    made = []
    for value, rows in now.homeless[:HOMELESS]:
        alike = get_close_matches(value[:80], names, 1) if len(names) else []
        above = names[alike[0]].above if alike else None
        made.append((value, rows, above.number if above is not None else 0))
    return made


# --- proposals --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """One proposal."""

    spec: str
    """As JSON, for the form that chooses it."""
    name: str
    help: str
    words: str
    tried: Tried
    together: float | None
    """What it loses together with the other columns, on a sample."""
    chosen: bool
    best: bool


def _cards(project: Project, column: Coded) -> list[Card]:
    found = propose_hierarchies(project, column.name)
    best = _format_spec(found[0].spec) if found else ""
    present = _format_spec(KINDS.default if column.spec is None else column.spec)
    if present not in {_format_spec(one.spec) for one in found}:
        found = [Proposal(column.spec), *found]
    made = []
    for one in found:
        result = try_hierarchy(project, column.name, one.spec)
        text = _format_spec(one.spec)
        if result.kind is None or (result.problem and text != present):
            continue
        made.append(
            Card(
                text if not isinstance(result.kind, Tree) else "",
                result.kind.name,
                one.note or (type(result.kind).__doc__ or "").splitlines()[0].replace("`", ""),
                describe_hierarchy(one.spec, result.kind) if isinstance(result.kind, TableKind) else "",
                result,
                None if result.problem else lose_together(project, column, one.spec),
                text == present,
                text == best,
            )
        )
    return made


def _format_spec(spec: Any) -> str:
    return json.dumps(spec, default=str)


# --- settings of a kind -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One setting of a kind, as a field."""

    key: str
    help: str
    choices: tuple[str, ...]
    many: bool
    """Several of the choices may be taken."""
    chosen: tuple[str, ...]
    text: str
    needed: bool


def _settings(column: Coded, now: Tried) -> list[Setting]:
    """Return the fields of the kind that a column has, from its class; none if it has an editor."""
    kind = now.kind
    if not isinstance(kind, TableKind) or isinstance(kind, Tree):
        return []
    notes = field_notes(type(kind))
    defaults = {entry.name: entry.default for entry in fields(kind)}
    made = []
    for key, shape in type(kind).shapes.items():
        if isinstance(kind, Cuts) and key == Cuts.name:
            continue  # its points have an editor
        value = getattr(kind, key)
        items = shape.get("items", {})
        choices = shape.get("enum") or items.get("enum") or ()
        given = tuple(map(str, value)) if isinstance(value, tuple) else () if value is None else (str(value),)
        made.append(
            Setting(
                key,
                notes.get(key, ""),
                tuple(map(str, choices)),
                "items" in shape and bool(choices),
                given,
                ", ".join(given),
                defaults[key] is MISSING,
            )
        )
    return made


def _cut_editor(now: Tried, line: number_line.Line | None) -> list[number_line.Cut]:
    if line is None or not isinstance(now.kind, Cuts):
        return []
    return number_line.cut_points(line, now.kind.cuts)


def _limit_level(column: Coded, now: Tried) -> int:
    """Return the highest level that is allowed; that of the root without a limit, -1 if nodes are the limit."""
    height = now.hierarchy.height if now.hierarchy is not None else 0
    if isinstance(column.limit, tuple):
        return -1
    return height if column.limit is None else column.limit


def _explain_need(project: Project, column: Coded) -> str:
    """Say why a sensitive column has a hierarchy."""
    if not column.role.protected:
        return ""
    return next((str(one) for one in project.problems_at(format_path("columns", column.name))), "")


# --- the tree ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line of the tree as it is shown."""

    node: Node
    open: bool
    place: int
    """Among its neighbours, from 1."""
    siblings: int
    wanted: bool
    limit: bool
    protected: bool
    closed_off: bool
    """It lies above the limit, so no release shows it."""
    more: tuple[tuple[int, int, int], ...] = ()
    """After it, some nodes are not shown: how many, below which node, and at which depth."""
    where: str = ""
    """In a search: the groups that it lies in."""


def _tree_page(project: Project, column: Coded, now: Tried, tree: Branches) -> dict[str, Any]:
    view = view_of(project, column, tree)
    if view.search:
        matches = tree.matches(view.search)
        shown = _Tree(column, view, tree)
        lines = [
            replace(shown.line(one, at, len(matches)), where=" › ".join(one.path[:-1]))
            for at, one in enumerate(matches[:MATCHES], 1)
        ]
        more = len(matches) - len(lines)
    else:
        matches, more = [], 0
        lines = _Tree(column, view, tree).lines()
    wanted, view.wanted = view.wanted, ()
    named = not (now.hierarchy is not None and isinstance(now.hierarchy.naming, Ends))
    return {
        "lines": lines,
        "stamp": tree.stamp,
        "search": view.search,
        "matches": len(matches),
        "left_out": more,
        "rows": max(tree.root.rows, 1),
        "values": len(tree.values),
        "groups": sum(not node.is_value for node in tree.nodes) - 1,
        "editable": isinstance(now.kind, Tree),
        "markable": named,
        "wanted": bool(wanted),
        "empty": sum(node.rows == 0 for node in tree.values),
    }


@dataclass(frozen=True, eq=False)
class _Tree:
    """The tree of a column as a page shows it."""

    column: Coded
    view: View
    tree: Branches

    def lines(self) -> list[Line]:
        """Return the lines of what is open."""
        made: list[Line] = []

        def add(node: Node, place: int, siblings: int) -> None:
            made.append(self.line(node, place, siblings))
            if node.is_value or node.path not in self.view.opened:
                return
            most = self.view.shown.get(node.path, SHOWN)
            places = list(enumerate(node.below, 1))
            if len(places) > most:
                # Groups come first in a list that is cut off, so that nobody has to search for those just made.
                places = sorted(places, key=lambda each: each[1].is_value)[:most]
            for at, child in places:
                add(child, at, len(node.below))
            if len(node.below) > most:
                left = (len(node.below) - most, node.number, node.depth + 1)
                made[-1] = replace(made[-1], more=(*made[-1].more, left))

        add(self.tree.root, 1, 1)
        return made

    def line(self, node: Node, place: int, siblings: int) -> Line:
        """Return the line of a node."""
        column, view = self.column, self.view
        limit = column.limit if isinstance(column.limit, tuple) else ()
        level = self.tree.height - node.depth
        closed = (isinstance(column.limit, int) and level > column.limit and not node.is_value) or (
            bool(limit)
            and not node.is_value
            and any(one.name in limit for one in node.inside() if one is not node)
        )
        return Line(
            node,
            not node.is_value and node.path in view.opened,
            place,
            siblings,
            node.path == view.wanted,
            node.name in limit,
            node.name in column.protected,
            closed,
        )


def _targets(tree: Branches | None) -> list[tuple[int, str]]:
    """Return the groups that nodes can be put into, with their numbers."""
    if tree is None:
        return []
    groups = [node for node in tree.nodes if not node.is_value][:TARGETS]
    return [(node.number, "\u2003" * node.depth + node.name) for node in groups]
