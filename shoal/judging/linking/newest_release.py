"""The newest release of a series, from the evidence about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.coding.counting import ByOwners
from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.owners import Owners, match_owners
from shoal.judging.linking.series import Crossing, Earlier, Issue, Known, issue_of
from shoal.support.arrays import BoolVector, IntMatrix, LongVector

NEWEST = "the newest release"


def newest_issue(evidence: Evidence, earlier: Earlier) -> tuple[Issue, IntMatrix]:
    """Return the release that is judged as the last one of a series, and the lasting values of the table's rows.

    Raises DataError if people have several rows and nobody can tell whose each published row is.
    """
    table, published, owners = evidence.original, evidence.published, evidence.owners
    if owners.unknown:
        raise DataError(f"people cannot be counted: {owners.unknown}")
    graph = evidence.consistency
    rows = np.ones(table.rows, np.bool_)
    claimed = evidence.origin.claimed
    exact = claimed if evidence.owner is None else evidence.owner
    told = evidence.persons.several or claimed is not None
    if told and owners.person is None and evidence.owner is None:
        # Everybody has one row here, so nobody had to know whose each is; but people are the same in all releases.
        people = ByOwners.of(table.secrets, earlier.person.astype(np.int32))
        named = replace(table, countings=(people, *table.countings[1:]))
        owners = evidence.origin.find_owners(published, named) or match_owners(published, named)
    if owners.person is not None:
        rows = np.isin(earlier.person, owners.person)
    elif evidence.owner is not None:
        owners = Owners(earlier.person[evidence.owner].astype(np.int32), owners.unknown)
    if owners.person is not None and exact is not None:
        rows = np.zeros(table.rows, np.bool_)
        rows[exact] = True
    columns = list(earlier.lasting)
    made = issue_of(
        NEWEST,
        published,
        np.asfortranarray(published.sensitive_codes[:, columns]),
        Known(earlier.person, (graph.people.row_of, graph.start, graph.links), rows),
        owners,
        _strangers(earlier),
    )
    return made, np.asfortranarray(table.secrets.wide[:, columns])


def knows_rows(evidence: Evidence, newest: Issue, earlier: Earlier) -> bool:
    """Return whether it is known which rows of the table the newest release shows. Otherwise people whose rows were
    suppressed count as people who may be in it.
    """
    if not evidence.published.suppressed or evidence.owner is not None:
        return True
    return evidence.origin.claimed is not None and bool((newest.owner < earlier.people).all())


def _strangers(earlier: Earlier) -> int:
    """Return the first number that is nobody's."""
    numbers: list[LongVector] = [*(issue.owner for issue in earlier.issues), earlier.person]
    return 1 + max(int(one.max(initial=0)) for one in numbers)


def too_little(
    found: Crossing, k: int, needed: Sequence[int], *, members: bool
) -> tuple[BoolVector, BoolVector]:
    """Return which combinations leave fewer than k candidates, and which fewer values of a lasting column than needed.

    Whoever knows all `members` leaves out people who have no matching row in one of the releases.
    """
    candidates = np.minimum(found.left, found.crowd) if members else found.left
    narrow = (found.values < np.array(needed, np.int64)).any(axis=1)
    return np.asarray(candidates < k), np.asarray(narrow)
