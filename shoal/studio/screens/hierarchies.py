"""The screen hierarchies: how each column may be generalized, chosen, drawn or edited as a tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.errors import HierarchyError
from shoal.hierarchy import to_csv
from shoal.hierarchy.files import read_rows, read_text
from shoal.hierarchy.kinds import KINDS, parsed
from shoal.hierarchy.kinds.cuts import Cuts
from shoal.studio import bands, planting
from shoal.studio.branches import Branches
from shoal.studio.coded import (
    KEY,
    Coded,
    coded_columns,
    column_entry,
    counted,
    looked_at,
    set_hierarchy,
    tried,
)
from shoal.studio.project import Project, Tables
from shoal.studio.screens.base import Action, Part, Screen, State
from shoal.studio.showing import column_page, columns_page
from shoal.wording import counted as told_count


class Hierarchies(Screen):
    """How each column may be generalized."""

    key = KEY
    title = "Hierarchies"
    aim = "Say how each quasi-identifier may be made coarser: choose a proposal, drag cut points, or edit a tree."
    tour = (
        "Shoal hides people by showing coarser values: an age band instead of an age, a region instead of a town. "
        "Every proposal says what it would lose. What you choose here decides what the release can still be used for."
    )
    script = True
    style = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Say how many columns have a hierarchy that fits."""
        if project.frame is None:
            return State("open")
        columns = [column for column in coded_columns(project) if column.role == "quasi"]
        if not columns:
            return State("attention", "no quasi-identifier yet")
        troubles, waiting = looked_at(project)
        if troubles:
            return State("problem", f"{told_count(len(troubles), 'column')} to mend")
        if waiting:
            return State("open", "looking at the values ..")
        return State("done", f"{told_count(len(columns), 'column')} can be generalized")

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return the list of columns, and everything about the one that is open."""
        columns = coded_columns(project)
        chosen = _chosen(columns, query.get("column", ""))
        listed = columns_page(project, columns, chosen)
        return {**listed, **(column_page(project, chosen) if chosen is not None else {"column": None})}

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return what changes the hierarchy of a column."""
        return {
            "choose": _choose,
            "options": _options,
            "cuts": _cuts,
            "divide": _divide,
            "edit": _edit,
            "limit": _limit,
            "weight": _weight,
            "tree": planting.act,
            "unfold": planting.unfold,
            "search": planting.search,
            "place": planting.place,
        }

    @classmethod
    def parts(cls) -> Mapping[str, Part]:
        """Return the hierarchy as a file."""
        return {"export": _export}

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> str | Response | None:
        """Take a hierarchy file of a column into the policy, as a tree."""
        column = planting.asked(project, query.get("column", ""))
        try:
            text = read_text(path, name)
        finally:
            path.unlink(missing_ok=True)
        rows, _ = read_rows(counted(project, column.name).values, text, name)
        planting.plant(project, column, Branches.from_rows(rows), f"tree of {name}")
        return planting.back(column)


def _chosen(columns: list[Coded], asked: str) -> Coded | None:
    return next((one for one in columns if str(one.index) == asked), columns[0] if columns else None)


def _choose(project: Project, form: FormData) -> str:
    """Take a proposal."""
    column = planting.asked(project, str(form["column"]))
    try:
        spec = json.loads(str(form["spec"]))
    except ValueError:
        raise HierarchyError("this proposal cannot be read; load the page again") from None
    kind = parsed(spec)
    set_hierarchy(project, column, spec, f"hierarchy {kind.name}")
    return planting.back(column)


def _options(project: Project, form: FormData) -> str:
    """Take the settings of a kind as somebody wrote them."""
    column = planting.asked(project, str(form["column"]))
    name = str(form["kind"])
    if name not in KINDS:
        raise HierarchyError("there is no such kind of hierarchy")
    kind = KINDS[name]
    shapes: Mapping[str, Mapping[str, Any]] = getattr(kind, "shapes", {})
    spec = {}
    for key, shape in shapes.items():
        value = _read(shape, [str(each) for each in form.getlist(f"set-{key}")])
        if value is not None:
            spec[key] = value
    parsed(spec)  # what is wrong with it is told here, and the policy stays as it was
    set_hierarchy(project, column, spec, f"settings of {name}")
    return planting.back(column)


def _read(shape: Mapping[str, Any], texts: list[str]) -> Any:
    """Read a setting by its shape; None if nothing was written."""
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        return None
    shapes = [shape, *shape.get("anyOf", ())]
    kinds = {str(one.get("type", "")) for one in shapes}
    if any("enum" in one for one in shapes):
        return texts[0]
    if "array" in kinds and "enum" in next(one for one in shapes if one.get("type") == "array")["items"]:
        return texts
    numbers = bands.read_points(texts[0])
    if "array" in kinds and (len(numbers) != 1 or kinds <= {"", "array"}):
        return numbers
    return numbers[0] if len(numbers) == 1 else numbers


def _cuts(project: Project, form: FormData) -> str:
    """Take cut points, one text of numbers per level."""
    column = planting.asked(project, str(form["column"]))
    levels = [bands.read_points(str(text)) for text in form.getlist("level")]
    dropped = str(form.get("drop", ""))
    if dropped.isdecimal() and int(dropped) < len(levels):
        del levels[int(dropped)]
    levels = bands.nested(levels)
    if form.get("add"):
        levels = bands.coarser(levels)
    if not levels:
        raise HierarchyError("cut points need at least one number; to have none, choose another proposal")
    set_hierarchy(project, column, {Cuts.name: levels}, "cut points")
    return planting.back(column)


def _divide(project: Project, form: FormData) -> str:
    """Make cut points from the present bands, or divide the column into parts."""
    column = planting.asked(project, str(form["column"]))
    found = counted(project, column.name)
    by = str(form.get("by", ""))
    parts = str(form.get("parts", ""))
    if by:
        spec = bands.divided(found, int(parts) if parts.isdecimal() else 0, by)
    else:
        spec = bands.as_cuts(found, tried(project, column.name, column.spec))
    set_hierarchy(project, column, spec, "cut points")
    return planting.back(column)


def _edit(project: Project, form: FormData) -> str:
    """Turn the present hierarchy into a tree of the policy."""
    column = planting.asked(project, str(form["column"]))
    planting.plant(project, column, planting.tree_of(project, column), "edit as a tree")
    return planting.back(column)


def _limit(project: Project, form: FormData) -> str:
    """Set how far values may be generalized: a level, or nothing."""
    column = planting.asked(project, str(form["column"]))
    wanted = str(form.get("limit", ""))
    hierarchy = tried(project, column.name, column.spec).hierarchy

    def change(tables: Tables) -> None:
        entry = column_entry(tables, column.name)
        entry.pop("limit", None)
        if wanted.isdecimal() and hierarchy is not None and int(wanted) < hierarchy.height:
            hierarchy.limited(int(wanted))
            entry["limit"] = int(wanted)

    project.edit(f"{column.name}: limit", change)
    return planting.back(column)


def _weight(project: Project, form: FormData) -> str:
    """Set how much a loss in the column counts."""
    column = planting.asked(project, str(form["column"]))
    numbers = bands.read_points(str(form.get("weight", "")))
    if len(numbers) != 1 or numbers[0] < 0:
        raise HierarchyError(
            "a weight is one number, 0 or more: 1 counts as much as other columns, 2 twice as much"
        )

    def change(tables: Tables) -> None:
        entry = column_entry(tables, column.name)
        entry.pop("weight", None)
        if numbers[0] != 1:
            entry["weight"] = float(numbers[0])

    project.edit(f"{column.name}: weight", change)
    return planting.back(column)


def _export(project: Project, query: QueryParams) -> Response:
    """Return the hierarchy as CSV, one line per value, as a policy's file and ARX have it."""
    column = planting.asked(project, query.get("column", ""))
    found = tried(project, column.name, column.spec)
    if found.hierarchy is None:
        raise HierarchyError(f"there is no hierarchy to write: {found.problem}")
    headers = {"content-disposition": f'attachment; filename="hierarchy-{column.index + 1}.csv"'}
    return Response(to_csv(found.hierarchy), media_type="text/csv; charset=utf-8", headers=headers)
