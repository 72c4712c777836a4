"""What an adversary who knows a method that relocates learns by rerunning it on everyone's quasi-identifiers, and by
subtracting true class sizes from published ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import LimitError
from shoal.judging.attacks.attack_base import Exposure
from shoal.judging.attacks.class_subtraction import subtract_sizes
from shoal.judging.attacks.rerun import true_classes
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.hybrid_k import untrue_rows
from shoal.judging.models.requirements import Requirements
from shoal.methods import Method
from shoal.release import Release
from shoal.release.render import ends_of_cells
from shoal.support.arrays import IntMatrix, IntVector
from shoal.support.run import Run

MOST_NAMED = 0.1
"""Share of relocated people whose class may be named: a guess names some by chance in small tables."""
SURE = 0.01
"""How unlikely it must be that a guess names as many with that share."""
NOBODY = "the rerun relocates nobody"


def rerun_relocation(
    evidence: Evidence, method: Method, requirements: Requirements, name: str, run: Run
) -> Exposure:
    """Run the method again, with draws of its own, and take its answer for everyone's class; or guess it from what
    each class received. The better guess counts. Time as for the method, and for counting assignments.
    """
    run.progress("rerun", 0.0)
    original, truth = evidence.original, true_classes(evidence)
    relocated = np.zeros(original.rows, np.bool_)
    assert evidence.owner is not None
    relocated[evidence.owner] = untrue_rows(evidence)
    guess = np.full(original.rows, -1, np.int32)
    said = np.zeros(original.rows, np.bool_)
    try:
        again = method.anonymize(original, requirements, run)
    except LimitError:
        again = None
    if again is not None:
        guess, said = _classes(evidence, again), _find_relocated(original.quasi.wide, again)
    subtracted = subtract_sizes(evidence, run)
    by_rerun, by_sizes = (relocated & (one >= 0) & (one == truth) for one in (guess, subtracted.guess))
    named = by_rerun if by_rerun.sum() >= by_sizes.sum() else by_sizes
    sure = by_sizes & (subtracted.certain > 1 - 1e-9)
    total, found = int(relocated.sum()), int(named.sum())
    share = found / total if total else 0.0
    sizes = evidence.published.sizes
    # Within a class all rows look the same: its name is not yet the name of a row.
    chances = np.where(named, 1.0 / np.maximum(sizes[np.maximum(truth, 0)], 1), 0.0)
    figures: dict[str, Any] = {
        "relocated": total,
        "class_named": found,
        "share_named": share,
        "named_by_rerun": int(by_rerun.sum()),
        "named_by_sizes": int(by_sizes.sum()),
        "certain_by_sizes": int(sure.sum()),
        "said_relocated": int(said.sum()),
        "said_rightly": float((said & relocated).sum() / max(said.sum(), 1)),
        "relocated_people_found": float((said & relocated).sum() / max(total, 1)),
        "same_cells": _same_cells(evidence, again),
    }
    notes = (*(() if said.any() else (NOBODY,)), *([subtracted.note] if subtracted.note else []))
    exposed = found == total or _beyond_chance(found, total)
    return Exposure(
        attack=name,
        adversary="knows the quasi-identifiers of everyone, and the method with its options, but not its draws",
        success=share,
        baseline=1.0 / max(evidence.published.classes, 1),
        figures=figures,
        chances=chances,
        at_risk=found if exposed else int(sure.sum()),
        notes=notes,
        counted="the relocated people, because the rerun or the sizes of classes name theirs",
    )


def _beyond_chance(found: int, total: int) -> bool:
    """Whether so many named people are more than a share of `MOST_NAMED` gives."""
    from scipy.stats import binom

    return found > 0 and float(binom.sf(found - 1, total, MOST_NAMED)) < SURE


def _find_relocated(codes: IntMatrix, again: Release) -> Any:
    """Return which rows the rerun of the method relocates."""
    out = np.zeros(len(codes), np.bool_)
    kept = np.flatnonzero(again.region_of >= 0)
    regions = again.region_of[kept]
    own = codes[kept]
    out[kept] = ((own < again.low[regions]) | (own > again.high[regions])).any(axis=1)
    return out


def _classes(evidence: Evidence, again: Release) -> IntVector:
    """Return, per person, the published class that shows what the rerun shows for them; -1 if none does."""
    from shoal.kernels.grouping import distinct

    published = evidence.published
    ours, theirs = published.cell_ranges, ends_of_cells(evidence.original, again)
    cells = np.concatenate([np.concatenate(ours, axis=1), np.concatenate(theirs, axis=1)])
    number, _ = distinct(np.ascontiguousarray(cells))
    class_of = np.full(int(number.max(initial=-1)) + 1, -1, np.int32)
    class_of[number[: published.classes]] = np.arange(published.classes, dtype=np.int32)
    region = class_of[number[published.classes :]]
    found: IntVector = np.where(again.region_of >= 0, region[np.maximum(again.region_of, 0)], -1).astype(
        np.int32
    )
    return found


def _same_cells(evidence: Evidence, again: Release | None) -> float:
    """Return the share of published rows whose cells the rerun shows, too."""
    if again is None:
        return 0.0
    found = np.zeros(evidence.published.classes, np.bool_)
    own = _classes(evidence, again)
    found[own[own >= 0]] = True
    return float(evidence.published.sizes[found].sum() / max(evidence.published.rows, 1))
