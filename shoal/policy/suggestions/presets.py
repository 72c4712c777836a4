"""Presets: requirements that people know by a name, with what they mean and where they come from.

A preset replaces `[privacy]` and the share of rows that may be suppressed. One whose rules are about columns also
changes roles and hierarchies. What a preset does not cover is said in `leaves`: no setting makes data lawful to publish
by itself. `shoal init --template` writes a policy with one of them, and Studio offers them under Promise.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.coding.roles import SENSITIVE
from shoal.errors import check_known
from shoal.judging.models.ratios import exact
from shoal.judging.models.safe_harbor import SafeHarbor
from shoal.policy import Policy
from shoal.policy.suggestions.harbor import HARBOR, KINDS_OF_IDENTIFIERS, of_column
from shoal.policy.suggestions.sensitivity import (
    Distribution,
    Protection,
    as_privacy,
    distribution_of,
    protect_columns,
)

if TYPE_CHECKING:
    import polars as pl

DISTINCT = "distinct"
"""The word of l-diversity that counts values."""
HIGHEST = "highest"
"""The word of the risk of re-identification that is about the smallest class."""
Rule = Callable[[str, dict[str, Any], "pl.DataType | None", Sequence[str] | None], tuple[dict[str, Any], str]]
"""What a preset makes of a column: its name, its table in the policy, its type, and small areas -> table and reason."""


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
    why: Mapping[str, str] = field(default_factory=dict)
    """Key of `privacy` or `sensitive` -> what it asks for, for a comment."""
    sensitive: Mapping[str, Any] = field(default_factory=dict)
    """More of `[privacy]`, if the policy has sensitive columns."""
    suppression: float = 0.0
    rule: Rule | None = None
    """What it makes of each column; None: it leaves columns as they are."""
    lists: tuple[str, ...] = ()
    """What a person has to look for in every column."""

    def apply_to(
        self,
        tables: Mapping[str, Any],
        types: Mapping[str, pl.DataType] | None = None,
        small: Sequence[str] | None = None,
        distributions: Iterable[Distribution] = (),
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a policy, as plain tables, with this preset, and the columns that it changes with the reason.

        `types` are those of the table's columns, if it is known: dates are then found by their type as well. `small`
        are the three-digit areas with too few people, if somebody knows them. `distributions` are those of the columns
        with sensitive values, if the table is known: the preset then asks for what suits each of them.
        """
        after = copy.deepcopy(dict(tables))
        columns, reasons = after.get("columns", {}), {}
        for name, entry in columns.items() if self.rule is not None else ():
            given = {"role": entry} if isinstance(entry, str) else entry
            columns[name], why = self.rule(name, given, (types or {}).get(name), small)  # type: ignore[misc]
            if why:
                reasons[name] = why
        roles = {name: entry if isinstance(entry, str) else entry["role"] for name, entry in columns.items()}
        left = [name for name, role in roles.items() if role == SENSITIVE]
        if self.rule is None:
            for name, entry in columns.items():
                if isinstance(entry, dict) and HARBOR in entry:
                    columns[name] = {key: value for key, value in entry.items() if key != HARBOR}
        known = [own for own in distributions if own.name in left]
        if self.sensitive and known:
            more: Mapping[str, Any] = as_privacy(self.protect(known))
        else:
            more = self.sensitive if left else {}
        after["privacy"] = {**self.privacy, **more}
        after["utility"] = {**after.get("utility", {}), "suppression": self.suppression}
        return after, reasons

    def protect(self, distributions: Iterable[Distribution]) -> tuple[Protection, ...]:
        """Return what the preset asks for sensitive columns with these distributions."""
        if not self.sensitive:
            return ()
        return protect_columns(distributions, self.size, self.sensitive["l"][DISTINCT])

    @property
    def size(self) -> int:
        """The smallest class that it allows."""
        if "k" in self.privacy:
            return int(self.privacy["k"])
        return math.ceil(1 / exact(self.privacy["risk"][HIGHEST]))


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "open-data",
            "Open data",
            "For everybody, for ever: nobody can be narrowed down to fewer than 20 rows, and each of these groups "
            "shows at least 3 different sensitive values. If these are two or rare, no group may differ much "
            "from the whole table.",
            "A starting point of Shoal's own. 20 rows mean a risk of at most 5 % per person, at the careful end of "
            "what is usual for public files. No law sets this number.",
            ("What the sensitive values of a group have in common is not looked at: ask for t or beta as well.",),
            {"risk": {HIGHEST: "1/20"}},
            {"risk": "per person; classes of 20 rows or more", "l": "different sensitive values in every class"},
            {"l": {DISTINCT: 3}},
            0.05,
        ),
        Preset(
            "research",
            "Research access",
            "For known researchers under a contract: nobody can be narrowed down to fewer than 5 rows, and each of "
            "these groups shows at least 2 different sensitive values. If these are two or rare, no group may differ "
            "much from the whole table.",
            "A starting point of Shoal's own. 5 rows mean a risk of at most 20 % per person, a common choice if a "
            "contract forbids re-identification. No law sets this number.",
            ("The contract, the place where they work and checks of what they take out are part of the protection.",),
            {"risk": {HIGHEST: "1/5"}},
            {"risk": "per person; classes of 5 rows or more", "l": "different sensitive values in every class"},
            {"l": {DISTINCT: 2}},
            0.02,
        ),
        Preset(
            "public-use-file",
            "Public use file of a statistical office",
            "For everybody who downloads it: nobody can be narrowed down to fewer than 10 rows, and each of these "
            "groups shows at least 3 different sensitive values. If these are two or rare, no group may differ much "
            "from the whole table.",
            "A starting point of Shoal's own, for samples of a population. Offices choose their own thresholds; a "
            "sample protects as well, because nobody knows who is in it. No law sets this number.",
            (
                "Publish coarse regions only, and top codes for ages, incomes and household sizes.",
                "Survey weights that few rows share identify people: give the column the role weight, and read the "
                "note about rare weights.",
                "Look at the individual risk: rare people of the population stay rare in the sample.",
                "Rows of one household belong together: give the household number the role person and a group.",
            ),
            {"risk": {HIGHEST: "1/10"}},
            {"risk": "per person; classes of 10 rows or more"},
            {"l": {DISTINCT: 3}},
            0.05,
        ),
        Preset(
            "scientific-use-file",
            "Scientific use file of a statistical office",
            "For known researchers under a contract: nobody can be narrowed down to fewer than 3 rows, and each of "
            "these groups shows at least 2 different sensitive values. If these are two or rare, no group may differ "
            "much from the whole table.",
            "A starting point of Shoal's own: groups of 3 rows are a common minimum for files under contract. No law "
            "sets this number.",
            (
                "The contract, the place where researchers work and checks of what they take out are part of the "
                "protection.",
                "Rows of one household belong together: give the household number the role person and a group.",
            ),
            {"risk": {HIGHEST: "1/3"}},
            {"risk": "per person; classes of 3 rows or more"},
            {"l": {DISTINCT: 2}},
            0.02,
        ),
        Preset(
            SafeHarbor.name,
            "HIPAA Safe Harbor",
            "Identifiers are removed, dates become years, zip codes keep three digits, and ages over 89 are one group; "
            "each column has its verdict. Shoal adds groups of at least 5 rows, which the rule does not ask for.",
            "45 CFR 164.514(b)(2), United States. The rule lists 18 kinds of identifiers to remove, and asks that you "
            "do not know of a way to identify anybody in what is left.",
            (
                "Check that every column of the 18 kinds is removed: Shoal guesses them by name and content.",
                "Three digits of a zip code need the list of areas with 20,000 people or fewer, by the current census. "
                "Without the list, columns of zip codes are not published.",
                "Other areas smaller than a state are not published.",
                "People grow older: years of birth are one group up to the year in which people over 89 were born, "
                "counted from today.",
                "Free text may hold identifiers.",
            ),
            {"k": 5},
            {"k": "not a part of the rule, which leaves people alone with what they show"},
            rule=of_column,
            lists=KINDS_OF_IDENTIFIERS,
        ),
        Preset(
            "ema-0070",
            "EMA policy 0070",
            "Nobody can be identified with a probability above 0.09: every group has at least 12 rows.",
            "The threshold that the European Medicines Agency names in its guidance on publishing clinical data "
            "(Policy 0070, EMA/90915/2016). 1/12 is 0.083. Groups of 11 rows, which are often quoted, give 0.091.",
            (
                "The guidance also asks for the risk in context, for free text, and for a report on the anonymization; "
                "an evidence pack has the outline of it.",
                "It holds for the quasi-identifiers that you named, and for nothing else that an adversary may know.",
            ),
            {"risk": {HIGHEST: 0.09}},
            {"risk": "classes of 12 rows or more: 1/12 is 0.083, and 1/11 is 0.091, above it"},
        ),
    )
}  # fmt: skip


def with_preset(
    policy: Policy,
    name: str,
    types: Mapping[str, pl.DataType] | None = None,
    small: Sequence[str] | None = None,
    *,
    table: pl.DataFrame | None = None,
) -> Policy:
    """Return a policy with the requirements of a preset instead of its own; see `PRESETS`. `small` are the three-digit
    areas of zip codes that have 20,000 people or fewer, for Safe Harbor. With `table`, the preset asks of each
    sensitive column for what suits its distribution.
    """
    check_known("preset", name, PRESETS)
    known = [] if table is None else [distribution_of(table[one]) for one in policy.names(SENSITIVE)]
    return Policy.from_dict(PRESETS[name].apply_to(policy.to_dict(), types, small, known)[0], policy.base)


__all__ = ["PRESETS", "Preset", "with_preset"]
