"""A rule with groups of people, such as households, in the place of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.keys import Key
from shoal.judging.models.model import GroupModel, Model, Monotone
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.judging.models.whole_table import one_class
from shoal.support.arrays import BoolVector, FloatVector, LongVector
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.counting import Counting
    from shoal.coding.groups import Groups
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.published import Published
    from shoal.release.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class OfGroup(GroupModel):
    """Another model, counted in groups of people: the adversary knows that a row is that of a household, for example,
    and whatever the model counts, it counts households.

    No policy names it: a column with a `group` asks for it, for every rule that depends on whose each row is.
    """

    name: ClassVar[str] = "of-group"
    threat: ClassVar[Threat] = RE_IDENTIFICATION
    summary: ClassVar[str] = "the same guarantee with groups of people in the place of people"
    key: ClassVar[Key] = Key("group", summary)
    usual: ClassVar[Any] = "household"
    monotone: ClassVar[Monotone] = Monotone.NEVER

    rule: GroupModel
    """The model."""
    unit: int
    """Which kind of groups, from 0."""
    unit_name: str
    """What such a group is called."""

    def merges(self, counting: Counting) -> bool:
        """Return whether merging keeps the rule although groups have several rows."""
        return self.rule.monotone is Monotone.ALWAYS

    @property
    def title(self) -> str:
        """Name the model, and what it counts."""
        return f"{self.rule.title}, counted by {self.unit_name}"

    @property
    def threshold(self) -> float:
        """The threshold of the model."""
        return self.rule.threshold

    def _own(self, groups: Groups) -> Groups:
        return groups.units[self.unit]

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return how far each group of rows gets."""
        return self.rule.score_groups(self._own(groups))

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups of rows satisfy the model."""
        return self.rule.holds_in(self._own(groups))

    def hopeless(self, groups: Groups) -> BoolVector:
        """Return the groups of rows without a satisfying subset."""
        return self.rule.hopeless(self._own(groups))

    def keepable(self, groups: Groups) -> LongVector:
        """Return an upper bound on the rows that satisfying subsets can hold."""
        return self.rule.keepable(self._own(groups))

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the worst published class."""
        if evidence.owners.lost and evidence.table is not None and isinstance(self.rule, KAnonymity):
            # How few groups could own the rows may be enough to decide.
            found = self.rule.verify(evidence.by_group(self.unit_name))
            return replace(found, model=self.title, public=False)
        if evidence.owners.lost:
            return self.verdict_unknown(evidence.published, evidence.owners.lost)
        return self.judge(evidence.published, evidence.groups)

    def judge(self, published: Published, groups: Groups) -> Verdict:
        """Judge the worst of the published classes. How many groups a class has does not follow from its rows."""
        found = self.rule.judge(published, self._own(groups))
        return replace(found, model=self.title, public=False)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more groups than the table; without suppression, the whole table must satisfy the model."""
        unit = table.countings[1 + self.unit]
        if isinstance(self.rule, KAnonymity) and self.rule.k > unit.count:
            return (
                f"no release can satisfy {self.title}: {format_count(table.rows, 'row')} of the table belong to "
                f"{unit.count:,} different groups of the kind '{unit.name}'"
            )
        if suppressible > 0 or not self.merges(table.counting):
            return None
        whole = one_class(table)
        if self.holds_in(whole)[0]:
            return None
        return (
            f"no release can satisfy {self.title}: even the whole table as one class reaches only "
            f"{number(float(self.score_groups(whole)[0]))}, but {number(self.threshold)} is required"
        )


def of_groups(models: Sequence[Model], units: Sequence[str]) -> tuple[Model, ...]:
    """Add each rule over classes that depends on whose each row is, once for each kind of groups."""
    rules = [model for model in models if isinstance(model, GroupModel) and model.needs_owners]
    more = (
        OfGroup(rule=rule, unit=index, unit_name=name) for index, name in enumerate(units) for rule in rules
    )
    return (*models, *more)
