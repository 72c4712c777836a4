"""The smallest case that fails in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.cases import Case
from tests.fuzz.trial import Outcome, tried

TRIES = 120


def shrunk(case: Case, outcome: Outcome, folder: Path) -> tuple[Case, Outcome]:
    """Leave out columns and rows as long as the first problem stays of the same kind."""
    kind = outcome.problems[0].partition(":")[0]
    left = TRIES
    again = True
    while again and left:
        again = False
        for smaller in _smaller(case):
            left -= 1
            found = tried(smaller, folder, thorough=True)
            if found.problems and found.problems[0].partition(":")[0] == kind:
                case, outcome, again = smaller, found, True
                break
            if not left:
                break
    return case, tried(case, folder, thorough=True)


def _smaller(case: Case) -> Iterator[Case]:
    for column in case.columns:
        spare = (
            len(case.of_role("quasi")) > 1
            if column.role == "quasi"
            else column.role in ("plain", "weight", "identifier")
        )
        if spare and column.name != case.tag:
            yield case.without(column.name)
    for at in range(case.rows):
        yield case.fewer_rows([row for row in range(case.rows) if row != at])
