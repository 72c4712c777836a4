"""The screen Compare. `shoal.studio.choosing` does its work, and is imported when a table is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams

from shoal.studio.project import Project
from shoal.studio.screens.base import Action, Screen, State


class Compare(Screen):
    """Which method, with which options?"""

    key = "compare"
    title = "Compare"
    aim = "Let Shoal try its methods on this table, and choose the release with the risk and the loss that you want."
    tour = (
        "Every method keeps the promise in another way, and loses something else. Shoal tries them, verifies and "
        "attacks each release, and draws risk against loss: the best are at the lower left. Click a point to look at "
        "it, pin two to compare them, and choose one."
    )
    script = True
    style = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        if project.frame is None:
            return State("open")
        from shoal.studio.choosing import state

        return state(project)

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return what the page shows."""
        from shoal.studio.choosing import context

        return context(project, query)

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return every form of the screen."""
        from shoal.studio.choosing import ACTIONS

        return ACTIONS
