"""Individual risk by Benedetti and Franconi, where the table has survey weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Measure, Needs, Reported


class Individual(Measure):
    """A figure about the individual risks of the rows before or after."""

    figure: ClassVar[str]
    """`highest`, `mean` or `expected`."""
    after: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(weights=True)
    reported: ClassVar[Reported] = Reported(default=False)

    def is_wanted(self, evidence: Evidence) -> bool:
        """Whether there are survey weights."""
        return evidence.survey is not None or (
            evidence.table is not None and evidence.table.kept.weights is not None
        )

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why there is no individual risk."""
        return evidence.as_samples[self.after].why_no_weights

    def compute(self, evidence: Evidence) -> float:
        """Return the figure."""
        return float(getattr(evidence.as_samples[self.after].individual, self.figure))


def describe_risks(known: Mapping[str, float]) -> list[str]:
    """Describe the risks in sentences, as far as they are known."""
    before, after = (
        [known[kind.name] for kind in kinds if kind.name in known]
        for kinds in ((HighestBefore, ExpectedBefore), (HighestAfter, ExpectedAfter))
    )
    parts = [
        f"{where} at most {found[0]:.2%} per row, {found[1]:,.1f} re-identifications expected"
        for found, where in ((before, "before"), (after, "after"))
        if len(found) == 2
    ]
    return [f"individual risk by survey weights: {'; '.join(parts)}"] if parts else []


class HighestBefore(Individual):
    """The highest risk of a row of the original."""

    name: ClassVar[str] = "risk-individual-max-before"
    summary: ClassVar[str] = "highest individual risk (Benedetti and Franconi) of the original's rows"
    figure: ClassVar[str] = "highest"


class HighestAfter(Individual):
    """The highest risk of a published row."""

    name: ClassVar[str] = "risk-individual-max-after"
    summary: ClassVar[str] = "highest individual risk (Benedetti and Franconi) of the published rows"
    figure: ClassVar[str] = "highest"
    after: ClassVar[bool] = True


class MeanBefore(Individual):
    """The average risk of the rows of the original."""

    name: ClassVar[str] = "risk-individual-mean-before"
    summary: ClassVar[str] = "average individual risk (Benedetti and Franconi) of the original's rows"
    figure: ClassVar[str] = "mean"


class MeanAfter(Individual):
    """The average risk of the published rows."""

    name: ClassVar[str] = "risk-individual-mean-after"
    summary: ClassVar[str] = "average individual risk (Benedetti and Franconi) of the published rows"
    figure: ClassVar[str] = "mean"
    after: ClassVar[bool] = True


class ExpectedBefore(Individual):
    """The sum of the risks of the rows of the original."""

    name: ClassVar[str] = "risk-individual-expected-before"
    summary: ClassVar[str] = (
        "expected re-identifications among the original's rows, the sum of individual risks"
    )
    figure: ClassVar[str] = "expected"


class ExpectedAfter(Individual):
    """The sum of the risks of the published rows."""

    name: ClassVar[str] = "risk-individual-expected-after"
    summary: ClassVar[str] = (
        "expected re-identifications among the published rows, the sum of individual risks"
    )
    figure: ClassVar[str] = "expected"
    after: ClassVar[bool] = True
