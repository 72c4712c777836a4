"""How many people few columns single out: those with a minimal unique of up to four columns (SUDA2)."""

from __future__ import annotations

from typing import ClassVar

from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Measure, Reported


class SingledOut(Measure):
    """The share of people with a minimal unique, before or after."""

    after: ClassVar[bool] = False
    reported: ClassVar[Reported] = Reported(default=False, percent=True)

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why minimal uniques cannot be found."""
        return evidence.as_samples[self.after].why_no_sets

    def compute(self, evidence: Evidence) -> float:
        """Find all minimal uniques."""
        found = evidence.as_samples[self.after].minimal_uniques
        return found.people / max(found.of, 1)


class SingledOutBefore(SingledOut):
    """Of the original."""

    name: ClassVar[str] = "unique-in-few-before"
    summary: ClassVar[str] = (
        "share of people whom at most four quasi-identifiers of the original single out (SUDA2)"
    )


class SingledOutAfter(SingledOut):
    """Of the release."""

    name: ClassVar[str] = "unique-in-few-after"
    summary: ClassVar[str] = (
        "share of people whom at most four quasi-identifiers of the release single out (SUDA2)"
    )
    after: ClassVar[bool] = True
