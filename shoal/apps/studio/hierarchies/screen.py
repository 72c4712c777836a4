"""The screen hierarchies: how each column may be generalized, chosen, drawn or edited as a tree."""

from __future__ import annotations

from shoal.apps.studio.hierarchies import forms, tree_editor
from shoal.apps.studio.hierarchies.hierarchy_columns import find_troubles, list_columns
from shoal.apps.studio.hierarchies.tree_editor import take_file
from shoal.apps.studio.hierarchies.view import context
from shoal.apps.studio.project import Project
from shoal.apps.studio.screens import State
from shoal.support.wording import format_count


def state(project: Project) -> State:
    """Say how many columns have a hierarchy that fits."""
    columns = [column for column in list_columns(project) if column.role.generalized]
    if not columns:
        return State("attention", "no quasi-identifier yet")
    troubles, waiting = find_troubles(project)
    if troubles:
        return State("problem", f"{format_count(len(troubles), 'column')} to mend")
    if waiting:
        return State("open", "looking at the values ..")
    return State("done", f"{format_count(len(columns), 'column')} can be generalized")


ACTIONS = {**forms.ACTIONS, **tree_editor.ACTIONS}
PARTS = {"export": forms.export}

__all__ = ["ACTIONS", "PARTS", "context", "state", "take_file"]
