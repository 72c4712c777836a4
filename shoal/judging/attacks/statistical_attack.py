"""Statistical: which classes are larger than their true size? (The adversary of Nergiz, Gök and Özkanlı 2013.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.hybrid_k import chi_squared, count_expected_rows, size_test_levels, untrue_rows
from shoal.release.published import Published
from shoal.support.arrays import FloatVector, LongVector
from shoal.support.run import Run

KNOWLEDGE = {
    "counts": "knows how many people of the table truly have which quasi-identifiers",
    "distribution": "knows how likely quasi-identifiers are, as from another sample of the same size",
}


@dataclass(frozen=True, kw_only=True)
class Statistical(Attack):
    """Compares the size of each class with the number of people whose true values it covers.

    They accuse as many rows as all classes together have in excess, class by class, starting with the most suspicious:
    the class with the largest share of excess rows. An accusation is right if the row was relocated.
    """

    name: ClassVar[str] = "statistical"
    title: ClassVar[str] = "statistics of relocated rows"
    only_rows: ClassVar[str] = (
        "it expects numbers of rows as if they were drawn one by one, which rows of one person are not"
    )
    against: ClassVar[Mapping[str, Options]] = {"knows-distribution": {}}
    summary: ClassVar[str] = (
        "knows the true distribution, and suspects that rows of classes that are too large were relocated"
    )

    knows: str = "counts"
    """``counts``: how many people of this table have which values; or ``distribution``: only how likely values are,
    as from another sample of the same size, so that chance blurs what they expect."""
    k: int = 2
    """Rows are at risk if the test detects relocation and their class covers fewer people than this."""
    alpha: float = 0.05
    """Significance level at which they consider sizes more than chance."""

    def __post_init__(self) -> None:
        problems = []
        if self.knows not in KNOWLEDGE:
            problems.append(
                Problem("knows", f"'{self.knows}' is unknown", did_you_mean(self.knows, KNOWLEDGE))
            )
        if not 0 < self.alpha < 1:
            problems.append(
                Problem("alpha", f"must lie between 0 and 1, not {self.alpha}", "for example 0.05")
            )
        if problems:
            raise PolicyError(problems)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """Only relocated rows can be found by their numbers."""
        if setting.rows.empty:
            return "it has no rows"
        if setting.rows.in_buckets:
            return "values were shuffled within buckets, so the sizes of classes say nothing about relocated rows"
        return "" if setting.may_move_rows else "neither the method nor the policy relocates rows"

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """Test at the level of the policy."""
        levels = size_test_levels(setting.models)
        return {"alpha": max(levels)} if levels else {}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        verdict = "more than chance" if figures["rejected"] else "no more than chance"
        yield f"the sizes of classes show {verdict} (p = {figures['p_value']:.3g})"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Test, rank and accuse. O(rows x quasi-identifiers + relocated rows x classes)."""
        published = evidence.published
        run.progress("test", 0.0)
        truth = count_expected_rows(evidence)
        test = chi_squared(evidence)
        believed = truth.classes
        if self.knows == "distribution" and published.rows:
            every = np.append(truth.classes, truth.elsewhere.sum())
            believed = run.random.multinomial(published.rows, every / every.sum())[:-1]
        accused = accusations(published.sizes, believed)
        rejected = test.p_value < self.alpha
        thin = truth.classes < self.k if rejected else np.zeros(published.classes, np.bool_)
        figures: dict[str, Any] = {
            "k": self.k,
            "chi_squared": test.statistic if np.isfinite(test.statistic) else None,
            "degrees_of_freedom": test.degrees,
            "p_value": test.p_value,
            "rejected": rejected,
            "classes": published.classes,
            "classes_too_large": int((published.sizes > believed).sum()),
            "vanished_groups": len(truth.elsewhere),
            "vanished_rows": int(truth.elsewhere.sum()),
            "accused": int(accused.sum()),
        }
        chances = np.zeros(evidence.original.rows)
        if evidence.owner is None:
            # Rows in excess of the people that a class covers must have been relocated, whichever they are.
            surplus = np.maximum(published.sizes - truth.classes, 0)
            hits = float((accused * surplus / published.sizes).sum())
            note = "the owners of rows are unknown: excess rows of classes count as relocated"
            return self._exposure(
                hits / max(int(accused.sum()), 1),
                int(surplus.sum()) / max(published.rows, 1),
                figures,
                chances,
                int(published.sizes[thin].sum()),
                note,
            )
        relocated = untrue_rows(evidence)
        chances[evidence.owner] = np.where(relocated, (accused / published.sizes)[published.class_of], 0.0)
        hits = float(chances.sum())
        total = int(relocated.sum())
        figures |= {
            "relocated": total,
            "hits": hits,
            "found": hits / total if total else 0.0,
            "hits_in_first_class": self._first(published, relocated, accused, believed),
        }
        success = hits / accused.sum() if accused.sum() else 0.0
        baseline = total / published.rows if published.rows else 0.0
        return self._exposure(success, baseline, figures, chances, int(published.sizes[thin].sum()))

    def _first(
        self, published: Published, relocated: Any, accused: LongVector, truth: LongVector
    ) -> float | None:
        """Return the share of relocated rows in the most suspicious class."""
        if not accused.any():
            return None
        worst = int(np.argmax((published.sizes - truth) / published.sizes))
        return float(relocated[published.class_of == worst].mean())

    def _exposure(
        self,
        success: float,
        baseline: float,
        figures: dict[str, Any],
        chances: FloatVector,
        at_risk: int,
        *notes: str,
    ) -> Exposure:
        return Exposure(
            attack=self.name,
            adversary=KNOWLEDGE[self.knows],
            success=success,
            baseline=baseline,
            figures=figures,
            chances=chances,
            at_risk=at_risk,
            notes=notes,
            counted="the rows that they suspect, because these were relocated",
        )


def accusations(sizes: LongVector, truth: LongVector) -> LongVector:
    """Return how many rows of each class are accused: whole classes by suspicion, up to the total number of excess
    rows.

    Among equally suspicious classes the first comes first. O(classes log classes).
    """
    surplus = np.maximum(sizes - truth, 0)
    order = np.argsort(-surplus / np.maximum(sizes, 1), kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    accused = np.zeros(len(sizes), np.int64)
    accused[order] = np.clip(surplus.sum() - before, 0, sizes[order])
    return accused
