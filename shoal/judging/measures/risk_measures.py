"""Risk of re-identification as measures: prosecutor, journalist, marketer (El Emam 2013), and uniqueness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.reidentification import THRESHOLD, share_above, unique_share
from shoal.judging.measures.measure import Measure, Needs


class ProsecutorMax(Measure):
    """The risk of the row in the smallest class."""

    name: ClassVar[str] = "risk-prosecutor-max"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = (
        "highest probability of finding the row of a person who is known to be in the release"
    )

    def compute(self, evidence: Evidence) -> float:
        """One over the smallest class."""
        return evidence.risk.prosecutor_max


class ProsecutorMean(Measure):
    """The risk averaged over rows."""

    name: ClassVar[str] = "risk-prosecutor-mean"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = (
        "average probability of finding the row of a person who is known to be in the release"
    )

    def compute(self, evidence: Evidence) -> float:
        """Classes over rows."""
        return evidence.risk.prosecutor_mean


@dataclass(frozen=True, kw_only=True)
class AtRisk(Measure):
    """The share of rows whose prosecutor risk is above a threshold."""

    name: ClassVar[str] = "risk-at-risk"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = "share of published rows whose risk is above 0.2"

    threshold: float = THRESHOLD
    """The highest risk that is acceptable."""

    def compute(self, evidence: Evidence) -> float:
        """Add up the classes that are too small."""
        return share_above(evidence.sizes, self.threshold)


class JournalistMax(Measure):
    """The highest risk if the adversary does not know who is in the release."""

    name: ClassVar[str] = "risk-journalist-max"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = (
        "highest probability of finding anyone of a population (without one: the prosecutor's, an upper bound)"
    )

    def compute(self, evidence: Evidence) -> float:
        """One over the smallest number of people who match a class."""
        return evidence.risk.journalist_max


class Marketer(Measure):
    """The share of rows that are re-identified if the adversary tries all."""

    name: ClassVar[str] = "risk-marketer"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = (
        "share of rows re-identified if all are tried (without a population: an upper bound)"
    )

    def compute(self, evidence: Evidence) -> float:
        """Sum the rows over the people who match them, over all rows."""
        return evidence.risk.marketer


class UniqueBefore(Measure):
    """How identifying the quasi-identifiers were."""

    name: ClassVar[str] = "unique-before"
    summary: ClassVar[str] = "share of the original's rows that are unique in their quasi-identifiers"
    needs: ClassVar[Needs] = Needs(original=True)

    def compute(self, evidence: Evidence) -> float:
        """Group the original."""
        if evidence.owners.unknown:
            return unique_share(evidence.original)
        return evidence.risk.unique_before


class UniqueAfter(Measure):
    """How many rows are still unique."""

    name: ClassVar[str] = "unique-after"
    needs: ClassVar[Needs] = Needs(classes=True)
    summary: ClassVar[str] = "share of the published rows that are unique in their quasi-identifiers"

    def compute(self, evidence: Evidence) -> float:
        """Count classes of one row."""
        return evidence.risk.unique_after
