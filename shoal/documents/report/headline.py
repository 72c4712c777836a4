"""The verdict at the top of a report: what a data protection officer reads in ten seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.documents.report.attack_results import TriedAttack
from shoal.documents.report.report_parts import Face, State, Tile
from shoal.documents.report.risk_section import Risks
from shoal.documents.report.subject import Subject
from shoal.judging.attacks.linkage import Linkage
from shoal.judging.measures import MEASURES
from shoal.release.verdict import Verdict, all_hold, in_words
from shoal.support.wording import counted, number


def unmet(failing: Sequence[tuple[Verdict, Any]], checked: str) -> tuple[State, str, str]:
    """Return state, headline and text where requirements are violated, or could not be checked: verdicts, each with
    what the edition shows of how far the release gets.
    """
    held = all_hold(verdict for verdict, _ in failing)
    words = {False: "violated", None: "could not be checked"}
    lost = " or ".join(
        dict.fromkeys(words[None if verdict.holds is None else False] for verdict, _ in failing)
    )
    told = "; ".join(
        f"{verdict.model} (required {number(verdict.required)}, reached {number(reached)})"
        for verdict, reached in failing
    )
    text = f"Do not publish this release. {len(failing):,} of {checked} {lost}: {told}."
    return "warn" if held is None else "bad", in_words(held).capitalize(), text


def face_of(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Face:
    """Return the verdict: whether the policy is satisfied, risk before and after, what was lost, what was tried."""
    failing = [verdict for verdict, _ in subject.judged if not verdict.holds]
    succeeded = [one for one in tried if one.exposure is not None and not one.exposure.holds]
    checked = counted(len(subject.judged), "requirement")
    kept = f"All {checked} hold" if len(subject.judged) > 1 else "The requirement holds"
    if failing:
        state, headline, text = unmet([(verdict, verdict.reached) for verdict in failing], checked)
    elif succeeded:
        state, headline = "warn", "Satisfies its policy, but does not withstand every attack"
        text = (
            f"{kept}, checked on the published rows themselves. But the policy asks for nothing that "
            f"stops: {', '.join(one.title for one in succeeded)}."
        )
    elif subject.seeded:
        state, headline = "warn", "Satisfies its policy, but is not for publication"
        text = f"{kept}. But the release was made with a seed, which undoes the shuffling of rows."
    else:
        state, headline = "good", "Satisfies its policy"
        text = f"{kept}, checked on the published rows themselves."
    tiles = (_risk(subject, tried, risks), _loss(subject), _rows(subject), _attacks(tried, succeeded))
    return Face(state=state, headline=headline, text=text, tiles=tiles)


def _risk(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Tile:
    before, after = risks.before, risks.after
    if after is not None:
        limit = 1 / subject.requirements.k
        held: State = "good" if after.prosecutor_max <= limit * (1 + 1e-9) < 1 else "bad"
        return Tile(
            label="Risk of re-identification",
            value=f"{after.prosecutor_max:.1%}",
            text=(
                f"at most, for any person who is known to be in the table; {after.prosecutor_mean:.1%} on average"
            ),
            before=f"{before.prosecutor_max:.2%}".replace(".00%", "%"),
            state=held if subject.requirements.k > 1 else "",
        )
    linked = [one for one in tried if one.exposure is not None and one.exposure.attack == Linkage.name]
    found = linked[-1].found if linked else ""
    if found and subject.published.rows_intact:
        return Tile(
            label="Risk of re-identification",
            value=found,
            unit="on average",
            text="of the people are found by the strongest linkage attack, which stands for the risk here",
        )
    return Tile(
        label="Risk of re-identification",
        value="see below",
        text="columns were shuffled, so the size of a class does not say who can be found; the attacks do",
    )


def _loss(subject: Subject) -> Tile:
    loss = subject.measures.get(MEASURES.default)
    if loss is None or loss != loss:
        return Tile(
            label="Information lost",
            value="unknown",
            text="some cells are not in the hierarchies of the policy, so no loss can be computed",
        )
    return Tile(
        label="Information lost",
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


def _attacks(tried: list[TriedAttack], succeeded: list[TriedAttack]) -> Tile:
    stuck = sum(one.exposure is None for one in tried)
    said = f"; {stuck:,} of them could not run" if stuck else ""
    if succeeded:
        return Tile(
            label="Attacks",
            value=f"{len(succeeded):,}",
            unit=f"of {len(tried):,} got through",
            text=f"people are exposed more than the policy allows{said}",
            state="bad",
        )
    ran = len(tried) - stuck
    return Tile(
        label="Attacks",
        value=f"{len(tried):,}",
        unit="tried",
        text=f"{'nobody is exposed more than the policy allows' if ran else 'none could run'}{said if ran else ''}",
        state="good" if tried and not stuck else "warn",
    )
