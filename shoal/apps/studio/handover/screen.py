"""The screen Hand over: what leaves, what stays, and who signs for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import FileResponse, PlainTextResponse, Response

from shoal.apps.studio.guard import OWN_POLICY
from shoal.apps.studio.handover.files import PAPERS, STORE, Item, items, written, zipped
from shoal.apps.studio.jobs import Job
from shoal.apps.studio.look.release import Made, ending_of, endings, made_release, start_release
from shoal.apps.studio.project import Project
from shoal.apps.studio.screen_base import Action, Part, Screen, State
from shoal.errors import DataError

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
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A report carries its own stylesheet, and nothing that acts."""


class HandOver(Screen):
    """Choose, preview, write to a folder, or download as one zip."""

    key = "handover"
    title = "Hand over"
    aim = "Choose what to give away and what to keep, look at it once more, and write it."
    tour = (
        "The release, its card and the public report may leave your house. The record, the policy and the private "
        "report stay with the original data. Fill in who answers for the release, write the reports, and take all as "
        "one zip or into a folder."
    )
    style = True
    script = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return whether something was handed over."""
        made = made_release(project)
        if made is not None and not made.publishable:
            return State("problem", "must not be published")
        if project.store.get("handed") and not project.stale:
            return State("done", str(project.store["handed"]))
        return State("attention", "ready") if made is not None and not project.stale else State("open", "")

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return the files, and the preview that was asked for."""
        made = made_release(project)
        files = [] if made is None else items(project, made)
        job = project.jobs.latest(PAPERS)
        seen = next((item for item in files if item.key == query.get("see")), None)
        return {
            "made": made,
            "files": files,
            "job": job,
            "reported": any(item.key.startswith("report-") for item in files),
            "signed": project.store.get("signed", {}),
            "fields": SIGNED,
            "stored": project.jobs.latest(STORE),
            "database": project.store.get("database", {"address": "", "table": ""}),
            "pseudonyms": () if project.policy is None else project.policy.pseudonyms,
            "keys": bool(project.store.get("keys")),
            "ending": ending_of(project),
            "endings": endings(),
            "seen": seen,
            "preview": _preview(seen),
        }

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Answer its forms."""
        return {
            "format": _format,
            "keys": _keys,
            "reports": _reports,
            "write": _write,
            "database": _database,
            "zip": _zip,
        }

    @classmethod
    def parts(cls) -> Mapping[str, Part]:
        """Answer questions for files."""
        return {"file": _file, "page": _page}


def _made(project: Project) -> Made:
    made = made_release(project)
    if made is None:
        raise DataError("there is no release yet: make one under Look")
    return made


def _chosen(project: Project, form: FormData) -> list[Item]:
    keys = set(form.getlist("item"))
    chosen = [item for item in items(project, _made(project)) if item.key in keys]
    if not chosen:
        raise DataError("nothing is chosen: tick at least one file")
    return chosen


def _format(project: Project, form: FormData) -> None:
    wanted = str(form.get("ending", ""))
    if wanted not in endings():
        raise DataError(f"'{wanted}' is not a known ending: choose one of the list")
    if wanted != ending_of(project):
        project.store["ending"] = wanted
        start_release(project)


def _keys(project: Project, form: FormData) -> None:
    project.store["keys"] = "keys" in form
    start_release(project)


def _reports(project: Project, form: FormData) -> None:
    made = _made(project)
    signed = {name: str(form.get(name, "")).strip()[:500] for name in SIGNED}
    project.store["signed"] = signed
    from shoal.apps.studio.compare.trials import trials_of

    tried = trials_of(project)
    project.jobs.start(
        PAPERS,
        "Write the reports",
        "shoal.apps.studio.job_tasks.reports:papers",
        {
            "source": project.place(),
            "policy": made.policy,
            "base": project.base,
            "release": made.path,
            "signed": signed,
            "comparison": None if tried is None or tried.stale(project) else tried.comparison()[0],
        },
        policy=made.policy,
    )


def _write(project: Project, form: FormData) -> None:
    text = str(form.get("folder", "")).strip()
    if not text:
        raise DataError("name the folder to write to")
    from shoal.policy import Policy
    from shoal.policy.sources import inputs_of

    inputs = inputs_of(Policy.from_toml(_made(project).policy, project.base))
    if project.source is not None:
        inputs |= {project.source.place: "the original table"}
    if project.policy_file is not None:
        inputs |= {project.policy_file: "the policy that you opened"}
    paths = written(_chosen(project, form), Path(text).expanduser(), force="force" in form, inputs=inputs)
    project.store["handed"] = f"{len(paths)} files written"
    words = "\n".join([f"Written to {Path(text).expanduser()}", *(str(path) for path in paths)])
    project.tell("done", words, "handover")


def _database(project: Project, form: FormData) -> None:
    from shoal.io.databases import DatabaseTable, in_database, passwords

    made = _made(project)
    if not made.publishable:
        raise DataError("this release must not be published; see Look")
    address, table = (str(form.get(name, "")).strip() for name in ("address", "table"))
    if not address or not table:
        raise DataError("give the address of the database and the name of the new table")
    target = in_database(address, table, None)  # refuses a password in the address
    if not isinstance(target, DatabaseTable):
        raise DataError("this is the name of a file: write it to a folder, or give the address of a database")
    target = target.beside(Path.cwd())
    passwords.ask_with(None)  # a question on the terminal would not be seen
    password = str(form.get("password", ""))
    if password:
        passwords.remember({target.place: password})
    project.store["database"] = {"address": address, "table": table}

    def after(_job: Job) -> None:
        project.store["handed"] = f"written to {table}"

    project.jobs.start(
        STORE,
        f"Write the release to {table}",
        "shoal.apps.studio.job_tasks.store:store",
        {
            "source": project.place(),
            "policy": made.policy,
            "base": project.base,
            "target": target,
            "force": "force" in form,
        },
        policy=made.policy,
        after=after,
    )


def _zip(project: Project, form: FormData) -> Response:
    path = project.folder.inside("zip") / "shoal-release.zip"
    zipped(_chosen(project, form), path)
    project.store["handed"] = "downloaded"
    return FileResponse(path, filename=path.name)


def _find(project: Project, query: QueryParams) -> Item:
    wanted = query.get("key", "")
    found = next((item for item in items(project, _made(project)) if item.key == wanted), None)
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
    return FileResponse(item.path, media_type="text/html", headers={OWN_POLICY: REPORT_POLICY})


def _preview(item: Item | None) -> str:
    """Return the beginning of a text; empty for pages and for files that are no text."""
    if item is None or item.name.endswith(".html"):
        return ""
    content = item.beginning(SHORT)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        return content[: error.start].decode() if error.start > len(content) - 4 else ""
