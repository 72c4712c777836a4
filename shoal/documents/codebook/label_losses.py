"""How much of a column its cells still show, from published labels and the policy only: for public documents.

LM and other losses count the values of the original. A value that only one suppressed person has changes them, so they
are for those who have the original. Here the domain of a column is what its published labels span, or what the policy
lists: nobody who is not in the release changes it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.hierarchy.meanings import MISSING, Bound, Meaning
from shoal.policy import Policy
from shoal.release.bounds import meanings_of
from shoal.release.received.cell_reader import attribute_of
from shoal.support.arrays import LongVector

Shown = tuple[pl.Series, LongVector]
MOST_LABELS = 10_000
"""A column with more labels than this has no such loss: each label is read by itself."""


def losses_shown(shown: Callable[[str], Shown | None], policy: Policy) -> dict[str, float]:
    """Return, per quasi-identifier, the mean share of its domain that a published cell covers: 0 for single values, 1
    if every cell shows nothing. `shown` returns the labels of a published column, and how many rows show each. Columns
    are left out whose labels have no width, such as masks, or are too many. O(rows), and time for each label.
    """
    found = {}
    for plan in policy.column_plans.values():
        own = shown(plan.name) if plan.role.generalized else None
        if own is None or not 0 < len(own[0]) <= MOST_LABELS:
            continue
        rows = dict(zip(own[0].to_list(), own[1].tolist(), strict=True))
        kind = parse_hierarchy(plan.hierarchy)
        texts = sorted(text for text in rows if text is not None)
        meanings = meanings_of(kind, texts, plan.limit)
        listed = attribute_of(plan).hierarchy.size if kind.knows_domain else 0
        shares = _shares([meanings[text] for text in texts], listed)
        if shares is not None:
            total = math.fsum(share * rows[text] for share, text in zip(shares, texts, strict=True))
            found[plan.name] = round(total / sum(rows.values()), 6)
    return found


def mean_loss(losses: Mapping[str, float], policy: Policy) -> float | None:
    """Return the mean over all quasi-identifiers, by their weights; None if that of one is not known."""
    weights = {name: own.weight for name, own in policy.columns.items() if own.role.generalized}
    if not weights or not weights.keys() <= losses.keys() or not sum(weights.values()):
        return None
    whole = math.fsum(losses[name] * weight for name, weight in weights.items())
    return round(whole / math.fsum(weights.values()), 6)


def _shares(meanings: Sequence[Meaning], listed: int) -> list[float] | None:
    """Return which share of the domain each label covers; None if one of them has no width."""
    domain = _Domain.of(meanings, listed)
    found = [domain.share(one) for one in meanings]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


@dataclass(frozen=True)
class _Domain:
    """What the published labels of a column span, and what the policy lists."""

    first: float
    last: float
    listed: int
    """Values that the policy lists; 0 if it lists none."""
    named: int
    """Values that labels name."""

    @classmethod
    def of(cls, meanings: Sequence[Meaning], listed: int) -> _Domain:
        """Return what these labels span."""
        ends = [_ends(one) for one in meanings if one.kind in ("range", "value")]
        places = [place for pair in ends if pair is not None for place in pair if place is not None]
        named = {value for one in meanings if one.kind in ("value", "set") for value in one.values}
        return cls(min(places, default=0.0), max(places, default=0.0), listed, len(named))

    def share(self, one: Meaning) -> float | None:
        """Return which share of it a label covers; None if the label has no width."""
        if one.kind == "any":
            return 1.0
        if one.kind in ("value", "not-a-number", MISSING.kind):
            return 0.0
        if self.listed and one.codes is not None:
            return (one.codes[1] - one.codes[0]) / max(self.listed - 1, 1)
        if one.kind == "set":
            return (len(one.values) - 1) / max(self.listed - 1, self.named - 1, 1)
        pair = _ends(one) if one.kind == "range" and math.isfinite(self.last - self.first) else None
        if pair is None:
            return None
        low, high = self.first if pair[0] is None else pair[0], self.last if pair[1] is None else pair[1]
        return (high - low) / (self.last - self.first) if self.last > self.first else 0.0


def _ends(meaning: Meaning) -> tuple[float | None, float | None] | None:
    """Return where a value or a range begins and ends, None for an open end; None if it is not on a line."""
    low, high = (meaning.low, meaning.high) if meaning.kind == "range" else (meaning.values[0],) * 2
    try:
        return _place(low), _place(high)
    except ValueError:
        return None


def _place(bound: Bound | None) -> float | None:
    if bound is None or isinstance(bound, int | float):
        return None if bound is None or not math.isfinite(bound) else float(bound)
    if bound in ("inf", "-inf"):
        return None
    moment = dt.datetime.fromisoformat(bound)
    return moment.toordinal() + (moment.hour * 3600 + moment.minute * 60 + moment.second) / 86400
