"""The attacks that apply to a release, and their results in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.attacking import attack_case, setting_of
from shoal.attacks import ATTACKS, Exposure
from shoal.attacks.attribute_disclosure import AttributeDisclosure
from shoal.errors import ShoalError
from shoal.reporting.gate import Gate
from shoal.reporting.subject import Subject
from shoal.run import Progress, Run


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
    shown: Exposure | None = None
    """What the edition may show instead, if that differs."""
    failure: str = ""
    """Why it could not run."""

    def outcome(self, gate: Gate) -> str:
        """Return the result in words."""
        if self.exposure is None:
            # A reason may name values.
            return "could not run" + ("" if gate.public else f": {self.failure}")
        if self.exposure.holds:
            return "nobody is exposed more than the policy allows"
        if self.shown is not None:
            return f"some {self.exposure.whom} are exposed more than the policy allows"
        if not gate.tells_crowds:
            return f"some {self.exposure.whom} are exposed more than the policy allows"
        people = gate.count(self.exposure.at_risk)
        whom = self.exposure.whom
        return f"{people} of {len(self.exposure.chances):,} {whom} are exposed more than the policy allows"

    def found(self, gate: Gate) -> str:
        """Return the expected share of people that the adversary identifies."""
        if self.shown is not None:
            return _share(self.shown.success)
        return "" if self.exposure is None or not gate.tells_before else _share(self.exposure.success)

    def guess(self, gate: Gate) -> str:
        """Return the same without the release."""
        told = self.shown or self.exposure
        # Of an attack that counts people, a blind guess tells how many there are.
        hidden = self.shown is None and not gate.tells_crowds
        return "" if told is None or hidden else _share(told.baseline)

    def details(self, gate: Gate) -> str:
        """Return the figures that matter for this attack; the gate hides small counts of people."""
        if self.exposure is None:
            return ""
        told = self.shown or self.exposure
        return "; ".join(ATTACKS[told.attack].findings(told.figures, len(told.chances), gate))


def try_all(subject: Subject, progress: Progress) -> list[TriedAttack]:
    """Run every attack that applies. Each is repeatable: it draws from a fixed seed, and publishes nothing."""
    found = []
    setting = setting_of(subject, subject)
    scenarios = {name: kind.scenarios(setting) for name, kind in ATTACKS.items()}
    wanted = [(title, name, options) for name in scenarios for title, options in scenarios[name].items()]
    for number, (title, name, options) in enumerate(wanted):
        progress("attack", 0.25 + 0.35 * number / len(wanted))
        try:
            exposure = attack_case(subject, name, options, Run.start(0))
            shown = None
            if subject.gate.public and ATTACKS[name] is AttributeDisclosure:
                shown = disclosed_by_rows(subject, exposure)
            knows = exposure.adversary
            tried = TriedAttack(
                attack=name, title=title, knows=knows, options=options, exposure=exposure, shown=shown
            )
            found.append(tried)
        except ShoalError as error:
            knows = ATTACKS[name].summary
            found.append(
                TriedAttack(
                    attack=name, title=title, knows=knows, options=options, exposure=None, failure=str(error)
                )
            )
    return found


def disclosed_by_rows(subject: Subject, exposure: Exposure) -> Exposure:
    """Compute attribute disclosure from the published rows alone; each row stands for its own person.

    The figures of the attack itself depend on the true values: an adversary who knows all of them but one would learn
    the last. NaN if rows are generalized separately, because then no outsider knows the candidates of a person.
    O(rows log rows) per sensitive column.
    """
    from shoal.models.extended_p import strong_values

    published = subject.published
    known = subject.classes_tell or published.bucket_of is not None
    group, rows = published.candidates, max(published.rows, 1)
    size = np.bincount(group)
    chances, blind = np.zeros(published.rows), np.zeros(published.rows)
    columns: dict[str, Any] = {}
    for j, attribute in enumerate(published.sensitive):
        nodes = exposure.figures["columns"][attribute.name]["categories"]
        strong = strong_values(attribute.hierarchy, tuple(nodes))
        label = strong[published.sensitive_codes[:, j]].astype(np.int64)
        _, place, count = np.unique(
            group * np.int64(len(strong)) + label, return_inverse=True, return_counts=True
        )
        share = count[place] / size[group]
        top = np.zeros(len(size))
        np.maximum.at(top, group, share)
        if known:
            columns[attribute.name] = {"after": {"certain": float((top[group] >= 1 - 1e-12).sum() / rows)}}
        chances = np.maximum(chances, share)
        blind = np.maximum(blind, (np.bincount(label) / rows)[label])
    success = float(chances.sum() / rows) if known else float("nan")
    figures = {**exposure.figures, "columns": columns}
    return replace(
        exposure, success=success, baseline=float(blind.sum() / rows), figures=figures, chances=chances
    )


def _share(value: float) -> str:
    return "" if value != value else f"{value:.2%}"
