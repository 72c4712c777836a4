"""`Verdict`: whether a release satisfies a requirement, how far it gets, and what of that the public may learn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import ViolationError
from shoal.support.wording import number

UNCHECKED = 9
"""The exit code of commands if something could not be checked, and nothing is violated."""


TRUTHFUL = "truthful"
"""The model of the verdict on false rows: how many were found, and how many are allowed."""


@dataclass(frozen=True)
class Verdict:
    """Whether a release satisfies a requirement, and by how much."""

    model: str
    """Name and parameter as a person reads it, such as ``5-anonymity`` or ``distinct 3-diversity of disease``."""
    required: Any
    reached: Any
    holds: bool | None
    """None: it could not be checked. Whatever asks whether it holds then gets no."""
    detail: str = ""
    """What decided it, in words, with nothing about individuals: ``smallest class has 3 rows``."""
    public: bool = False
    """`reached` follows from what is published. Otherwise it may depend on suppressed rows, on exact values behind
    generalized cells, or on the population: an adversary who knows all of these but one would learn the last."""
    higher_is_safer: bool = True

    @property
    def told(self) -> Any:
        """What the public may learn about `reached`: the value itself, or on which side of the threshold it lies."""
        if self.public or (self.reached is None and not self.holds):
            return self.reached
        if isinstance(self.required, list | tuple):
            ends = " to ".join(number(end) for end in self.required)
            return f"{'within' if self.holds else 'outside'} {ends}"
        sides = ("at least", "less than") if self.higher_is_safer else ("at most", "more than")
        return f"{sides[not self.holds]} {number(self.required)}"

    def summary(self) -> dict[str, Any]:
        """Return the fields that ``--json`` and the private record show."""
        return {name: getattr(self, name) for name in ("model", "required", "reached", "holds", "detail")}


_RANKS = [False, None, True]


def all_hold(verdicts: Iterable[Verdict]) -> bool | None:
    """Return whether every requirement holds: no if one is violated, None if another could not be checked."""
    return min((verdict.holds for verdict in verdicts), key=_RANKS.index, default=True)


def in_words(holds: bool | None) -> str:
    """Say what became of a policy, after the name of a release."""
    if holds is None:
        return "could not be checked against all of its policy"
    return "satisfies its policy" if holds else "violates its policy"


def exit_code(holds: bool | None) -> int:
    """Return how a command ends that judged a release."""
    return 0 if holds else UNCHECKED if holds is None else ViolationError.exit_code


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict of one requirement that says least for a release; the first of equals."""
    return min(verdicts, key=lambda verdict: (_RANKS.index(verdict.holds), _safety(verdict)))


def _safety(verdict: Verdict) -> float:
    """Return how far a release gets, so that more is safer."""
    reached = verdict.reached
    if isinstance(reached, list | tuple):  # a lowest and a highest probability
        return -float(max(reached))
    if not isinstance(reached, int | float):
        return math.inf
    return float(reached) if verdict.higher_is_safer else -float(reached)


def shortfalls(failing: Iterable[Verdict]) -> list[str]:
    """Say of each verdict what was required and what was reached, one indented line each."""
    return [
        f"  {verdict.model}: required {verdict.required}, reached {verdict.reached}"
        + (f" ({verdict.detail})" if verdict.detail else "")
        for verdict in failing
    ]


def refuse_violations(failing: Sequence[Verdict], what: str = "the release") -> None:
    """Raise ViolationError if verdicts do not hold, with what each required and reached."""
    if not failing:
        return
    lines = [f"{what} does not satisfy its policy, so it was not written", *shortfalls(failing)]
    if any(verdict.model.endswith("-presence") for verdict in failing):
        lines.append("  bounds on presence: only spalm, mpalm, hybrid and permute-generalize search for them")
    raise ViolationError("\n".join(lines))
