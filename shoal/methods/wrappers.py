"""What a policy may ask for that a method alone does not do, in the order in which it is done around the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, LimitError
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.methods.parts.on_parts import release_in_parts
from shoal.release import Release
from shoal.support.run import Run


class Wrap(Protocol):
    """Makes a release, and asks `propose_release` for what is inside: the same with less to ask for."""

    def __call__(self, method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Return the release."""


@dataclass(frozen=True)
class Wrapper:
    """One thing that is done around a method."""

    name: str
    needed: Callable[[Method, CodedTable, Requirements], bool]
    wrap: Wrap


def propose_release(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Let a method propose a release, inside the wrappers that the policy needs: the first one takes over, and asks for
    the rest. At last the method works on the table, or on its parts if it is large.

    A method that delegates, such as `auto`, tries others, each inside its own wrappers.
    """
    requirements = requirements.in_table(table)
    for wrapper in WRAPPERS:
        if wrapper.needed(method, table, requirements):
            return wrapper.wrap(method, table, requirements, run)
    return release_in_parts(method, table, requirements, run)


def _beyond_reach(method: Method, table: CodedTable, requirements: Requirements) -> bool:
    if table.context.population is None or method.can.delegate:
        return False
    from shoal.methods.overall_rules import in_reach

    return in_reach(method, requirements) is not requirements


def _within_reach(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Ask for what the search can keep instead. It is stricter than the policy, so its failure proves nothing."""
    from shoal.methods.overall_rules import in_reach

    try:
        return propose_release(method, table, in_reach(method, requirements), run)
    except InfeasibleError as error:
        raise LimitError(str(error)) from None


def _has_keys(method: Method, _: CodedTable, requirements: Requirements) -> bool:
    return not method.can.delegate and requirements.known_sets is not None


def _for_keys(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Keep k over each set of columns that an adversary may know."""
    from shoal.methods.known_columns import release_for_keys

    return release_for_keys(propose_release, method, table, requirements, run)


def _has_overall(method: Method, table: CodedTable, requirements: Requirements) -> bool:
    heeded = method.can.delegate or (method.can.search_mappings and requirements.suppress == "rows")
    return not heeded and bool(requirements.overall(table))


def _overall(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Join classes until the rules over all classes together hold."""
    from shoal.methods.overall_rules import release_with_rules

    return release_with_rules(propose_release, method, table, requirements, requirements.overall(table), run)


def _is_followed(method: Method, table: CodedTable, _: Requirements) -> bool:
    return table.counting.followed and not method.can.delegate


def _release_people(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Make people, not rows, indistinguishable."""
    from shoal.methods.followed_rows import release_people

    return release_people(method, table, requirements, run)


def _has_earlier(method: Method, _: CodedTable, requirements: Requirements) -> bool:
    return requirements.with_earlier is not None and not method.can.delegate


def _over_time(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Keep open what earlier releases of the same people leave open."""
    from shoal.methods.earlier_releases import keep_open

    return keep_open(propose_release, method, table, requirements, run)


def _drops_cells(_: Method, __: CodedTable, requirements: Requirements) -> bool:
    return requirements.suppress == "cells" and not requirements.uniform


def _cells(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Suppress cells instead of rows."""
    from shoal.methods.cell_suppression import release_with_cells

    return release_with_cells(method, table, requirements, run)


def _is_uniform(_: Method, __: CodedTable, requirements: Requirements) -> bool:
    return requirements.uniform


def _uniform(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Show one set of labels per column."""
    from shoal.methods.cell_suppression import release_with_cells
    from shoal.methods.uniform import uniform

    return uniform(table, release_with_cells(method, table, requirements, run), requirements, run)


WRAPPERS = (
    Wrapper("reach", _beyond_reach, _within_reach),
    Wrapper("keys", _has_keys, _for_keys),
    Wrapper("overall", _has_overall, _overall),
    Wrapper("followed", _is_followed, _release_people),
    Wrapper("over time", _has_earlier, _over_time),
    Wrapper("cells", _drops_cells, _cells),
    Wrapper("uniform", _is_uniform, _uniform),
)
"""Outermost first; inside them the table is divided into parts, and the method works on each."""
