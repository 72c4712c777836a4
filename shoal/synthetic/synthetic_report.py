"""The report on a synthetic table, in two editions, on the page that the report of a release has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.documents.pages.look import Marked
from shoal.documents.pages.svg import Bars, bar_chart
from shoal.documents.report.report_page import Head, Wording, page
from shoal.documents.report.report_parts import (
    Card,
    Cards,
    Chart,
    Face,
    Part,
    Section,
    State,
    Table,
    Tile,
    Words,
)
from shoal.errors import check_known
from shoal.support.wording import format_count, number, some_values
from shoal.synthetic.membership import FALSE_ALARMS, QUANTILES
from shoal.synthetic.rates import COPIES, INFERENCE, LINKABILITY, QUESTIONS, SINGLING_OUT, Attempt, Rate

if TYPE_CHECKING:
    from shoal.synthetic.audit_synthetic import SyntheticAudit

EDITIONS = ("public", "private")
ATTACK_HEAD = ("attack", "training rows", "holdout rows", "guess", "residual risk", "its interval (95%)")
TITLES = {
    SINGLING_OUT: "Singling out",
    LINKABILITY: "Linkability",
    INFERENCE: "Inference",
    COPIES: "Copies",
}
GLOSSARY = (
    ("training", "training rows", "The rows of the original: the synthetic table was made from them."),
    (
        "term-holdout",
        "holdout rows",
        "People of the same population from whom the synthetic table was not made. An attack that succeeds on "
        "them says "
        "something about the population, and not about who was in the training data.",
    ),
    (
        "term-residual",
        "residual risk",
        "Of the people on whom an attack would fail without their own row, the share on whom it succeeds: "
        "(training - holdout) / (1 - holdout), by Giomi et al. (PoPETs 2023).",
    ),
    (
        "term-guess",
        "guess",
        "What an adversary reaches without synthetic rows that belong together: random statements, a random synthetic "
        "row, or the value of one.",
    ),
    (
        "term-area",
        "area",
        "The chance that a training row is nearer to a synthetic row than a holdout row is; 50% says nothing.",
    ),
)
WORDING = Wording(
    public="It shows shares of people and figures about whole tables, and no row of anybody.",
    private="It contains rows of single people. Keep it with the original data; it is not part of the synthetic table.",
    bad="Training rows leak",
    unless="do not publish the synthetic table.",
    glossary=GLOSSARY,
)
NOT_SAFE = (
    "That these attacks find nothing does not prove that the table is safe: other attacks may get further, and "
    "people whom "
    "rare values expose are few among those that were drawn."
)
MOST_SHOWN = 60


def format_rate(rate: Rate | None) -> str:
    """Write a rate in percent."""
    return "-" if rate is None else f"{rate.share:.1%}"


def attack_rows(audit: SyntheticAudit) -> list[tuple[str, ...]]:
    """Return one row per attack: its success, and the residual risk with its interval."""
    found: list[tuple[str, ...]] = []
    for one in audit.attempts:
        own = one.residual()
        guess = "-" if one.baseline is None else f"{one.baseline:.1%}"
        name = f"{TITLES[one.question]}: {one.name}"
        if one.refused:
            found.append((name, "not tried", "-", "-", "-", one.refused))
            continue
        risk = (
            ("unknown", "no holdout")
            if own is None
            else (f"{own.value:.1%}", f"{own.low:.1%} to {own.high:.1%}")
        )
        found.append((name, format_rate(one.train), format_rate(one.control), guess, *risk))
    return found


def describe_outcome(audit: SyntheticAudit) -> tuple[State, str, str]:
    """Return the state, the headline and the text of the verdict."""
    within = "" if audit.limit is None else f" of more than the allowed {audit.limit:.1%}"
    if audit.holds is False:
        names = [f"{TITLES[one.question].lower()} ({one.name})" for one in audit.leaks]
        if audit.tells_members:
            names.append("membership (distance)")
        more = f" and {len(names) - 4:,} more" if len(names) > 4 else ""
        text = (
            f"People who were trained on are exposed{within} beyond chance, by {'; '.join(names[:4])}{more}. "
            f"Anyone who has the "
            "synthetic table learns more about them than about people who are not in it."
        )
        return "bad", "Training rows leak", text
    if not audit.has_holdout:
        text = (
            "Without a holdout, nobody can know whether an attack succeeds because somebody's row was trained "
            "on, or because "
            "it would succeed on anybody. Give a holdout: people of the same population on whom the table was "
            "not trained."
        )
        return "warn", "The risk cannot be known", text
    if audit.holds is None:
        names = [f"{TITLES[one.question].lower()} ({one.name})" for one in audit.open]
        text = (
            f"No attack is above the limit of {audit.limit:.1%} beyond chance, but the intervals of "
            f"{some_values(names, 4)} "
            "reach above it: attack more targets, or give a larger holdout."
        )
        return "warn", "Too few people to know", text
    if audit.limit is not None:
        near = "But distances say who was trained on: see membership. " if audit.tells_members else ""
        return "plain", f"Every attack stays within {audit.limit:.1%}", near + NOT_SAFE
    return "plain", "These attacks found no leak", NOT_SAFE


def sections_of(audit: SyntheticAudit, edition: str) -> list[Section]:
    """Return the sections of an edition."""
    parts = [_answers(audit), _attacks(audit), _distances(audit), _useful(audit)]
    return [*parts, *([] if edition == "public" else [_rows(audit)]), _limits(audit)]


def report_html(audit: SyntheticAudit, edition: str) -> str:
    """Return the page of an edition."""
    check_known("edition", edition, EDITIONS)
    told = ", ".join(f"{name} {format_count(rows, 'row')}" for name, rows in audit.rows.items())
    head = Head(
        name="a synthetic table",
        lead=f"{told}; {format_count(len(audit.columns), 'column')}. Attacked: up to {audit.targets:,} of each.",
        public=edition == "public",
        wording=WORDING,
    )
    return page(head, _face(audit), sections_of(audit, edition))


def _face(audit: SyntheticAudit) -> Face:
    state, headline, text = describe_outcome(audit)
    known = [(one, own) for one in audit.attempts if (own := one.residual()) is not None]
    tiles = []
    if known:
        worst, own = max(known, key=lambda pair: (pair[1].low, pair[1].value))
        tiles.append(
            Tile(label="Largest residual risk", value=f"{own.value:.1%}", unit=f"{own.low:.1%} to {own.high:.1%}",
                 text=f"{TITLES[worst.question].lower()}: {worst.name}", state="bad" if worst in audit.leaks else "")
        )  # fmt: skip
    else:
        tiles.append(Tile(label="Residual risk", value="unknown", text="there is no holdout", state="warn"))
    tiles.append(
        Tile(label="Attacks above chance", value=f"{len(audit.leaks):,}" if known else "unknown",
             unit=f"of {len(known):,}" if known else "", text="more success on training rows than on holdout rows",
             state="bad" if audit.leaks else "")
    )  # fmt: skip
    members = audit.membership
    tiles.append(
        Tile(label="Membership", value="unknown" if members is None else f"{members.area:.1%}",
             unit="" if members is None else "area", text="50% means that distances do not say who was trained on",
             state="bad" if audit.tells_members else "")
    )  # fmt: skip
    useful = next((one for one in audit.usefulness.figures if one.synthetic is not None), None)
    if useful is not None:
        tiles.append(
            Tile(
                label="Usefulness",
                value=number(useful.synthetic),
                unit=f"({useful.name})",
                text=useful.summary,
            )
        )
    return Face(state=state, headline=headline, text=text, tiles=tiles)


def _answers(audit: SyntheticAudit) -> Section:
    cards = [_answer(audit, question, words) for question, words in QUESTIONS.items()]
    return Section("answers", "What an adversary can do with it", (Cards(cards),))


def _answer(audit: SyntheticAudit, question: str, words: str) -> Card:
    own = [one for one in audit.attempts if one.question == question]
    tried = [one for one in own if one.train is not None]
    lines = [_line(one) for one in sorted(tried, key=_risk_of, reverse=True)[:3]]
    lines += [f"{len(tried) - 3:,} more are in the table below."] if len(tried) > 3 else []
    lines += [f"{one.name}: not tried, {one.refused}." for one in own if one.refused]
    leaked = any(one in audit.leaks for one in own)
    if question == COPIES and audit.membership is not None:
        leaked |= audit.tells_members
        lines.append(
            f"By distance, {format_rate(audit.membership.found)} of the training rows are found while "
            f"{FALSE_ALARMS:.0%} of others are accused wrongly."
        )
    state, badge = _judge(leaked, bool(tried), audit.has_holdout)
    return Card(question, TITLES[question], words, state, badge, lines)


def _judge(leaked: bool, tried: bool, has_holdout: bool) -> tuple[State, str]:
    if leaked:
        return "bad", "training rows leak"
    if not tried:
        return "warn", "not tried"
    return ("plain", "no leak found") if has_holdout else ("warn", "unknown")


def _risk_of(attempt: Attempt) -> tuple[float, float]:
    own = attempt.residual()
    return (
        (own.low, own.value)
        if own is not None
        else (0.0, 0.0 if attempt.train is None else attempt.train.share)
    )


def _line(one: Attempt) -> str:
    own = one.residual()
    if own is None:
        return f"{one.name}: succeeds on {format_rate(one.train)} of the training rows; no holdout to compare with."
    return (
        f"{one.name}: residual risk {own.value:.1%} ({format_rate(one.train)} of training rows, "
        f"{format_rate(one.control)} of "
        "holdout rows)."
    )


def _attacks(audit: SyntheticAudit) -> Section:
    rows = [
        (*row[:4], Marked(row[4], "bad") if one in audit.leaks else row[4], row[5])
        for one, row in zip(audit.attempts, attack_rows(audit), strict=True)
    ]
    parts: list[Part] = [
        Words(
            "Each attack is tried on training rows and, in the same way, on holdout rows. The intervals are Wilson's, "
            "combined for the residual risk; marked attacks leak beyond chance even if all intervals are to "
            "hold together."
        ),
        Table("Success of the attacks", ATTACK_HEAD, rows),
    ]
    tried = [one for one in audit.attempts if one.train is not None]
    if audit.has_holdout and tried:
        parts.append(_chart(tried))
    return Section("attacks", "The attacks", parts)


def _chart(tried: Sequence[Attempt]) -> Chart:
    labels = [f"{TITLES[one.question]}: {one.name}" for one in tried]
    groups = []
    for name, filled, rates in (
        ("holdout rows", False, [one.control for one in tried]),
        ("training rows", True, [one.train for one in tried]),
    ):
        shares = [0.0 if rate is None else rate.share for rate in rates]
        groups.append(Bars(name, shares, [format_rate(rate) for rate in rates], filled))
    title, words = (
        "Success on training rows and on holdout rows",
        "Where the bar of training rows is longer than chance explains, they leak: see the marks above.",
    )
    rows = [(label, *(group.texts[at] for group in groups)) for at, label in enumerate(labels)]
    table = Table(title, ("attack", "holdout rows", "training rows"), rows)
    return Chart(title, words, bar_chart("success", title, words, labels, groups), table)


def _distances(audit: SyntheticAudit) -> Section:
    closest = audit.closest
    head = ("distance to the nearest synthetic row", *(f"{share:.0%} are nearer than" for share in QUANTILES))
    rows = [("training rows", *(f"{value:.4f}" for value in closest.train))]
    if closest.control is not None:
        rows.append(("holdout rows", *(f"{value:.4f}" for value in closest.control)))
    parts: list[Part] = [
        Words(
            "The distance is the mean over columns: 0 for equal values, 1 for the range of a number or another "
            "category."
        ),
        Table("Distances to the closest record", head, rows),
    ]
    if closest.nearer is not None:
        low, high = closest.nearer.interval()
        parts.append(
            Words(
                f"Of {closest.nearer.of:,} synthetic rows, {closest.nearer.share:.1%} ({low:.1%} to {high:.1%}) "
                f"are nearer to a "
                "training row than to a holdout row, among equally many of both. 50% is expected without a leak."
            )
        )
    if audit.membership is not None:
        low, high = audit.membership.interval()
        parts.append(
            Words(
                f"Membership: a training row is nearer than a holdout row in {audit.membership.area:.1%} of pairs "
                f"({low:.1%} to {high:.1%}). 50% says nothing about who was trained on."
            )
        )
    return Section("distances", "Distances and membership", parts)


def _useful(audit: SyntheticAudit) -> Section:
    rows = [
        (
            one.name,
            one.unknown or number(one.synthetic),
            "-" if one.reference is None else number(one.reference),
            one.summary,
        )
        for one in audit.usefulness.figures
    ]
    most = ", ".join(f"{name} {rows:,}" for name, rows in audit.usefulness.rows.items())
    return Section(
        "use",
        "What it is good for",
        (
            Table("Measures", ("measure", "synthetic table", "holdout in its place", "what it is"), rows),
            Words(f"Rows of each table that were compared at most: {most}."),
        ),
    )


def _rows(audit: SyntheticAudit) -> Section:
    found = [
        (f"{row + 1:,}", f"{TITLES[one.question]}: {one.name}", how)
        for one in audit.attempts
        for row, how in one.exposed
    ]
    by_row: dict[str, list[tuple[str, str]]] = {}
    for place, attack, how in found:
        by_row.setdefault(place, []).append((attack, how))
    most = sorted(by_row.items(), key=lambda item: -len(item[1]))[:MOST_SHOWN]
    rows = [
        (place, "; ".join(attack for attack, _ in own), "; ".join(dict.fromkeys(how for _, how in own)))
        for place, own in most
    ]
    words = Words(
        "Examples of rows of the original on which attacks succeeded, counted from 1 in the order of the file. "
        "An attack may "
        "also succeed on them by chance.",
        "warn",
    )
    table = Table("Training rows", ("row", "attacks", "how"), rows)
    return Section(
        "rows", "Training rows that are exposed", (words, table) if rows else (Words("None was found."),)
    )


def _limits(audit: SyntheticAudit) -> Section:
    notes: list[Part] = [Words(NOT_SAFE)]
    if not audit.has_holdout:
        notes = [Words("Without a holdout the risk is unknown. It is not shown to be low.", "warn")]
    notes += [Words(note, "warn" if note.startswith("OVERLAP") else "plain") for note in audit.notes]
    notes.append(
        Words(
            f"Minimal uniques have at most {format_count(audit.largest, 'column')}. The people who were "
            f"attacked were drawn at "
            f"random{'' if audit.seed is None else ' with a seed'}."
        )
    )
    return Section("limits", "What this cannot say", notes)
