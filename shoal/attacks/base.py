"""What an attack is: a program that plays an adversary with some knowledge against the published rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatVector
from shoal.linking.evidence import Evidence
from shoal.release.results import plain
from shoal.run import Run

MOST_EXPOSED = 20


@dataclass(frozen=True, eq=False, kw_only=True)
class Exposure:
    """How far an adversary gets."""

    attack: str
    adversary: str
    """What the adversary knows, in words."""
    success: float
    """Expected share of people whom the adversary identifies."""
    baseline: float
    """The same without the release, by a blind guess."""
    figures: Mapping[str, Any]
    """Further numbers that say nothing about individuals."""
    chances: FloatVector
    """Row of the original -> probability that the adversary identifies this person. Private."""
    at_risk: int
    """People for whom the adversary gets further than the policy allows."""
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Nobody is exposed more than the policy allows."""
        return self.at_risk == 0

    @property
    def most_exposed(self) -> list[int]:
        """The rows of the original, counted from 0, with the highest probabilities. Private."""
        order = np.argsort(-self.chances, kind="stable")[:MOST_EXPOSED]
        return [int(row) for row in order if self.chances[row] > 0]

    def summary(self) -> dict[str, Any]:
        """Return plain data for ``--json``: nothing about individuals."""
        return {
            "attack": self.attack,
            "adversary": self.adversary,
            "people": len(self.chances),
            "success": plain(self.success),
            "baseline": plain(self.baseline),
            "at_risk": self.at_risk,
            "holds": self.holds,
            **{name: plain(value) for name, value in self.figures.items()},
            "seconds": {name: round(value, 6) for name, value in self.seconds.items()},
            "notes": list(self.notes),
        }

    def record(self) -> dict[str, Any]:
        """Return the private record: the summary, and the people who are most exposed, by row number."""
        return {
            "private": "Keep this record with the original data; it is not part of the release.",
            **self.summary(),
            "most_exposed": [{"row": row, "chance": float(self.chances[row])} for row in self.most_exposed],
        }


class Attack(ABC):
    """An adversary. Concrete attacks are frozen, keyword-only dataclasses whose fields are what the adversary knows,
    registered in attacks/__init__.py.
    """

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: what the adversary knows, and does."""

    @abstractmethod
    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Attack the published rows, and compare the result with the original. The owners of rows serve only to judge
        the result.
        """
