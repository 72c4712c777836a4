"""The two documents of a release: the private run record and the public release card."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.coding.roles import ROLES
from shoal.errors import ShoalBug
from shoal.release.pseudonyms import PSEUDONYM
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.support.wording import escape_markdown as _cell
from shoal.support.wording import format_parts, number

NOT_FOR_PUBLICATION = "Made with a fixed seed, so its random choices can be repeated: not for publication."
LOSS_WORDS = (
    "Information lost: the mean share of a column's domain that a published cell covers, where the domain is what the "
    "policy lists, or what the published cells span. Everything on this card follows from the published rows and the "
    "policy; figures that depend on the original are in the private record."
)

ONLY_IF_SO = (
    "codes_for_missing_are_null",
    "shuffled_together",
    "cells_changed_at_most",
    "rows_that_can_be_followed",
)
"""Facts that a card states only of a release that has them. Columns whose codes for missing became null are those of
the policy: maybe no published row has such a code."""
PUBLISHED_AS = {
    **{name: role.published for name, role in ROLES.items()},
    PSEUDONYM: "as random pseudonyms",
}


def make_record(
    summary: Mapping[str, Any], *, digest: str | None, policy: str, seed: int | None, source: str = ""
) -> dict[str, Any]:
    """Make the private record of a run: enough to show and to defend what was done to which file. `source` says which
    table of a database it was, which has no digest.
    """
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "private": "Keep this record with the original data; it is not part of the release.",
        "for_publication": seed is None,
        "seed": seed,
        "input": {"sha256": digest, "rows": summary["rows"], **({"source": source} if source else {})},
        "policy": policy,
        "versions": versions(),
        **{key: value for key, value in summary.items() if key != "rows"},
    }


def versions() -> dict[str, str]:
    """Return the versions of what makes a release."""
    import numba
    import numpy
    import polars

    return {
        "shoal": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "polars": polars.__version__,
    }


def make_card(
    summary: Mapping[str, Any],
    columns: Sequence[Mapping[str, Any]],
    verdicts: Sequence[Verdict],
    meanings: Sequence[str],
    measures: Mapping[str, float],
    seed: int | None,
) -> dict[str, Any]:
    """Make the public card: what was done, which guarantees hold, what was lost. Nothing about individuals.

    `summary` says of the published rows what follows from them and from the policy. How many rows were suppressed does
    not: who knows all people but one would learn whether the last is in the original. `columns` are those of
    `describe_columns`. `meanings` says in plain words what each verdict means, in their order; `measures` are those
    that may be published.
    """
    if len(meanings) != len(verdicts):
        raise ShoalBug("every verdict on a card needs a meaning")
    return {
        "made_with": f"Shoal {__version__}",
        "made_on": datetime.now(UTC).date().isoformat(),
        "for_publication": seed is None,
        "rows_published": summary["rows"],
        "share_suppressed_at_most": summary["suppressed_at_most"],
        "classes": summary["classes"],
        **({"buckets": summary["buckets"]} if summary["buckets"] is not None else {}),
        "method": summary["method"],
        "levels": summary["levels"],
        "columns": list(columns),
        "guarantees": [
            {
                "model": verdict.model,
                "required": plain(verdict.required),
                "reached": plain(verdict.told),
                "meaning": meaning,
            }
            for verdict, meaning in zip(verdicts, meanings, strict=True)
        ],
        "measures": {name: plain(value) for name, value in measures.items()},
        **{key: summary[key] for key in ONLY_IF_SO if summary.get(key) not in (None, [])},
    }


def card_text(card: Mapping[str, Any], path: Path, labels: Callable[[], str] = str) -> str:
    """Write a card as JSON or Markdown, by the ending of its file. `labels` says in Markdown what labels mean."""
    if path.suffix.lower() == ".json":
        return json.dumps(card, indent=2) + "\n"
    return card_markdown(card) + labels()


def card_markdown(card: Mapping[str, Any]) -> str:
    """Write a card as Markdown, for people."""
    lines = ["# Release card", ""]
    if not card["for_publication"]:
        lines += [f"> **{NOT_FOR_PUBLICATION}**", ""]
    lines += [
        f"Made with {card['made_with']} on {card['made_on']}, by the method `{card['method']}`"
        + (f" at levels {card['levels']}." if card["levels"] else "."),
        "",
        f"{card['rows_published']:,} rows are published in "
        f"{format_parts(card['classes'], card.get('buckets'), explained=True)}. {describe_suppression(card)} "
        "The rows are in random order.",
        "",
        *_edges(card),
        *_false_cells(card),
        *(f"> **Warning:** {_cell(line)}.\n" for line in card.get("rows_that_can_be_followed", ())),
        "## What it protects against",
        "",
        "| guarantee | required | reached | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {_cell(g['model'])} | {_short(g['required'])} | {_short(g['reached'])} | {_cell(g['meaning'])} |"
        for g in card["guarantees"]
    ]
    lines += [
        "",
        "Each guarantee was checked on the published rows themselves.",
        "",
        "## What was done to each column",
        "",
        "| column | role | published | information lost |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {_cell(c['name'])} | {c['role']} | {_cell(c['published'])} | "
        f"{'' if c['loss'] is None else format(c['loss'], '.1%')} |"
        for c in card["columns"]
    ]
    lines += ["", LOSS_WORDS]
    if "codes_for_missing_are_null" in card:
        names = ", ".join(map(_cell, card["codes_for_missing_are_null"]))
        lines += ["", f"Codes for missing values in the original are empty cells here: {names}."]
    if "shuffled_together" in card:
        groups = "; ".join(", ".join(map(_cell, group)) for group in card["shuffled_together"])
        lines += ["", f"Within buckets, each of these groups of columns was shuffled as a unit: {groups}."]
    lines += ["", "## What it cost", "", "| measure | value |", "| --- | --- |"]
    lines += [f"| {_cell(name)} | {_short(value)} |" for name, value in card["measures"].items()]
    return "\n".join(lines) + "\n"


def describe_suppression(card: Mapping[str, Any]) -> str:
    """Say what the policy allows: how many rows were suppressed is not public."""
    most = card["share_suppressed_at_most"]
    return f"At most {most:.2%} of the original's rows were suppressed." if most else "No row was suppressed."


def _false_cells(card: Mapping[str, Any]) -> list[str]:
    """Say how many cells may be false, if the method makes some."""
    if "cells_changed_at_most" not in card:
        return []
    return [
        f"> **False cells:** at most {card['cells_changed_at_most']:.2%} of the generalized cells do not cover the "
        "value of the person whose row it is. Which ones is secret. Information lost does not count them.",
        "",
    ]


def _edges(card: Mapping[str, Any]) -> list[str]:
    """Return what a card says about the edges of a network."""
    if "edges_published" not in card:
        return []
    return [
        f"Each class is a super-node of the network; {card['edges_published']:,} edges are published as counts within "
        f"and between super-nodes. Attributes weighed {_short(card['weight_of_attributes'])} in forming them, edges "
        f"{_short(card['weight_of_structure'])}.",
        "",
    ]


def _short(value: Any) -> str:
    return "" if value is None else _cell(number(value))
