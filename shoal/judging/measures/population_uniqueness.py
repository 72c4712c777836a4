"""How many rows are unique in the population, if the table is a random sample of it: estimates, never one alone.

Each is reported where the size of the population is known. `shoal.judging.linking.uniqueness` has the estimators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.uniqueness import ESTIMATORS
from shoal.judging.measures.measure import Measure, Needs, Reported
from shoal.support.wording import percent


class PopulationUnique(Measure):
    """What one estimator says about the rows before or after."""

    estimator: ClassVar[str]
    after: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(population=True)
    reported: ClassVar[Reported] = Reported(default=False, percent=True)

    def is_wanted(self, evidence: Evidence) -> bool:
        """Whether the size of the population is known."""
        return evidence.population_size is not None

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why there is no estimate: missing data, or an estimator that does not converge."""
        sample = evidence.as_samples[self.after]
        why = sample.why_no_estimates
        return why if why is not None else sample.estimates[self.estimator].refused

    def compute(self, evidence: Evidence) -> float:
        """Return the estimated share of rows."""
        return evidence.as_samples[self.after].estimates[self.estimator].share


class PitmanBefore(PopulationUnique):
    """By Pitman's model, of the original."""

    name: ClassVar[str] = "unique-in-population-pitman-before"
    summary: ClassVar[str] = (
        "share of the original's rows that are unique in the population, by Pitman's model"
    )
    estimator: ClassVar[str] = "pitman"


class PitmanAfter(PopulationUnique):
    """By Pitman's model, of the release."""

    name: ClassVar[str] = "unique-in-population-pitman-after"
    summary: ClassVar[str] = (
        "share of the published rows that are unique in the population, by Pitman's model"
    )
    estimator: ClassVar[str] = "pitman"
    after: ClassVar[bool] = True


class ZayatzBefore(PopulationUnique):
    """By Zayatz, of the original."""

    name: ClassVar[str] = "unique-in-population-zayatz-before"
    summary: ClassVar[str] = "share of the original's rows that are unique in the population, by Zayatz"
    estimator: ClassVar[str] = "zayatz"


class ZayatzAfter(PopulationUnique):
    """By Zayatz, of the release."""

    name: ClassVar[str] = "unique-in-population-zayatz-after"
    summary: ClassVar[str] = "share of the published rows that are unique in the population, by Zayatz"
    estimator: ClassVar[str] = "zayatz"
    after: ClassVar[bool] = True


class SnbBefore(PopulationUnique):
    """By the slide negative binomial model, of the original."""

    name: ClassVar[str] = "unique-in-population-snb-before"
    summary: ClassVar[str] = (
        "share of the original's rows that are unique in the population, by the slide negative binomial model"
    )
    estimator: ClassVar[str] = "snb"


class SnbAfter(PopulationUnique):
    """By the slide negative binomial model, of the release."""

    name: ClassVar[str] = "unique-in-population-snb-after"
    summary: ClassVar[str] = (
        "share of the published rows that are unique in the population, by the slide negative binomial model"
    )
    estimator: ClassVar[str] = "snb"
    after: ClassVar[bool] = True


class DankarBefore(PopulationUnique):
    """By the estimator that the rule of Dankar and others chooses, of the original."""

    name: ClassVar[str] = "unique-in-population-dankar-before"
    summary: ClassVar[str] = (
        "share of the original's rows that are unique in the population, by the rule of Dankar and others"
    )
    estimator: ClassVar[str] = "dankar"


class DankarAfter(PopulationUnique):
    """By the estimator that the rule of Dankar and others chooses, of the release."""

    name: ClassVar[str] = "unique-in-population-dankar-after"
    summary: ClassVar[str] = (
        "share of the published rows that are unique in the population, by the rule of Dankar and others"
    )
    estimator: ClassVar[str] = "dankar"
    after: ClassVar[bool] = True


def describe_estimates(known: Mapping[str, float]) -> list[str]:
    """Describe the range of the estimates in sentences, if there are any."""
    parts = []
    for kinds, where in ((BEFORE, "of the original's rows"), (AFTER, "of the published rows")):
        shares = [known[kind.name] for kind in kinds if kind.name in known]
        if shares:
            low, high = percent(min(shares)), percent(max(shares))
            words = low if low == high else f"{low} to {high}"
            parts.append(f"{words if max(shares) > 0 else 'none'} {where}")
    return [f"unique in the population, by estimate: {', '.join(parts)}"] if parts else []


BEFORE: tuple[type[PopulationUnique], ...] = (PitmanBefore, ZayatzBefore, SnbBefore)
AFTER: tuple[type[PopulationUnique], ...] = (PitmanAfter, ZayatzAfter, SnbAfter)
assert [kind.estimator for kind in BEFORE] == [*ESTIMATORS] == [kind.estimator for kind in AFTER]
