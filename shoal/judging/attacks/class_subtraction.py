"""What class sizes show about relocated rows: published minus true sizes say how many rows each class received."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import factorial

import numpy as np
from numpy.typing import NDArray

from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.hybrid_k import find_common_levels
from shoal.support.arrays import FloatMatrix, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

MOST_WORK = 2_000_000_000
"""Steps that counting the assignments of dissolved groups to classes may take."""
MOST_FILLS = 200_000
"""Ways to fill one class."""

NOT_LEVELS = "sizes were not subtracted: columns mix levels, so nobody knows the groups before relocation"
TOO_MANY = (
    "sizes were not subtracted: the dissolved groups can be assigned to classes in too many ways to count"
)
NOTHING = "sizes were not subtracted: no group was dissolved"


@dataclass(frozen=True, eq=False, repr=False)
class Subtracted(Brief):
    """The guess of an adversary who subtracts."""

    guess: IntVector
    """Row of the original -> class, for people whose group was dissolved; -1 for others."""
    certain: FloatVector
    """Row of the original -> how sure the adversary is of the guess, 0 if there is none."""
    note: str = ""
    """Why nothing was subtracted."""


def subtract_sizes(evidence: Evidence, run: Run) -> Subtracted:
    """Guess the class of everybody whose group was dissolved: of all assignments of whole groups to classes that lead
    to the published sizes, as many as possible put a group of this size there. All assignments are equally likely, and
    rows that filled up classes are groups of one.
    """
    from shoal.kernels.grouping import distinct

    published, original = evidence.published, evidence.original
    nobody = Subtracted(np.full(original.rows, -1, np.int32), np.zeros(original.rows))
    levels = find_common_levels(published)
    if levels is None:
        return Subtracted(nobody.guess, nobody.certain, NOT_LEVELS)
    low, codes = published.cell_ranges[0], original.quasi.wide
    nodes = [
        np.concatenate([a.hierarchy.low[levels[j], own] for own in (low[:, j], codes[:, j])])
        for j, a in enumerate(original.attributes)
    ]
    # Classes come first and are distinct, so they keep their numbers.
    number = distinct(np.asfortranarray(np.stack(nodes, axis=1)))[0]
    group_of = number[published.classes :].astype(np.int64)
    true = np.bincount(group_of, minlength=published.classes)
    surplus = published.sizes - true[: published.classes]
    dissolved = true[published.classes :]
    if not len(dissolved):
        return Subtracted(nobody.guess, nobody.certain, NOTHING)
    room = np.append(np.maximum(surplus, 0), published.suppressed)
    units = int(np.maximum(-surplus, 0).sum())
    shares = assign_groups(np.append(dissolved, np.ones(units, np.int64)), room, run)
    if shares is None:
        return Subtracted(nobody.guess, nobody.certain, TOO_MANY)
    # A row that is not published has no class.
    best = shares[: len(dissolved), : published.classes].argmax(axis=1).astype(np.int32)
    sure = shares[np.arange(len(dissolved)), best]
    away = group_of >= published.classes
    guess, certain = nobody.guess, nobody.certain
    guess[away] = best[group_of[away] - published.classes]
    certain[away] = sure[group_of[away] - published.classes]
    return Subtracted(guess, certain)


def assign_groups(sizes: LongVector, room: LongVector, run: Run) -> FloatMatrix | None:
    """Return ``[groups, classes]`` the share of the assignments of groups to classes that put a group into a class, of
    those that fill the `room` of every class exactly; None if there are too many to count.

    Groups of one size are alike, so a state is how many groups of each size above one are assigned, class by class;
    groups of one take what is left. An exponential generating function counts labelled assignments. O(states x ways to
    fill a class) for each different room.
    """
    kinds, kind_of, many = np.unique(sizes, return_inverse=True, return_counts=True)
    larger = kinds > 1
    parts, stock = kinds[larger].tolist(), many[larger].tolist()
    places = np.unique(room[room > 0])
    states = int(np.prod([m + 1 for m in stock], dtype=np.float64))
    fills: dict[int, list[tuple[tuple[int, ...], float]]] = {}
    work = 0
    for place in places.tolist():
        if np.prod([float(min(m, place // p) + 1) for p, m in zip(parts, stock, strict=True)]) > MOST_FILLS:
            return None
        fills[place] = _list_fills(place, parts, stock)
        work += len(fills[place]) * int((room == place).sum())
        if states * work * len(places) > MOST_WORK:
            return None
    counts = {place: int((room == place).sum()) for place in places.tolist()}
    shares = np.zeros((len(kinds), len(room)))
    for done, place in enumerate(places.tolist()):
        run.progress("subtract", done / len(places))
        others = _count_ways(fills, {**counts, place: counts[place] - 1}, stock)
        full = np.array(stock)
        expected, total = np.zeros(len(kinds)), 0.0
        for taken, weight in fills[place]:
            ways = weight * others[tuple(full - np.array(taken, np.int64))]
            total += ways
            rest = place - sum(p * x for p, x in zip(parts, taken, strict=True))
            expected[larger] += ways * np.array(taken)
            expected[~larger] += ways * rest
        if total > 0:
            shares[:, room == place] = (expected / total / many)[:, None]
    found: FloatMatrix = shares[kind_of.ravel()]
    return found


def _list_fills(place: int, parts: list[int], stock: list[int]) -> list[tuple[tuple[int, ...], float]]:
    """List how many groups of each size above one may fill a class, the rest by groups of one, each with its weight."""
    found = []
    for taken in product(*(range(min(m, place // p) + 1) for p, m in zip(parts, stock, strict=True))):
        rest = place - sum(p * x for p, x in zip(parts, taken, strict=True))
        if rest >= 0:
            weight = 1.0 / factorial(rest)
            for x in taken:
                weight /= factorial(x)
            found.append((taken, weight))
    return found


def _count_ways(
    fills: dict[int, list[tuple[tuple[int, ...], float]]], counts: dict[int, int], stock: list[int]
) -> NDArray[np.float64]:
    """Return, per number of groups of each size that are assigned, the sum of weights of all ways to fill classes."""
    ways = np.zeros([m + 1 for m in stock])
    ways[(0,) * len(stock)] = 1.0
    for place, count in counts.items():
        for _ in range(count):
            after = np.zeros_like(ways)
            for taken, weight in fills[place]:
                to = tuple(slice(x, None) for x in taken)
                of = tuple(slice(None, m + 1 - x) for x, m in zip(taken, stock, strict=True))
                after[to] += weight * ways[of]
            ways = after / max(float(after.max(initial=0.0)), 1e-300)  # only shares matter
    return ways
