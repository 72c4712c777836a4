"""The private report of a masked network, on the page that the report of a table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.network.attacks import KNOWLEDGE
from shoal.release.record import NOT_FOR_PUBLICATION
from shoal.reporting.page import page
from shoal.reporting.parts import Chart, Part, Section, Table, Words
from shoal.wording import number

if TYPE_CHECKING:
    from shoal.network.anonymize import NetworkResult
    from shoal.network.judging import NetworkAudit

ATTACK_HEAD = (
    "knowledge",
    "nodes tried",
    "fewest before",
    "unique before",
    "fewest after",
    "mean after",
    "below k",
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
        )
        for own in report.attacks
    ]


def structure_rows(report: NetworkAudit) -> list[tuple[str, str, str]]:
    """Return one row per figure, before and after."""
    before, after = report.structure.get("before", {}), report.structure.get("after", {})
    return [(name.replace("_", " "), number(value), number(after[name])) for name, value in before.items()]


def report_html(result: NetworkResult) -> str:
    """Return the page. It shows figures about the original, and for small networks its edges: not for publication."""
    seeded = result.record.get("seed") is not None
    return page(
        [*_sections(result)],
        name="the masked network",
        lead=(
            f"{result.rows:,} nodes and {result.edges_before or 0:,} edges became {result.classes:,} super-nodes and "
            f"{result.masked.edges.height:,} super-edges. Attributes weighed {number(result.alpha)} (alpha) in forming "
            f"them, edges {number(1 - result.alpha)} (beta)."
        ),
        public=False,
        k=1,
        warning=NOT_FOR_PUBLICATION if seeded else "",
    )


def _sections(result: NetworkResult) -> list[Section]:
    guarantees = [
        (v.model, "yes" if v.holds else "NO", number(v.required), number(v.reached), v.detail)
        for v in result.verdicts
    ]
    losses = [(name, number(value)) for name, value in result.measures.items()]
    sections = [
        _section("guarantees", "What is guaranteed",
                 Table("Guarantees", ("guarantee", "holds", "required", "reached", "detail"), guarantees)),
        _section("losses", "What was lost", Table("Measures of loss", ("measure", "value"), losses)),
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
        sections.append(_section("attacks", "Which attacks were tried", Words(f"{knows}."), attacks))
    picture = result.picture()
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


def _section(key: str, title: str, *parts: Part) -> Section:
    return Section(key, title, parts)
