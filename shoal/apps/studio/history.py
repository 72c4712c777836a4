"""`History`: the policy as it is, and the steps that led to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Tables = dict[str, Any]
"""A policy as plain tables, shaped like its file; it may have problems."""
Steps = tuple[tuple[str, Tables], ...]
"""The label of each step, and the policy on the other side of it."""


@dataclass(frozen=True, eq=False)
class History:
    """The policy, and the steps that can be taken back or made again."""

    tables: Tables
    past: Steps = ()
    future: Steps = ()

    def step(self, label: str, tables: Tables) -> History:
        """Go on with another policy."""
        return History(tables, (*self.past, (label, self.tables)))

    def undo(self) -> History:
        """Take the last step back."""
        *past, (label, tables) = self.past
        return History(tables, tuple(past), (*self.future, (label, self.tables)))

    def redo(self) -> History:
        """Make the step again that was taken back."""
        *future, (label, tables) = self.future
        return History(tables, (*self.past, (label, self.tables)), tuple(future))
