"""The screen data."""

from __future__ import annotations

from shoal.studio.project import Project
from shoal.studio.screens.base import Screen, State


class Data(Screen):
    """To be written."""

    key = "data"
    title = "Data"
    aim = ""
    tour = ""
    needs_data = False
    is_step = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        return State("open")
