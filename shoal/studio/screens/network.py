"""The screen network."""

from __future__ import annotations

from shoal.studio.project import Project
from shoal.studio.screens.base import Screen, State


class Network(Screen):
    """To be written."""

    key = "network"
    title = "Network"
    aim = ""
    tour = ""
    needs_data = False
    is_step = False

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        return State("open")
