"""The verdict at the top of a report: what a data protection officer reads in ten seconds."""

from __future__ import annotations

from shoal.attacks.linkage import Linkage
from shoal.measures import MEASURES
from shoal.measures.evaluate import public_measures
from shoal.reporting.attacks import TriedAttack
from shoal.reporting.parts import Face, State, Tile
from shoal.reporting.risks import Risks, risk_before
from shoal.reporting.subject import Subject
from shoal.wording import counted, number


def face_of(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Face:
    """Return the verdict: whether the policy is satisfied, risk before and after, what was lost, what was tried."""
    failing = [verdict for verdict, _ in subject.judged if not verdict.holds]
    succeeded = [one for one in tried if one.exposure is not None and not one.exposure.holds]
    checked = counted(len(subject.judged), "requirement")
    all_hold = f"All {checked} hold" if len(subject.judged) > 1 else "The requirement holds"
    if failing:
        state: State = "bad"
        headline = "Violates its policy"
        public = subject.gate.public
        told = "; ".join(
            f"{verdict.model} (required {number(verdict.required)}, reached "
            f"{number(verdict.told if public else verdict.reached)})"
            for verdict in failing
        )
        text = f"Do not publish this release. {len(failing):,} of {checked} violated: {told}."
    elif succeeded:
        state, headline = "warn", "Satisfies its policy, but does not withstand every attack"
        text = (
            f"{all_hold}, checked on the published rows themselves. But the policy asks for nothing that "
            f"stops: {', '.join(one.title for one in succeeded)}."
        )
    elif subject.seeded:
        state, headline = "warn", "Satisfies its policy, but is not for publication"
        text = f"{all_hold}. But the release was made with a seed, which undoes the shuffling of rows."
    else:
        state, headline = "good", "Satisfies its policy"
        text = f"{all_hold}, checked on the published rows themselves."
    tiles = (_risk(subject, tried, risks), _loss(subject), _rows(subject), _attacks(tried, succeeded))
    return Face(state=state, headline=headline, text=text, tiles=tiles)


def _risk(subject: Subject, tried: list[TriedAttack], risks: Risks) -> Tile:
    before, after, gate = risks.before, risks.after, subject.gate
    people = len(risks.sizes_before)
    highest = risk_before(before.prosecutor_max, gate, people, highest=True)
    if after is not None:
        limit = 1 / subject.requirements.k
        if not gate.tells_crowds:
            return _guaranteed_risk(subject)
        # The public learns only whether the risk before was above 1/k; next to a higher one after, that would mislead.
        before_it = "" if gate.public and after.prosecutor_max > 1 / gate.k * (1 + 1e-9) else highest
        held: State = "good" if after.prosecutor_max <= limit * (1 + 1e-9) < 1 else "bad"
        return Tile(
            label="Risk of re-identification",
            value=f"{after.prosecutor_max:.1%}",
            text=(
                f"at most, for any person who is known to be in the table; {after.prosecutor_mean:.1%} on average"
            ),
            before=before_it.replace("more than ", "> ").replace("at most ", "≤ ").replace(".00%", "%"),
            state=held if subject.requirements.k > 1 else "",
        )
    linked = [one for one in tried if one.exposure is not None and one.exposure.attack == Linkage.name]
    found = linked[-1].found(gate) if linked else ""
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


def _guaranteed_risk(subject: Subject) -> Tile:
    """Say what is guaranteed, where the public may not learn how many people classes have."""
    limit = subject.largest_risk
    return Tile(
        label="Risk of re-identification",
        value="see below" if limit is None else f"≤ {limit:.1%}",
        text="the policy does not limit it, or is violated"
        if limit is None
        else "guaranteed for any person who is known to be in the table, counted in people and not in rows",
        state="" if limit is None else "good",
    )


def _loss(subject: Subject) -> Tile:
    told = (
        public_measures(subject.measures, levels=subject.tells_levels, people=subject.gate.several)
        if subject.gate.public
        else subject.measures
    )
    loss = told.get(MEASURES.default)
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
