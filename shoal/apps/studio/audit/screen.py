"""The screen Audit: judge a release that exists, made by any tool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import FileResponse, PlainTextResponse, Response

from shoal.apps.studio.guard import OWN_POLICY
from shoal.apps.studio.handover.screen import REPORT_POLICY
from shoal.apps.studio.project import Project, Source
from shoal.apps.studio.screen_base import Action, Part, Screen, State
from shoal.errors import DataError

KIND = "audit"
FILES = {
    "release": ("Release", "The table that another tool, or Shoal, has made."),
    "policy": ("Policy", "A policy file; without one, the policy of the open table is used."),
    "original": ("Original", "The table before; without one, the open table is used if there is one."),
    "record": ("Record", "The private record, if Shoal made the release: it says how."),
    "second": ("Second table", "If the release comes in two tables."),
}


class AuditRelease(Screen):
    """Judge a release from its rows: every requirement, losses, attacks."""

    key = "audit"
    title = "Audit a release"
    aim = "Judge a table that exists, made by any tool: what it guarantees, and how far adversaries get."
    tour = "Give a release that somebody has made, and the policy that it should satisfy. Shoal reads its rows alone."
    is_step = False
    needs_data = False

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how the last audit ended."""
        return State("open")

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return what was given and found."""
        from shoal.documents.report.report import EDITIONS

        job = project.jobs.latest(KIND)
        return {
            "files": FILES,
            "given": _given(project),
            "suppressed_as": _settings(project).get("suppressed_as", ""),
            "without_original": bool(_settings(project).get("without_original")),
            "job": job,
            "found": job.result if job is not None and job.state == "done" else None,
            "editions": EDITIONS,
        }

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Answer its forms."""
        return {"run": _run, "forget": _forget}

    @classmethod
    def parts(cls) -> Mapping[str, Part]:
        """Answer questions for its reports."""
        return {"report": _report}

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> None:
        """Take one of the files."""
        what = query.get("for", "")
        if what not in FILES:
            raise DataError("drop the file on one of the fields")
        _given(project)[what] = Source(path, name, kept=True)
        project.changed()


def _settings(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.store.setdefault(KIND, {"files": {}})
    return found


def _given(project: Project) -> dict[str, Source]:
    found: dict[str, Source] = _settings(project)["files"]
    return found


def _forget(project: Project, form: FormData) -> None:
    _given(project).pop(str(form.get("what", "")), None)
    project.changed()


def _run(project: Project, form: FormData) -> None:
    from shoal.policy import Policy

    given = _given(project)
    for what in FILES:
        text = str(form.get(what, "")).strip()
        if text:
            place: str | Path = text if "://" in text else Path(text).expanduser()
            given[what] = Source(place, text)
    settings = _settings(project)
    settings["suppressed_as"] = str(form.get("suppressed_as", ""))
    settings["without_original"] = "without_original" in form
    if "release" not in given:
        raise DataError("name the release: drop a file, or type its path")
    if "policy" in given:
        policy = Policy.read(str(given["policy"].place))
    elif project.source is not None:
        policy = project.needed()
    else:
        raise DataError(
            "name the policy that the release should satisfy, or open the original table under Data"
        )
    original = given.get("original") or project.source
    if settings["without_original"]:
        original = None
    project.jobs.start(
        KIND,
        f"Audit {given['release'].name}",
        "shoal.apps.studio.job_tasks.audit:audit",
        {
            "release": given["release"].place,
            "policy": policy.to_toml(),
            "base": policy.base,
            "original": None if original is None else original.place,
            "record": given["record"].place if "record" in given else None,
            "second": given["second"].place if "second" in given else None,
            "suppressed_as": settings["suppressed_as"] or None,
        },
        policy=policy.to_toml(),
    )


def _report(project: Project, query: QueryParams) -> Response:
    from shoal.documents.report.report import EDITIONS

    job, edition = project.jobs.latest(KIND), query.get("edition", "")
    path = None if job is None else job.folder / f"report-{edition}.html"
    if edition not in EDITIONS or path is None or not path.is_file():
        return PlainTextResponse("There is no such report.\n", status_code=404)
    if "download" in query:
        return FileResponse(path, filename=path.name)
    return FileResponse(path, media_type="text/html", headers={OWN_POLICY: REPORT_POLICY})
