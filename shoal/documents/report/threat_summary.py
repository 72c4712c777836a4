"""Singling out, linkability and inference: what each threat comes to in a release, from the models and the attacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.report_parts import Card, Cards, Section, State, Words
from shoal.documents.report.risk_section import Risks
from shoal.documents.report.subject import Subject, of_threat
from shoal.judging.attacks import ATTACKS
from shoal.judging.models.threats import INFERENCE, LINKABILITY, QUESTIONS, SINGLING_OUT, Threat
from shoal.release.verdict import Verdict, all_hold
from shoal.support.arrays import LongVector
from shoal.support.wording import format_count


def threats(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Section:
    """Return one answer per threat."""
    cards = (
        _summarize_singling_out(subject, tried, risks),
        _linkability(subject, tried),
        _inference(subject, tried),
    )
    return threats_section("the attacks that Shoal ran", cards)


def threats_section(sources: str, cards: Sequence[Card], *more: Words) -> Section:
    """Return the section of an edition; `sources` are what its answers follow from besides the guarantees."""
    words = (
        "European data protection authorities ask three questions of data that is called anonymous. These are the "
        f"answers for this release, from what its policy guarantees and from {sources}."
    )
    return Section("threats", "Singling out, linkability, inference", (Words(words), Cards(cards), *more))


def smallest_class(sizes: LongVector, *, several: bool) -> list[str]:
    """Say how large the smallest class is; nothing if there is none."""
    own = ("person", "people") if several else ("row", "")
    return (
        [f"The smallest class of identical rows has {format_count(int(sizes.min()), *own)}."]
        if len(sizes)
        else []
    )


def remaining_risk(largest: float | None) -> str:
    """Say what chance to find a person the policy leaves."""
    if largest is None:
        return "What remains: not limited by the policy, or the limit is violated."
    return f"What remains: a chance of at most {largest:.1%} to pick the row of a known person."


def answer(
    threat: Threat,
    judged: list[tuple[Verdict, str]],
    attacked: list[TriedAttack],
    lines: list[str],
    *,
    doubt: str = "",
    untried: str = "",
) -> Card:
    """Return the answer: red if a requirement is violated or somebody is exposed, amber if something is not known."""
    held = all_hold(verdict for verdict, _ in judged)
    violated = held is False
    exposed = any(one.exposure is not None and not one.exposure.holds for one in attacked)
    unknown = held is None or any(one.exposure is None for one in attacked) or not (judged or attacked)
    state: State = "bad" if violated or exposed else "warn" if unknown or doubt else "good"
    badge = (
        "requirement violated" if violated
        else "people are exposed" if exposed
        else doubt or "not assessed" if unknown or doubt
        else f"withstood{untried}" if attacked
        else "guaranteed"
    )  # fmt: skip
    return Card(threat.replace(" ", "-"), threat.capitalize(), QUESTIONS[threat], state, badge, lines)


HELD = {True: "holds", False: "is violated", None: "could not be checked"}


def list_guarantees(judged: list[tuple[Verdict, str]]) -> list[str]:
    """Say of each verdict whether it holds, and what that means."""
    return [f"Requirement: {verdict.model} {HELD[verdict.holds]}: {meaning}." for verdict, meaning in judged]


def _describe_remaining_risk(attacked: list[TriedAttack], nothing: str) -> str:
    """Describe the remaining risk: the result of the most successful attack."""
    found = [(one.exposure.success, one) for one in attacked if one.exposure is not None and one.success_text]
    if not found:
        return f"What remains: {nothing}"
    _, most = max(found, key=lambda pair: pair[0] if pair[0] == pair[0] else -1.0)
    beside = f", where a blind guess is right about {most.guess}" if most.guess else ""
    return f"What remains: the strongest of these attacks is right about {most.success_text}{beside}."


def _select_attacks(tried: list[TriedAttack], threat: Threat) -> list[TriedAttack]:
    return [one for one in tried if ATTACKS[one.attack].threat == threat]


def _outcomes(attacked: list[TriedAttack]) -> list[str]:
    lines = []
    for one in attacked:
        whom = "people" if one.exposure is None else one.exposure.whom
        shares = f"; they are right about {one.success_text} of {whom}" if one.success_text else ""
        shares += f", a blind guess about {one.guess}" if shares and one.guess else ""
        lines.append(f"Attack: {one.title}: {one.outcome}{shares}.")
    return lines


def _summarize_singling_out(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Card:
    judged = of_threat(subject.requirements, subject.verdicts_with_meanings, SINGLING_OUT)
    lines, doubt = list_guarantees(judged), ""
    people = len(risks.sizes_before)
    lines.append(
        f"Unique in their quasi-identifiers before: {risks.unique_before / max(people, 1):.1%} of people."
    )
    if risks.after is not None:
        several = not subject.table.counting.adds_up
        what = "people, counted in each class that shows them" if several else "published rows"
        lines.append(f"Unique after: {risks.after.unique_after:.1%} of the {what}.")
        lines += smallest_class(subject.sizes, several=several)
        doubt = "some rows are unique" if risks.after.unique_after > 0 else ""
    elif len(risks.sizes_after):
        single = int(np.sum(risks.sizes_after == 1))
        share = single / len(risks.sizes_after)
        lines.append(f"The strongest linkage attack leaves one candidate for {share:.1%} of people.")
        exposed = any(
            one.exposure is not None and not one.exposure.holds for one in _select_attacks(tried, LINKABILITY)
        )
        doubt = "people are exposed to linkage" if exposed or single else ""
    else:
        lines.append("Columns were shuffled, so no row shows one person's values.")
    if not judged:
        lines.append("Requirement: none; the policy asks for nothing that stops it, such as k-anonymity.")
        doubt = doubt or "not required"
    linked = _select_attacks(tried, LINKABILITY)
    names = " and ".join(one.title for one in linked if one.exposure is not None)
    lines.append(f"Attack: {names}; the results are under linkability." if names else "Attack: none applies.")
    lines.append(remaining_risk(subject.largest_risk))
    return answer(SINGLING_OUT, judged, [], lines, doubt=doubt)


def _linkability(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked = _select_attacks(tried, LINKABILITY)
    judged = of_threat(subject.requirements, subject.verdicts_with_meanings, LINKABILITY)
    lines, doubt = [*list_guarantees(judged)], ""
    if not judged:
        singled = of_threat(subject.requirements, subject.verdicts_with_meanings, SINGLING_OUT)
        others = " and ".join(verdict.model for verdict, _ in singled)
        # Where nothing is asked for, an attack cannot find more than the policy allows.
        doubt = "" if others else "not limited by the policy"
        required = f"{others}, as for singling out" if others else "none; only the attacks speak about it"
        lines.append(f"Requirement: {required}.")
    lines += _outcomes(attacked)
    if not attacked:
        lines.append("Attack: no linkage attack applies to this release.")
    lines.append(_describe_remaining_risk(attacked, "not known; no attack could tell."))
    return answer(LINKABILITY, judged, attacked, lines, doubt=doubt)


def _inference(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked, judged = (
        _select_attacks(tried, INFERENCE),
        of_threat(subject.requirements, subject.verdicts_with_meanings, INFERENCE),
    )
    lines, doubt = [*list_guarantees(judged), *_outcomes(attacked)], ""
    if not subject.published.sensitive:
        lines.append(
            "The policy names no sensitive column, so Shoal did not try what can be inferred of one."
        )
        doubt = "not assessed"
    elif not judged:
        lines.append("Requirement: none; the policy asks for nothing that stops it, such as l-diversity.")
    if attacked:
        lines.append(_describe_remaining_risk(attacked, "not known; no attack could tell."))
    untried = ""
    if subject.table.context.population is None:
        lines.append("Whether a person is in the table at all was not tried: no population is known.")
        untried = " as far as tried"
    return answer(INFERENCE, judged, attacked, lines, doubt=doubt, untried=untried)
