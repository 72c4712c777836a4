"""`Trial`: the result of one method with its options at one k. Numbers about a whole release, nothing about people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from pydantic import TypeAdapter

from shoal.errors import DataError
from shoal.judging.attacks import ATTACKS
from shoal.judging.models.threats import RE_IDENTIFICATION
from shoal.release.conclusion import Conclusion, conclude
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.support.wording import first_line

Status = Literal["done", "refused", "failed", "timeout", "stopped"]
"""``done``: there is a release, and the policy's requirements hold. ``refused``: the method or the policy does not
allow it. ``failed``: the release violates the policy, or the method failed. ``timeout``: it took too long.
``stopped``: somebody stopped it.
"""

NOT_TOLD = "only the comparison itself shows why, because the reason may be about few rows"


def _identifies(attack: str) -> bool:
    """Return whether an attack finds rows of people, and not only their sensitive values."""
    return attack in ATTACKS and ATTACKS[attack].threat == RE_IDENTIFICATION


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome:
    """How far one adversary got with one release."""

    attack: str
    """The key in the registry of attacks."""
    adversary: str
    """What the adversary knows, in words."""
    success: float | None
    """Expected share of people that the adversary identifies; None if it is not defined."""
    baseline: float | None
    """The same without the release."""
    at_risk: int
    """People for whom the adversary gets further than the policy allows."""
    people: int
    named: bool = False
    """The policy names this adversary."""
    decides: bool = True
    """The policy is about this adversary; otherwise the outcome is only for information."""
    note: str = ""

    def __repr__(self) -> str:
        """Say in a line how far the adversary got, without a note that may be about few rows."""
        share = "unknown" if self.success is None else f"{self.success:.2%}"
        return (
            f"<Outcome: {self.attack}, success {share}, {self.at_risk:,} of {self.people:,} people at risk>"
        )

    @property
    def holds(self) -> bool:
        """Nobody is exposed more than the policy allows."""
        return self.at_risk == 0

    @property
    def title(self) -> str:
        """What a reader calls the attack."""
        return ATTACKS[self.attack].title

    @property
    def exposes(self) -> int:
        """People for whom the adversary gets further than the policy allows."""
        return self.at_risk


@dataclass(frozen=True, kw_only=True, repr=False)
class Trial:
    """One method with its options at one k."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    k: int | None = None
    """The k of this trial; None if the policy has none."""
    status: Status = "done"
    reason: str = ""
    """Why there is no release to choose: the method's own refusal, the violated requirement, the time limit."""
    reason_is_public: bool = False
    """The reason is about the policy or the run alone. Others may name values, or count the few rows that have them."""
    verdicts: tuple[Verdict, ...] = ()
    """The policy's requirements as they were verified on the release."""
    attacks: tuple[Outcome, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)
    """Information loss (LM) per quasi-identifier."""
    rows: int = 0
    """Rows of the original."""
    suppressed: int = 0
    classes: int = 0
    """Equivalence classes; buckets, if columns were shuffled within buckets."""
    seconds: float = 0.0
    """Wall-clock seconds of the method alone; the limit, if the trial was stopped."""

    def __repr__(self) -> str:
        """Say in a line what became of the trial, without a reason that may be about few rows."""
        word = (
            self.status
            if self.status != "done"
            else "withstands"
            if self.withstands
            else "does not withstand"
        )
        return f"<Trial: {self.label}{'' if self.k is None else f' at k = {self.k}'}, {word}>"

    @property
    def holds(self) -> bool:
        """There is a release, and every requirement of the policy is satisfied."""
        return self.status == "done" and all(verdict.holds for verdict in self.verdicts)

    @property
    def conclusion(self) -> Conclusion:
        """What became of its release, if there is one."""
        return conclude(self.verdicts, self.attacks)

    @property
    def withstands(self) -> bool:
        """The release satisfies the policy, and no adversary that it is about gets further than it allows."""
        return self.holds and all(outcome.holds for outcome in self.attacks if outcome.decides)

    @property
    def risk(self) -> float | None:
        """Expected share of people that the strongest of the deciding attacks identifies. Without such an attack, as
        where the policy limits only the risk or t: the strongest re-identification for information. None if nothing was
        tried.
        """
        deciding = [outcome for outcome in self.attacks if outcome.decides]
        told = deciding or [outcome for outcome in self.attacks if _identifies(outcome.attack)]
        shares = [outcome.success for outcome in told]
        return max((share for share in shares if share is not None), default=None)

    @property
    def label(self) -> str:
        """The method with its options, short enough for a table."""
        if not self.options:
            return self.method
        inside = ", ".join(f"{name}={_short(value)}" for name, value in self.options.items())
        return f"{self.method} ({inside})"

    def without_rows(self) -> Trial:
        """Return the trial without any text that may be about few rows."""
        kept = not self.reason or self.reason_is_public
        return replace(
            self,
            reason=self.reason if kept else NOT_TOLD,
            verdicts=tuple(replace(verdict, detail="") for verdict in self.verdicts),
            attacks=tuple(replace(outcome, note="") for outcome in self.attacks),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data. Numbers that do not exist are null."""
        out = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        out["verdicts"] = [verdict.summary() for verdict in self.verdicts]
        out["attacks"] = [{**vars(outcome), "holds": outcome.holds} for outcome in self.attacks]
        out |= {"holds": self.holds, "withstands": self.withstands}
        return {name: plain(value) for name, value in out.items()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Trial:
        """Read a trial back."""
        try:
            if raw["status"] not in get_args(Status):
                raise ValueError(raw["status"])
            own = {entry.name: raw[entry.name] for entry in fields(cls) if entry.name != "reason_is_public"}
            own["reason_is_public"] = bool(raw.get("reason_is_public", False))
            for name in ("measures", "losses"):
                own[name] = {
                    key: float("nan") if value is None else value for key, value in own[name].items()
                }
            return TypeAdapter(cls).validate_python(own)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"this is not a trial of a comparison: {first_line(error)}") from None


def _short(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "+".join(_short(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
