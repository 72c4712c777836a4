"""The screen hierarchies: how each column may be generalized, chosen, drawn or edited as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import QueryParams
from starlette.responses import Response

from shoal.apps.studio.project import Project
from shoal.apps.studio.screen_base import Action, Part, Screen, State
from shoal.support.wording import counted

# What works with values is imported when a table is there: the first page must not wait for it.


class Hierarchies(Screen):
    """How each column may be generalized."""

    key = "hierarchies"
    title = "Hierarchies"
    aim = "Say how each quasi-identifier may be made coarser: choose a proposal, drag cut points, or edit a tree."
    tour = (
        "Shoal hides people by showing coarser values: an age band instead of an age, a region instead of a town. "
        "Every proposal says what it would lose. What you choose here decides what the release can still be used for."
    )
    script = True
    style = True

    @classmethod
    def state(cls, project: Project) -> State:
        """Say how many columns have a hierarchy that fits."""
        if project.frame is None:
            return State("open")
        from shoal.apps.studio.hierarchies.hierarchy_columns import coded_columns, looked_at

        columns = [column for column in coded_columns(project) if column.role == "quasi"]
        if not columns:
            return State("attention", "no quasi-identifier yet")
        troubles, waiting = looked_at(project)
        if troubles:
            return State("problem", f"{counted(len(troubles), 'column')} to mend")
        if waiting:
            return State("open", "looking at the values ..")
        return State("done", f"{counted(len(columns), 'column')} can be generalized")

    @classmethod
    def context(cls, project: Project, query: QueryParams) -> Mapping[str, Any]:
        """Return the list of columns, and everything about the one that is open."""
        from shoal.apps.studio.hierarchies.view import screen_page

        return screen_page(project, query.get("column", ""))

    @classmethod
    def actions(cls) -> Mapping[str, Action]:
        """Return what changes the hierarchy of a column."""
        from shoal.apps.studio.hierarchies import forms, tree_editor

        return {**forms.ACTIONS, **tree_editor.ACTIONS}

    @classmethod
    def parts(cls) -> Mapping[str, Part]:
        """Return the hierarchy as a file."""
        from shoal.apps.studio.hierarchies import forms

        return {"export": forms.export}

    @classmethod
    def take_file(cls, project: Project, path: Path, name: str, query: QueryParams) -> str | Response | None:
        """Take a hierarchy file of a column into the policy, as a tree."""
        from shoal.apps.studio.hierarchies import tree_editor

        return tree_editor.take_file(project, path, name, query.get("column", ""))
