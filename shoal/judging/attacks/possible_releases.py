"""What a method may publish of a table, and how likely that is; and all tables with the same sensitive values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.methods.cells.ring import Ring, asked_of, drawn
from shoal.methods.partitioning.partition import Partition
from shoal.methods.partitioning.windows import Windows, windows
from shoal.release import ValueSets
from shoal.support.arrays import IntVector
from shoal.support.run import Run

DRAWS = 400_000
"""How often the assignment of a ring with more than two choices is drawn to find how likely each is."""
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
    if isinstance(method, Ring):
        return _of_rings(method, table, labels, requirements, run)
    made = method.anonymize(table, requirements, run)
    cells = _cells(made.low, made.high, made.sets)
    rows = np.flatnonzero(made.region_of >= 0)
    return {_key(cells, made.region_of[rows], labels[rows]): 1.0}


def shown(evidence: Evidence, labels: IntVector, expected: dict[Key, float]) -> Key:
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
    cells = _cells(*published.covered, published.sets)
    own = [known.get(tuple(codes), -1) for codes in published.sensitive_codes.tolist()]
    key = _key(cells, published.class_of, np.array(own, np.int32))
    if key not in expected:
        raise DataError(_NOT_OURS)
    return key


_NOT_OURS = (
    "Shoal cannot reproduce the release: the method with these options makes another one of the original. Give the "
    "policy, or the record, that the release was made with"
)


def _cells(low: Any, high: Any, sets: ValueSets | None) -> list[Key]:
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


def _of_rings(
    method: Ring, table: CodedTable, labels: IntVector, requirements: Requirements, run: Run
) -> dict[Key, float]:
    """Every way to assign the cells of the rings, each with its probability."""
    k, spread = asked_of(requirements)
    partition, widths = method.rings(table, k, spread, requirements, run)
    made = windows(table, partition, widths, method.show)
    cells = _cells(made.low, made.high, made.sets)
    rows: list[dict[Key, float]] = []
    for ring, (begin, end) in enumerate(zip(partition.starts[:-1], partition.starts[1:], strict=True)):
        ways: dict[Key, float] = {}
        for owners, likely in _ways(made, partition, ring, int(widths[ring])):
            people = partition.order[begin:end][list(owners)]
            key = _key(cells, made.region[begin:end], labels[people])
            ways[key] = ways.get(key, 0.0) + likely
        rows.append(ways)
    found: dict[Key, float] = {(): 1.0}
    for ways in rows:
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


def _ways(
    made: Windows, partition: Partition, ring: int, width: int
) -> Iterator[tuple[tuple[int, ...], float]]:
    size = int(partition.sizes[ring])
    if not made.varied[ring] or width >= size:
        yield tuple(range(size)), 1.0
    elif width == 2:  # The only two: everybody has their own cell, or that before.
        yield tuple(range(size)), 0.5
        yield tuple((at + 1) % size for at in range(size)), 0.5
    else:
        yield from _drawn(size, width).items()


@cache
def _drawn(size: int, width: int) -> dict[tuple[int, ...], float]:
    """How often each assignment of a ring is drawn."""
    owners = drawn(size, width, DRAWS, Run.start(1))
    return {owner: many / DRAWS for owner, many in Counter(map(tuple, owners.tolist())).items()}
