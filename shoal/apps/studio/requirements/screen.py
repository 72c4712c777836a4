"""The screen Promise. `shoal.apps.studio.requirements.view` does its work, and is imported when a table is open."""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import QueryParams

from shoal.apps.studio.project import Project
from shoal.apps.studio.screen_base import LateScreen


class Promise(LateScreen):
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
    module = "shoal.apps.studio.requirements.view"

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> None:
        """Take a table of the population."""
        from shoal.apps.studio.requirements.view import take_file

        take_file(project, path, name, query)
