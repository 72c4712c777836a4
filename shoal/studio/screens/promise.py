"""The screen Promise. `shoal.studio.promising` does its work, and is imported when a table is open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import QueryParams

from shoal.studio.project import Project
from shoal.studio.screens.base import Action, Screen, State


class Promise(Screen):
    """What a release must guarantee."""

    key = "promise"
    title = "Promise"
    aim = "Say whom the release must withstand. Shoal tells at once whether this table allows it."
    tour = (
        "A promise is what every release must keep: nobody can be narrowed down to fewer than k rows, for example. "
        "Take a preset, name the adversary, or ask for models one by one. Shoal verifies the promise on the "
        "published rows, whatever the method."
    )
    style = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        if project.frame is None:
            return State("open")
        from shoal.studio.promising import state

        return state(project)

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return what the page shows."""
        from shoal.studio.promising import context

        return context(project, query)

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return every form of the screen."""
        from shoal.studio.promising import ACTIONS

        return ACTIONS

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> None:
        """Take a table of the population."""
        from shoal.studio.promising import take_file

        take_file(project, path, name, query)
