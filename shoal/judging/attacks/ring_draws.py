"""Were the cells of rings assigned at random? A test for releases whose owners nobody knows, by sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Exposure
from shoal.judging.attacks.rerun import Rerun, how_to_tell_owners
from shoal.judging.linking.evidence import Evidence
from shoal.methods.cells.ring import draw_owners
from shoal.support.arrays import BoolVector, IntVector, LongVector
from shoal.support.brief import Brief
from shoal.support.run import Run

DRAWS = 199
"""Random assignments that the release is compared with: more than all of them is 1 in 200 by chance."""
MOST_POSITIONS = 50_000
"""Of larger releases, only rings with that many positions are compared."""
NO_SECRETS = "the release has no sensitive values that could show who got which cell"
NO_POWER = "its sensitive values are too much alike: a random assignment explains as many rows as the first guess does"


@dataclass(frozen=True, eq=False, repr=False)
class _Rings(Brief):
    """Rings that share no published class with others: what their positions show, and which values people have."""

    again: Rerun
    order: IntVector | LongVector
    chosen: BoolVector
    """Position -> whether its ring is compared."""
    labels: LongVector
    """Row of the original -> number of its combination of sensitive values."""
    values: int

    def pairs(self, class_at: IntVector, position: IntVector | LongVector) -> LongVector:
        """Number the pairs of a class and the values of the person at a position."""
        found: LongVector = class_at.astype(np.int64) * self.values + self.labels[self.order[position]]
        return found

    def count_fitting(self, shown: LongVector) -> tuple[int, LongVector]:
        """Return how many rows the first rotation explains, and which rings one rotation explains, as numbers of rings.

        `shown` are the pairs of a class and a value that the rows show, sorted.
        """
        again, here = self.again, np.flatnonzero(self.chosen)
        first = 0
        fits = np.zeros(len(again.parts.sizes), np.bool_)
        room, often = np.unique(shown, return_counts=True)
        for turn in range(again.k):
            guess = self.pairs(again.guesses(turn)[here], here)
            if turn == 0:
                wanted, many = np.unique(guess, return_counts=True)
                first = int(np.minimum(many, _look_up(room, often, wanted)).sum())
            own = np.stack([again.ring_of[here].astype(np.int64), guess], axis=1)
            kinds, many = np.unique(own, axis=0, return_counts=True)
            bad = many > _look_up(room, often, kinds[:, 1])
            good = np.ones(len(fits), np.bool_)
            good[kinds[bad, 0]] = False
            fits |= good
        rings = np.unique(again.ring_of[here])
        return first, rings[fits[rings]].astype(np.int64)


def _look_up(room: LongVector, often: LongVector, wanted: LongVector) -> LongVector:
    if not len(room):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(room, wanted), len(room) - 1)
    found: LongVector = np.where(room[at] == wanted, often[at], 0)
    return found


def compare_with_draws(evidence: Evidence, again: Rerun, name: str, run: Run) -> Exposure:
    """Compare what rows show with what rotations of the rings predict, and with random assignments of these rings.

    People are at risk if the first rotation explains more rows than every random assignment does, or one rotation
    explains more rings. O(draws x k x positions log positions).
    """
    rings = _choose_rings(evidence, again)
    here = np.flatnonzero(rings.chosen)
    published = evidence.published
    number = _number_values(evidence)[1]
    shown = published.class_of.astype(np.int64) * rings.values + number
    classes = np.unique(again.class_at[here])
    first, turned = rings.count_fitting(np.sort(shown[np.isin(published.class_of, classes)]))
    by_chance: list[int] = []
    turned_by_chance: list[int] = []
    widths = np.full(len(again.parts.sizes), again.k, np.int64)
    for draw in range(DRAWS):
        run.progress("draw", draw / DRAWS)
        owner = draw_owners(again.parts, widths, again.varied, run)
        drawn = rings.count_fitting(np.sort(rings.pairs(again.class_at[here], owner[here])))
        by_chance.append(drawn[0])
        turned_by_chance.append(len(drawn[1]))
    many = len(np.unique(again.ring_of[here]))
    if max(by_chance) == len(here) and max(turned_by_chance) == many:
        raise DataError(f"whose row is whose is not known, and {NO_POWER}; {how_to_tell_owners()}")
    repeated, rotated = first > max(by_chance), len(turned) > max(turned_by_chance)
    risk = first if repeated else int(again.parts.sizes[turned].sum()) if rotated else 0
    figures: dict[str, Any] = {
        "k": again.k,
        "rows_compared": len(here),
        "rows_that_the_first_guess_explains": first / len(here),
        "by_chance_at_most": max(by_chance) / len(here),
        "rings_compared": many,
        "rings_that_one_turn_explains": len(turned) / many,
        "rings_by_chance_at_most": max(turned_by_chance) / many,
    }
    return Exposure(
        attack=name,
        adversary="knows the quasi-identifiers and sensitive values of everyone, and the method",
        success=first / len(here),
        baseline=float(np.mean(by_chance)) / len(here),
        figures=figures,
        chances=np.zeros(evidence.original.rows),
        at_risk=risk,
        notes=(
            "whose row is whose is not known: the sensitive values of the rows were compared with what the rotations "
            f"of the rings predict, and with {DRAWS} random assignments",
        ),
        counted="the rows, because their sensitive values are those that the first rotation predicts",
    )


def _choose_rings(evidence: Evidence, again: Rerun) -> _Rings:
    """Take rings whose cells differ, as many as can be compared, without those that share a class with others."""
    labels, _, values = _number_values(evidence)
    if values < 2:
        raise DataError(f"whose row is whose is not known, and {NO_SECRETS}; {how_to_tell_owners()}")
    # In a ring whose cells are all alike there is nothing to draw.
    ends = np.cumsum(np.where(again.varied, again.parts.sizes, 0))
    most = max(MOST_POSITIONS, int(again.parts.sizes.max(initial=0)))
    chosen = np.repeat(again.varied & (ends <= most), again.parts.sizes)
    while chosen.any():
        others = np.unique(again.class_at[~chosen])
        shared = np.unique(again.ring_of[chosen & np.isin(again.class_at, others)])
        if not len(shared):
            break
        chosen &= ~np.isin(again.ring_of, shared)
    if not chosen.any():
        why = "too many rings share classes" if again.varied.any() else "no ring has cells that differ"
        raise DataError(f"whose row is whose is not known, and {why}; {how_to_tell_owners()}")
    return _Rings(again, again.parts.order, chosen, labels, values)


def _number_values(evidence: Evidence) -> tuple[LongVector, LongVector, int]:
    """Number the combinations of sensitive values of the original and of the published rows in the same way."""
    from shoal.kernels.grouping import distinct

    ours, theirs = evidence.original.secrets.wide, evidence.published.sensitive_codes
    if not ours.shape[1]:
        return np.zeros(len(ours), np.int64), np.zeros(len(theirs), np.int64), 1
    both, first = distinct(np.asfortranarray(np.concatenate([ours, theirs])))
    number: LongVector = both.astype(np.int64)
    return number[: len(ours)], number[len(ours) :], len(first)
