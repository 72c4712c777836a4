"""Forms that give a column a hierarchy: proposals, settings, cut points, limit and weight."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.apps.studio.form_values import read_count, read_field
from shoal.apps.studio.hierarchies import number_line
from shoal.apps.studio.hierarchies.hierarchy_columns import (
    Coded,
    column_entry,
    count_column,
    set_hierarchy,
    try_hierarchy,
    whole_hierarchy,
)
from shoal.apps.studio.hierarchies.tree_editor import back, find_column, forget_view, plant, tree_of
from shoal.apps.studio.project import Project
from shoal.coding.hierarchy import to_csv
from shoal.coding.hierarchy.kinds import KINDS, parse_hierarchy
from shoal.coding.hierarchy.kinds.cuts import Cuts
from shoal.coding.hierarchy.kinds.ends import ENDS
from shoal.errors import HierarchyError


def choose(project: Project, form: FormData) -> str:
    """Take a proposal."""
    column = find_column(project, form)
    try:
        spec = json.loads(str(form["spec"]))
    except ValueError:
        raise HierarchyError("this proposal cannot be read; load the page again") from None
    kind = parse_hierarchy(spec)
    set_hierarchy(project, column, spec, f"hierarchy {kind.name}")
    forget_view(project, column)
    return back(column)


def options(project: Project, form: FormData) -> str:
    """Take the settings of a kind as somebody wrote them."""
    column = find_column(project, form)
    name = str(form["kind"])
    if name not in KINDS:
        raise HierarchyError("there is no such kind of hierarchy")
    kind = KINDS[name]
    shapes: Mapping[str, Mapping[str, Any]] = getattr(kind, "shapes", {})
    present = parse_hierarchy(column.spec)
    spec = present.settings() if isinstance(present, kind) else {}
    for key, shape in shapes.items():
        if f"set-{key}" not in form and "enum" not in shape.get("items", {}):
            continue  # it has an editor of its own
        spec.pop(key, None)
        value = _read(shape, [str(each) for each in form.getlist(f"set-{key}")])
        if value is not None:
            spec[key] = value
    parse_hierarchy(spec)  # what is wrong with it is told here, and the policy stays as it was
    set_hierarchy(project, column, spec, f"settings of {name}")
    return back(column)


def _read(shape: Mapping[str, Any], texts: list[str]) -> Any:
    """Read a setting by its shape; None if nothing was written."""
    texts = [text.strip() for text in texts if text.strip()]
    if not texts:
        return None
    shapes = [shape, *shape.get("anyOf", ())]
    kinds = {str(one.get("type", "")) for one in shapes}
    if any("enum" in one for one in shapes):
        return texts[0]
    items: Mapping[str, Any] = next((one["items"] for one in shapes if one.get("type") == "array"), {})
    if "enum" in items:
        return texts
    if items.get("type") == "string":  # codes keep their zeros
        return [word for word in re.split(r"[\s,;]+", texts[0]) if word]
    numbers = number_line.read_points(texts[0])
    if "array" in kinds and (len(numbers) != 1 or kinds <= {"", "array"}):
        return numbers
    return numbers[0] if len(numbers) == 1 else numbers


def cuts(project: Project, form: FormData) -> str:
    """Take cut points, one text of numbers per level."""
    column = find_column(project, form)
    levels = [number_line.read_points(str(text)) for text in form.getlist("level")]
    dropped = read_count(form, "drop")
    if 0 <= dropped < len(levels):
        del levels[dropped]
    levels = number_line.nest_levels(levels)
    if form.get("add"):
        levels = number_line.coarser(levels)
    if not levels:
        raise HierarchyError("cut points need at least one number; to have none, choose another proposal")
    set_hierarchy(project, column, {Cuts.name: levels, **_ends(column)}, "cut points")
    return back(column)


def _ends(column: Coded) -> dict[str, Any]:
    """Return the groups at the ends that a column has."""
    own = parse_hierarchy(column.spec).settings()
    return {key: own[key] for key in ENDS if key in own}


def divide(project: Project, form: FormData) -> str:
    """Make cut points from the present bands, or divide the column into parts."""
    column = find_column(project, form)
    found = count_column(project, column.name).some
    by = read_field(form, "by")
    if by:
        spec = number_line.divide_column(found, read_count(form, "parts", 0), by)
    else:
        spec = number_line.as_cuts(found, try_hierarchy(project, column.name, column.spec))
    set_hierarchy(project, column, spec, "cut points")
    return back(column)


def edit(project: Project, form: FormData) -> str:
    """Turn the present hierarchy into a tree of the policy."""
    column = find_column(project, form)
    if parse_hierarchy(column.spec).hides:
        raise HierarchyError(
            "a tree shows every value as it is, so the groups that are never divided would be lost: take out top, "
            "bottom, finest or show first"
        )
    plant(project, column, tree_of(project, column), "edit as a tree")
    forget_view(project, column)
    return back(column)


def limit(project: Project, form: FormData) -> str:
    """Set how far values may be generalized: a level, or nothing."""
    column = find_column(project, form)
    wanted = read_count(form, "limit")
    hierarchy = try_hierarchy(project, column.name, column.spec).hierarchy
    with project.edit(f"{column.name}: limit") as tables:
        entry = column_entry(tables, column.name)
        entry.pop("limit", None)
        if hierarchy is not None and 0 <= wanted < hierarchy.height:
            hierarchy.with_limit(wanted)
            entry["limit"] = wanted
    return back(column)


def weight(project: Project, form: FormData) -> str:
    """Set how much a loss in the column counts."""
    column = find_column(project, form)
    numbers = number_line.read_points(str(form.get("weight", "")))
    if len(numbers) != 1 or numbers[0] < 0:
        raise HierarchyError(
            "a weight is one number, 0 or more: 1 counts as much as other columns, 2 twice as much"
        )
    with project.edit(f"{column.name}: weight") as tables:
        entry = column_entry(tables, column.name)
        entry.pop("weight", None)
        if numbers[0] != 1:
            entry["weight"] = float(numbers[0])
    return back(column)


def export(project: Project, query: QueryParams) -> Response:
    """Return the hierarchy as CSV, one line per value, as a policy's file and ARX have it."""
    column = find_column(project, query)
    found = try_hierarchy(project, column.name, column.spec)
    if found.hierarchy is None:
        raise HierarchyError(f"there is no hierarchy to write: {found.problem}")
    hierarchy = (
        whole_hierarchy(project, column) if count_column(project, column.name).many else found.hierarchy
    )
    headers = {"content-disposition": f'attachment; filename="hierarchy-{column.index + 1}.csv"'}
    return Response(to_csv(hierarchy), media_type="text/csv; charset=utf-8", headers=headers)


ACTIONS: dict[str, Callable[[Project, FormData], str]] = {
    "choose": choose,
    "options": options,
    "cuts": cuts,
    "divide": divide,
    "edit": edit,
    "limit": limit,
    "weight": weight,
}
