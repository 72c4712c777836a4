"""The server: pages, forms, progress, and the life of a Studio from its link to its end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from shoal.apps.studio.data.source import Source
from shoal.apps.studio.data.uploads import LARGEST, receive
from shoal.apps.studio.guard import Guard
from shoal.apps.studio.page import page, render_end, render_failure, style
from shoal.apps.studio.private_folder import Folder
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import HOME, SCREENS
from shoal.errors import DataError, OutputError, ShoalError
from shoal.support.wording import either, speak

if TYPE_CHECKING:
    from shoal.io.databases import DatabaseTable

HOST = "127.0.0.1"
HEAVY = (
    "shoal.policy.suggestions",
    "shoal.pipeline.comparison.trial_processes",
    "shoal.apps.studio.requirements.screen",
    "shoal.apps.studio.compare.screen",
    "shoal.pipeline.explanation.nearest_policies",
    "shoal.documents.report.build_report",
)
"""What pages need later on: they import most of Shoal."""
WARM = 5.0
"""Seconds after which it imports them, if nobody has opened a page."""
PAUSE = 0.15
"""Seconds between two looks for something to tell open pages."""


class Studio:
    """One Studio: its project, its pages and its server."""

    def __init__(self, port: int = 0, *, largest: int = LARGEST) -> None:
        speak("studio")
        self.socket = _bound(port)
        self.port = int(self.socket.getsockname()[1])
        self.project = Project(Folder())
        self.largest = largest
        self.guard = Guard(_application(self), self.port, self.project.mark)
        config = uvicorn.Config(
            self.guard, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1,
            server_header=False,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self._shown = threading.Event()

    @property
    def link(self) -> str:
        """The link that opens it in a browser, once."""
        return self.guard.link.url

    @property
    def is_closing(self) -> bool:
        """Whether the server is shutting down."""
        return self.server.should_exit

    def open(self, data: Path | str | DatabaseTable | None, policy: Path | None = None) -> None:
        """Begin to read a table."""
        if data is not None:
            self.project.open(Source(data, str(data)), policy)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until somebody ends it. `ready` is called as soon as the link works."""
        threading.Thread(target=self._announce, args=(ready,), daemon=True).start()
        try:
            self.server.run(sockets=[self.socket])
        finally:
            self.server.should_exit = True
            self.guard.link.remove_file()
            self.project.close()

    def _announce(self, ready: Callable[[], None]) -> None:
        while not self.server.started:
            threading.Event().wait(0.01)
        ready()
        # After the first page, and before the first click.
        self._shown.wait(WARM)
        for module in HEAVY:
            import_module(module)
        from shoal.apps.studio.requirements.forms import prepare

        prepare()

    def end(self) -> None:
        """Let `run` return."""
        self.server.should_exit = True

    # --- answers ------------------------------------------------------------------------------------------

    def show(self, request: Request) -> Response:
        """Show a screen."""
        key = request.path_params["screen"]
        if key not in SCREENS:
            return _not_found("page")
        answer = page(self.project, key, request.query_params)
        answer.background = BackgroundTask(self._shown.set)
        return answer

    def part(self, request: Request) -> Response:
        """Answer a question of a screen."""
        key = request.path_params["screen"]
        found = SCREENS[key].parts.get(request.path_params["name"]) if key in SCREENS else None
        if found is None:
            return _not_found("page")
        try:
            return found(self.project, request.query_params)
        except ShoalError as error:
            return PlainTextResponse(f"{error}\n", status_code=400)

    async def act(self, request: Request) -> Response:
        """Answer a form of a screen."""
        key = request.path_params["screen"]
        action = SCREENS[key].work.ACTIONS.get(request.path_params["name"]) if key in SCREENS else None
        if action is None:
            return _not_found("action")
        async with request.form(max_files=0, max_fields=20_000, max_part_size=8 << 20) as form:
            return await run_in_threadpool(
                self._run_action, request, lambda: action(self.project, _with_short_numbers(form)), key
            )

    async def act_on_frame(self, request: Request) -> Response:
        """Answer a form that every page has."""
        action = FRAME_ACTIONS.get(request.path_params["name"])
        if action is None:
            return _not_found("action")
        async with request.form(max_files=0) as form:
            back = str(form.get("screen", ""))
            return await run_in_threadpool(
                self._run_action, request, lambda: action(self, _with_short_numbers(form)), back
            )

    def _run_action(self, request: Request, act: Callable[[], str | Response | None], key: str) -> Response:
        """Run the action of a form and redirect to the next page, which also shows errors."""
        key = key if key in SCREENS else HOME
        self.project.forget_seen_notices()
        try:
            after = act()
        except ShoalError as error:
            self.project.tell("problem", str(error), key)
            after = None
        return after if isinstance(after, Response) else _redirect(request, after or f"/{key}")

    async def upload(self, request: Request) -> Response:
        """Take a file that was dropped on a screen."""
        key = request.path_params["screen"]
        if key not in SCREENS:
            return _not_found("page")
        try:
            path, name = await receive(request, self.project.folder, self.largest)
        except ShoalError as error:
            self.project.tell("problem", str(error), key)
            return PlainTextResponse(f"{error}\n", status_code=413)
        taken = SCREENS[key].take_file
        return await run_in_threadpool(
            self._run_action, request, lambda: taken(self.project, path, name, request.query_params), key
        )

    async def events(self, request: Request) -> Response:
        """Tell an open page about changes and progress."""

        async def stream() -> AsyncIterator[str]:
            seen: tuple[int, int] | None = None
            while not self.is_closing and not await request.is_disconnected():
                jobs = self.project.jobs
                now = (self.project.version, jobs.ticks)
                if now != seen:
                    seen = now
                    told = {"version": now[0], "jobs": [job.summary() for job in jobs.active]}
                    yield f"data: {json.dumps(told | {'mark': self.project.mark})}\n\n"
                await asyncio.sleep(PAUSE)

        return StreamingResponse(stream(), media_type="text/event-stream")


# --- what every page offers ---------------------------------------------------------------------------------


def _with_short_numbers(form: FormData) -> FormData:
    """Return a form; raise `DataError` for a number with more digits than any number has that Python converts."""
    for name, text in form.multi_items():
        if re.search(r"\d{300}", str(text)):
            raise DataError(f"{name}: a number of 300 digits or more is too large; write a smaller one")
    return form


def _set(studio: Studio, form: FormData) -> None:
    studio.project.set(str(form["path"]), str(form["value"]))


def _cancel(studio: Studio, form: FormData) -> None:
    number = str(form["job"])
    studio.project.jobs.cancel(int(number) if number.isdecimal() else 0)


def _tour(studio: Studio, form: FormData) -> None:
    studio.project.tour = bool(form.get("on"))
    studio.project.mark_changed()


def _close(studio: Studio, form: FormData) -> Response | None:
    if studio.project.jobs.active and "sure" not in form:
        studio.project.tell("ask-close", "A job is still running. It ends with Studio.")
        return None
    studio.end()
    return render_end(studio.guard.root)


FRAME_ACTIONS: dict[str, Callable[[Studio, FormData], str | Response | None]] = {
    "undo": lambda studio, _form: studio.project.undo(),
    "redo": lambda studio, _form: studio.project.redo(),
    "again": lambda studio, _form: studio.project.read_again(),
    "set": _set,
    "cancel": _cancel,
    "tour": _tour,
    "close": _close,
}


def _bound(port: int) -> socket.socket:
    """Take the port now, so that a port in use is told at once."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(
            f"port {port} cannot be used ({reason}); "
            + either(command="without --port", python="with port 0")
            + ", Studio takes a free one"
        ) from None
    return found


class PanicError(RuntimeError):
    """A library has panicked."""


class _Panics:
    """Turns a panic in a library, which is not an Exception, into one, so that the page says that it failed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        try:
            await self._app(scope, receive, send)
        except (Exception, asyncio.CancelledError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            raise PanicError(type(error).__name__) from None


def _application(studio: Studio) -> Starlette:
    return Starlette(
        routes=[
            Route("/", _home),
            Route("/style.css", style),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            Route("/events", studio.events),
            Route("/upload/{screen}", studio.upload, methods=["POST"]),
            Route("/studio/{name}", studio.act_on_frame, methods=["POST"]),
            Route("/{screen}", studio.show),
            Route("/{screen}/{name}", studio.part),
            Route("/{screen}/{name}", studio.act, methods=["POST"]),
        ],
        middleware=[Middleware(_Panics)],
        exception_handlers={Exception: _mistake},
    )


def _home(request: Request) -> Response:
    return _redirect(request, f"/{HOME}")


def _redirect(request: Request, address: str) -> Response:
    """Go on to an address of Studio, which is below its root."""
    return RedirectResponse(request.scope["root_path"] + address, status_code=303)


def _mistake(request: Request, error: Exception) -> Response:
    """Answer with words: a stack trace may show values of the data."""
    if os.environ.get("SHOAL_DEBUG"):
        raise error
    return render_failure(type(error).__name__, request.scope["root_path"])


def _not_found(what: str) -> Response:
    return PlainTextResponse(f"There is no such {what}.\n", status_code=404)
