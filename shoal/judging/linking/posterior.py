"""How likely each pair of a person and a published row is, for an adversary who holds all complete assignments equally
likely: exact in components that can be counted, by a Markov chain with an interval elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.judging.linking.consistency import Consistency
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

MOST_STATES = 20_000
"""Components that need more states than this are estimated."""
BATCHES = 32
"""The chain is cut into this many batches; how far they differ gives the interval."""
BURN_IN = 4
"""Batches before these, which are not counted."""
STEPS = 20_000
"""Steps of a batch at least."""
ROUNDS = 40
"""Steps of a batch for each person at least."""
LONGEST = 1 << 12
"""Steps of the longest way from one assignment to the next."""
RARE = 20
"""If somebody moved less often, their shares may be anything that they can be."""
CONFIDENCE = 0.95
"""Of the interval of all pairs together: each gets its share of the rest."""
ROUNDING = 1e-9
"""Shares are compared with this tolerance."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(Brief):
    """The share of all complete assignments that contain a pair of one person and one row, by links of the graph."""

    graph: Consistency
    share: FloatVector
    """Link -> the share that contains one pair of it; 0 for pairs that no complete assignment contains."""
    low: FloatVector
    high: FloatVector
    """The interval of each share; the share itself where it is exact."""
    exact: BoolVector
    """Link -> whether its share was counted."""
    components: int
    """Components with more than one class."""
    estimated: int
    """Components whose shares are estimates."""

    def likeliest(self, shares: FloatVector) -> FloatVector:
        """Return the largest share of each distinct person, over published rows."""
        shown = slice(0, int(self.graph.start[-2]) if self.graph.hidden else None)
        found = np.zeros(len(self.graph.people.weight))
        np.maximum.at(found, self.graph.links[shown], shares[shown])
        return found

    def people_above(self, limit: float, shares: FloatVector) -> int:
        """Count the people whose likeliest row is more likely than a limit."""
        above = self.likeliest(shares) > limit + ROUNDING
        return int(self.graph.people.weight[above].sum())


def posterior(graph: Consistency, random: np.random.Generator, effort: float = 1.0) -> Posterior:
    """Find the share of every pair. `effort` multiplies the steps of the chain.

    A component whose people match all of its rows has equal shares. Others are counted if that takes at most
    `MOST_STATES` states, else a chain walks over their complete assignments.
    """
    classes, people = graph.components
    class_of = np.repeat(np.arange(len(graph.size), dtype=np.int64), np.diff(graph.start))
    links = graph.links
    same = classes[class_of] == people[links]
    number = int(max(classes.max(initial=-1), people.max(initial=-1))) + 1
    rows = np.bincount(people, graph.people.weight, number)
    share = np.zeros(len(links))
    share[same] = 1.0 / rows[classes[class_of[same]]]
    kinds, sorts = np.bincount(people, minlength=number), np.bincount(classes, minlength=number)
    pairs = np.bincount(classes[class_of[same]], minlength=number)
    open_ = np.flatnonzero(pairs < kinds * sorts)
    exact = np.ones(len(links), np.bool_)
    inside = np.flatnonzero(same & np.isin(classes[class_of], open_))
    inside = inside[np.argsort(classes[class_of[inside]], kind="stable")]
    ends = np.searchsorted(classes[class_of[inside]], open_, side="right")
    unknown: list[LongVector] = []
    for begin, end in zip(np.concatenate(([0], ends))[:-1], ends, strict=True):
        own = inside[begin:end]
        found = count_shares(graph, class_of[own], links[own])
        if found is None:
            unknown.append(own)
            exact[own] = False
        else:
            share[own] = found
    low, high = share.copy(), share.copy()
    if unknown:
        own = np.concatenate(unknown)
        share[own], low[own], high[own] = _estimate_shares(graph, class_of[own], own, random, effort)
    many = int((sorts > 1).sum())
    return Posterior(graph, share, low, high, exact, many, len(unknown))


def largest_counted(graph: Consistency, most_rows: int, most_components: int) -> float | None:
    """Return the largest share over some small components with more than one row; None if there are none."""
    classes, people = graph.components
    class_of = np.repeat(np.arange(len(graph.size), dtype=np.int64), np.diff(graph.start))
    sizes = np.bincount(people, weights=graph.people.weight)
    small = np.flatnonzero((sizes > 1) & (sizes <= most_rows))[:most_components]
    if graph.hidden:
        small = small[small != classes[-1]]
    largest = None
    for component in small:
        own = (classes[class_of] == component) & (people[graph.links] == component)
        found = count_shares(graph, class_of[own], graph.links[own])
        if found is not None:
            largest = max(float(found.max()), largest or 0.0)
    return largest


def count_shares(graph: Consistency, classes: LongVector, people: IntVector) -> FloatVector | None:
    """Return the shares of the links of one component, or None if there are too many states."""
    kinds, who = np.unique(people, return_inverse=True)
    sorts, what = np.unique(classes, return_inverse=True)
    fits = np.zeros((len(kinds), len(sorts)), np.bool_)
    fits[who, what] = True
    found = shares_of(fits, graph.people.weight[kinds], graph.size[sorts])
    return None if found is None else found[who, what]


def shares_of(fits: NDArray[np.bool_], people: LongVector, places: LongVector) -> FloatMatrix | None:
    """Return the share of each pair of kinds of people and classes of rows, or None if there are too many states."""
    from shoal.kernels.posterior import MOST_BITS, pair_shares

    if fits.all():
        return np.full(fits.shape, 1.0 / int(people.sum()))
    # A state holds one side; the smaller one has fewer states.
    turned = bool(np.log2(people + 1).sum() < np.log2(places + 1).sum())
    if sum(int(one).bit_length() for one in (people if turned else places)) > MOST_BITS:
        return None
    if turned:
        fits, people, places = np.ascontiguousarray(fits.T), places, people
    found: FloatMatrix = pair_shares(fits, people, places, MOST_STATES)
    if not found.size:
        return None
    return found.T if turned else found


def _estimate_shares(
    graph: Consistency, classes: LongVector, own: LongVector, random: np.random.Generator, effort: float
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Estimate the shares of some links, with the ends of their intervals."""
    from scipy.stats import t as student

    from shoal.kernels.posterior import walk_assignments

    who, what = graph.links[own], classes
    order = np.lexsort((what, who))
    kinds, kind_of = np.unique(who[order], return_inverse=True)
    sorts, sort_of = np.unique(what[order], return_inverse=True)
    size = graph.size[sorts]
    start = np.searchsorted(kind_of, np.arange(len(kinds) + 1))
    # Per kind, the places before each link, and all of them.
    places = size[sort_of]
    total = np.concatenate(([0], np.cumsum(places)))
    at = np.arange(len(own)) + kind_of
    before = np.zeros(len(own) + len(kinds), np.int64)
    before[at] = total[:-1] - total[start[kind_of]]
    before[start[1:] + np.arange(len(kinds))] = total[start[1:]] - total[start[:-1]]
    first = np.cumsum(size) - size
    flow = graph.flow[own[order]]
    # Whoever a class has units for takes its next places.
    by_class = np.argsort(sort_of, kind="stable")
    link_of_row = np.repeat(by_class, flow[by_class])
    row_order = np.argsort(link_of_row, kind="stable")
    holder = np.empty(len(link_of_row), np.int64)
    holder[row_order] = np.arange(len(link_of_row))
    link = link_of_row[row_order]
    kind = kind_of[link]
    steps = int(effort * max(STEPS, ROUNDS * len(kind)))
    counts = np.zeros((BATCHES + BURN_IN, len(own)), np.int64)
    visits = np.zeros(BATCHES + BURN_IN, np.int64)
    state = random.integers(0, 1 << 63, 1).astype(np.uint64)
    left = np.zeros(len(own), np.int64)
    longest = min(LONGEST, 4 * len(kind))
    walk_assignments(
        kind, start, before, sort_of, first, holder, link, longest, steps, state, counts, left, visits
    )
    counts, visits = counts[BURN_IN:], visits[BURN_IN:]
    mean = counts.sum(axis=0) / visits.sum()
    away = counts - mean * visits[:, None]
    error = np.sqrt((away**2).sum(axis=0) * BATCHES / (BATCHES - 1)) / visits.sum()
    wide = float(student.ppf(1 - (1 - CONFIDENCE) / (2 * max(len(own), 1)), BATCHES - 1))
    weight = graph.people.weight[kinds][kind_of]
    # Equal people, and equal rows, are equally likely.
    most = 1.0 / np.maximum(weight, places)
    found = np.stack([mean, np.maximum(mean - wide * error, 0.0), mean + wide * error]) / (weight * places)
    still = (np.add.reduceat(left, start[:-1]) < RARE * graph.people.weight[kinds])[kind_of]
    found[1, still], found[2, still] = 0.0, 1.0
    out = np.empty_like(found)
    out[:, order] = np.minimum(found, most)
    return out[0], out[1], out[2]
