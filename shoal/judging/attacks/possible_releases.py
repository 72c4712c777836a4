"""What a method may publish of a table, and how likely that is; and all tables with the same sensitive values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.release import ValueSets
from shoal.support.arrays import IntVector
from shoal.support.run import Run

MOST_OUTCOMES = 100_000
"""Releases of one table that are compared at most."""

Key = tuple[Any, ...]


def arrangements(labels: IntVector) -> Iterator[IntVector]:
    """Yield every different order of labels, in lexicographic order."""
    now = np.sort(labels)
    while True:
        yield now.copy()
        falling = np.flatnonzero(now[:-1] < now[1:])
        if not len(falling):
            return
        at = int(falling[-1])
        other = max(i for i in range(at + 1, len(now)) if now[i] > now[at])
        now[at], now[other] = now[other], now[at]
        now[at + 1 :] = now[at + 1 :][::-1].copy()


def outcomes(
    method: Method, table: CodedTable, labels: IntVector, requirements: Requirements, run: Run
) -> dict[Key, float]:
    """Return every release that a method may make of a table, and how likely it is. A release is what its rows show, in
    no order: cells, and the label of the sensitive values.
    """
    made = method.draws(table, requirements, run)
    cells = write_cells(made.low, made.high, made.sets)
    found: dict[Key, float] = {(): 1.0}
    for each in made.each:
        ways: dict[Key, float] = {}
        for rows, regions, likely in each:
            key = _key(cells, regions, labels[rows])
            ways[key] = ways.get(key, 0.0) + likely
        found = {
            (*before, *key): chance * likely
            for before, chance in found.items()
            for key, likely in ways.items()
        }
        if len(found) > MOST_OUTCOMES:
            raise DataError("the rings can be assigned in too many ways to compare all releases")
    merged: dict[Key, float] = {}
    for key, chance in found.items():
        ordered = tuple(sorted(key))
        merged[ordered] = merged.get(ordered, 0.0) + chance
    return merged


def key_of_release(evidence: Evidence, labels: IntVector, expected: dict[Key, float]) -> Key:
    """Return the release at hand as `outcomes` writes releases. If only one is possible, it must be that; else the
    published rows are compared.
    """
    published = evidence.published
    if len(expected) == 1:
        (only,) = expected
        theirs = sorted(Counter(published.class_of.tolist()).values())
        if sorted(Counter(cell for cell, _ in only).values()) != theirs:
            raise DataError(_NOT_OURS)
        return only
    known = {
        tuple(codes): number
        for number, codes in enumerate(np.unique(evidence.original.secrets.wide, axis=0).tolist())
    }
    cells = write_cells(*published.cell_ranges, published.sets)
    own = [known.get(tuple(codes), -1) for codes in published.sensitive_codes.tolist()]
    key = _key(cells, published.class_of, np.array(own, np.int32))
    if key not in expected:
        raise DataError(_NOT_OURS)
    return key


_NOT_OURS = (
    "Shoal cannot reproduce the release: the method with these options makes another one of the original. Give the "
    "policy, or the record, that the release was made with"
)


def write_cells(low: Any, high: Any, sets: ValueSets | None) -> list[Key]:
    """Write what each region shows."""
    if sets is None:
        return [(*a, *b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    lists = [tuple(part.tolist()) for part in np.split(sets.codes[: sets.start[-1]], sets.start[1:-1])]
    width = low.shape[1]
    return [tuple(lists[at : at + width]) for at in range(0, len(lists), width)]


def _key(cells: list[Key], regions: IntVector, labels: IntVector) -> Key:
    return tuple(
        sorted(
            (cells[region], label) for region, label in zip(regions.tolist(), labels.tolist(), strict=True)
        )
    )
