"""Corruption: what do known owners of some rows reveal about the others? (Wong, Mamoulis, Cheung 2010, 5.2.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.judging.attacks.attack_base import Exposure
from shoal.judging.attacks.rerun import Rerun, RingAttack, true_classes
from shoal.judging.linking.consistency import Consistency
from shoal.judging.linking.evidence import Evidence
from shoal.support.arrays import BoolVector, IntVector, LongVector
from shoal.support.run import Run

TIMES_IDEAL = 2
"""The alarm limit for right guesses, as a multiple of what chance alone gives."""


@dataclass(frozen=True, kw_only=True)
class Corruption(RingAttack):
    """Knows everyone's quasi-identifiers, the method, and the owners of q rows of every ring.

    They drop every pair that no complete assignment contains any more. They also guess that the whole ring was rotated
    as the rows that they know.

    People are at risk if they have fewer than k - q rows left, as the paper promises, or if more than 2/(k-1) of the
    guesses are right. We chose the second limit: an assignment that reveals nothing gives 1/(k-1), a good one up to 1.6
    times as much for a single pair because neighbours depend on each other, and a rotation nearly 1.
    """

    name: ClassVar[str] = "corruption"
    title: ClassVar[str] = "knows the algorithm and some rows"
    summary: ClassVar[str] = "knows the owners of some rows of each ring, and infers the others"

    known: tuple[int, ...] | None = None
    """How many owners of each ring are known, one number per attempt; None for 0, 1, 2 and k - 2."""

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        for name, entry in figures.items():
            if name.startswith("with_"):
                yield f"with {entry['known']} known rows per ring they name {entry['guessed']:.2%} of the others"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Simulate, with random known people. O(rows x k + matching pairs) for each number of known rows."""
        run.progress("rerun", 0.0)
        published, original = evidence.published, evidence.original
        truth = true_classes(evidence)
        again = self.rerun(evidence, run)
        graph = evidence.consistency
        rows, ring = again.parts.order, again.ring_of
        open_ = again.varied[ring]
        chances = np.zeros(original.rows)
        short = np.zeros(original.rows, np.bool_)
        worst, attempts = 0.0, []
        counts = (0, 1, 2, self.k - 2) if self.known is None else self.known
        for q in sorted({count for count in counts if count >= 0}):
            run.progress("corrupt", 0.5)
            told = _choose_known_people(again, q, run)
            others = rows[open_ & ~told]
            left = _candidates(graph, truth, rows[told])[others]
            right = _name_by_rotation(again, truth[rows], told) if q else np.zeros(len(rows), np.bool_)
            own = np.zeros(original.rows)
            own[rows] = np.where(right, 1.0 / again.alike(), 0.0)
            guessed = float(own[others].mean()) if len(others) else 0.0
            few = left < self.k - q
            short[others] |= few & (q < self.k - 1)
            chances[others] = np.maximum(chances[others], np.maximum(own[others], 1.0 / np.maximum(left, 1)))
            worst = max(worst, guessed)
            attempts.append(
                {
                    "known": q,
                    "fewest": int(left.min(initial=published.rows)),
                    "mean": float(left.mean()) if len(left) else None,
                    "guessed": guessed,
                }
            )
        figures: dict[str, Any] = {
            "k": self.k,
            "rings": int(again.varied.sum()),
            "people_in_rings": int(open_.sum()),
            **{f"with_{entry['known']}_known": entry for entry in attempts},
        }
        # One known pair leaves k - 1 cells at best; with two cells per person every assignment is a rotation.
        turned = self.k > 2 and worst > TIMES_IDEAL / (self.k - 1)
        at_risk = short | (chances > 0.5) if turned else short
        return Exposure(
            attack=self.name,
            adversary="knows the quasi-identifiers of everyone, the method, and the owners of some rows of each ring",
            success=worst,
            baseline=1.0 / max(original.rows, 1),
            figures=figures,
            chances=chances,
            at_risk=int(at_risk.sum()),
            notes=() if open_.any() else ("no ring has cells that differ, so there is nothing to find out",),
        )


def _choose_known_people(again: Rerun, q: int, run: Run) -> BoolVector:
    """Choose q random people, known to the adversary, in every ring whose cells differ."""
    place = run.random.random(len(again.parts.order))
    ring = again.ring_of
    order = np.lexsort((place, ring))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rank -= np.repeat(again.parts.starts[:-1], again.parts.sizes)
    return np.asarray((rank < q) & again.varied[ring])


def _name_by_rotation(again: Rerun, own: IntVector, told: BoolVector) -> BoolVector:
    """Return which people are identified if each ring is rotated to fit most of the known rows."""
    ring, rings = again.ring_of, len(again.parts.sizes)
    best, turn_of = np.full(rings, -1, np.int64), np.zeros(rings, np.int64)
    for turn in range(again.k):
        explained = np.bincount(ring[told & (again.guesses(turn) == own)], minlength=rings)
        turn_of[explained > best] = turn
        best = np.maximum(best, explained)
    named = np.zeros(len(ring), np.bool_)
    for turn in range(again.k):
        named |= (again.guesses(turn) == own) & (turn_of[ring] == turn)
    return named


def _candidates(graph: Consistency, truth: IntVector, told: IntVector) -> LongVector:
    """Return, per person, how many rows are left after the people `told` and their rows are removed."""
    from shoal.kernels.grouping import distinct

    people = graph.people
    weight, size = people.weight.copy(), graph.size.copy()
    np.subtract.at(weight, people.row_of[told], 1)
    np.subtract.at(size, truth[told], 1)
    rest = np.ones(len(truth), np.bool_)
    rest[told] = False
    # People without a published row have the class of hidden rows, if there is one.
    what = np.where(truth[rest] < 0, len(size) - 1, truth[rest]).astype(np.int32)
    pairs = np.stack([people.row_of[rest], what], axis=1)
    first = distinct(pairs)[1]
    left = replace(
        graph,
        people=replace(people, weight=weight),
        size=size,
        pairs=(pairs[first, 0], pairs[first, 1]),
    )
    found: LongVector = left.matches[people.row_of]
    return found
