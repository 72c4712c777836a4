"""The screen Look: the release before anybody else sees it, beside the original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.form_values import read_count
from shoal.apps.studio.look.current_release import BESIDE, KIND, SUPPRESSED, Made, start_release
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import State

VIEWS = {"rows": "Rows", "suppressed": "Suppressed rows", "report": "Report"}
PAGE = 50
"""Rows on one page."""


def state(project: Project) -> State:
    """Return whether there is a release of the policy."""
    job, made = project.jobs.latest(KIND), project.release
    if job is not None and job.active:
        return State("open", "is being made")
    if job is not None and job.state == "failed":
        return State("problem", "no release")
    if made is None:
        return State("open")
    if project.stale:
        return State("attention", "of an earlier policy")
    if not made.publishable:
        return State("problem", "must not be published")
    return State("done", f"{made.summary['method']}, verified")


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return the release, and the page of rows that was asked for."""
    made, view = project.release, query.get("view", "rows")
    view = view if view in VIEWS else "rows"
    page = None
    if made is not None and view != "report":
        page = beside(made, read_count(query, "from", 1), only_suppressed=view == "suppressed")
    return {"made": made, "job": project.jobs.latest(KIND), "views": VIEWS, "view": view, "rows": page}


def beside(made: Made, first: int, *, only_suppressed: bool) -> dict[str, Any]:
    """Return a page of rows, each original cell beside the published one; `first` counts from 1."""
    table = pl.scan_parquet(made.folder / BESIDE).with_row_index("number", offset=1)
    if only_suppressed:
        table = table.filter(pl.col(SUPPRESSED))
    total = int(table.select(pl.len()).collect().item())
    first = max(1, min(first, total))
    page = table.slice(first - 1, PAGE).collect()
    columns = made.columns
    rows = [
        {
            "number": row[0],
            "suppressed": row[-1],
            "cells": list(zip(row[1 : 1 + len(columns)], row[1 + len(columns) : -1], strict=True)),
        }
        for row in page.iter_rows()
    ]
    return {
        "columns": columns,
        "rows": rows,
        "first": first,
        "last": min(first + PAGE - 1, total),
        "total": total,
        "before": max(1, first - PAGE) if first > 1 else None,
        "after": first + PAGE if first + PAGE <= total else None,
    }


def _make(project: Project, _form: FormData) -> None:
    start_release(project)


ACTIONS = {"make": _make}
