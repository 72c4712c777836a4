"""The screen Audit: judge a release that exists, made by any tool."""

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
from shoal.errors import DataError

KIND = "audit"
FILES = {
    "release": ("Release", "The table that another tool, or Shoal, has made."),
    "policy": ("Policy", "A policy file; without one, the policy of the open table is used."),
    "original": ("Original", "The table before; without one, the open table is used if there is one."),
    "record": ("Record", "The private record, if Shoal made the release: it says how."),
    "second": ("Second table", "If the release comes in two tables."),
}


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return what was given and found."""
    from shoal.documents.report.build_report import EDITIONS

    job, settings = project.jobs.latest(KIND), _settings(project)
    return {
        "files": FILES,
        "given": settings["files"],
        "suppressed_as": settings.get("suppressed_as", ""),
        "without_original": bool(settings.get("without_original")),
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
    found: dict[str, Any] = project.store.setdefault(KIND, {"files": {}})
    return found


def _forget(project: Project, form: FormData) -> None:
    _settings(project)["files"].pop(read_field(form, "what"), None)
    project.mark_changed()


def _run(project: Project, form: FormData) -> None:
    from shoal.judging.read_case import Received
    from shoal.policy import Policy

    settings = _settings(project)
    given: dict[str, Source] = settings["files"]
    for what in FILES:
        text = read_field(form, what)
        if text:
            place: str | Path = text if "://" in text else Path(text).expanduser()
            given[what] = Source(place, text)
    settings["suppressed_as"] = str(form.get("suppressed_as", ""))
    settings["without_original"] = "without_original" in form
    if "release" not in given:
        raise DataError("name the release: drop a file, or type its path")
    if "policy" in given:
        policy = Policy.read(str(given["policy"].place))
    elif project.source is not None:
        policy = project.require_policy()
    else:
        raise DataError(
            "name the policy that the release should satisfy, or open the original table under Data"
        )
    original = None if settings["without_original"] else given.get("original") or project.source
    places = {name: one.place for name, one in (given | {"original": original}).items() if one is not None}
    received = Received(
        places["release"],
        places.get("original"),
        places.get("second"),
        suppressed_as=settings["suppressed_as"] or None,
        record=places.get("record"),
    )
    arguments = {"received": received, "policy": policy.to_toml(), "base": policy.base}
    title, work = f"Audit {given['release'].name}", "shoal.apps.studio.job_tasks.audit_task:audit"
    project.jobs.start(Order(KIND, title, work, arguments, policy.to_toml()))


def _report(project: Project, query: QueryParams) -> Response:
    from shoal.documents.report.build_report import EDITIONS

    job, edition = project.jobs.latest(KIND), query.get("edition", "")
    named = None if job is None or edition not in EDITIONS else job.folder / f"report-{edition}.html"
    return report_page(named, query)


PARTS = {"report": _report}
ACTIONS = {"run": _run, "forget": _forget}
