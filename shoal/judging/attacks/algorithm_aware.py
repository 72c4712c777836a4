"""Algorithm-aware: who can be found by rerunning the published method? (Wong, Mamoulis, Cheung 2010, 4.2; Nergiz, Gök,
Özkanlı 2013, 3.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Exposure, Options, Setting
from shoal.judging.attacks.relocation_rerun import rerun_relocation
from shoal.judging.attacks.rerun import Rerun, RingAttack, how_to_tell_owners, true_classes
from shoal.judging.attacks.ring_draws import DRAWS, compare_with_draws
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.methods.cells.ring import draw_owners
from shoal.support.arrays import BoolVector, FloatVector, IntVector
from shoal.support.brief import Brief
from shoal.support.run import Run

MOST_RINGS = 0.5
"""Share of rings that one rotation may name: some look rotated by chance, all do if they were."""
TIMES_CHANCE = 2
"""The alarm limit for the first guess, as a multiple of what a random assignment gives."""
MOST_DRAWS, MOST_DRAWN = 10_000, 2_000_000
"""A release above a limit is compared with that many random assignments, or fewer with that many rows in all."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmAware(RingAttack):
    """Knows everyone's quasi-identifiers and the method, and reconstructs its rings or its relocations.

    If the method relocates, they run it again with draws of their own, and take its answer for everyone's class. Or
    they subtract the true size of each class from the published one, which says how many rows it received, and guess
    which dissolved groups these were. People are at risk if their class is certain, or if the better of the two names
    more than a tenth of those who were relocated, beyond chance.

    Rings: for every ring they try all k rotations. Without randomness the first rotation names everyone's row. If each
    ring was rotated as a whole, one of the rotations names all of its rows.

    People are at risk if the first rotation names more than 2/k of them, or one rotation more than half of the rings.
    We chose both limits. A random assignment names 1/k by chance, and in a small release it may name far more. So a
    release above a limit is compared with random assignments of the same rings: if one of them names as many, nobody is
    at risk. Under a random assignment, rings of two different cells often look rotated, so they count only if there
    are no others; of the other rings only a minority looks rotated, while a rotation reveals all of them.
    """

    name: ClassVar[str] = "algorithm-aware"
    title: ClassVar[str] = "knows the algorithm"
    against: ClassVar[Mapping[str, Options]] = {"knows-algorithm": {}}
    summary: ClassVar[str] = (
        "knows everyone's quasi-identifiers and the method, and reconstructs its rings or relocations"
    )

    method: Method | None = None
    """The method that made the release, with its options; None: `ring`."""
    requirements: Requirements | None = None
    """What it was asked for."""

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Rings and relocations can be reconstructed. Known owners tell whether a guess is right; of rings, sensitive
        values tell whether cells were assigned at random.
        """
        if setting.made.false_cells.moves_rows and setting.owners:
            return ""
        if setting.made.rebuilt_by and setting.sensitive:
            return ""
        found = super().inapplicable(setting)
        if not setting.made.false_cells.moves_rows:
            return found and found.replace("method ring", "method ring or by one that relocates rows")
        return f"whose row is whose is not known; {how_to_tell_owners()}"

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        if "class_named" in figures:
            yield f"the class of {figures['share_named']:.2%} of the relocated people is named"
            by_sizes, sure = figures["named_by_sizes"], figures["certain_by_sizes"]
            yield f"the sizes of classes name that of {by_sizes:,} people, {sure:,} of them for certain"
            right, found = figures["said_rightly"], figures["relocated_people_found"]
            yield f"of those it says were relocated {right:.2%} were, and it finds {found:.2%} of them"
            return
        if "by_chance_at_most" in figures:
            explained, chance = figures["rows_that_the_first_guess_explains"], figures["by_chance_at_most"]
            yield f"the first guess explains {explained:.2%} of the rows, random assignments at most {chance:.2%}"
            turned, chance = figures["rings_that_one_turn_explains"], figures["rings_by_chance_at_most"]
            yield f"one rotation explains {turned:.2%} of the rings, of random assignments at most {chance:.2%}"
            return
        yield f"the first guess names {figures['named_by_the_first_guess']:.2%} of people in rings"
        yield f"one rotation names {figures['rings_that_one_turn_names']:.2%} of the rings"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Try all rotations of all rings. O(rows x k)."""
        if self.method is not None and self.method.false_cells.how:
            if self.requirements is None:
                raise DataError("this attack must know what the method was asked for")
            return rerun_relocation(evidence, self.method, self.requirements, self.name, run)
        run.progress("rerun", 0.0)
        original = evidence.original
        again = self.rerun(evidence, run)
        if evidence.owner is None and evidence.original.sensitive:
            return compare_with_draws(evidence, again, self.name, run)
        found = _compare(again, true_classes(evidence), original.rows)
        open_ = again.varied[again.ring_of]
        figures: dict[str, Any] = {
            "k": self.k,
            "rings": int(again.varied.sum()),
            "people_in_rings": int(open_.sum()),
            "cells_recognised": float((again.class_at[open_] >= 0).mean()) if open_.any() else None,
            "named_by_the_first_guess": found.first,
            "rings_that_one_turn_names": found.rings,
        }
        # With two cells per person there are only two assignments, whatever the draw.
        alarming = self.k > 2 and (found.rings > MOST_RINGS or found.first > TIMES_CHANCE / self.k)
        if alarming:
            alarming = _is_beyond_chance(again, found, original.rows, run)
        return Exposure(
            attack=self.name,
            adversary="knows the quasi-identifiers of everyone, and the method",
            success=found.first,
            baseline=1.0 / max(original.rows, 1),
            figures=figures,
            chances=found.chances,
            at_risk=int(found.right.sum()) if alarming else 0,
            notes=() if open_.any() else ("no ring has cells that differ, so there is nothing to find out",),
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Named(Brief):
    """What rotations of the rings name, if each person's row is in a given class."""

    first: float
    """Share of people in rings whom the first rotation names."""
    rings: float
    """Share of rings that one rotation names."""
    right: BoolVector
    """Position -> a rotation names the person there."""
    chances: FloatVector
    """Row of the original -> probability that the first rotation names this person's row."""


def _compare(again: Rerun, truth: IntVector, people: int) -> _Named:
    """Compare all rotations of all rings with the class of each person's row. O(rows x k)."""
    rows, ring = again.parts.order, again.ring_of
    open_ = again.varied[ring]
    right_first = np.zeros(len(rows), np.bool_)
    best = np.zeros(len(again.parts.sizes), np.int64)
    for turn in range(again.k):
        right = again.guesses(turn) == truth[rows]
        if turn == 0:
            right_first = right
        best = np.maximum(best, np.bincount(ring[right], minlength=len(best)))
    # A cell that several rows of the ring show names none of them.
    chances = np.zeros(people)
    chances[rows] = np.where(open_ & right_first, 1.0 / again.alike(), 0.0)
    given_away = again.varied & (best == again.parts.sizes)
    # An assignment of two different cells often looks like a rotation; use rings with more, if there are any.
    telling = again.varied & (np.bincount(ring, 1.0 / again.alike(), len(best)).round() > 2)
    telling = telling if telling.any() else again.varied
    share = float((given_away & telling).sum() / max(telling.sum(), 1))
    first = float(chances[rows[open_]].mean()) if open_.any() else 0.0
    return _Named(first, share, given_away[ring] | (right_first & open_), chances)


def _is_beyond_chance(again: Rerun, found: _Named, people: int, run: Run) -> bool:
    """Return whether no random assignment of the same rings lets rotations name as many: a small release may look
    rotated although its cells were drawn. Of honest releases at most one in as many as the draws is taken for another.
    """
    draws = int(np.clip(MOST_DRAWN // max(people, 1), DRAWS, MOST_DRAWS))
    widths = np.full(len(again.parts.sizes), again.k, np.int64)
    left = {"first": found.first > TIMES_CHANCE / again.k, "rings": found.rings > MOST_RINGS}
    for draw in range(draws):
        run.progress("draw", draw / draws)
        owner = draw_owners(again.parts, widths, again.varied, run)
        truth = np.full(people, -1, np.int32)
        truth[again.parts.order[owner]] = again.class_at
        drawn = _compare(again, truth, people)
        left = {name: still and getattr(found, name) > getattr(drawn, name) for name, still in left.items()}
        if not any(left.values()):
            return False
    return True
