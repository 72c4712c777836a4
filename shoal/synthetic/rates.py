"""How often an attack succeeds on training rows and on holdout rows, and the risk that remains (Giomi et al. 2023).

The holdout shows how often the attack succeeds on people whom the synthetic table cannot have learned. Of those on whom
it would fail then, the residual risk is the share on whom it succeeds because they were trained on:
``R = (s_train - s_control) / (1 - s_control)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from shoal.support.confidence_intervals import NORMAL_95, wilson


@dataclass(frozen=True)
class Rate:
    """The share of some targets on whom an attack succeeds."""

    share: float
    of: int
    """How many targets were tried."""

    @classmethod
    def of_hits(cls, hits: Any) -> Rate:
        """Return the rate of an array of outcomes."""
        return cls(float(hits.mean()) if len(hits) else 0.0, len(hits))

    def interval(self, normal: float = NORMAL_95) -> tuple[float, float]:
        """Return Wilson's interval."""
        return wilson(self.share, self.of, normal)

    def summary(self) -> dict[str, Any]:
        """Return plain data."""
        low, high = self.interval()
        return {"share": self.share, "low": low, "high": high, "targets": self.of}


@dataclass(frozen=True)
class Residual:
    """The residual risk, with its interval."""

    value: float
    low: float
    high: float

    def summary(self) -> dict[str, float]:
        """Return plain data."""
        return {"value": self.value, "low": self.low, "high": self.high}


def find_residual(train: Rate, control: Rate, normal: float = NORMAL_95) -> Residual:
    """Return the residual risk. R grows with the one rate and falls with the other, so the ends of its interval combine
    the distances to the ends of theirs by their squares (Newcombe 1998; Zou and Donner 2008).
    """

    def residual(own: float, other: float) -> float:
        # Not cut at 0: the distance to a negative end counts.
        return (own - other) / (1.0 - other) if other < 1.0 else min(own - other, 0.0)

    middle = residual(train.share, control.share)
    (low, high), (least, most) = train.interval(normal), control.interval(normal)
    down = sqrt((middle - residual(low, control.share)) ** 2 + (middle - residual(train.share, most)) ** 2)
    up = sqrt((residual(high, control.share) - middle) ** 2 + (residual(train.share, least) - middle) ** 2)
    return Residual(max(middle, 0.0), min(max(middle - down, 0.0), 1.0), min(max(middle + up, 0.0), 1.0))


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attack on training rows, and on holdout rows for comparison."""

    question: str
    """A key of `QUESTIONS`."""
    name: str
    """What was tried, in a few words: ``univariate``, or the column that is inferred."""
    train: Rate | None = None
    """None: the attack does not apply, see `refused`."""
    control: Rate | None = None
    """None: there is no holdout."""
    control_measured: Rate | None = None
    """The control as it was counted, if `control` is scaled to the number of training rows."""
    baseline: float | None = None
    """The success of guessing without the synthetic rows, or at random; None: there is nothing to guess."""
    refused: str = ""
    """Why the attack does not apply."""
    exposed: tuple[tuple[int, str], ...] = ()
    """Some training rows on whom it succeeds, from 0, and how. Private."""

    def residual(self, normal: float = NORMAL_95) -> Residual | None:
        """Return the residual risk; None if it cannot be known. If the control was scaled, the upper end is that of
        the scaled or the counted one, whichever is worse.
        """
        if self.train is None or self.control is None:
            return None
        found = find_residual(self.train, self.control, normal)
        if self.control_measured is None:
            return found
        other = find_residual(self.train, self.control_measured, normal)
        return Residual(found.value, found.low, max(found.high, other.high))

    def summary(self) -> dict[str, Any]:
        """Return plain data, without single people."""
        residual = self.residual()
        return {
            "question": self.question,
            "name": self.name,
            "train": None if self.train is None else self.train.summary(),
            "control": None if self.control is None else self.control.summary(),
            "baseline": self.baseline,
            "residual": None if residual is None else residual.summary(),
            "refused": self.refused or None,
        }


SINGLING_OUT, LINKABILITY, INFERENCE, COPIES = "singling_out", "linkability", "inference", "copies"
QUESTIONS = {
    SINGLING_OUT: "Does a statement made from the synthetic table hold for exactly one training row?",
    LINKABILITY: "Do two halves of a record lead to the same synthetic row?",
    INFERENCE: "Does the synthetic row nearest to a person show their value of a column?",
    COPIES: "Do training rows come back?",
}
"""What is asked: three questions of the Article 29 Working Party, and copies."""
