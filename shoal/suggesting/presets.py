"""Presets: requirements that people know by a name, with what they mean and where they come from.

A preset replaces `[privacy]` and the share of rows that may be suppressed. One whose rules are about columns also
changes roles. What a preset does not cover is said in `leaves`: no setting makes data lawful to publish by itself.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import check_known
from shoal.policy import Policy
from shoal.suggesting.vocabulary import words_of

if TYPE_CHECKING:
    import polars as pl


def _set(*words: str) -> frozenset[str]:
    return frozenset(word for part in words for word in part.split())


AREAS = _set(
    "zip zipcode postcode postal postalcode plz city town village county district municipality borough precinct",
    "neighborhood neighbourhood place location latitude longitude lat lon lng geocode ort wohnort street address",
)
"""Words for areas smaller than a state."""
DAYS = _set(
    "date birthdate birthday dob admission admitted discharge discharged death died visit arrival departure",
    "geburtsdatum geburtstag",
)
"""Words for days; a column of the type date or time needs none."""
DISTINCT = "distinct"
"""The word of l-diversity that counts values."""


@dataclass(frozen=True)
class Preset:
    """Settings of a policy under a name."""

    name: str
    title: str
    means: str
    """What it promises, in a sentence."""
    source: str
    """Where the numbers come from."""
    leaves: tuple[str, ...] = ()
    """What it does not cover, so that somebody has to check it."""
    privacy: Mapping[str, Any] = field(default_factory=dict)
    sensitive: Mapping[str, Any] = field(default_factory=dict)
    """More of `[privacy]`, if the policy has sensitive columns."""
    suppression: float = 0.0
    removes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What columns are about that may not be published -> words in their names."""
    removes_days: bool = False
    """Columns of dates and times may not be published either."""

    def applied(
        self, tables: Mapping[str, Any], types: Mapping[str, pl.DataType] | None = None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a policy, as plain tables, with this preset, and the columns that it removes with the reason.

        `types` are those of the table's columns, if it is known: dates are then found by their type as well.
        """
        after = copy.deepcopy(dict(tables))
        removed: dict[str, str] = {}
        for name, entry in after.get("columns", {}).items():
            role = entry if isinstance(entry, str) else entry["role"]
            why = "" if role in ("identifier", "drop") else self._unfit(name, (types or {}).get(name))
            if why:
                after["columns"][name] = {"role": "drop"}
                removed[name] = why
        left = [
            entry if isinstance(entry, str) else entry["role"] for entry in after.get("columns", {}).values()
        ]
        after["privacy"] = {**self.privacy, **(self.sensitive if "sensitive" in left else {})}
        after["utility"] = {**after.get("utility", {}), "suppression": self.suppression}
        return after, removed

    def _unfit(self, name: str, dtype: pl.DataType | None) -> str:
        """Return what a column is about, if that may not be published."""
        words = words_of(name)
        known = {*words, *(a + b for a, b in zip(words, words[1:], strict=False))}  # noqa: RUF007
        if self.removes_days and dtype is not None and dtype.is_temporal():
            return "days and times"
        return next((about for about, theirs in self.removes.items() if theirs & known), "")


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "open-data",
            "Open data",
            "For everybody, for ever: nobody can be narrowed down to fewer than 20 rows, and each of these groups "
            "shows at least 3 different sensitive values.",
            "A starting point of Shoal's own. 20 rows mean a risk of at most 5 % per person, at the careful end of "
            "what is usual for public files. No law sets this number.",
            ("What the sensitive values of a group have in common is not looked at: ask for t or beta as well.",),
            {"k": 20},
            {"l": {DISTINCT: 3}},
            0.05,
        ),
        Preset(
            "research",
            "Research access",
            "For known researchers under a contract: nobody can be narrowed down to fewer than 5 rows, and each of "
            "these groups shows at least 2 different sensitive values.",
            "A starting point of Shoal's own. 5 rows mean a risk of at most 20 % per person, a common choice if a "
            "contract forbids re-identification. No law sets this number.",
            ("The contract, the place where they work and checks of what they take out are part of the protection.",),
            {"k": 5},
            {"l": {DISTINCT: 2}},
            0.02,
        ),
        Preset(
            "hipaa-safe-harbor",
            "HIPAA Safe Harbor",
            "Covers a part of the rule: columns of dates and of areas smaller than a state are not published, and "
            "identifiers are removed. Shoal adds groups of at least 5 rows, which the rule does not ask for.",
            "45 CFR 164.514(b)(2), United States. The rule lists 18 kinds of identifiers to remove, and asks that you "
            "do not know of a way to identify anybody in what is left.",
            (
                "Check under Roles that every one of the 18 kinds is an identifier: Shoal guesses them by name.",
                "The rule allows years, and the first three digits of a zip code for areas of more than 20,000 people. "
                "Shoal cannot enforce either, so it drops these columns; add a column with the year if you need it.",
                "Ages over 89 must become one category. Make it so before you open the table, because a method may "
                "leave any age as it is.",
                "Free text may hold identifiers.",
            ),
            {"k": 5},
            {},
            0.0,
            {"areas smaller than a state": AREAS, "days and times": DAYS},
            True,
        ),
        Preset(
            "ema",
            "EMA 0.09",
            "Nobody can be identified with a probability above 0.09: every group has at least 12 rows.",
            "The threshold that the European Medicines Agency names in its guidance on publishing clinical data "
            "(Policy 0070). 1/12 is 0.083. Groups of 11 rows, which are often quoted, give 0.091.",
            (
                "The guidance also asks for the risk in context, for free text, and for a report on the anonymization.",
                "It holds for the quasi-identifiers that you named, and for nothing else that an adversary may know.",
            ),
            {"k": 12},
        ),
    )
}  # fmt: skip


def with_preset(policy: Policy, name: str, types: Mapping[str, pl.DataType] | None = None) -> Policy:
    """Return a policy with the requirements of a preset instead of its own; see `PRESETS`."""
    check_known("preset", name, PRESETS)
    return Policy.from_dict(PRESETS[name].applied(policy.to_dict(), types)[0], policy.base)


__all__ = ["PRESETS", "Preset", "with_preset"]
