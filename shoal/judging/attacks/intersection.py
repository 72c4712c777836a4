"""Intersection: what do several releases of the same people leave open together? (Ganta et al. 2008.)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import DataError, check_known
from shoal.judging.attacks.attack_base import Attack, Exposure, Options, Setting
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.newest_release import newest_issue, too_little
from shoal.judging.linking.series import (
    Crossing,
    Earlier,
    Issue,
    alone,
    cross_releases,
    explain_unknown_members,
)
from shoal.support.arrays import BoolVector, LongVector
from shoal.support.run import Run
from shoal.support.wording import either

ADVERSARIES = {
    "some": "knows the quasi-identifiers of some people, and that they are in all these releases",
    "members": "knows the quasi-identifiers of everyone, and exactly who is in which of these releases",
}
NO_K = "the policy has no k, so the number of candidates judges nobody"


@dataclass(frozen=True, kw_only=True)
class Intersection(Attack):
    """Keeps, for each person, the sensitive values that all releases show among the rows that match, and the candidates
    that have such values.

    The adversary ``members`` also knows who is in which release. They leave out everybody who has no matching row in
    some release that the person is in.
    """

    name: ClassVar[str] = "intersection"
    title: ClassVar[str] = "intersection of releases"
    least_k: ClassVar[int] = 1
    only_rows: ClassVar[str] = ""
    summary: ClassVar[str] = (
        "knows people who are in several releases, and intersects what each of them leaves open"
    )

    adversary: str = "some"
    """``some``, or ``members``."""
    k: int = 2
    """With fewer candidates a person is at risk; 1 if the policy has no k, so that nobody is."""
    values: tuple[int, ...] = ()
    """Per sensitive column, how many different values must be left."""

    def __post_init__(self) -> None:
        check_known("adversary", self.adversary, ADVERSARIES)

    @classmethod
    def inapplicable(cls, setting: Setting) -> str:
        """There must be an earlier release, and classes."""
        if not setting.earlier:
            return "no earlier release is given: " + either(
                command="name it with --earlier FILE", python="give `earlier`"
            )
        return "its values were shuffled within buckets" if setting.rows.in_buckets else ""

    @classmethod
    def scenarios(cls, setting: Setting) -> Mapping[str, Options]:
        """Try both adversaries, the stronger one last."""
        if cls.refuses(setting):
            return {}
        return {
            f"{cls.title}, knows some people": {"adversary": "some"},
            f"{cls.title}, knows all members": {"adversary": "members"},
        }

    @classmethod
    def findings(cls, figures: Mapping[str, Any], people: int) -> Iterator[str]:
        """Yield the figures that matter, in words."""
        both = int(figures["in_several"])
        yield f"{both:,} people are in several releases"
        if both:
            least = figures["together"]["least_candidates"]
            yield f"together these leave somebody {least:,} candidates"
            yield f"and {int(figures['one_value']):,} people a single sensitive value"

    def attempt(self, evidence: Evidence, run: Run) -> Exposure:
        """Intersect all releases. O(pairs of what people may be known by and matching rows)."""
        earlier = evidence.original.context.earlier
        if earlier is None:
            raise DataError("no earlier release is given")
        newest, own = newest_issue(evidence, earlier)
        unknown = explain_unknown_members([*earlier.issues, newest])
        if unknown and self.adversary == "members":
            raise DataError(unknown)
        found = cross_releases(earlier, newest, own, run.progress)
        return self._exposure(evidence, earlier, newest, found)

    def _exposure(self, evidence: Evidence, earlier: Earlier, newest: Issue, found: Crossing) -> Exposure:
        people, by_itself = earlier.people, newest_alone(newest, earlier)
        several = np.zeros(people, np.bool_)
        several[found.person] = True
        candidates = np.minimum(found.left, found.crowd) if self.adversary == "members" else found.left
        needed = [self._values_needed(j) for j in earlier.lasting]
        few, narrow = too_little(found, self.k, needed, members=self.adversary == "members")
        at_risk = _of_people(found, few | narrow, people)
        left = found.worst(candidates, people)
        chance = np.zeros(people)
        certain = np.where(found.right, 1.0 / np.maximum(candidates, 1), 0.0)
        np.maximum.at(chance, found.person, certain)
        before = np.where(by_itself > 0, 1.0 / np.maximum(by_itself, 1), 0.0)
        chance[~several] = before[~several]
        one = (found.values == 1).any(axis=1)
        none = (found.values == 0).any(axis=1)
        figures = {
            "k": self.k if self.k > 1 else None,
            "values_needed": {a.name: self._values_needed(j) for j, a in self._columns(evidence, earlier)},
            "in_several": int(several.sum()),
            "together": {
                "least_candidates": int(left[several].min()) if several.any() else None,
                "below_k": int(_of_people(found, few, people).sum()),
                "below_l": int(_of_people(found, narrow, people).sum()),
            },
            "each_alone": self._alone((*earlier.issues, newest), several, earlier.lasting),
            "one_value": int(_of_people(found, one, people).sum()),
            "one_value_and_true": int(_of_people(found, one & found.right, people).sum()),
            "value_changed": int(_of_people(found, none, people).sum()),
            "not_in_earlier": earlier.absent,
            "success_newest_alone": float(before.mean()) if people else 0.0,
        }
        row_of = np.full(people, -1, np.int64)
        row_of[earlier.person[::-1]] = np.arange(len(earlier.person) - 1, -1, -1)
        return Exposure(
            attack=self.name,
            adversary=ADVERSARIES[self.adversary],
            success=float(chance.mean()) if people else 0.0,
            baseline=1.0 / people if people else 0.0,
            figures=figures,
            chances=chance,
            at_risk=int(at_risk.sum()),
            notes=(*(() if self.k > 1 else (NO_K,)), *earlier.notes),
            rows=None if evidence.original.counting.adds_up else row_of,
        )

    def _columns(self, evidence: Evidence, earlier: Earlier) -> list[tuple[int, Any]]:
        return [(j, evidence.original.sensitive[j]) for j in earlier.lasting]

    def _values_needed(self, column: int) -> int:
        return self.values[column] if column < len(self.values) else 1

    def _alone(
        self, issues: Sequence[Issue], several: BoolVector, lasting: Sequence[int]
    ) -> list[dict[str, Any]]:
        """Describe what each release leaves open by itself to the people who are in several."""
        needed = np.array([self._values_needed(j) for j in lasting], np.int64)
        out = []
        for issue in issues:
            here = several.copy()
            here[np.setdiff1d(np.flatnonzero(several), issue.person)] = False
            candidates, values = alone(issue, here, lasting)
            out.append(
                {
                    "release": issue.name,
                    "below_k": int((candidates[here] < self.k).sum()),
                    "below_l": int((values[here] < needed).any(axis=1).sum()),
                }
            )
        return out


def newest_alone(newest: Issue, earlier: Earlier) -> LongVector:
    """Return how many candidates everybody has in the newest release by itself; 0 for those who match no row."""
    here = np.zeros(earlier.people, np.bool_)
    here[newest.person] = True
    candidates, _ = alone(newest, here, earlier.lasting)
    return np.where(here, candidates, 0)


def _of_people(found: Crossing, which: BoolVector, people: int) -> BoolVector:
    """Return the people for whom some combination is one of these."""
    out = np.zeros(people, np.bool_)
    out[found.person[which]] = True
    return out
