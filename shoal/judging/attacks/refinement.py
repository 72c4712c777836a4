"""Refinement: what were the values behind cells that were coarsened row by row? (Chhillar et al. 2025.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.attacks.rerun import how_to_tell_owners
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.refining_cells import Cells, refine
from shoal.judging.models.threats import Threat
from shoal.support.arrays import IntVector, LongVector
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class Refinement(Attack):
    """Knows k, and that the tool coarsened a row only because its finer groups had fewer than k rows.

    So a coarse row has values that no finer class inside its cells shows. A linear program spreads the rows of coarse
    classes over what is left, with fewer than k rows of each finer group, as likely as the published cells make it. The
    guess for a cell is the value that most rows of its class have then. No auxiliary data is needed.
    """

    name: ClassVar[str] = "refinement"
    title: ClassVar[str] = "refinement of coarsened cells"
    threat: ClassVar[Threat] = ""  # nobody is linked, and no sensitive value is learned
    only_rows: ClassVar[str] = "it counts the rows of finer groups, of which some would be of one person"
    summary: ClassVar[str] = (
        "knows that rows were coarsened only where finer groups were too small, and guesses the values behind the cells"
    )

    k: int = 2
    """Groups of this many rows are published at a finer state."""
    only_k: bool = True
    """Nothing else kept groups back: no model beyond k, and no other reason. Else only the values of finer classes are
    ruled out."""

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Rows must be whole and true."""
        if setting.rows.empty:
            return "it has no rows"
        if setting.rows.in_buckets or not setting.rows.intact:
            return "values were shuffled within buckets, so no cell was coarsened"
        if setting.may_relocate:
            return "rows may have been relocated"
        if not setting.models:
            return "the policy has no requirement, so no group was too small"
        made = setting.made
        if made.certain and made.method is not None and not made.method.can.search_mappings:
            return f"{made.method.name} does not coarsen row by row what is in too small a group"
        return ""

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """Other models than k keep groups back, too."""
        return {"only_k": all(model.key.name == "k" for model in setting.models)}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        yield f"{figures['coarse_cells']:,} coarsened cells in {figures['coarse_rows']:,} rows were guessed"
        yield f"finer classes rule out {figures['ruled_out']:.2%} of the combinations of values"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Rule out, solve and guess. O(states x combinations) and a linear program."""
        published, table = evidence.published, evidence.original
        cells = Cells.read(published)
        run.progress("rule out", 0.0)
        own = _find_classes(cells, evidence)
        refined = refine(cells, self.k - 1 if self.only_k else None)
        mine = refined.combinations
        place = np.full(published.classes, -1, np.int64)
        place[mine.classes] = np.arange(len(mine.classes))
        person = np.flatnonzero(own >= 0)
        person = person[place[own[person]] >= 0]
        at, right, blind, hidden = place[own[person]], *np.zeros((3, len(person)))
        for j, attribute in enumerate(cells.attributes):
            coarse = cells.state[own[person], j] > cells.finest[j]
            truth = attribute.hierarchy.low[cells.finest[j], table.quasi.narrow[j][person]]
            hidden += coarse
            right += coarse & (refined.guess(j, refined.rows)[at] == truth)
            blind += coarse & (refined.guess(j, mine.weights)[at] == truth)
        chances = np.zeros(table.rows)
        chances[person] = right / np.maximum(hidden, 1)
        total = max(hidden.sum(), 1)
        left_out = int(cells.sizes[cells.coarse].sum() - cells.sizes[mine.classes].sum())
        figures = {
            "k": self.k,
            "coarse_rows": int(cells.sizes[cells.coarse].sum()),
            "rows_not_tried": left_out,
            "coarse_cells": int(hidden.sum()),
            "combinations": len(mine.of),
            "ruled_out": float(refined.excluded.mean()) if len(mine.of) else 0.0,
            "rows_beyond_k": round(refined.beyond, 6),
        }
        notes = [
            "the rows of a class read alike, so that nobody is linked to fewer of them than before; no requirement is "
            "about the values behind cells"
        ]
        if left_out:
            notes.append(f"{left_out:,} rows have cells that cover too many combinations, and were not tried")
        return Exposure(
            attack=self.name,
            adversary="knows how the tool coarsens rows, and nothing about people",
            success=float(right.sum() / total),
            baseline=float(blind.sum() / total),
            figures=figures,
            chances=chances,
            at_risk=0,
            notes=tuple(notes),
            counted="the coarsened cells, for which the value was guessed",
        )


def _find_classes(cells: Cells, evidence: Evidence) -> IntVector | LongVector:
    """Return the class of each person, -1 if the row is suppressed. If the owners of rows are not known, a person is in
    the finest class that covers them; DataError if the sizes of classes contradict that."""
    from shoal.kernels.grouping import distinct

    table, published = evidence.original, evidence.published
    own = np.full(table.rows, -1, np.int64)
    if evidence.owner is not None:
        own[evidence.owner] = published.class_of
        return own
    states = np.unique(cells.state, axis=0)
    for state in states[np.argsort(states.sum(axis=1), kind="stable")]:
        people, classes = np.flatnonzero(own < 0), np.flatnonzero((cells.state == state).all(axis=1))
        lifted = np.stack(
            [
                a.hierarchy.low[state[j], table.quasi.narrow[j][people]]
                for j, a in enumerate(cells.attributes)
            ],
            axis=1,
        )
        number, first = distinct(np.asfortranarray(np.vstack([cells.low[classes], lifted])))
        known = np.full(len(first), -1, np.int64)
        known[number[: len(classes)]] = classes
        own[people] = known[number[len(classes) :]]
    if (np.bincount(own[own >= 0], minlength=published.classes) != cells.sizes).any():
        raise DataError(
            "which row is whose does not follow from the release, so guesses cannot be compared with the truth: "
            + how_to_tell_owners()
        )
    return own
