"""Few known people: which rows are left for a person if the adversary knows a few others of the table?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting, check_everybody
from shoal.judging.attacks.linkage import NOT_JUDGED, SHUFFLED, describe_counts
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.rows_left import rows_left
from shoal.judging.models.k_type import EVERYBODY, known_people
from shoal.support.run import Run

USUAL = 10
"""How many others the adversary knows where neither the policy nor the user says."""
RELOCATED = (
    "rows may have been relocated, so it is not certain that people who are known own rows that match them"
)
EVERYONE = "the table has no more people, so the adversary knows everyone else"
BOUNDED = (
    "for some people, finding the others who help most takes too long: the figures are the worst that is possible, and "
    "`below_k_at_least` counts those who certainly have fewer than k rows"
)


@dataclass(frozen=True, kw_only=True)
class FewKnown(Attack):
    """Looks for groups of known people who match no more rows than they are, and removes their rows.

    They may choose whom they know: for each target, those `known` others who help most. An adversary who knows
    `known` given people learns this much or less.
    """

    name: ClassVar[str] = "few-known"
    title: ClassVar[str] = "knows a few other people"
    against: ClassVar[Mapping[str, Options]] = {"knows-some": {}}
    summary: ClassVar[str] = "knows a few people of the table, and removes the rows that only these can own"
    least_k: ClassVar[int] = 1
    only_rows: ClassVar[str] = "it gives each known person one row"

    known: int = USUAL
    """How many other people the adversary knows besides the target."""
    k: int = 2
    """With fewer rows a person is at risk; 1 if the policy has no k, so that nobody is."""

    def __post_init__(self) -> None:
        whole = isinstance(self.known, int) and not isinstance(self.known, bool)
        if not whole or self.known < 1:
            message = f"must be a whole number of other people, at least 1, not {self.known!r}"
            raise PolicyError([Problem("known", message, f"for example {USUAL}")], where=ARGUMENTS)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """A row must show the quasi-identifiers of one person, and truly so."""
        if not setting.rows.intact:
            return SHUFFLED
        return RELOCATED if setting.may_relocate else ""

    @classmethod
    def reads(cls, setting: Setting) -> Options:
        """The adversary of the policy knows as many people as the policy says."""
        known = known_people(setting.models)
        return {"known": known} if known else {}

    @classmethod
    def options_to_play(cls, adversary: str, setting: Setting) -> Options | None:
        """Play only an adversary for whom the policy says how many others they know. Without a number, as in (k,k),
        they know fewer than k, and learn no more than in the attack `linkage`.
        """
        return super().options_to_play(adversary, setting) if known_people(setting.models) else None

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Name the number of known people."""
        if cls.refuses(setting):
            return {}
        options = cls.reads(setting)
        known = options.get("known", USUAL)
        whom = "everyone else" if known == EVERYBODY else f"{known:,} other people"
        return {f"knows {whom}, chosen to help most": options}

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        left = figures["rows_left"]
        if left["least"] is None:
            yield "no row matches anybody"
            return
        yield f"everybody who matches any row keeps at least {left['least']:,}"
        if left["below_k"]:
            yield f"{int(left['below_k']):,} people keep fewer than {figures['k']:,} rows, {left['single']:,} only one"
        yield f"{figures['people_who_lose_rows']:,} people lose rows"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Find, for each person, the closed set of known people that owns most of their rows; see `rows_left`."""
        run.progress("link", 0.0)
        graph = evidence.consistency
        row_of = graph.people.row_of
        before = graph.candidates[row_of]
        check_everybody(int((before == 0).sum()), evidence.published.suppressed)
        others = max(len(row_of) - 1, 0)
        found = rows_left(graph, self.known, run)
        after, most = found.least[row_of], found.most[row_of]
        bounded = int((~found.exact[row_of]).sum())
        figures: dict[str, Any] = {
            "k": self.k if self.k > 1 else None,
            "known": min(self.known, others),
            "candidates": describe_counts(before, self.k),
            "rows_left": describe_counts(after, self.k),
            "people_who_lose_rows": int((after < before).sum()),
            "exact": bounded == 0,
        }
        if bounded:
            figures |= {
                "people_with_bounds": bounded,
                "below_k_at_least": describe_counts(most, self.k)["below_k"],
            }
        chances = np.where(after > 0, 1.0 / np.maximum(after, 1), 0.0)
        notes = (
            (NOT_JUDGED, self.k == 1),
            (EVERYONE, self.known > others and self.known != EVERYBODY),
            (BOUNDED, bounded > 0),
        )
        return Exposure(
            attack=self.name,
            adversary=f"knows the quasi-identifiers of each person and of {self._whom(others)}",
            success=float(chances.mean()) if len(chances) else 0.0,
            baseline=1.0 / len(chances) if len(chances) else 0.0,
            figures=figures,
            chances=chances,
            at_risk=int(((after > 0) & (after < self.k)).sum()),
            notes=tuple(note for note, said in notes if said),
        )

    def _whom(self, others: int) -> str:
        if self.known >= others:
            return "everyone else in the table"
        return f"{self.known:,} others in the table, those who help most"
