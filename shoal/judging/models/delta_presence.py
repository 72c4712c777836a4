"""delta-presence: can an adversary find out that a person is in the table at all? (Nergiz, Atzori, Clifton 2007.)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError, Problem
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import Model, Readings
from shoal.judging.models.threats import MEMBERSHIP, Threat
from shoal.support.arrays import BoolVector
from shoal.support.wording import format_setting, number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.verdict import Verdict

SLACK = 1e-9
"""Tolerance for rounding errors of divisions."""


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(Model):
    """For everybody in the population, the probability of being in the table lies between two bounds."""

    name: ClassVar[str] = "delta-presence"
    threat: ClassVar[Threat] = MEMBERSHIP
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
    readings: ClassVar[Readings] = "all"

    low: Annotated[float, Bounds(ge=0, le=1)]
    """Smallest allowed probability; above 0, everybody in the population must match a class."""
    high: Annotated[float, Bounds(ge=0, le=1)]
    """Largest allowed probability."""

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
    def threshold(self) -> Any:
        """Return both bounds."""
        return [self.low, self.high]

    @property
    def title(self) -> str:
        """Name the model."""
        return f"({number(self.low)}, {number(self.high)})-presence"

    def allows(self, rows: int, people: int) -> bool:
        """Return whether this many rows among this many people of the population are within the bounds."""
        return self.low * people - SLACK * people <= rows <= self.high * people + SLACK * people

    def within(self, rows: NDArray[Any], people: NDArray[Any]) -> BoolVector:
        """Return the same for many groups at once."""
        slack = SLACK * people
        good: BoolVector = (rows >= self.low * people - slack) & (rows <= self.high * people + slack)
        return good

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the least and the most certain person. An estimated probability never counts as proven."""
        from shoal.judging.membership.presence_chances import presence

        published, original = evidence.published, evidence.table
        if original is None or original.context.population is None:
            return self.verdict_unknown(published, "name the population in the policy, and give the original")
        found = presence(published, original.context.population)
        least, most = float(found.low.min()), float(found.high.max())
        outside = (found.low < self.low - SLACK) | (found.high > self.high + SLACK)
        details = []
        if outside.any():
            details.append(f"{int(outside.sum()):,} of {len(outside):,} people are outside")
        unsure = int((~found.exact & outside).sum())
        if unsure:
            details.append(
                f"for {unsure:,} of them Shoal could not compute it exactly, so it assumes the worst"
            )
        if found.overlapping:
            details.append(
                f"{found.overlapping:,} people match several classes: for them, and people who share a class with "
                "them, only bounds are proven"
            )
        if published.suppressed:
            details.append(f"{published.suppressed:,} suppressed rows could be anybody's")
        untrue = _untrue(evidence)
        if untrue:
            details.append(
                f"{untrue:,} rows were relocated; the verdict is about an adversary who believes all cells, and "
                "nothing protects from one who knows which cells are false"
            )
        return self.verdict(published, [least, most], not outside.any(), "; ".join(details))

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Even one class of everybody gives each person the share of the population that the table is.

        Suppressing rows does not help: the people are still in the table.
        """
        people = table.context.population
        if people is None or not len(people):
            return None
        share = table.rows / len(people)
        # Rounded so that the proposed value is feasible.
        if share > self.high + SLACK:
            side, proposed = f"more than {number(self.high)}", math.ceil(share * 10_000) / 10_000
            remedy = f"allow a probability of {proposed:g} or more, or name a larger population"
        elif share < self.low - SLACK:
            side, proposed = f"less than {number(self.low)}", math.floor(share * 10_000) / 10_000
            remedy = f"ask for a probability of {proposed:g} or less, or name a smaller population"
        else:
            return None
        return (
            f"no release can satisfy {self.title}: the table has {table.rows:,} of the {len(people):,} "
            f"people of the population, a share of {share:.4g}, {side}; this is everybody's average probability "
            f"({remedy})"
        )


def _untrue(evidence: Evidence) -> int:
    """Count the rows with a false cell, if owners are known."""
    published, original, owner = evidence.published, evidence.table, evidence.owner
    if owner is None or original is None or not published.readable:
        return 0
    if published.in_buckets:
        return 0  # Shuffled cells of a row do not belong together anyway.
    true = original.quasi.wide[owner]
    low, high = (ends[published.class_of] for ends in published.cell_ranges)
    return int(((true < low) | (true > high)).any(axis=1).sum())


def without_presence(models: Sequence[Model], method: str) -> list[Problem]:
    """Return the problem if a policy has no bounds on presence; methods made for them need them."""
    if any(isinstance(model, DeltaPresence) for model in models):
        return []
    hint = "add " + format_setting("privacy.presence", [0.0, 0.5]) + ", and a population"
    return [Problem("method.name", f"{method} needs bounds on presence", hint)]


def presence_models(models: Iterable[Model]) -> list[DeltaPresence]:
    """Return the bounds on presence among models."""
    return [model for model in models if isinstance(model, DeltaPresence)]


def require_presence(models: Sequence[Model], method: str) -> DeltaPresence:
    """Return the delta-presence of the policy, or refuse a policy without it."""
    problems = without_presence(models, method)
    if problems:
        raise PolicyError(problems)
    found = presence_models(models)
    low = float(np.max([model.low for model in found]))
    return DeltaPresence(low=low, high=min(model.high for model in found))
