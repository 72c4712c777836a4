"""The columns that have a hierarchy: what the policy says about each, and what Studio has found out about it."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.apps.studio.hierarchies.preview import Counted, Tried, attempt, count, with_base
from shoal.apps.studio.history import Tables
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy import Hierarchy
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.kinds.file import File
from shoal.coding.roles import CODED, ROLES, Role
from shoal.errors import HierarchyError, ShoalError
from shoal.policy.suggestions.context_loss import losses_together
from shoal.policy.suggestions.proposals import Proposal, proposals

KEY = "hierarchies"
AT_ONCE, SOME = 200_000, 8
"""Cells and columns that are looked at while somebody waits; more are looked at meanwhile."""
KEPT = 64
"""Trials that are remembered."""
TOGETHER, SAMPLE, SECONDS = 40, 5_000, 1.0
"""Quasi-identifiers, rows and time of a release that is tried for a proposal."""


@dataclass(frozen=True)
class Coded:
    """A column with a hierarchy, as the policy has it."""

    index: int
    """Its place in the table; addresses name it by that."""
    name: str
    role: Role
    spec: Any = None
    limit: int | tuple[str, ...] | None = None
    weight: float = 1.0
    protected: tuple[str, ...] = ()


def list_columns(project: Project) -> list[Coded]:
    """Return the quasi-identifiers and sensitive columns, in the order of the table."""
    assert project.frame is not None
    found, columns = [], project.section("columns")
    for index, name in enumerate(project.frame.columns):
        entry = columns.get(name, {})
        entry = {"role": entry} if isinstance(entry, str) else entry
        role, limit = entry.get("role"), entry.get("limit")
        if role in CODED:
            limit = tuple(limit) if isinstance(limit, list | tuple) else limit
            protected = tuple(entry.get("protected") or ())
            weight = entry.get("weight", 1.0)
            found.append(Coded(index, name, ROLES[role], entry.get("hierarchy"), limit, weight, protected))
    return found


def suggest_k(project: Project) -> int:
    """Return the smallest size of a good group: k of the policy, or 5."""
    k = project.section("privacy").get("k")
    return k if isinstance(k, int) and k > 1 else 5


def count_column(project: Project, name: str) -> Counted:
    """Count the values of a column; the result is cached."""
    kept = store_of(project).setdefault("counted", {})
    if name not in kept:
        assert project.frame is not None
        kept[name] = count(project.frame, name)
    found: Counted = kept[name]
    return found


def try_hierarchy(project: Project, name: str, spec: Any) -> Tried:
    """Apply a hierarchy to a column and return the result, which is cached."""
    kept: dict[Any, Tried] = store_of(project).setdefault("tried", {})
    key = _key(project, name, spec)
    if key not in kept:
        try:
            column = count_column(project, name)
            column = column if _lists_values(spec) else column.some
            found = attempt(column, spec, project.base, suggest_k(project))
        except ShoalError as error:
            found = Tried(None, problem=str(error))
        while len(kept) >= max(KEPT, 2 * len(project.frame.columns) if project.frame is not None else 0):
            kept.pop(next(iter(kept)))
        kept[key] = found
    return kept[key]


def propose_hierarchies(project: Project, name: str) -> list[Proposal]:
    """Return the proposed hierarchies of a column, which are cached."""
    kept = store_of(project).setdefault("proposed", {})
    if name not in kept:
        found = count_column(project, name).some
        kept[name] = proposals(name, found.values, found.counts)
    return list(kept[name])


def lose_together(project: Project, column: Coded, spec: Any) -> float | None:
    """Return what a quasi-identifier would lose by a hierarchy together with the others as they are now, on a sample;
    None if that is not known, or it is the only one. The result is cached.
    """
    specs = {one.name: one.spec for one in list_columns(project) if one.role.generalized}
    if column.name not in specs or not 1 < len(specs) <= TOGETHER or project.frame is None:
        return None
    specs[column.name] = spec
    kept: dict[Any, float | None] = store_of(project).setdefault("together", {})
    key = column.name, tuple(_key(project, name, one) for name, one in specs.items())
    if key not in kept:
        while len(kept) >= KEPT:
            kept.pop(next(iter(kept)))
        found = losses_together(
            project.frame.data, specs, suggest_k(project), base=project.base, rows=SAMPLE, seconds=SECONDS
        )
        kept[key] = None if found is None else found.losses[column.name]
    return kept[key]


def _key(project: Project, name: str, spec: Any) -> tuple[Any, ...]:
    stamp: tuple[int, ...] = ()
    if isinstance(spec, str):
        with contextlib.suppress(ShoalError, OSError):
            kind = with_base(spec, project.base)
            if isinstance(kind, File):
                state = kind.path.stat()
                stamp = (state.st_mtime_ns, state.st_size)
    return name, suggest_k(project), json.dumps(spec, default=str), stamp


def trouble(project: Project, column: Coded) -> str:
    """Return what is wrong with a column's hierarchy or limit, in words; empty if nothing is."""
    kept: dict[Any, str] = store_of(project).setdefault("troubles", {})
    key = (_key(project, column.name, column.spec), column.limit)
    if key not in kept:
        kept[key] = trouble_in(column, try_hierarchy(project, column.name, column.spec)) or _trouble_of_many(
            project, column
        )
    return kept[key]


def whole_hierarchy(project: Project, column: Coded) -> Hierarchy:
    """Return the hierarchy over all values of a column. Seconds if there are very many."""
    return with_base(column.spec, project.base).build(count_column(project, column.name).values)


def _trouble_of_many(project: Project, column: Coded) -> str:
    """Return what is wrong with a hierarchy that was tried on some values only."""
    if _lists_values(column.spec) or not count_column(project, column.name).many:
        return ""
    try:
        whole = whole_hierarchy(project, column)
        if column.limit is not None:
            whole.with_limit(column.limit)
    except ShoalError as error:
        return str(error)
    return ""


def _lists_values(spec: Any) -> bool:
    """Whether a hierarchy lists its values, so that each value of the data must be looked for."""
    try:
        return parse_hierarchy(spec).knows_domain
    except HierarchyError:
        return False


def trouble_in(column: Coded, found: Tried) -> str:
    """Return what is wrong with a hierarchy, or with the limit of its column, as far as it was tried."""
    if found.problem:
        return found.problem
    if found.homeless:
        lost = len(found.homeless)
        return (
            f"{lost:,} values have no place in the tree" if lost > 1 else "1 value has no place in the tree"
        )
    if column.limit is not None and found.hierarchy is not None:
        try:
            found.hierarchy.with_limit(column.limit)
        except HierarchyError as error:
            return f"the limit does not fit: {error}"
    return ""


def find_troubles(project: Project) -> tuple[dict[str, str], int]:
    """Return the troubles of the columns that were looked at, and how many are still to be. Large tables are looked at
    meanwhile, and the page is shown anew afterwards. Every page asks.
    """
    assert project.frame is not None
    store = store_of(project)
    kept = store.setdefault("troubles", {})
    columns = [(one, (_key(project, one.name, one.spec), one.limit)) for one in list_columns(project)]
    waiting = [one for one, key in columns if key not in kept]
    known = store.get("counted", {})
    cells = sum(len(known[one.name].values) if one.name in known else project.frame.rows for one in waiting)
    if len(waiting) > SOME or cells > AT_ONCE:
        if not store.get("looking"):
            store["looking"] = True
            threading.Thread(target=_look, args=(project, store), daemon=True).start()
    else:
        for one in waiting:
            trouble(project, one)
        waiting = []
    return {one.name: words for one, key in columns if (words := kept.get(key, ""))}, len(waiting)


def _look(project: Project, store: dict[str, Any]) -> None:
    try:
        for one in list_columns(project):
            if project.store.get(KEY) is not store:
                return  # another table is open now
            trouble(project, one)
    finally:
        store["looking"] = False
        project.mark_changed()


def set_hierarchy(
    project: Project, column: Coded, spec: Any, label: str, renamed: tuple[str, str] | None = None
) -> None:
    """Give a column a hierarchy, as one step; `renamed` are the former and the new name of a node. A limit or protected
    nodes that do not fit it any more go with it."""
    hierarchy = try_hierarchy(project, column.name, spec).hierarchy
    dropped: list[str] = []
    with project.edit(f"{column.name}: {label}") as tables:
        entry = column_entry(tables, column.name)
        entry.pop("hierarchy", None)
        if spec is not None:
            entry["hierarchy"] = spec
        for key in ("limit", "protected"):
            if renamed is not None and isinstance(entry.get(key), list | tuple):
                entry[key] = [renamed[1] if name == renamed[0] else name for name in entry[key]]
        if hierarchy is not None and "limit" in entry and not _accepts(hierarchy.with_limit, entry["limit"]):
            entry.pop("limit")
            dropped.append(
                "The generalization limit was removed, because this hierarchy has no such level or node."
            )
        if hierarchy is not None and not all(
            _accepts(hierarchy.find, name) for name in entry.get("protected", ())
        ):
            entry.pop("protected")
            dropped.append("The protected nodes were removed, because this hierarchy does not have them.")
    for words in dropped:
        project.tell("warning", words, KEY)


def _accepts(check: Callable[[Any], object], asked: Any) -> bool:
    try:
        check(asked)
    except HierarchyError:
        return False
    return True


def column_entry(tables: Tables, name: str) -> dict[str, Any]:
    """Return the table of a column in the policy."""
    columns = tables.setdefault("columns", {})
    entry = columns.get(name, {})
    if isinstance(entry, str):
        entry = {"role": entry}
    columns[name] = entry
    found: dict[str, Any] = entry
    return found


def store_of(project: Project) -> dict[str, Any]:
    """Return what the screen keeps about the open table."""
    found: dict[str, Any] = project.store.setdefault(KEY, {})
    return found
