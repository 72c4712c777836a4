"""A report of one masked network as a single HTML page: verdicts, losses, structure, attacks, a picture. Private."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from shoal.network.attacks import KNOWLEDGE
from shoal.wording import number

if TYPE_CHECKING:
    from shoal.network.anonymize import NetworkResult
    from shoal.network.judging import NetworkAudit

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#212529}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.25em .8em;border-bottom:1px solid #ced4da;text-align:left}"
    "svg{max-width:100%;height:auto}.note{color:#868e96}"
)


def report_html(result: NetworkResult) -> str:
    """Return the page. It shows figures about the original, and for small networks its edges: not for publication."""
    picture = result.picture()
    size = f"{result.rows:,} nodes and {result.edges_before or 0:,} edges"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>Masked network</title><style>{_STYLE}</style></head><body>",
        "<h1>Masked network</h1>",
        "<p><strong>Private: this page contains data about the original network.</strong></p>",
        f"<p>{size} became {result.classes:,} super-nodes and {result.masked.edges.height:,} super-edges; "
        f"alpha {number(result.alpha)}, beta {number(1 - result.alpha)}.</p>",
        "<h2>Guarantees</h2>",
        _table(
            ("guarantee", "required", "reached", "holds"),
            (
                (v.model, number(v.required), number(v.reached), "yes" if v.holds else "NO")
                for v in result.verdicts
            ),
        ),
        "<h2>Losses</h2>",
        _table(("measure", "value"), ((name, number(value)) for name, value in result.measures.items())),
        "<h2>Structure, on graphs drawn from the masked network</h2>",
        _table(("", "before", "after"), structure_rows(result)),
        _table(
            ("distribution", "largest difference between shares"),
            ((name, number(value)) for name, value in result.structure.get("differ", {}).items()),
        ),
        "<h2>Attacks</h2>",
        _table(ATTACK_HEAD, attack_rows(result)),
        "<p>"
        + "; ".join(f"{escape(name)}: the adversary knows {escape(what)}" for name, what in KNOWLEDGE.items())
        + ".</p>",
    ]
    if picture is not None:
        parts += [
            "<h2>Picture</h2>",
            "<p>A super-node says how many nodes and inner edges it stands for.</p>",
            picture,
        ]
    parts += [f'<p class="note">{escape(note)}</p>' for note in result.notes]
    return "\n".join([*parts, "</body></html>", ""])


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


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def line(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    return "\n".join(["<table>", line(head, "th"), *(line(row, "td") for row in rows), "</table>"])
