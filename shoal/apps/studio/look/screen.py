"""The screen Look: the release before anybody else sees it, beside the original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData, QueryParams

from shoal.apps.studio.look.release import BESIDE, KIND, SUPPRESSED, Made, made_release, start_release
from shoal.apps.studio.project import Project
from shoal.apps.studio.screen_base import Action, Screen, State

VIEWS = {"rows": "Rows", "suppressed": "Suppressed rows", "report": "Report"}
PAGE = 50
"""Rows on one page."""


class Look(Screen):
    """The release beside the original, for the owner's eyes."""

    key = "look"
    title = "Look"
    aim = "See what the release shows of each row, what it has lost, and what adversaries found."
    tour = (
        "Here the original and the release stand side by side, for your eyes only. Look at the rows that were "
        "suppressed, at the columns that lost most, and at the attacks that Shoal has tried on the release."
    )
    style = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return whether there is a release of the policy."""
        job = project.jobs.latest(KIND)
        if job is not None and job.active:
            return State("open", "is being made")
        if job is not None and job.state == "failed":
            return State("problem", "no release")
        made = made_release(project)
        if made is None:
            return State("open", "")
        if project.stale:
            return State("attention", "of an earlier policy")
        if not made.publishable:
            return State("problem", "must not be published")
        return State("done", f"{made.summary['method']}, verified")

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return the release, and the page of rows that was asked for."""
        made, job = made_release(project), project.jobs.latest(KIND)
        view = query.get("view", "rows")
        view = view if view in VIEWS else "rows"
        found: dict[str, Any] = {"made": made, "job": job, "views": VIEWS, "view": view, "rows": None}
        if made is not None and view != "report":
            found["rows"] = beside(made, _whole(query.get("from", "1")), only_suppressed=view == "suppressed")
        return found

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Make the release, or make it again."""
        return {"make": _make}


def _make(project: Project, _form: FormData) -> None:
    start_release(project)


def beside(made: Made, first: int, *, only_suppressed: bool) -> dict[str, Any]:
    """Return a page of rows, each original cell beside the published one; `first` counts from 1."""
    import polars as pl

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


def _whole(text: str) -> int:
    cleaned = text.replace(",", "").strip()
    return int(cleaned) if cleaned.isdecimal() and len(cleaned) < 16 else 1
