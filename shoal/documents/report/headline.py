"""The verdict at the top of a report: what a data protection officer reads in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.report_parts import Face, State, Tile
from shoal.documents.report.risk_section import Risks
from shoal.documents.report.subject import Subject
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.linking.reidentification import Risk
from shoal.judging.measures import MEASURES
from shoal.release.conclusion import Conclusion
from shoal.release.verdict import Verdict
from shoal.support.wording import format_count, number


def make_face(judged: Sequence[tuple[Verdict, Any]], conclusion: Conclusion, tiles: Sequence[Tile]) -> Face:
    """Return the verdict of an edition: each verdict comes with what the edition shows of how far the release gets."""
    checked = format_count(len(judged), "requirement")
    if conclusion.holds:
        kept = f"All {checked} hold" if len(judged) > 1 else "The requirement holds"
        said = [f"{kept}, checked on the published rows themselves", *conclusion.remarks]
        return Face(
            state="warn" if conclusion.remarks else "good",
            headline=conclusion.heading,
            text=_write_sentences(said),
            tiles=tiles,
        )
    failing = [
        f"{verdict.model} {HELD[verdict.holds]} (required {number(verdict.required)}, reached {number(reached)})"
        for verdict, reached in judged
        if not verdict.holds
    ]
    told = [f"{len(failing):,} of {checked}: {'; '.join(failing)}"] if failing else []
    text = _write_sentences(["Do not publish this release", *told, *conclusion.attacks])
    return Face(
        state="warn" if conclusion.holds is None else "bad",
        headline=conclusion.heading,
        text=text,
        tiles=tiles,
    )


def _write_sentences(said: Sequence[str]) -> str:
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in said)


HELD = {True: "holds", False: "is violated", None: "could not be checked"}
SEEDED = "it is not for publication: it was made with a seed, which undoes the shuffling of rows"
"""A remark on a release with a seed."""


def face_of(subject: Subject, conclusion: Conclusion, tried: list[TriedAttack], risks: Risks) -> Face:
    """Return the verdict: whether the policy is satisfied, risk before and after, what was lost, what was tried."""
    judged = [(verdict, verdict.reached) for verdict, _ in subject.verdicts_with_meanings]
    tiles = (_risk(subject, tried, risks), _loss(subject), _rows(subject), _attacks(tried))
    return make_face(judged, conclusion, tiles)


def risk_tile(risk: Risk, limit: float | None, k: int, before: str = "") -> Tile:
    """Return the tile of a release whose classes say who can be found; `limit` is what its policy allows."""
    held: State = "good" if limit is not None and risk.prosecutor_max <= limit * (1 + 1e-9) else "bad"
    text = f"at most, for any person who is known to be in the table; {risk.prosecutor_mean:.1%} on average"
    value, state = f"{risk.prosecutor_max:.1%}", held if k > 1 else ""
    return Tile(label=RISK, value=value, text=text, before=before, state=state)


RISK, LOST = "Risk of re-identification", "Information lost"


def _risk(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Tile:
    before, after = risks.before, risks.after
    if after is not None:
        k = subject.requirements.k
        told = f"{before.prosecutor_max:.2%}".replace(".00%", "%")
        return risk_tile(after, 1 / k, k, told)
    linked = [one for one in tried if one.exposure is not None and one.exposure.attack == Linkage.name]
    found = linked[-1].success_text if linked else ""
    if found and subject.published.rows_intact:
        return Tile(
            label=RISK,
            value=found,
            unit="on average",
            text="of the people are found by the strongest linkage attack, which stands for the risk here",
        )
    return Tile(
        label=RISK,
        value="see below",
        text="columns were shuffled, so the size of a class does not say who can be found; the attacks do",
    )


def _loss(subject: Subject) -> Tile:
    loss = subject.measures.get(MEASURES.default)
    if loss is None or loss != loss:
        return Tile(
            label=LOST,
            value="unknown",
            text="some cells are not in the hierarchies of the policy, so no loss can be computed",
        )
    return Tile(
        label=LOST,
        value=f"{loss:.1%}",
        unit="(LM)",
        text="in the quasi-identifiers: 0% keeps every value, 100% says nothing",
    )


def _rows(subject: Subject) -> Tile:
    published = subject.published
    total = published.rows + published.suppressed
    share = published.suppressed / max(total, 1)
    left = (
        f"{published.suppressed:,} suppressed ({share:.1%})"
        if published.suppressed
        else "none was suppressed"
    )
    return Tile(label="Rows published", value=f"{published.rows:,}", unit=f"of {total:,}", text=left)


def _attacks(tried: list[TriedAttack]) -> Tile:
    stuck = sum(one.exposure is None for one in tried)
    said = f"; {stuck:,} of them could not run" if stuck else ""
    exposing = [one for one in tried if one.exposes]
    if exposing:
        asked = any(one.named for one in exposing)
        limit = "more than the policy allows" if asked else "in ways that no requirement prevents"
        return Tile(
            label="Attacks",
            value=f"{len(exposing):,}",
            unit=f"of {len(tried):,} got through",
            text=f"people are exposed {limit}{said}",
            state="bad" if asked else "warn",
        )
    ran = len(tried) - stuck
    return Tile(
        label="Attacks",
        value=f"{len(tried):,}",
        unit="tried",
        text=f"{'nobody is exposed more than the policy allows' if ran else 'none could run'}{said if ran else ''}",
        state="good" if tried and not stuck else "warn",
    )
