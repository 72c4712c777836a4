"""From a project to HTML: the frame around every screen, and the environment of the templates."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response

from shoal import __version__
from shoal.apps.studio.guard import OWN_POLICY
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import SCREENS
from shoal.documents.pages.look import environment, stylesheet
from shoal.support.wording import format_count, list_fixes, number

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A report carries its own stylesheet, and nothing that acts."""


def page(project: Project, key: str, query: QueryParams) -> Response:
    """Show a screen inside the frame."""
    version = project.version  # first: what changes while the page is made makes it out of date
    screen = SCREENS[key]
    missing = screen.needs_data and project.frame is None
    template = "missing.html" if missing else f"{key}.html"
    context = {} if missing else screen.work.context(project, query)
    return HTMLResponse(
        _environment()
        .get_template(template)
        .render(
            project=project,
            screen=screen,
            screens=[(other, other.state(project)) for other in SCREENS.values()],
            notices=project.notices_on(key),
            version=version,
            shoal=__version__,
            **context,
        )
    )


def render_part(template: str, **context: Any) -> HTMLResponse:
    """Render a template as a part of a page that JavaScript asked for."""
    return HTMLResponse(_environment().get_template(template).render(**context))


def report_page(path: Path | None, query: QueryParams) -> Response:
    """Return a report as a page that Studio may show in a frame, or as a download."""
    if path is None or not path.is_file():
        return PlainTextResponse("There is no such report.\n", status_code=404)
    if "download" in query:
        return FileResponse(path, filename=path.name)
    return FileResponse(path, media_type="text/html", headers={OWN_POLICY: REPORT_POLICY})


def render_failure(kind: str, root: str) -> Response:
    """Return the page for an internal error. `root` is the path of Studio, also for pages below a screen."""
    words = _environment().get_template("failed.html").render(kind=kind, root=root)
    return HTMLResponse(words, status_code=500)


def render_end(root: str) -> Response:
    """Say that Studio has ended."""
    return HTMLResponse(_environment().get_template("ended.html").render(root=root))


def style(_request: Request) -> Response:
    """Return the stylesheet that reports have as well."""
    return Response(stylesheet(), media_type="text/css")


def duration(seconds: float | None) -> str:
    """Write seconds for people."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"


@cache
def _environment() -> Environment:
    found = environment("shoal.apps.studio")
    found.filters |= {
        "number": number,
        "percent": lambda value: "-" if value is None else f"{value:.1%}",
        "duration": duration,
    }
    found.globals |= {"counted": format_count, "list_fixes": list_fixes}
    return found
