"""The private report of a masked network, on the page that the report of a table has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.documents.pages.look import Marked
from shoal.documents.report.report_page import page
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
from shoal.judging.measures import MEASURES
from shoal.judging.models.threats import (
    ATTRIBUTE_DISCLOSURE,
    QUESTIONS,
    RE_IDENTIFICATION,
    SECTION_TITLE,
    Threat,
)
from shoal.network.structure_attacks import KNOWLEDGE
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    from shoal.network.anonymize_network import NetworkResult
    from shoal.network.judge_network import NetworkAudit
    from shoal.network.network_disclosure import NetworkDisclosure
    from shoal.network.structure_attacks import NetworkExposure

STRUCTURAL = {
    "ngil": "loss of the attributes, over all nodes (0..1)",
    "nsil": "loss of structure: how uncertain it is, on average, whether two nodes are joined (0..1)",
}
"""Measures of networks alone."""
ATTACK_HEAD = (
    "knowledge",
    "nodes tried",
    "fewest before",
    "unique before",
    "fewest after",
    "mean after",
    "below k",
    "not found",
)
DISCLOSURE_HEAD = (
    "knowledge",
    "column",
    "certain before",
    "fewest values",
    "largest share",
    "certain after",
    "named right",
    "blindly",
)


def attack_rows(report: NetworkAudit) -> list[tuple[str, ...]]:
    """Return one row per attack: the candidates before and after."""
    return [
        (
            own.knowledge,
            number(own.targets),
            number(own.before_least),
            number(own.before_unique),
            number(own.after_least),
            number(round(own.after_mean, 1)),
            number(own.at_risk),
            number(own.unmatched),
        )
        for own in report.attacks
    ]


def disclosure_rows(report: NetworkAudit) -> list[tuple[str, ...]]:
    """Return one row per attack and sensitive column: what the candidates reveal."""
    return [
        (
            own.knowledge,
            own.column,
            number(own.before_certain),
            number(own.fewest_values),
            f"{own.largest:.1%}",
            number(own.certain),
            f"{own.named:.1%}",
            f"{own.blind:.1%}",
        )
        for own in report.disclosures
    ]


def structure_rows(report: NetworkAudit) -> list[tuple[str, str, str]]:
    """Return one row per figure, before and after."""
    before, after = report.structure.get("before", {}), report.structure.get("after", {})
    return [(name.replace("_", " "), number(value), number(after[name])) for name, value in before.items()]


def report_html(result: NetworkResult) -> str:
    """Return the page. It shows figures about the original, and for small networks its edges: not for publication."""
    seeded = result.record.get("seed") is not None
    return page(
        _face(result, seeded),
        [_threats(result), *_sections(result)],
        name="the masked network",
        lead=(
            f"{result.rows:,} nodes and {result.edges_before or 0:,} edges became {result.classes:,} super-nodes and "
            f"{result.masked.edges.height:,} super-edges. Attributes weighed {number(result.alpha)} (alpha) in forming "
            f"them, edges {number(1 - result.alpha)} (beta)."
        ),
        public=False,
        warning=NOT_FOR_PUBLICATION if seeded else "",
    )


def _face(result: NetworkResult, seeded: bool) -> Face:
    """Return the verdict and the numbers that matter. A network that violates its policy is never written."""
    held = format_count(len(result.verdicts), "requirement")
    state: State = "warn" if seeded else "good"
    headline = "Satisfies its policy" + (", but is not for publication" if seeded else "")
    found = result.attacks
    before, after = (
        min((getattr(own, name) for own in found), default=0) for name in ("before_least", "after_least")
    )
    candidates = Tile(
        label="Candidates of a person",
        value=f"{after:,}" if found else "unknown",
        unit="at least" if found else "",
        text="left to an adversary who knows the edges around a person" if found else "no attack was run",
        before=f"{before:,}" if found else "",
        state="good" if found and not any(own.at_risk for own in found) else "warn",
    )
    losses = [
        Tile(label=f"{what} lost", value=f"{result.measures[name]:.1%}", unit=f"({name})", text=words)
        for name, what, words in (
            ("ngil", "Attributes", "0% keeps every value, 100% says nothing"),
            ("nsil", "Structure", "0% keeps every edge in its place, 100% none"),
        )
        if result.measures.get(name, math.nan) == result.measures.get(name)
    ]
    at_risk = sum(own.at_risk > 0 for own in found)
    attacks = Tile(
        label="Attacks",
        value=f"{len(found):,}",
        unit="tried",
        text="nobody has fewer candidates than required"
        if found and not at_risk
        else f"{at_risk:,} got through",
        state="good" if found and not at_risk else "warn",
    )
    text = f"All {held} hold, checked on the tables of the masked network."
    return Face(state=state, headline=headline, text=text, tiles=(candidates, *losses, attacks))


def _threats(result: NetworkResult) -> Section:
    """Return one answer per threat, from the policy's models and from the attacks by structure."""
    cards = []
    found = result.attacks
    lines: dict[Threat, list[str]] = {threat: [] for threat in QUESTIONS}
    if found:
        before, after = (
            max(found, key=lambda own: own.before_unique),
            min(found, key=lambda own: own.after_least),
        )
        exposed = [own for own in found if own.at_risk]
        worst = min(found, key=lambda own: own.after_mean)
        lines[RE_IDENTIFICATION] = [
            f"Unique before: {before.before_unique:,} of {format_count(result.rows, 'node')}, by {before.knowledge}.",
            f"After: everybody has at least {format_count(after.after_least, 'candidate')}, also by {after.knowledge}.",
            f"{format_count(len(found), 'attack')} by the edges around a person, with and without their attributes: "
            + (f"{len(exposed):,} left somebody" if exposed else "none left anybody")
            + " fewer candidates than required.",
            f"The strongest leaves {worst.after_mean:,.1f} candidates on average (by {worst.knowledge}).",
        ]
    lines[ATTRIBUTE_DISCLOSURE] = _inference(result)
    attacked: dict[Threat, Sequence[NetworkExposure | NetworkDisclosure]] = {
        RE_IDENTIFICATION: found,
        ATTRIBUTE_DISCLOSURE: result.disclosures,
    }
    for threat, question in QUESTIONS.items():
        own = [v for v, about in zip(result.verdicts, result.threats, strict=False) if about == threat]
        told = [f"{v.model}: {'holds' if v.holds else 'violated'}." for v in own] + lines[threat]
        tried = bool(own) or bool(lines[threat])
        risky = attacked.get(threat, ())
        bad = any(not v.holds for v in own) or any(one.at_risk for one in risky)
        state: State = "bad" if bad else "good" if tried else "warn"
        badge = "people are exposed" if bad else "withstood" if tried else "not assessed"
        told = told or ["The policy asks for nothing that stops it, and no attack tried it."]
        cards.append(Card(threat.replace(" ", "-"), threat.capitalize(), question, state, badge, told))
    return _section("threats", SECTION_TITLE, Cards(cards))


def _inference(result: NetworkResult) -> list[str]:
    """Say what the candidates of people reveal, for each sensitive column by the attack that tells most."""
    lines = []
    for column in dict.fromkeys(own.column for own in result.disclosures):
        own = [one for one in result.disclosures if one.column == column]
        before = max(one.before_certain for one in own)
        certain, worst = max(one.certain for one in own), max(own, key=lambda one: one.largest)
        lines += [
            f"{column}: certain for {before:,} of {format_count(result.rows, 'node')} before, for {certain:,} after.",
            f"Largest share of one value among a person's candidates: {worst.largest:.0%} (by {worst.knowledge}).",
        ]
    return lines


def _sections(result: NetworkResult) -> list[Section]:
    guarantees = [
        (
            v.model,
            Marked("yes", "good") if v.holds else Marked("NO", "bad"),
            number(v.required),
            number(v.reached),
            v.detail,
        )
        for v in result.verdicts
    ]
    losses = [(name, number(value), _describe_measure(name)) for name, value in result.measures.items()]
    sections = [
        _section("guarantees", "Requirements, checked",
                 Table("Requirements", ("requirement", "holds", "required", "reached", "detail"), guarantees)),
        _section("losses", "What was lost",
                 Table("Measures of loss and risk", ("measure", "value", "what it is"), losses)),
    ]  # fmt: skip
    if result.structure:
        differ = [(name, number(value)) for name, value in result.structure.get("differ", {}).items()]
        sections.append(
            _section("structure", "Structure before and after",
                     Words("Figures after are means over graphs drawn at random from the masked network."),
                     Table("Figures of structure", ("figure", "before", "after"), structure_rows(result)),
                     Table("Distributions", ("distribution", "largest difference between shares"), differ))
        )  # fmt: skip
    if result.attacks:
        knows = "; ".join(f"{name}: the adversary knows {what}" for name, what in KNOWLEDGE.items())
        attacks = Table("Candidates that are left to an adversary", ATTACK_HEAD, attack_rows(result))
        parts: list[Part] = [Words(f"{knows}."), attacks]
        if result.disclosures:
            title = "What the candidates reveal, if each is held equally likely"
            parts.append(Table(title, DISCLOSURE_HEAD, disclosure_rows(result)))
        sections.append(_section("attacks", "Which attacks were tried", *parts))
    picture = result.drawing()
    if picture is not None:
        sizes = zip(result.masked.size.tolist(), result.masked.inside.tolist(), strict=True)
        rows = [(f"{at:,}", f"{size:,}", f"{inside:,}") for at, (size, inside) in enumerate(sizes)]
        drawing = Chart(
            "The network before and after",
            "Colours are super-nodes. The two numbers in a super-node are its nodes and the edges among them.",
            picture,
            Table("Super-nodes", ("super-node", "nodes", "edges inside"), rows),
        )
        sections.append(_section("picture", "Picture", drawing))
    notes = [Words(note) for note in result.notes]
    return [*sections, *([_section("notes", "Notes", *notes)] if notes else [])]


def _describe_measure(name: str) -> str:
    return MEASURES[name].summary if name in MEASURES else STRUCTURAL.get(name, "")


def _section(key: str, title: str, *parts: Part) -> Section:
    return Section(key, title, parts)
