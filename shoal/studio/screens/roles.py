"""The screen roles."""

from __future__ import annotations

from shoal.studio.project import Project
from shoal.studio.screens.base import Screen, State


class Roles(Screen):
    """To be written."""

    key = "roles"
    title = "Roles"
    aim = ""
    tour = ""
    needs_data = True
    is_step = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        return State("open")
