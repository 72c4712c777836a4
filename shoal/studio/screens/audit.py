"""The screen audit."""

from __future__ import annotations

from shoal.studio.project import Project
from shoal.studio.screens.base import Screen, State


class AuditRelease(Screen):
    """To be written."""

    key = "audit"
    title = "AuditRelease"
    aim = ""
    tour = ""
    needs_data = False
    is_step = False

    @classmethod
    def state(cls, project: Project) -> State:
        """Return how far the step is."""
        return State("open")
