"""The private report of a masked network, on the page that the report of a table has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.documents.pages.look import Marked
from shoal.documents.report.report_page import Head, page
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
    head = Head(
        name="the masked network",
        lead=(
            f"{result.rows:,} nodes and {result.edges_before or 0:,} edges became {result.classes:,} super-nodes and "
            f"{result.masked.edges.height:,} super-edges. Attributes weighed {number(result.alpha)} (alpha) in forming "
            f"them, edges {number(1 - result.alpha)} (beta)."
        ),
        public=False,
        warning=NOT_FOR_PUBLICATION if seeded else "",
    )
    return page(head, _face(result, seeded), [_threats(result), *_sections(result)])


def _face(result: NetworkResult, seeded: bool) -> Face:
    """Return the verdict and the numbers that matter. A network that violates its policy is never written."""
    held = format_count(len(result.verdicts), "requirement")
    state: State = "warn" if seeded else "good"
    headline = "Satisfies its policy" + (", but is not for publication" if seeded else "")
    losses = [
        Tile(label=f"{what} lost", value=f"{result.measures[name]:.1%}", unit=f"({name})", text=words)
        for name, what, words in (
            ("ngil", "Attributes", "0% keeps every value, 100% says nothing"),
            ("nsil", "Structure", "0% keeps every edge in its place, 100% none"),
        )
        if result.measures.get(name, math.nan) == result.measures.get(name)
    ]
    text = f"All {held} hold, checked on the tables of the masked network."
    candidates, attacks = _attack_tiles(result.attacks)
    return Face(state=state, headline=headline, text=text, tiles=(candidates, *losses, attacks))


def _attack_tiles(found: Sequence[NetworkExposure]) -> tuple[Tile, Tile]:
    """Return how many candidates the attacks leave, and how many attacks got through."""
    if not found:
        unknown = Tile(
            label="Candidates of a person", value="unknown", text="no attack was run", state="warn"
        )
        return unknown, Tile(label="Attacks", value="0", unit="tried", text="0 got through", state="warn")
    at_risk = sum(own.at_risk > 0 for own in found)
    state: State = "warn" if at_risk else "good"
    candidates = Tile(
        label="Candidates of a person",
        value=f"{min(own.after_least for own in found):,}",
        unit="at least",
        text="left to an adversary who knows the edges around a person",
        before=f"{min(own.before_least for own in found):,}",
        state=state,
    )
    text = f"{at_risk:,} got through" if at_risk else "nobody has fewer candidates than required"
    return candidates, Tile(label="Attacks", value=f"{len(found):,}", unit="tried", text=text, state=state)


def _threats(result: NetworkResult) -> Section:
    """Return one answer per threat, from the policy's models and from the attacks by structure."""
    return _section("threats", SECTION_TITLE, Cards([_answer(threat, result) for threat in QUESTIONS]))


def _answer(threat: Threat, result: NetworkResult) -> Card:
    """Return whether the masked network withstands a threat."""
    own = [v for v, about in zip(result.verdicts, result.threats, strict=False) if about == threat]
    lines = [f"{v.model}: {'holds' if v.holds else 'violated'}." for v in own]
    attacked: Sequence[NetworkExposure | NetworkDisclosure] = ()
    if threat == RE_IDENTIFICATION:
        attacked = result.attacks
        lines += _identification(result)
    elif threat == ATTRIBUTE_DISCLOSURE:
        attacked = result.disclosures
        lines += _inference(result)
    bad = any(not v.holds for v in own) or any(one.at_risk for one in attacked)
    state: State = "bad" if bad else "good" if lines else "warn"
    badge = "people are exposed" if bad else "withstood" if lines else "not assessed"
    lines = lines or ["The policy asks for nothing that stops it, and no attack tried it."]
    return Card(threat.replace(" ", "-"), threat.capitalize(), QUESTIONS[threat], state, badge, lines)


def _identification(result: NetworkResult) -> list[str]:
    """Say how many candidates the attacks leave."""
    found = result.attacks
    if not found:
        return []
    before, after = max(found, key=lambda own: own.before_unique), min(found, key=lambda own: own.after_least)
    exposed = sum(own.at_risk > 0 for own in found)
    worst = min(found, key=lambda own: own.after_mean)
    return [
        f"Unique before: {before.before_unique:,} of {format_count(result.rows, 'node')}, by {before.knowledge}.",
        f"After: everybody has at least {format_count(after.after_least, 'candidate')}, also by {after.knowledge}.",
        f"{format_count(len(found), 'attack')} by the edges around a person, with and without their attributes: "
        + (f"{exposed:,} left somebody" if exposed else "none left anybody")
        + " fewer candidates than required.",
        f"The strongest leaves {worst.after_mean:,.1f} candidates on average (by {worst.knowledge}).",
    ]


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
