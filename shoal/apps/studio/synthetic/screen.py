"""The screen Synthetic data: attack a synthetic table that any tool made, and compare with a holdout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.apps.studio.data.source import Source
from shoal.apps.studio.form_values import read_field
from shoal.apps.studio.jobs import Order
from shoal.apps.studio.page import report_page
from shoal.apps.studio.project import Project
from shoal.errors import DataError, PolicyError, Problem

KIND = "synthetic"
EDITIONS = ("public", "private")
FILES = {
    "synthetic": ("Synthetic table", "What the generator made."),
    "original": (
        "Original",
        "The table that it was trained on; without one, the open table is used if there is one.",
    ),
    "holdout": (
        "Holdout",
        "People of the same population on whom it was not trained. Without them, the risk cannot be known.",
    ),
}
LISTS = {
    "columns": ("Columns", "Names with commas; by default all columns of the synthetic table."),
    "categories": ("Categories", "Columns that are compared as text, such as zip codes."),
    "sensitive": ("Sensitive columns", "Those that an adversary wants to infer; by default all."),
}


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return what was given and found."""
    job, settings = project.jobs.latest(KIND), _settings(project)
    return {
        "files": FILES,
        "lists": LISTS,
        "given": settings["files"],
        "asked": settings["asked"],
        "job": job,
        "found": job.result if job is not None and job.state == "done" else None,
        "editions": EDITIONS,
    }


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> None:
    """Take one of the files."""
    what = query.get("for", "")
    if what not in FILES:
        raise DataError("drop the file on one of the fields")
    _settings(project)["files"][what] = Source(path, name, kept=True)
    project.mark_changed()


def _settings(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.store.setdefault(KIND, {"files": {}, "asked": {}})
    return found


def _forget(project: Project, form: FormData) -> None:
    _settings(project)["files"].pop(read_field(form, "what"), None)
    project.mark_changed()


def _run(project: Project, form: FormData) -> None:
    settings = _settings(project)
    given: dict[str, Source] = settings["files"]
    for what in FILES:
        text = read_field(form, what)
        if text:
            given[what] = Source(Path(text).expanduser(), text)
    settings["asked"] = {name: read_field(form, name) for name in (*LISTS, "limit")}
    if "synthetic" not in given:
        raise DataError("name the synthetic table: drop a file, or type its path")
    original = given.get("original") or project.source
    if original is None:
        raise DataError("name the original that the generator was trained on, or open it under Data")
    places = {name: one.place for name, one in (given | {"original": original}).items()}
    options: dict[str, Any] = {
        name: tuple(one.strip() for one in settings["asked"][name].split(",") if one.strip())
        for name in LISTS
    }
    options["limit"] = _read_limit(settings["asked"]["limit"])
    title, work = f"Audit {given['synthetic'].name}", "shoal.apps.studio.job_tasks.synthetic_task:audit"
    project.jobs.start(Order(KIND, title, work, {"places": places, "options": options}, ""))


def _read_limit(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        problem = Problem("limit", "must be a number from 0 to 1", "0.1 allows a residual risk of 10 %")
        raise PolicyError([problem], where="the form") from None


def _report(project: Project, query: QueryParams) -> Response:
    job, edition = project.jobs.latest(KIND), query.get("edition", "")
    named = None if job is None or edition not in EDITIONS else job.folder / f"report-{edition}.html"
    return report_page(named, query)


PARTS = {"report": _report}
ACTIONS = {"run": _run, "forget": _forget}
