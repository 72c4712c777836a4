"""The releases of the parts as one release of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import ShoalBug
from shoal.methods.method import Parts
from shoal.release import Release
from shoal.release.release import ValueSets
from shoal.support.arrays import LongVector
from shoal.support.wording import format_count


def join_releases(
    table: CodedTable, how: Parts, parts: Sequence[LongVector], releases: Sequence[Release]
) -> Release:
    """Return the release of a table whose parts are published as these releases. Rows in no part are suppressed."""
    region_of = np.full(table.rows, -1, np.int32)
    regions = 0
    for rows, made in zip(parts, releases, strict=True):
        if made.layout.in_buckets or made.levels is not None:
            raise ShoalBug("a release with buckets or levels of a part is none of the table")
        region_of[rows] = np.where(made.region_of < 0, -1, made.region_of + regions)
        regions += len(made.low)
    return Release(
        region_of,
        np.concatenate([made.low for made in releases]),
        np.concatenate([made.high for made in releases]),
        sets=_sets(releases),
        relocated=any(made.relocated for made in releases),
        facts=_facts(how, table.rows - sum(map(len, parts)), parts, releases),
    )


def _sets(releases: Sequence[Release]) -> ValueSets | None:
    if any(made.sets is None for made in releases):
        return None
    own = [made.sets for made in releases if made.sets is not None]
    ends = np.cumsum([0, *(len(sets.codes) for sets in own)])
    starts = [sets.start[:-1] + end for sets, end in zip(own, ends[:-1], strict=True)]
    return ValueSets(np.concatenate([*starts, ends[-1:]]), np.concatenate([sets.codes for sets in own]))


def _facts(
    how: Parts, dropped: int, parts: Sequence[LongVector], releases: Sequence[Release]
) -> dict[str, Any]:
    """Return what adds up; everything else that a method tells is about a part only."""
    facts: dict[str, Any] = {}
    for name in how.sums:
        found = [made.facts[name] for made in releases if name in made.facts]
        if found:
            facts[name] = sum(found)
    facts |= {name: releases[0].facts[name] for name in how.same if releases}
    if "suppressed" in how.sums:
        facts["suppressed"] = dropped + facts.get("suppressed", 0)
    largest = max(len(rows) for rows in parts)
    facts |= {"parts": len(parts), "largest_part": largest}
    told = f"the table was divided into {len(parts):,} parts of at most {format_count(largest, 'row')}"
    notes = dict.fromkeys(made.facts["note"] for made in releases if "note" in made.facts)
    return {**facts, "note": "; ".join([told, *notes])}
