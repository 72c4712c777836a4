"""`Conclusion`: what became of a release under its policy. One function decides, and every door shows its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from shoal.release.verdict import TRUTHFUL, Verdict, exit_code, in_words
from shoal.support.wording import format_count

Decision = Literal["pass", "pass with remarks", "could not be checked", "fail"]


class Attempted(Protocol):
    """An attack that was tried on a release."""

    @property
    def title(self) -> str:
        """What a reader calls it."""

    @property
    def named(self) -> bool:
        """It plays an adversary that the policy names."""

    @property
    def exposes(self) -> int | None:
        """How many people it exposes more than the policy allows; None if it could not run."""


@dataclass(frozen=True)
class Conclusion:
    """What became of a release: a decision, why, and what else a reader should know."""

    decision: Decision
    requirements: tuple[str, ...] = ()
    """The requirements that are violated, or could not be checked."""
    attacks: tuple[str, ...] = ()
    """The attacks of the policy's adversaries that expose somebody."""
    remarks: tuple[str, ...] = ()
    """What the policy does not ask for, and a reader should know all the same."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the release fails, or could not be checked."""
        return self.requirements + self.attacks

    @property
    def holds(self) -> bool | None:
        """Whether the release satisfies its policy; None if that could not be checked."""
        return {"fail": False, "could not be checked": None}.get(self.decision, True)

    @property
    def headline(self) -> str:
        """Say it in one line, after the name of a release."""
        return f"{in_words(self.holds)}{', with remarks' * (self.decision == 'pass with remarks')}"

    @property
    def heading(self) -> str:
        """The same as a heading."""
        return self.headline[0].upper() + self.headline[1:]

    @property
    def details(self) -> tuple[str, ...]:
        """The reasons and the remarks, as sentences."""
        return tuple(f"{one[0].upper()}{one[1:]}." for one in (*self.reasons, *self.remarks))

    @property
    def sentence(self) -> str:
        """Say it in one line, with the reasons and the remarks."""
        said = (*self.reasons, *self.remarks)
        return f"the release {self.headline}" + (f": {'; '.join(said)}" if said else "")

    @property
    def exit_code(self) -> int:
        """How a command ends that came to this conclusion."""
        return exit_code(self.holds)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, the same for every command."""
        return {"decision": self.decision, "reasons": list(self.reasons), "remarks": list(self.remarks)}


def conclude(
    verdicts: Iterable[Verdict], attacks: Sequence[Attempted] = (), remarks: Iterable[str] = ()
) -> Conclusion:
    """Decide what became of a release: from its verdicts, and from the attacks that were tried on it.

    A release fails if a requirement is violated, or if an attack by an adversary that the policy names exposes anybody.
    What other attacks find is a remark, because the requirements hold. An attack that does not apply decides nothing,
    because the requirements about its adversary were verified.
    """
    judged = list(verdicts)
    broken = tuple(f"{verdict.model} is violated" for verdict in judged if verdict.holds is False)
    exposing = tuple(describe_exposed(attack) for attack in attacks if attack.named and attack.exposes)
    if broken or exposing:
        return Conclusion("fail", broken, exposing)
    open_ = tuple(f"{verdict.model} could not be checked" for verdict in judged if verdict.holds is None)
    if open_:
        return Conclusion("could not be checked", open_)
    false = [verdict for verdict in judged if verdict.model == TRUTHFUL and verdict.reached]
    found = [
        f"{format_count(verdict.reached, 'row is', 'rows are')} false, with a cell that does not cover the value of "
        f"its person (allowed: {verdict.required:,})"
        for verdict in false
    ]
    found += [
        f"{describe_exposed(attack)}, and no requirement of the policy prevents it"
        for attack in attacks
        if attack.exposes and not attack.named
    ]
    found += remarks
    return Conclusion("pass with remarks" if found else "pass", remarks=tuple(found))


def describe_exposed(attack: Attempted) -> str:
    """Say how many people an attack exposes."""
    return f"{attack.title} exposes {format_count(attack.exposes or 0, 'person', 'people')}"
