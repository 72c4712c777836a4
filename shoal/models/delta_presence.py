"""delta-presence: can one find out that a person is in the table at all? (Nergiz, Atzori, Clifton 2007.)"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import BoolVector
from shoal.errors import PolicyError, Problem
from shoal.models.base import Model
from shoal.models.keys import Bounds, Key
from shoal.wording import number

if TYPE_CHECKING:
    from shoal.linking.evidence import Evidence
    from shoal.release.verdict import Verdict
    from shoal.table import CodedTable

SLACK = 1e-9
"""Rounding errors of divisions, and nothing else."""


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Model):
    """For everybody in the population, the chance to be in the table lies between two bounds."""

    name: ClassVar[str] = "delta-presence"
    summary: ClassVar[str] = (
        "nobody can tell, with more than the stated certainty, who is in the table and who is not"
    )
    key: ClassVar[Key] = Key(
        "presence",
        "delta-presence: the lowest and highest probability of anyone in the population to be in the table",
    )
    usual: ClassVar[Any] = (0.0, 0.5)
    about: ClassVar[str] = "unsure-of-membership"
    weakest: ClassVar[bool] = True
    public: ClassVar[Any] = "always"
    needs_original: ClassVar[bool] = True

    low: Annotated[float, Bounds(ge=0, le=1)]
    """Smallest permitted chance; above 0, everybody of the population must fall in a class."""
    high: Annotated[float, Bounds(ge=0, le=1)]
    """Largest permitted chance."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            message = f"has its higher bound first: [{self.low}, {self.high}]"
            raise PolicyError([Problem("privacy.presence", message, f"[{self.high}, {self.low}]")])

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Move both bounds halfway to 0 and 1."""
        low, high = value
        return low / 2, (high + 1) / 2

    @property
    def required(self) -> Any:
        """Return both bounds."""
        return [self.low, self.high]

    @property
    def title(self) -> str:
        """Name the model."""
        return f"({number(self.low)}, {number(self.high)})-presence"

    def allows(self, rows: int, people: int) -> bool:
        """Whether so many rows of the table among so many people of the population are within the bounds."""
        return self.low * people - SLACK * people <= rows <= self.high * people + SLACK * people

    def within(self, rows: NDArray[Any], people: NDArray[Any]) -> BoolVector:
        """Tell the same of many groups at once."""
        slack = SLACK * people
        good: BoolVector = (rows >= self.low * people - slack) & (rows <= self.high * people + slack)
        return good

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the least and the most certain person. A chance that is only estimated never passes for proven."""
        from shoal.membership.presence import presence

        published, original = evidence.published, evidence.table
        if original is None or original.population is None:
            detail = "cannot be judged without the population: name it in the policy, and give the original"
            return self.verdict(published, None, False, detail)
        found = presence(published, original.population)
        least, most = float(found.low.min()), float(found.high.max())
        outside = (found.low < self.low - SLACK) | (found.high > self.high + SLACK)
        details = []
        if outside.any():
            details.append(f"{int(outside.sum()):,} of {len(outside):,} people are outside")
        unsure = int((~found.exact & outside).sum())
        if unsure:
            details.append(
                f"for {unsure:,} of them it could not be computed exactly, so the worst is assumed"
            )
        if found.overlapping:
            details.append(
                f"{found.overlapping:,} people fit several classes: for them, and whoever shares a class with them, "
                "bounds are proven and no chance"
            )
        if published.suppressed:
            details.append(f"{published.suppressed:,} suppressed rows could be anybody's")
        untrue = _untrue(evidence)
        if untrue:
            details.append(
                f"{untrue:,} rows were relocated; judged is what whoever takes all cells for true works out, and "
                "nothing protects from whoever knows which are not"
            )
        return self.verdict(published, [least, most], not outside.any(), "; ".join(details))

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Even one class of everybody gives each person the share of the population that the table is.

        Suppressing rows does not help: the people are in the table all the same.
        """
        if table.population is None or not len(table.population):
            return None
        share = table.rows / len(table.population)
        # Rounded so that what is proposed holds.
        if share > self.high + SLACK:
            side, proposed = f"more than {number(self.high)}", math.ceil(share * 10_000) / 10_000
            remedy = f"permit a chance of {proposed:g} or more, or name a population of more people"
        elif share < self.low - SLACK:
            side, proposed = f"less than {number(self.low)}", math.floor(share * 10_000) / 10_000
            remedy = f"ask for a chance of {proposed:g} or less, or name a population of fewer people"
        else:
            return None
        return (
            f"no release can satisfy {self.title}: the table has {table.rows:,} of the {len(table.population):,} "
            f"people of the population, a share of {share:.4g}, {side}; on average everybody has this chance "
            f"({remedy})"
        )


def _untrue(evidence: Evidence) -> int:
    """Count the rows whose cells do not hold what their owner has, where owners are known."""
    published, original, owner = evidence.published, evidence.table, evidence.owner
    if owner is None or original is None or published.low is None or published.high is None:
        return 0
    if published.bucket_of is not None:
        return 0  # Cells stand beside each other by chance.
    true = original.codes[owner]
    low, high = published.low[published.class_of], published.high[published.class_of]
    return int(((true < low) | (true > high)).any(axis=1).sum())


def asked_presence(models: tuple[Model, ...], method: str) -> DeltaPresence:
    """Return the delta-presence that is asked for; methods that are made for it cannot do without."""
    found = [model for model in models if isinstance(model, DeltaPresence)]
    if not found:
        hint = "add presence = [0.0, 0.5] to [privacy], and a [population]"
        raise PolicyError([Problem("method.name", f"{method} needs bounds on presence", hint)])
    low = float(np.max([model.low for model in found]))
    return DeltaPresence(low=low, high=min(model.high for model in found))
