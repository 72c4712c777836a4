"""Re-identification, attribute disclosure and membership: what models and attacks say about each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.headline import HELD
from shoal.documents.report.report_parts import Card, Cards, Section, State, Words
from shoal.documents.report.risk_section import Risks
from shoal.documents.report.subject import Subject, of_threat
from shoal.judging.attacks import ATTACKS
from shoal.judging.models.threats import (
    ATTRIBUTE_DISCLOSURE,
    KNOWN_COLUMNS_ONLY,
    MEMBERSHIP,
    QUESTIONS,
    RE_IDENTIFICATION,
    SECTION_TITLE,
    Threat,
)
from shoal.release.verdict import Verdict, all_hold
from shoal.support.arrays import LongVector
from shoal.support.wording import format_count


def threats(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Section:
    """Return one answer per threat."""
    cards = (
        _re_identification(subject, tried, risks),
        _attribute_disclosure(subject, tried),
        _membership(subject, tried),
    )
    return threats_section("the attacks that Shoal ran", cards)


def threats_section(sources: str, cards: Sequence[Card], *more: Words) -> Section:
    """Return the section of an edition; `sources` are what its answers follow from besides the requirements."""
    words = (
        "What may happen to a person in this release, answered from the requirements of its policy and from "
        f"{sources}."
    )
    return Section("threats", SECTION_TITLE, (Words(words), Cards(cards), *more))


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
) -> Card:
    """Return the answer: red if a requirement is violated or an adversary of the policy exposes somebody, amber if
    others do, or if something is not known.
    """
    state, badge = _answer(all_hold(verdict for verdict, _ in judged), judged, attacked, doubt)
    return Card(threat.replace(" ", "-"), threat.capitalize(), QUESTIONS[threat], state, badge, lines)


def _answer(
    held: bool | None, judged: Sequence[object], attacked: Sequence[TriedAttack], doubt: str
) -> tuple[State, str]:
    if held is False:
        return "bad", "requirement violated"
    exposing = [one for one in attacked if one.exposes]
    if any(one.named for one in exposing):
        return "bad", "people are exposed"
    if exposing:
        return "warn", "not required, and people are exposed"
    if held is None or any(one.exposes is None for one in attacked) or not (judged or attacked) or doubt:
        return "warn", doubt or "not assessed"
    return "good", "resisted" if attacked and not judged else "requirement met"


def turn_round(verdict: Verdict, meaning: str) -> str:
    """Say what a verdict means: its guarantee if it holds, and otherwise that there is none."""
    if verdict.holds:
        return f"{meaning[0].upper()}{meaning[1:]}"
    return f"{'It is not known whether' if verdict.holds is None else 'It is not the case that'} {meaning}"


def list_guarantees(judged: list[tuple[Verdict, str]]) -> list[str]:
    """Say of each verdict whether it holds, and what that means."""
    return [
        f"Requirement: {verdict.model} {HELD[verdict.holds]}. {turn_round(verdict, meaning)}."
        for verdict, meaning in judged
    ]


def _describe_remaining_risk(attacked: list[TriedAttack], nothing: str) -> str:
    """Describe the remaining risk: the result of the most successful attack."""
    found = [
        (one.exposure.success, one)
        for one in attacked
        if one.exposure is not None and one.success_text and not one.unrequired
    ]
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
        whom = "people" if one.exposure is None else one.exposure.counted or one.exposure.whom
        shares = f"; they are right about {one.success_text} of {whom}" if one.success_text else ""
        shares += f", a blind guess about {one.guess}" if shares and one.guess else ""
        lines.append(f"Attack: {one.title}: {one.outcome}{shares}.")
    return lines


def _re_identification(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Card:
    attacked = _select_attacks(tried, RE_IDENTIFICATION)
    judged = of_threat(subject.requirements, subject.verdicts_with_meanings, RE_IDENTIFICATION)
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
        share = int(np.sum(risks.sizes_after == 1)) / len(risks.sizes_after)
        lines.append(f"The strongest linkage attack leaves one candidate for {share:.1%} of people.")
        doubt = "some people have one candidate" if share else ""
    else:
        lines.append("Columns were shuffled, so no row shows one person's values.")
    if not judged:
        lines.append("Requirement: none; only the attacks speak about it.")
        # Where nothing is asked for, an attack cannot find more than the policy allows.
        doubt = doubt or "not limited by the policy"
    lines += _outcomes(attacked) or ["Attack: no linkage attack applies to this release."]
    lines.append(remaining_risk(subject.largest_risk))
    lines.append(_describe_remaining_risk(attacked, "not known; no attack could tell."))
    lines.append(KNOWN_COLUMNS_ONLY)
    return answer(RE_IDENTIFICATION, judged, attacked, lines, doubt=doubt)


def _attribute_disclosure(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked = _select_attacks(tried, ATTRIBUTE_DISCLOSURE)
    judged = of_threat(subject.requirements, subject.verdicts_with_meanings, ATTRIBUTE_DISCLOSURE)
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
    return answer(ATTRIBUTE_DISCLOSURE, judged, attacked, lines, doubt=doubt)


def _membership(subject: Subject, tried: list[TriedAttack]) -> Card:
    attacked = _select_attacks(tried, MEMBERSHIP)
    judged = of_threat(subject.requirements, subject.verdicts_with_meanings, MEMBERSHIP)
    lines = list_guarantees(judged) or ["Requirement: none; the policy asks for nothing that stops it."]
    lines += _outcomes(attacked) or ["Attack: not tried, because no population is known."]
    lines.append(_describe_remaining_risk(attacked, "not known; no attack could tell."))
    return answer(MEMBERSHIP, judged, attacked, lines)
