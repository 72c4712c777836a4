"""The screen Hand over: what leaves, what stays, and who signs for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import FileResponse, PlainTextResponse, Response

from shoal.apps.studio.compare.trials import trials_of
from shoal.apps.studio.form_values import read_database, read_field
from shoal.apps.studio.handover.items import PAPERS, STORE, Item, items, write_zip, written
from shoal.apps.studio.jobs import Job, Order
from shoal.apps.studio.look.current_release import Made, endings, extension_of, start_release
from shoal.apps.studio.page import report_page
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import Action, State
from shoal.documents.report.report_parts import SignOff
from shoal.errors import DataError
from shoal.io.databases import DatabaseTable
from shoal.policy import Policy
from shoal.policy.sources import inputs_of

SIGNED = {
    "owner": "Data owner",
    "purpose": "Purpose of the release",
    "recipient": "Recipient",
    "date": "Date",
    "signed_by": "Approved by",
}
"""The fields of the sign-off, which go into the reports."""
SHORT = 200_000
"""The most bytes that a preview of text shows."""


def state(project: Project) -> State:
    """Return whether something was handed over."""
    made = project.release
    if made is not None and not made.publishable:
        return State("problem", "must not be published")
    if project.store.get("handed") and not project.stale:
        return State("done", str(project.store["handed"]))
    return State("attention", "ready") if made is not None and not project.stale else State("open")


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return the files, and the preview that was asked for."""
    made = project.release
    files = [] if made is None else items(project, made)
    seen = next((item for item in files if item.key == query.get("see")), None)
    return {
        "made": made,
        "files": files,
        "job": project.jobs.latest(PAPERS),
        "reported": any(item.key.startswith("report-") for item in files),
        "signed": project.store.get("signed", {}),
        "fields": SIGNED,
        "stored": project.jobs.latest(STORE),
        "database": project.store.get("database", {"address": "", "table": ""}),
        "pseudonyms": () if project.policy is None else project.policy.pseudonyms,
        "keys": bool(project.store.get("keys")),
        "ending": extension_of(project),
        "endings": endings(),
        "seen": seen,
        "preview": _preview(seen),
    }


def _require_release(project: Project) -> Made:
    made = project.release
    if made is None:
        raise DataError("there is no release yet: make one under Look")
    return made


def _chosen(project: Project, form: FormData) -> list[Item]:
    keys = set(form.getlist("item"))
    chosen = [item for item in items(project, _require_release(project)) if item.key in keys]
    if not chosen:
        raise DataError("nothing is chosen: tick at least one file")
    return chosen


def _format(project: Project, form: FormData) -> None:
    wanted = str(form.get("ending", ""))
    if wanted not in endings():
        raise DataError(f"'{wanted}' is not a known ending: choose one of the list")
    if wanted != extension_of(project):
        project.store["ending"] = wanted
        start_release(project)


def _keys(project: Project, form: FormData) -> None:
    project.store["keys"] = "keys" in form
    start_release(project)


def _reports(project: Project, form: FormData) -> None:
    made = _require_release(project)
    signed = {name: str(form.get(name, "")).strip()[:500] for name in SIGNED}
    project.store["signed"] = signed
    tried = trials_of(project)
    arguments = {
        "release": made.path,
        "comparison": None if tried is None or tried.stale(project) else tried.comparison()[0],
        "sign_off": SignOff(**signed),
    }
    work = "shoal.apps.studio.job_tasks.reports:papers"
    project.start(Order(PAPERS, "Write the reports", work, arguments, made.policy))


def _write(project: Project, form: FormData) -> None:
    text = read_field(form, "folder")
    if not text:
        raise DataError("name the folder to write to")
    inputs = inputs_of(Policy.from_toml(_require_release(project).policy, project.base))
    if project.source is not None:
        inputs |= {project.source.place: "the original table"}
    if project.policy_file is not None:
        inputs |= {project.policy_file: "the policy that you opened"}
    paths = written(_chosen(project, form), Path(text).expanduser(), force="force" in form, inputs=inputs)
    project.store["handed"] = f"{len(paths)} files written"
    words = "\n".join([f"Written to {Path(text).expanduser()}", *(str(path) for path in paths)])
    project.tell("done", words, "handover")


def _database(project: Project, form: FormData) -> None:
    made = _require_release(project)
    if not made.publishable:
        raise DataError("this release must not be published; see Look")
    address, table = read_field(form, "address"), read_field(form, "table")
    if not address or not table:
        raise DataError("give the address of the database and the name of the new table")
    target = read_database(form, address)
    if not isinstance(target, DatabaseTable):
        raise DataError("this is the name of a file: write it to a folder, or give the address of a database")
    project.store["database"] = {"address": address, "table": table}

    def after(_job: Job) -> None:
        project.store["handed"] = f"written to {table}"

    work = "shoal.apps.studio.job_tasks.store:store"
    arguments = {"target": target, "force": "force" in form}
    project.start(Order(STORE, f"Write the release to {table}", work, arguments, made.policy, after))


def _zip(project: Project, form: FormData) -> Response:
    path = project.folder.inside("zip") / "shoal-release.zip"
    write_zip(_chosen(project, form), path)
    project.store["handed"] = "downloaded"
    return FileResponse(path, filename=path.name)


def _find(project: Project, query: QueryParams) -> Item:
    wanted = query.get("key", "")
    found = next((item for item in items(project, _require_release(project)) if item.key == wanted), None)
    if found is None:
        raise DataError("there is no such file")
    return found


def _file(project: Project, query: QueryParams) -> Response:
    item = _find(project, query)
    project.store.setdefault("handed", "downloaded")
    name = Path(item.name).name
    if item.path is not None:
        return FileResponse(item.path, filename=name, media_type="application/octet-stream")
    return Response(
        item.text, media_type="text/plain", headers={"content-disposition": f'attachment; filename="{name}"'}
    )


def _page(project: Project, query: QueryParams) -> Response:
    item = _find(project, query)
    if item.path is None or not item.name.endswith(".html"):
        return PlainTextResponse("This is not a page.\n", status_code=404)
    return report_page(item.path, query)


def _preview(item: Item | None) -> str:
    """Return the beginning of a text; empty for pages and for files that are no text."""
    if item is None or item.name.endswith(".html"):
        return ""
    content = item.read_start(SHORT)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        return content[: error.start].decode() if error.start > len(content) - 4 else ""


PARTS = {"file": _file, "page": _page}
ACTIONS: Mapping[str, Action] = {
    "format": _format,
    "keys": _keys,
    "reports": _reports,
    "write": _write,
    "database": _database,
    "zip": _zip,
}
