"""The screen Network: mask a social network, whose people are the rows of the open table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import FileResponse, Response

from shoal.apps.studio.data.source import Source
from shoal.apps.studio.form_values import read_field
from shoal.apps.studio.handover.items import Item, write_zip
from shoal.apps.studio.jobs import Order
from shoal.apps.studio.page import report_page
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import Action
from shoal.errors import DataError, PolicyError, Problem

KIND = "network"
GRAPHS = (".graphml", ".xml")
"""Endings of files that hold nodes and edges."""
PAPERS = {"card.md": True, "card.json": True, "record.json": False, "report-private.html": False}
"""The papers of a masked network, and whether they are public."""


def context(project: Project, query: QueryParams) -> Mapping[str, Any]:
    """Return what was given and made."""
    from shoal.network.masked import TABLE_FORMATS

    job, settings = project.jobs.latest(KIND), _settings(project)
    return {
        "edges": settings.get("edges"),
        "graph": settings.get("graph"),
        "settings": {"alpha": 0.5, "samples": 1, "id": "", "kind": TABLE_FORMATS[0], **settings},
        "kinds": TABLE_FORMATS,
        "job": job,
        "found": job.result if job is not None and job.state == "done" else None,
        "policy_changed": job is not None and job.order.policy != project.toml,
    }


def take_file(project: Project, path: Path, name: str, query: QueryParams) -> None:
    """Take a graph, or the table of edges."""
    _take(project, Source(path, name, kept=True))


def _settings(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.store.setdefault(KIND, {})
    return found


def _take(project: Project, source: Source) -> None:
    if Path(str(source.place)).suffix.lower() not in GRAPHS:
        if project.frame is None:
            raise DataError(
                "open the table of people under Data first; then give the table of their contacts here"
            )
        _settings(project)["edges"] = source
        project.mark_changed()
        return
    from shoal.network.read_network import read_network

    read = read_network(source.place)
    nodes = project.folder.inside("files") / "nodes.parquet"
    read.attributes.write_parquet(nodes)
    project.read(Source(nodes, f"{source.name}, its nodes", kept=True))
    _settings(project)["graph"] = source
    notes = "".join(f"\n{note}" for note in read.notes)
    project.tell(
        "done", f"{read.nodes:,} people and {read.edges:,} contacts; the people are the open table now{notes}"
    )


def _open(project: Project, form: FormData) -> None:
    text = read_field(form, "path")
    if not text:
        raise DataError("name a file: GraphML, or a table of edges")
    _take(project, Source(Path(text).expanduser(), text))


def _make(project: Project, form: FormData) -> None:
    settings, policy = _settings(project), project.require_policy()
    graph, edges = settings.get("graph"), settings.get("edges")
    if graph is None and edges is None:
        raise DataError("give the contacts first: a table of edges, or a GraphML file")
    try:
        settings["alpha"] = float(str(form.get("alpha", "0.5")))
        settings["samples"] = int(str(form.get("samples", "1")))
    except ValueError:
        raise PolicyError([Problem("alpha and samples", "must be numbers")]) from None
    settings["id"] = str(form.get("id", ""))
    settings["kind"] = str(form.get("kind", "csv"))
    assert project.source is not None
    arguments = {
        "nodes": project.place() if graph is None else graph.place,
        "edges": edges.place if graph is None and edges is not None else None,
        "policy": policy.to_toml(),
        "base": project.base,
        "kind": settings["kind"],
        "options": {"id": settings["id"] or None, **{name: settings[name] for name in ("alpha", "samples")}},
    }
    work = "shoal.apps.studio.job_tasks.network_task:network"
    project.jobs.start(Order(KIND, "Mask the network", work, arguments, project.toml))


def _zip(project: Project, _form: FormData) -> Response:
    job = project.jobs.latest(KIND)
    if job is None or job.state != "done":
        raise DataError("there is no masked network yet")
    chosen = [Item(name, name, name, "", True, job.folder / "masked" / name) for name in job.result["public"]]
    chosen += [Item(name, name, name, "", public, job.folder / name) for name, public in PAPERS.items()]
    chosen.append(Item("policy", "policy.toml", "Policy", "", False, text=job.order.policy))
    path = project.folder.inside("zip") / "shoal-network.zip"
    write_zip(chosen, path)
    return FileResponse(path, filename=path.name)


def _report(project: Project, query: QueryParams) -> Response:
    job = project.jobs.latest(KIND)
    return report_page(None if job is None else job.folder / "report-private.html", query)


PARTS = {"report": _report}
ACTIONS: Mapping[str, Action] = {"open": _open, "make": _make, "zip": _zip}
