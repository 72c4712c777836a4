"""What to try if a method finds no release: which methods can satisfy the same requirements, or may."""

from __future__ import annotations

from shoal.coding import CodedTable
from shoal.judging.models.delta_presence import presence_models
from shoal.judging.models.requirements import Requirements
from shoal.methods.blocks import whole_blocks_suffice
from shoal.methods.method import Method
from shoal.support.wording import either, more_suppression


def instead(method: Method, table: CodedTable, requirements: Requirements) -> str:
    """Say what else to try. A method that is said to find a release does; others may. O(rows)."""
    from shoal.methods import METHODS

    explain = either(command="`shoal explain`", python="`shoal.explain`")
    less = f"ask for less ({explain} says what each requirement costs)"
    if presence_models(requirements.models):
        names = [name for name, kind in METHODS.items() if kind.can.presence_only and name != method.name]
        return f"Also search for bounds on presence, and may find a release: {', '.join(names)}. Or {less}"
    if whole_blocks_suffice(table, requirements):
        return f"The method {METHODS.default} finds a release"
    names = [name for name, kind in METHODS.items() if kind.can.search_mappings and name != method.name]
    if names and (requirements.suppressible(table.rows) or not requirements.monotone(table)):
        return f"Methods that suppress single classes may find a release: {', '.join(names)}. Or {less}"
    allow = more_suppression()
    return f"{allow[:1].upper()}{allow[1:]}, or {less}"
