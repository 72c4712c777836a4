"""deFinetti: what do the buckets of a release together teach about who has which value? (Kifer 2009.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.linking.bucket_learner import Guesses, learn
from shoal.judging.linking.evidence import Evidence
from shoal.judging.models.bucket_members import find_members
from shoal.judging.models.learned_l import find_limit
from shoal.judging.models.requirements import Requirements
from shoal.judging.models.threats import ATTRIBUTE_DISCLOSURE, Threat
from shoal.support.confidence_intervals import wilson
from shoal.support.run import Run

SURE = 0.9
"""From this belief on, the adversary calls a guess sure."""


@dataclass(frozen=True, kw_only=True)
class DeFinetti(Attack):
    """Knows everyone's quasi-identifiers and who is in the table, hence who is in which bucket or class.

    Within a bucket, every assignment of its values to its people looks equally likely. But the buckets together show
    which values go with which quasi-identifiers. So the adversary fits a classifier (naive Bayes) to all buckets, uses
    it to weigh the assignments of each bucket, and repeats that. They need nothing but the release for that.
    """

    name: ClassVar[str] = "definetti"
    title: ClassVar[str] = "learning from the buckets"
    threat: ClassVar[Threat] = ATTRIBUTE_DISCLOSURE
    summary: ClassVar[str] = (
        "knows everyone's quasi-identifiers, and learns from all buckets or classes together who has which value"
    )
    unrequired: ClassVar[str] = (
        "no requirement of the policy is about learning from the release, so nobody is judged"
    )

    against: ClassVar[Mapping[str, Options]] = {"learns-from-release": {}}

    requirements: Requirements | None = None
    """What the release must satisfy: whether learning is judged, and how many guesses may be right."""

    @classmethod
    def why_unrequired(cls, setting: Setting) -> str:
        """It is only judged by a policy that asks for it."""
        asked = any(model.about in cls.against for model in setting.models)
        return "" if asked else cls.unrequired

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """There must be groups of people, and of true values."""
        if not setting.sensitive:
            return "the table has no sensitive column"
        if setting.rows.empty:
            return "it has no rows"
        if setting.may_relocate:
            return "rows may have been relocated, so that nobody can tell who is in which class"
        return ""

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        for name, own in figures["columns"].items():
            sure = own["sure"]
            yield (
                f"{name}: {own['right']:.1%} of the guesses are right, {own['right_before']:.1%} without learning; "
                f"{sure['people']:,} guesses with a belief above {SURE:.0%}"
                + (f", of which {sure['right']:.1%} are right" if sure["people"] else "")
            )

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Learn, and compare the guesses with the truth. O(people x values of a bucket x quasi-identifiers)."""
        published, table = evidence.published, evidence.original
        if not table.sensitive:
            raise DataError("the release has no sensitive column, so there is nothing to learn")
        run.progress("find buckets", 0.0)
        members = find_members(published, table)
        chances, blind = np.zeros(table.rows), np.zeros(table.rows)
        columns: dict[str, dict[str, Any]] = {}
        models = () if self.requirements is None else self.requirements.models
        limits = [find_limit(models, j) for j in range(len(table.sensitive))]
        exposed = np.zeros(table.rows, np.bool_)
        for j, attribute in enumerate(table.sensitive):

            def report(share: float, j: int = j) -> None:
                run.progress("learn", (j + share) / len(table.sensitive))

            learned = learn(members, published, j, report)
            truth = table.secrets.wide[:, j]
            after = Guesses.of(learned.after, members.point_of, truth)
            before = Guesses.of(learned.before, members.point_of, truth)
            limit = limits[j]
            if limit is not None:
                exposed |= after.find_exposed(limit)
            sure = after.belief > SURE
            share = float(after.right[sure].mean()) if sure.any() else None
            columns[attribute.name] = {
                "right": float(after.right.mean()),
                "right_before": float(before.right.mean()),
                "interval": list(wilson(float(after.right.mean()), table.rows)),
                "mean_belief": float(after.belief.mean()),
                "sure": {
                    "people": int(sure.sum()),
                    "right": share,
                    "interval": None if share is None else list(wilson(share, int(sure.sum()))),
                },
                "calibration": after.by_belief(),
            }
            chances = np.maximum(chances, after.right)
            blind = np.maximum(blind, before.right)
        return Exposure(
            attack=self.name,
            adversary="knows everyone's quasi-identifiers and who is in the table, and learns from the release",
            success=float(chances.mean()),
            baseline=float(blind.mean()),
            figures={"groups": members.buckets, "columns": columns},
            chances=chances,
            at_risk=int(exposed.sum()),
            notes=() if any(limit is not None for limit in limits) else (self.unrequired,),
        )
