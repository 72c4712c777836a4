"""A method on the parts of a large table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import Problem
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import Method
from shoal.methods.partitioning.mondrian import Mondrian
from shoal.methods.parts.boxes import part_size, parts_of, shares_of
from shoal.methods.parts.join_parts import join_releases
from shoal.methods.parts.part_work import Task, release_tasks
from shoal.release import Release
from shoal.support.arrays import LongVector
from shoal.support.run import Run

WORDS = 4
"""Words of 64 bits from which the randomness of a part is made."""


def division_problems(method: Method) -> list[Problem]:
    """Return why a method cannot work on parts, for a policy that asks for them."""
    method = method.builds_on or method
    if not isinstance(method.divides, str) or method.can.delegate:
        return []
    message = f"{method.name} cannot work on parts: {method.divides}"
    return [Problem("engine.part_rows", message, "leave it out, or take another method")]


def release_in_parts(method: Method, table: CodedTable, requirements: Requirements, run: Run) -> Release:
    """Let a method make a release: of the whole table, or if it is large and the method may, of each part.

    Every box that a part is made of satisfies the requirements as one class. If a method finds no release of a part
    nevertheless, the part is joined with a neighbour; at last the whole table decides.
    """
    how, size = method.divides, part_size(method, table, run.division)
    if isinstance(how, str) or size >= table.rows:
        return method.anonymize(table, requirements, run)
    Mondrian().prepare(table, requirements, run)
    run.progress("divide", 0.0)
    parts = parts_of(
        table, requirements, size, replace(run, progress=lambda _, share: run.progress("divide", share))
    )
    made: list[Release | None] = [None] * len(parts)
    while len(parts) > 1:
        shares = shares_of(table, requirements, parts)
        open_parts = [at for at, own in enumerate(made) if own is None]
        words = run.random.integers(0, 1 << 64, (len(open_parts), WORDS), np.uint64)
        tasks = [
            Task(parts[at], shares[at], tuple(own.tolist()))
            for at, own in zip(open_parts, words, strict=True)
        ]
        for at, found in zip(open_parts, release_tasks(method, table, tasks, run), strict=True):
            made[at] = found
        releases = [own for own in made if own is not None]
        if len(releases) == len(parts):
            return join_releases(table, how, parts, releases)
        parts, made = _join_unreleased(parts, made)
    return method.anonymize(table, requirements, run)


def _join_unreleased(
    parts: list[LongVector], made: list[Release | None]
) -> tuple[list[LongVector], list[Release | None]]:
    """Join each part without a release with a neighbour."""
    together = bundle_parts([own is not None for own in made])
    rows = [
        np.sort(np.concatenate([parts[at] for at in own])) if own[1:] else parts[own[0]] for own in together
    ]
    return rows, [None if own[1:] else made[own[0]] for own in together]


def bundle_parts(made: Sequence[bool]) -> list[list[int]]:
    """Return which parts become one, by whether they have a release: each without one is joined with the part before
    it, or if that one has been joined already, with the part after it. So parts grow no faster than they have to."""
    found: list[list[int]] = []
    waiting = False
    for at, own in enumerate(made):
        if waiting or (not own and found and len(found[-1]) == 1):
            found[-1].append(at)
            waiting = False
        else:
            found.append([at])
            waiting = not own
    if waiting and len(found) > 1:
        last = found.pop()
        found[-1] += last
    return found
