"""Limits on the risk of re-identification: the highest, the average, and the share of rows above a threshold.

Three adversaries (El Emam 2013). The prosecutor knows that a person is in the release; the risk of a row is one over
the people of its class. The journalist looks for somebody of a population; the people of the population who match the
class count instead. The marketer tries all rows, so only the average matters to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.errors import PolicyError, Problem
from shoal.judging.models.class_size import ClassSize
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import STEP, GroupModel, Model, Monotone
from shoal.judging.models.overall import Overall, Seen
from shoal.judging.models.people_behind_classes import InPopulation, seen_by, share_of
from shoal.judging.models.population_estimates import size_for_risk
from shoal.judging.models.ratios import exact, format_ratio, least_size, size_in_words
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.published import Published
    from shoal.release.verdict import Verdict

Reader = Literal["prosecutor", "journalist", "marketer"]
RISK = Key(
    "risk", "limits on the risk of re-identification: the highest, the average, the share of rows above one"
)
BY = {
    "by": "who looks for people: `prosecutor` (default) knows that a person is in the release, `journalist` looks for "
    "somebody of the population, `marketer` tries all rows, which only `average` is about"
}


class _Risk(Model):
    """What the three limits share."""

    key: ClassVar[Key] = RISK
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    options: ClassVar[Mapping[str, str]] = BY
    public: ClassVar[Any] = "always"
    higher_is_safer: ClassVar[bool] = False
    about_classes: ClassVar[bool] = True
    by_cells: ClassVar[bool] = True
    for_marketer: ClassVar[bool] = False

    by: Reader

    def __post_init__(self) -> None:
        """Refuse what has no meaning for a marketer."""
        super().__post_init__()
        if self.by == "marketer" and not self.for_marketer:
            message = "'marketer' tries all rows, so only an average is defined"
            raise PolicyError([Problem("privacy.risk.by", message, "take journalist, or ask for average")])

    def needs_population(self) -> bool:
        """Return whether the adversary looks for people of a population."""
        return self.by != "prosecutor"

    def _who(self) -> str:
        return "" if self.by == "prosecutor" else f", {self.by}"

    def _judge_trivial(self, seen: Seen | str, evidence: Evidence) -> Verdict | Seen:
        """Return a verdict if nothing can be computed."""
        if isinstance(seen, str):
            return self.verdict_unknown(evidence.published, seen)
        if not len(seen.sizes):
            return self.verdict(evidence.published, None, True, "nothing is published")
        return seen

    def _qualify_verdict(self, evidence: Evidence, found: Verdict, seen: Seen) -> Verdict:
        """Add what an estimate is based on to the verdict, and hide values that the published rows do not reveal."""
        if seen.note and not found.holds:
            return self.verdict_unknown(evidence.published, seen.note)
        hidden = evidence.owners.person is not None and not evidence.persons.followed
        hidden |= seen.crowd is not None or (seen.share is not None and evidence.published.suppressed > 0)
        words = [found.detail] if found.detail else []
        words += [seen.note] if seen.note else []
        if seen.share is not None:
            words.insert(0, f"estimate: {number(seen.share)} of the population is in the table")
        return replace(found, detail="; ".join(words), public=found.public and not hidden)


@dataclass(frozen=True, kw_only=True)
class HighestRisk(_Risk, GroupModel):
    """The risk of every row is at most a threshold. Monotone: a union is at least as large as each class."""

    name: ClassVar[str] = "highest-risk"
    summary: ClassVar[str] = "an adversary finds the row of no person with a probability above the threshold"
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"highest": {}}
    usual: ClassVar[Any] = "1/11"
    monotone: ClassVar[Monotone] = Monotone.ALWAYS

    highest: Annotated[Fraction, Bounds(gt=0, lt=1)]
    """The highest allowed risk: a number, or a fraction in quotes such as "1/11"."""
    by: Reader = "prosecutor"

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve the class size that it means; a class of one person has the risk 1, which is no limit."""
        size = least_size(exact(value)) // 2
        return f"1/{size}" if size > 1 else None

    @classmethod
    def in_words(cls, value: Any) -> str:
        """Say which class size a threshold means."""
        return size_in_words(exact(value))

    @property
    def size(self) -> int:
        """The smallest class that satisfies it if nobody but the people of the table counts."""
        return least_size(self.highest)

    @property
    def title(self) -> str:
        """Name the threshold, and the class size that it means."""
        size = f" ({size_in_words(self.highest)})" if self.by == "prosecutor" else ""
        return f"highest risk {format_ratio(self.highest)}{self._who()}{size}"

    @property
    def threshold(self) -> float:
        """The threshold."""
        return float(self.highest)

    @property
    def by_classes(self) -> GroupModel | None:
        """A class size; a journalist's depends on the table."""
        return ClassSize(k=self.size, because=self.title) if self.by == "prosecutor" else None

    def in_table(self, table: CodedTable) -> Model | None:
        """Return a class size, or that enough people of the population match."""
        if self.by == "prosecutor":
            return self
        if table.context.population is not None:
            return InPopulation.of(table, self.size, self.title)
        share = share_of(table)
        size = self.size if share is None else size_for_risk(float(self.highest), share, self.size)
        return ClassSize(k=size, because=self.title) if size > 1 else None

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the risk of a row of each group."""
        return np.asarray(1.0 / np.maximum(groups.size, 1), np.float64)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups are large enough, exactly."""
        return np.asarray(groups.size >= self.size)

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset of a small group is larger."""
        return ~self.holds_in(groups)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the smallest class."""
        published = evidence.published
        if evidence.owners.unknown and self.by == "prosecutor" and (evidence.fewest_people or 0) >= self.size:
            detail = "at most, whoever owns the rows that several classes could show"
            found = self.verdict(published, 1 / (evidence.fewest_people or 1), True, detail)
            return replace(found, public=False)
        seen = self._judge_trivial(seen_by(evidence, self.by), evidence)
        if not isinstance(seen, Seen):
            return seen
        bad = seen.above(self.highest)
        found = self.judge_summary(published, float(seen.risks.max()), int(bad.sum()), len(bad))
        return self._qualify_verdict(evidence, found, seen)

    def judge(self, published: Published, groups: Groups) -> Verdict:
        """Judge the largest risk of groups whose people are counted."""
        return super().judge(published, groups)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more people than the table, or than the population."""
        own = self.in_table(table) if self.by != "prosecutor" else self.by_classes
        return None if own is None else own.infeasible(table, suppressible)


class _OverAll(_Risk):
    """A limit that all classes keep together."""

    def rule(self, table: CodedTable | None) -> Overall:
        """Return the rule, with estimates from the population of a table."""
        raise NotImplementedError

    def _share(self, table: CodedTable | None) -> float | None:
        """Return the share of the population that is in the table, where risks are estimated from it."""
        counted = table is None or table.context.population is not None or self.by == "prosecutor"
        return None if table is None or counted else share_of(table)

    def overall(self, table: CodedTable) -> Overall:
        """Return the rule over all classes."""
        return self.rule(table)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge all classes together."""
        seen = self._judge_trivial(seen_by(evidence, self.by), evidence)
        if not isinstance(seen, Seen):
            return seen
        rule = self.rule(None)
        found = self.verdict(
            evidence.published, rule.value(seen), rule.holds(seen), self.describe_counts(seen)
        )
        return self._qualify_verdict(evidence, found, seen)

    def describe_counts(self, seen: Seen) -> str:
        """Say what was counted."""
        raise NotImplementedError

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """The blocks that limits make are the fewest classes; without limits, the whole table is one.

        Only where each row is a person: people with rows in several classes count in each of them.
        """
        if not table.counting.adds_up or table.context.population is not None or suppressible >= table.rows:
            return None
        rule = self.rule(table)
        for sizes, whose in ((np.array([table.rows], np.int64), ""), (table.blocks.size, "blocks")):
            if not rule.out_of_reach(sizes, suppressible):
                continue
            value = rule.value(Seen(sizes, None, rule.share))
            least = f"even one class of all {format_count(table.rows, 'row')} reaches {number(value)}"
            if whose:
                least = (
                    f"generalization limits split the table into {len(sizes):,} blocks that cannot share a class, and "
                    f"with one class each it reaches {number(value)}"
                )
            also = f", and suppressing {suppressible:,} rows is not enough" if suppressible else ""
            return f"no release can satisfy {self.title}: {least}{also}"
        return None


@dataclass(frozen=True, kw_only=True)
class AverageRisk(_OverAll):
    """The average risk of the published rows is at most a threshold: classes over rows, for a prosecutor."""

    name: ClassVar[str] = "average-risk"
    summary: ClassVar[str] = (
        "on average over rows, an adversary finds the row of a person with at most this probability"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"average": {}}
    usual: ClassVar[Any] = 0.09
    for_marketer: ClassVar[bool] = True

    average: Annotated[Fraction, Bounds(gt=0, lt=1)]
    """The highest allowed average: a number, or a fraction in quotes."""
    by: Reader = "prosecutor"

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Raise it by half; an average of 1 is no limit."""
        more = round(float(exact(value)) * STEP, 4)
        return more if more < 1 else None

    @property
    def title(self) -> str:
        """Name the threshold, and the average class size that it means."""
        sizes = 1 / self.average
        exactly = "" if sizes.denominator == 1 else "about "
        size = (
            f" (classes of {exactly}{number(float(sizes))} or more on average)"
            if self.by == "prosecutor"
            else ""
        )
        return f"average risk {format_ratio(self.average)}{self._who()}{size}"

    @property
    def threshold(self) -> float:
        """The threshold."""
        return float(self.average)

    def rule(self, table: CodedTable | None) -> Overall:
        """Return the rule: the sum over classes of size times risk, over all people."""
        share = self._share(table)
        enough = least_size(self.average)
        if share is not None:
            enough = size_for_risk(float(self.average), share, enough)
        return Overall(
            title=self.title,
            most=self.average,
            enough=enough,
            share=share,
            of_population=self.by != "prosecutor",
            of_targets=self.by == "journalist",
        )

    def describe_counts(self, seen: Seen) -> str:
        """Say how many classes there are, and how small the smallest is: an average says nothing about it."""
        rows, classes = int(seen.sizes.sum()), format_count(len(seen.sizes), "class", "classes")
        return f"{classes} of {number(rows / len(seen.sizes))} on average; the smallest has {int(seen.sizes.min()):,}"


@dataclass(frozen=True, kw_only=True)
class ShareAtRisk(_OverAll):
    """At most a share of the published rows has a risk above a threshold."""

    name: ClassVar[str] = "share-at-risk"
    summary: ClassVar[str] = (
        "an adversary finds at most this share of the rows with a probability above the threshold"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"share": {}}
    usual: ClassVar[Any] = 0.05
    options: ClassVar[Mapping[str, str]] = {
        "above": "with `share`: the risk above which a row counts, a number or a fraction in quotes (default 0.2)",
        **BY,
    }

    share: Annotated[Fraction, Bounds(ge=0, lt=1)]
    """The largest allowed share of rows."""
    above: Annotated[Fraction, Bounds(gt=0, lt=1)] = Fraction(1, 5)
    """The risk above which a row counts."""
    by: Reader = "prosecutor"

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Double the share."""
        more = round(max(2 * float(exact(value)), 0.01), 4)
        return more if more < 1 else None

    @property
    def title(self) -> str:
        """Name both thresholds, and the class size that counts as too small."""
        size = f" (classes of fewer than {ceil(1 / self.above):,})" if self.by == "prosecutor" else ""
        return (
            f"share {format_ratio(self.share)} of rows with a risk above "
            f"{format_ratio(self.above)}{self._who()}{size}"
        )

    @property
    def threshold(self) -> float:
        """The share."""
        return float(self.share)

    def rule(self, table: CodedTable | None) -> Overall:
        """Return the rule: the people in classes above the threshold, over all people."""
        share = self._share(table)
        enough = least_size(self.above)
        if share is not None:
            enough = size_for_risk(float(self.above), share, enough)
        return Overall(
            title=self.title,
            most=self.share,
            enough=enough,
            above=self.above,
            share=share,
            of_population=self.by != "prosecutor",
        )

    def describe_counts(self, seen: Seen) -> str:
        """Say how many rows are above the threshold."""
        rows = int(seen.sizes[seen.above(self.above)].sum())
        return f"{rows:,} of {int(seen.sizes.sum()):,} rows"
