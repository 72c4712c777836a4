"""Releases over time: does a release, together with earlier ones of the same people, keep what its policy asks for?

A generalization of m-invariance (Xiao and Tao 2007): there, classes show the same m values in every release. Here, at
least as many values as the policy asks for must be among those that all releases show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.coding.groups import Groups
from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.linking.left_open import LeftOpen, Needed
from shoal.judging.linking.newest_release import knows_rows, newest_issue, too_little
from shoal.judging.linking.series import Earlier, alone, cross_releases, explain_unknown_members
from shoal.judging.models.keys import Key
from shoal.judging.models.model import GroupModel, Model, Monotone
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.release.verdict import Verdict
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.run import silent
from shoal.support.wording import format_count

EARLIER = Key("earlier", "earlier releases of the same people, with which k and l must hold as well")


@dataclass(frozen=True, kw_only=True)
class WithEarlier(Model):
    """Nobody who is in this release and in an earlier one is exposed by intersecting them."""

    name: ClassVar[str] = "with-earlier"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    key: ClassVar[Key] = EARLIER
    summary: ClassVar[str] = (
        "an adversary who knows that a person is in this release and in earlier ones, and intersects what each leaves "
        "open, is left with as many candidates and sensitive values as the policy asks for"
    )
    higher_is_safer: ClassVar[bool] = False

    members: bool
    """The adversary knows who is in which release."""
    k: int
    needed: tuple[int, ...]
    """Per sensitive column, how many different values must be left."""

    @property
    def title(self) -> str:
        """Name the model."""
        who = ", knowing all members" if self.members else ""
        return f"people exposed by intersecting earlier releases{who}"

    @property
    def threshold(self) -> int:
        """Nobody may be exposed."""
        return 0

    def verify(self, evidence: Evidence) -> Verdict:
        """Intersect the published rows with the earlier releases."""
        published = evidence.published
        if evidence.table is None or evidence.table.context.earlier is None:
            why = "only the original says who may be in the earlier releases, too: give it"
            return self.verdict_unknown(published, why)
        earlier = evidence.table.context.earlier
        try:
            newest, own = newest_issue(evidence, earlier)
        except DataError as error:
            return self.verdict_unknown(published, str(error))
        found = cross_releases(earlier, newest, own, silent)
        few, narrow = too_little(found, self.k, self.of(earlier).values, members=self.members)
        exposed = len(np.unique(found.person[few | narrow]))
        if exposed and not knows_rows(evidence, newest, earlier):
            many = format_count(exposed, "person", "people")
            why = f"{many} would be exposed if they are in the release, and rows were suppressed; give the record"
            return self.verdict_unknown(published, why)
        unknown = explain_unknown_members([*earlier.issues, newest]) if self.members else ""
        # Without a person column, everybody counts who may be in a release: whom that exposes is exposed.
        if unknown and (evidence.persons.several or not exposed):
            return self.verdict_unknown(published, unknown)
        both = format_count(len(np.unique(found.person)), "person", "people")
        detail = f"{both} in several of {len(earlier.issues) + 1} releases"
        return self.verdict(published, exposed, exposed == 0, detail)

    def of(self, earlier: Earlier) -> Needed:
        """Return what must be left open about each person."""
        values = [self.needed[j] if j < len(self.needed) else 1 for j in earlier.lasting]
        return Needed(self.k, values, self.members)

    def check(self, earlier: Earlier) -> None:
        """Refuse earlier releases that by themselves leave too little open to people of the table: nothing that is
        published now can mend that.
        """
        unknown = explain_unknown_members(earlier.issues)
        if unknown and self.members:
            raise DataError(unknown)
        for issue in earlier.issues:
            here = np.zeros(earlier.people, np.bool_)
            here[issue.person[issue.person < earlier.people]] = True
            candidates, values = alone(issue, here, earlier.lasting)
            few, narrow = candidates[here] < self.k, (values[here] < self.of(earlier).values).any(axis=1)
            lines = []
            if few.any():
                least = int(candidates[here].min())
                lines.append(
                    f"{format_count(int(few.sum()), 'person has', 'people have')} fewer than {self.k:,} "
                    "candidates in it "
                    f"(the fewest: {least:,})"
                )
            if narrow.any():
                lines.append(
                    f"{format_count(int(narrow.sum()), 'person is', 'people are')} left with too few values by it"
                )
            if lines:
                raise DataError(
                    f"{issue.name} does not keep this policy by itself: of the people who are in the table, too, "
                    f"{' and '.join(lines)}. Nothing that is published now can mend that: ask for less, or leave it "
                    "out of `earlier`"
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class KeepsOpen(GroupModel):
    """The same as a rule over groups of rows, for searches: enough is left open to everybody in a group.

    Monotone, also over people: a union shows the values of both parts, and has the people of both.
    """

    name: ClassVar[str] = "keeps-open"
    summary: ClassVar[str] = WithEarlier.summary
    key: ClassVar[Key] = EARLIER
    monotone: ClassVar[Monotone] = Monotone.ALWAYS

    model: WithEarlier
    open: LeftOpen
    needed: Needed

    @property
    def title(self) -> str:
        """Name the model."""
        return self.model.title

    @property
    def threshold(self) -> float:
        """A group satisfies it or not."""
        return 1.0

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return 1 for groups that satisfy it, else 0."""
        return self.holds_in(groups).astype(np.float64)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups leave enough open to everybody in them."""
        assert groups.placed is not None, "this search does not say which rows a group has"
        good = np.asarray(groups.rows > 0)
        bad, _ = self.open.short(*groups.placed, self.needed)
        good[bad] = False
        return good

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Rows for which nothing can be done are suppressed before a search begins."""
        return None
