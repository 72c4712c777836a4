"""Singling out, linkability and inference: what each threat comes to in a release, from the models and the attacks."""

from __future__ import annotations

import numpy as np

from shoal.attacks import ATTACKS
from shoal.models.threats import INFERENCE, LINKABILITY, QUESTIONS, SINGLING_OUT, Threat
from shoal.release.verdict import Verdict
from shoal.reporting.attacks import TriedAttack
from shoal.reporting.parts import Card, Cards, Section, State, Words
from shoal.reporting.risks import Risks
from shoal.reporting.subject import Subject
from shoal.wording import counted


def threats(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Section:
    """Return one answer per threat."""
    words = (
        "European data protection authorities ask three questions of data that is called anonymous. These are the "
        "answers for this release, from what its policy guarantees and from the attacks that Shoal ran."
    )
    cards = (_singling_out(subject, tried, risks), _linkability(subject, tried), _inference(subject, tried))
    return Section("threats", "Singling out, linkability, inference", (Words(words), Cards(cards)))


def _card(
    threat: Threat,
    judged: list[tuple[Verdict, str]],
    attacked: list[TriedAttack],
    lines: list[str],
    *,
    doubt: str = "",
    untried: str = "",
) -> Card:
    """Return the answer: red if a requirement is violated or somebody is exposed, amber if something is not known."""
    violated = any(not verdict.holds for verdict, _ in judged)
    exposed = any(one.exposure is not None and not one.exposure.holds for one in attacked)
    unknown = any(one.exposure is None for one in attacked) or not (judged or attacked)
    state: State = "bad" if violated or exposed else "warn" if unknown or doubt else "good"
    badge = (
        "requirement violated" if violated
        else "people are exposed" if exposed
        else doubt or "not assessed" if unknown or doubt
        else f"withstood{untried}" if attacked
        else "guaranteed"
    )  # fmt: skip
    return Card(threat.replace(" ", "-"), threat.capitalize(), QUESTIONS[threat], state, badge, lines)


def _judged(subject: Subject, threat: Threat) -> list[tuple[Verdict, str]]:
    """Return the verdicts of the models about a threat, each with what it means."""
    models = subject.requirements.judged
    judged = subject.judged[: len(models)]
    return [own for own, model in zip(judged, models, strict=True) if model.threat == threat]


def _guaranteed(judged: list[tuple[Verdict, str]]) -> list[str]:
    return [
        f"Requirement: {verdict.model} {'holds' if verdict.holds else 'is violated'}: {meaning}."
        for verdict, meaning in judged
    ]


def _left(subject: Subject, attacked: list[TriedAttack], nothing: str) -> str:
    """Say what remains after the attacks that were tried: the most that one of them finds, as the edition may tell."""
    gate = subject.gate
    found = [
        (one.exposure.success, one) for one in attacked if one.exposure is not None and one.found(gate) != ""
    ]
    if not found:
        return f"What remains: {nothing}"
    _, most = max(found, key=lambda pair: pair[0] if pair[0] == pair[0] else -1.0)
    guess = most.guess(gate)
    beside = f", where a blind guess is right about {guess}" if guess else ""
    return f"What remains: the strongest of these attacks is right about {most.found(gate)}{beside}."


def _attacked(tried: list[TriedAttack], threat: Threat) -> list[TriedAttack]:
    return [one for one in tried if ATTACKS[one.attack].threat == threat]


def _outcomes(subject: Subject, attacked: list[TriedAttack]) -> list[str]:
    lines = []
    for one in attacked:
        found, guess = one.found(subject.gate), one.guess(subject.gate)
        of_rows = one.shown is not None and not subject.gate.tells_crowds
        whom = "the published rows" if of_rows else "people" if one.exposure is None else one.exposure.whom
        shares = f"; they are right about {found} of {whom}" if found else ""
        shares += f", a blind guess about {guess}" if shares and guess else ""
        lines.append(f"Attack: {one.title}: {one.outcome(subject.gate)}{shares}.")
    return lines


def _singling_out(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Card:
    gate, judged = subject.gate, _judged(subject, SINGLING_OUT)
    lines, doubt = _guaranteed(judged), ""
    if gate.tells_before:
        share = gate.share(risks.unique_before, len(risks.sizes_before))
        lines.append(f"Unique in their quasi-identifiers before: {share} of people.")
    if risks.after is not None and not gate.tells_crowds:
        if subject.largest_risk is not None:
            same = (
                "Everybody shows the same rows as others: at least"
                if subject.follow is not None
                else ("Every class of identical rows has rows of at least")
            )
            together = " together" if subject.follow is not None else ""
            lines.append(f"{same} {subject.requirements.k:,} people{together}.")
        else:
            doubt = "classes may have rows of a single person"
    elif risks.after is not None:
        several = subject.table.person is not None
        what = "people, counted in each class that shows them" if several else "published rows"
        lines.append(f"Unique after: {risks.after.unique_after:.1%} of the {what}.")
        sizes = subject.sizes
        if len(sizes):
            has = counted(int(sizes.min()), *(("person", "people") if several else ("row", "")))
            lines.append(f"The smallest class of identical rows has {has}.")
        doubt = "some rows are unique" if risks.after.unique_after > 0 else ""
    elif len(risks.sizes_after):
        alone = int(np.sum(risks.sizes_after == 1))
        share = gate.share(alone, len(risks.sizes_after))
        lines.append(f"The strongest linkage attack leaves one candidate for {share} of people.")
        # The public learns whether somebody is exposed to that attack, but not whether few people have one candidate.
        exposed = any(
            one.exposure is not None and not one.exposure.holds for one in _attacked(tried, LINKABILITY)
        )
        doubt = "people are exposed to linkage" if exposed or (alone and not gate.public) else ""
    else:
        lines.append("Columns were shuffled, so no row shows one person's values.")
    if not judged:
        lines.append("Requirement: none; the policy asks for nothing that stops it, such as k-anonymity.")
        doubt = doubt or "not required"
    linked = _attacked(tried, LINKABILITY)
    names = " and ".join(one.title for one in linked if one.exposure is not None)
    lines.append(f"Attack: {names}; the results are under linkability." if names else "Attack: none applies.")
    most = subject.largest_risk
    lines.append(
        "What remains: not limited by the policy, or the limit is violated."
        if most is None
        else f"What remains: a chance of at most {most:.1%} to pick the row of a known person."
    )
    return _card(SINGLING_OUT, judged, [], lines, doubt=doubt)


def _linkability(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked = _attacked(tried, LINKABILITY)
    judged = _judged(subject, LINKABILITY)
    lines, doubt = [*_guaranteed(judged)], ""
    if not judged:
        others = " and ".join(verdict.model for verdict, _ in _judged(subject, SINGLING_OUT))
        # Where nothing is asked for, an attack cannot find more than the policy allows.
        doubt = "" if others else "not limited by the policy"
        answer = f"{others}, as for singling out" if others else "none; only the attacks speak about it"
        lines.append(f"Requirement: {answer}.")
    lines += _outcomes(subject, attacked)
    if not attacked:
        lines.append("Attack: no linkage attack applies to this release.")
    lines.append(_left(subject, attacked, "not known; no attack could tell."))
    return _card(LINKABILITY, judged, attacked, lines, doubt=doubt)


def _inference(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked, judged = _attacked(tried, INFERENCE), _judged(subject, INFERENCE)
    lines, doubt = [*_guaranteed(judged), *_outcomes(subject, attacked)], ""
    if not subject.published.sensitive:
        lines.append(
            "The policy names no sensitive column, so Shoal did not try what can be inferred of one."
        )
        doubt = "not assessed"
    elif not judged:
        lines.append("Requirement: none; the policy asks for nothing that stops it, such as l-diversity.")
    if attacked:
        lines.append(_left(subject, attacked, "not known; no attack could tell."))
    untried = ""
    if subject.table.population is None:
        lines.append("Whether a person is in the table at all was not tried: no population is known.")
        untried = " as far as tried"
    return _card(INFERENCE, judged, attacked, lines, doubt=doubt, untried=untried)
