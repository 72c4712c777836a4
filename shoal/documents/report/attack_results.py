"""The attacks that apply to a release, and their results in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.documents.report.subject import Subject
from shoal.errors import ShoalError
from shoal.judging.attacks import ATTACKS, Exposure
from shoal.pipeline.attack import attack_case, attacks_against, setting_of
from shoal.policy.adversaries import find_adversaries
from shoal.support.run import Progress, Run


@dataclass(frozen=True, eq=False, kw_only=True)
class TriedAttack:
    """One adversary, and how far they got."""

    attack: str
    """The key in the registry of attacks."""
    title: str
    knows: str
    options: Mapping[str, Any]
    """Its parameters."""
    exposure: Exposure | None
    failure: str = ""
    """Why it could not run."""
    unrequired: str = ""
    """Why nobody is judged by it."""
    named: bool = False
    """It plays an adversary that the policy names."""

    @property
    def exposes(self) -> int | None:
        """How many people it exposes more than the policy allows; None if it could not run."""
        return None if self.exposure is None else self.exposure.at_risk

    @property
    def outcome(self) -> str:
        """The result in words."""
        if self.exposure is None:
            return f"could not run: {self.failure}"
        if self.unrequired:
            return self.unrequired
        if self.exposure.holds:
            return "nobody is exposed more than the policy allows"
        people, whom = len(self.exposure.chances), self.exposure.whom
        return f"{self.exposure.at_risk:,} of {people:,} {whom} are exposed more than the policy allows"

    @property
    def success_text(self) -> str:
        """The expected share of people that the adversary identifies."""
        return "" if self.exposure is None else _share(self.exposure.success)

    @property
    def guess(self) -> str:
        """The same without the release."""
        return "" if self.exposure is None else _share(self.exposure.baseline)

    @property
    def details(self) -> str:
        """The figures that matter for this attack."""
        own = self.exposure
        return "" if own is None else "; ".join(ATTACKS[own.attack].findings(own.figures, len(own.chances)))


def try_all(subject: Subject, progress: Progress) -> list[TriedAttack]:
    """Run every attack that applies. Each is repeatable: it draws from a fixed seed, and publishes nothing."""
    found = []
    setting = setting_of(subject, subject)
    scenarios = {name: kind.scenarios(setting) for name, kind in ATTACKS.items()}
    wanted = [(title, name, options) for name in scenarios for title, options in scenarios[name].items()]
    privacy = subject.policy.privacy
    against = attacks_against(find_adversaries(privacy), setting)
    named = attacks_against(privacy.adversary or (), setting)
    wanted += [
        (ATTACKS[name].title, name, options)
        for name, options in against
        if not any(_plays(tried, (name, options)) for _, *tried in wanted)
    ]
    for number, (title, name, options) in enumerate(wanted):
        progress("attack", 0.25 + 0.35 * number / len(wanted))
        exposure, failure = None, ""
        try:
            exposure = attack_case(subject, name, options, Run.start(0))
        except ShoalError as error:
            failure = str(error)
        found.append(
            TriedAttack(
                attack=name,
                title=title,
                knows=ATTACKS[name].summary if exposure is None else exposure.adversary,
                options=options,
                exposure=exposure,
                failure=failure,
                unrequired=ATTACKS[name].why_unrequired(setting),
                named=any(_plays((name, options), one) for one in named),
            )
        )
    return found


def _plays(tried: Sequence[Any], wanted: tuple[str, Mapping[str, Any]]) -> bool:
    """Return whether an attack is the wanted one. It may find more: an option that is False leaves something out."""
    name, options = tried
    asked = {key: value for key, value in wanted[1].items() if value is not False}
    return bool(name == wanted[0] and asked.items() <= options.items())


def _share(value: float) -> str:
    return "" if value != value else f"{value:.2%}"
