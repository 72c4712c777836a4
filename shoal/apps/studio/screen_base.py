"""`Screen`: what all screens of Studio have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from shoal.errors import DataError

if TYPE_CHECKING:
    from shoal.apps.studio.project import Project

Mark = Literal["open", "done", "attention", "problem"]


@dataclass(frozen=True)
class State:
    """How far a step is, for the list of steps."""

    mark: Mark
    words: str = ""
    """One short line: what is done, or what needs attention."""


Action = Callable[["Project", FormData], str | Response | None]
"""Answers a form. Returns where to go next; None: back to the screen."""
Part = Callable[["Project", QueryParams], Response]
"""Answers a question of the page, such as for more rows."""


class Screen:
    """One screen. Its template is ``templates/KEY.html``; ``static/KEY.js`` and ``static/KEY.css`` are its own."""

    key: ClassVar[str]
    """Its address, ``/KEY``."""
    title: ClassVar[str]
    aim: ClassVar[str]
    """One sentence under the title: what to do here."""
    tour: ClassVar[str]
    """What the tour says here: two or three sentences."""
    is_step: ClassVar[bool] = True
    """Whether it is one of the steps from data to release; other screens are listed below them."""
    needs_data: ClassVar[bool] = True
    """Without a table, the screen only says that one is needed."""
    script: ClassVar[bool] = False
    """Whether it has a script."""
    style: ClassVar[bool] = False
    """Whether it has a stylesheet."""

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is. Quick: every page asks."""
        raise NotImplementedError

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return what the template shows."""
        return {}

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return the forms that it answers, at ``/KEY/NAME``. A ShoalError becomes a notice on the screen."""
        return {}

    @classmethod
    def parts(cls) -> Mapping[str, Part]:
        """Return the questions that it answers, at ``/KEY/NAME``."""
        return {}

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> str | Response | None:
        """Take a file that was dropped on it: `path` lies in Studio's folder, `name` is what the user calls it."""
        raise DataError("this screen takes no files")


class LateScreen(Screen):
    """A screen whose work is in a module that is imported when a table is open: the first page must not wait for it."""

    module: ClassVar[str]
    """It has `state`, `context` and `ACTIONS`."""

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        found: State = State("open") if project.frame is None else import_module(cls.module).state(project)
        return found

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return what the page shows."""
        found: Mapping[str, Any] = import_module(cls.module).context(project, query)
        return found

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return every form of the screen."""
        found: Mapping[str, Action] = import_module(cls.module).ACTIONS
        return found
