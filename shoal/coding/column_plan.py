"""`ColumnPlan`: what to do with one column. Policies produce plans, `encode` carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.coding.hierarchy.kinds import Spec
from shoal.coding.roles import Role


def bound_names(name: str) -> tuple[str, str]:
    """Return the names of the columns with the lower and the upper ends of a column's cells."""
    return f"{name}_low", f"{name}_high"


@dataclass(frozen=True)
class ColumnPlan:
    """The role of one column, and for coded columns how they may be generalized."""

    name: str
    role: Role
    hierarchy: Spec = None
    """How a column may be generalized: a kind of hierarchy, or what a policy spells; files with their folder."""
    weight: float = 1.0
    limit: int | tuple[str, ...] | None = None
    """How far values may be generalized: a level, or the names of the highest allowed nodes."""
    publish: Literal["pseudonym"] | None = None
    """What is published instead of an identifier or of the name of a person; None: nothing."""
    order: str | None = None
    """The column by which the rows of a person are sorted, if they can be followed."""

    group: str | None = None
    """The kind of groups that a column of the role `person` names, such as `household`; None: it names people."""

    show: Literal["bounds"] | None = None
    """`bounds`: the ends of its cells are columns of their own, too."""

    @property
    def is_removed(self) -> bool:
        """Whether the release has nothing of this column."""
        return self.role.removed and self.publish is None
