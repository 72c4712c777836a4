"""Algorithm-aware: who can be found by running the published method again? (Wong, Mamoulis, Cheung 2010, 4.2.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.attacks.base import Attack, Exposure
from shoal.attacks.rerun import rerun, true_classes
from shoal.linking.evidence import Evidence
from shoal.methods.cells.ring import Ring
from shoal.run import Run

MOST_RINGS = 0.5
"""Share of rings that one turn may name: some look turned by chance, all do if they were."""
TIMES_CHANCE = 2
"""So many times the share that the lot gives the first guess raises alarm."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmAware(Attack):
    """Knows everyone's quasi-identifiers and the method, and makes the rings again.

    For every ring she tries each of the k ways to turn it. Without any randomness the first way names everyone's
    row; with one common turn per ring, one of the ways names the whole ring.

    People are at risk if the first way names more than 2/k of them, or one way more than half of the rings. Both
    limits are ours. The lot names 1/k by chance, twice that is rare for 50 people and hardly ever seen with more;
    and it lets rings of two different cells look turned, which count only where there are no others, and a minority of
    the others, where one common turn gives all rings away.
    """

    name: ClassVar[str] = "algorithm-aware"
    summary: ClassVar[str] = "knows everyone's quasi-identifiers and the method, and makes its rings again"

    k: int = 2
    """How many rows each cell covers."""
    partition: str = "lexicographic"
    """The partition of the ring method."""
    order: str = "lexicographic"
    """Its order of rows."""

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Try all turns of all rings. O(rows x k)."""
        run.progress("rerun", 0.0)
        original = evidence.original
        truth = true_classes(evidence)
        again = rerun(
            evidence.published, original, Ring(partition=self.partition, order=self.order), self.k, run
        )
        rows, ring = again.parts.order, again.ring_of
        open_ = again.varied[ring]
        right_first = np.zeros(len(rows), np.bool_)
        best = np.zeros(len(again.parts.sizes), np.int64)
        for turn in range(self.k):
            right = again.guesses(turn) == truth[rows]
            if turn == 0:
                right_first = right
            best = np.maximum(best, np.bincount(ring[right], minlength=len(best)))
        # A cell that several rows of the ring show names none of them.
        chances = np.zeros(original.rows)
        chances[rows] = np.where(open_ & right_first, 1.0 / again.alike(), 0.0)
        given_away = again.varied & (best == again.parts.sizes)
        # Two different cells are often dealt out as some turn would; rings of more of them can tell, if there are any.
        telling = again.varied & (np.bincount(ring, 1.0 / again.alike(), len(best)).round() > 2)
        telling = telling if telling.any() else again.varied
        share = float((given_away & telling).sum() / max(telling.sum(), 1))
        first = float(chances[rows[open_]].mean()) if open_.any() else 0.0
        figures: dict[str, Any] = {
            "k": self.k,
            "rings": int(again.varied.sum()),
            "people_in_rings": int(open_.sum()),
            "cells_recognised": float((again.class_at[open_] >= 0).mean()) if open_.any() else None,
            "named_by_the_first_guess": first,
            "rings_that_one_turn_names": share,
        }
        # Two cells per person leave only two ways to deal them out, whatever the draw.
        exposed = self.k > 2 and (share > MOST_RINGS or first > TIMES_CHANCE / self.k)
        return Exposure(
            attack=self.name,
            adversary="knows the quasi-identifiers of everyone, and the method",
            success=first,
            baseline=1.0 / max(original.rows, 1),
            figures=figures,
            chances=chances,
            at_risk=int((given_away[ring] | (right_first & open_)).sum()) if exposed else 0,
            notes=() if open_.any() else ("no ring has cells that differ, so there is nothing to run again",),
        )
