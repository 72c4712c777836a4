"""The adversaries that a policy names are played against a release: a verdict for each attack of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from shoal.errors import DataError
from shoal.judging.attacks import ATTACKS
from shoal.judging.attacks.attack_base import Exposure, Setting
from shoal.judging.case import Case
from shoal.pipeline.attack import attack_case, setting_of
from shoal.release.verdict import Verdict
from shoal.support.brief import Brief
from shoal.support.run import Progress, Run, silent
from shoal.support.wording import either

REPEATED = 0
"""The seed of what attacks draw: an audit gets the same answer as the run that made the release."""


@dataclass(frozen=True, eq=False, repr=False)
class Tried(Brief):
    """What the attacks of the named adversaries found."""

    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    """Which of their attacks could not be tried, and why."""

    @property
    def failing(self) -> list[Verdict]:
        """The attacks that get further than the policy allows."""
        return [verdict for verdict in self.verdicts if not verdict.holds]


class _Played(NamedTuple):
    adversary: str
    attack: str
    options: dict[str, Any]
    refusal: str
    """Why it cannot be tried although it is about such releases."""


def try_adversaries(case: Case, progress: Progress = silent) -> Tried:
    """Play the adversaries that the policy names against the published rows. The verdict of an attack holds if it puts
    nobody at risk. An attack that does not apply gives none.
    """
    if not case.policy.privacy.adversary:
        return Tried()
    names = ", ".join(case.policy.privacy.adversary)
    if case.table is None:
        give = either(command="--original FILE", python="original")
        return Tried(notes=(f"not tried: the attacks of {names}; they need the original: give {give}",))
    if not case.table.rows_known:
        return Tried(notes=(f"not tried: the attacks of {names}; the rows are on the cluster",))
    verdicts, notes = [], []
    for played in _plan_attacks(case):
        refusal = played.refusal
        if not refusal:
            run = Run.start(REPEATED, lambda _stage, share: progress("attack", share))
            try:
                found = attack_case(case, played.attack, played.options, run)
            except DataError as error:
                refusal = str(error)
            else:
                verdicts.append(_verdict(played, found))
                continue
        notes.append(f"not tried: the attack {played.attack} by {played.adversary}; {refusal}")
    return Tried(tuple(verdicts), tuple(notes))


def _plan_attacks(case: Case) -> Iterator[_Played]:
    """Yield the attacks that play the named adversaries, each once with the same options. Those that only lack the
    owners of rows are told; the others are not about such a release.
    """
    setting = setting_of(case, case)
    seen: list[tuple[str, dict[str, Any]]] = []
    for adversary in dict.fromkeys(case.policy.privacy.adversary or ()):
        for name, kind in ATTACKS.items():
            options, refusal = kind.options_to_play(adversary, setting), ""
            if options is None:
                options, refusal = _with_owners(adversary, name, setting)
            if options is not None and (name, dict(options)) not in seen:
                seen.append((name, dict(options)))
                yield _Played(adversary, name, dict(options), refusal)


def _with_owners(adversary: str, name: str, setting: Setting) -> tuple[Any, str]:
    """Return the options of an attack that could be played if the owners of rows were known, and why it cannot be."""
    kind = ATTACKS[name]
    return kind.options_to_play(adversary, replace(setting, owners=True)), kind.refuses(setting)


def _verdict(played: _Played, found: Exposure) -> Verdict:
    detail = f"success {found.success:.2%}, without the release {found.baseline:.2%}"
    if not found.holds:
        detail = (
            f"{found.at_risk:,} of {len(found.chances):,} {found.whom} are exposed more than the policy allows: "
            f"{detail}; take another method or stricter bounds, or do not name {played.adversary}"
        )
    return Verdict(
        f"people at risk by {played.adversary}, attack {played.attack}",
        0,
        found.at_risk,
        found.holds,
        detail,
        higher_is_safer=False,
    )
