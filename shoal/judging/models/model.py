"""What a privacy model is: a rule over published rows, and if possible over candidate groups."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from shoal.errors import PolicyError, Problem
from shoal.judging.models.keys import Key, bounds, parameters
from shoal.judging.models.ratios import exact
from shoal.judging.models.threats import ATTRIBUTE_DISCLOSURE, Threat
from shoal.judging.models.whole_table import one_class
from shoal.release.results import plain
from shoal.release.verdict import Verdict
from shoal.support.arrays import BoolVector, FloatVector, LongVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.counting import Counting
    from shoal.coding.groups import Groups, Histograms
    from shoal.judging.linking.evidence import Evidence
    from shoal.judging.models.known_columns import KeySets
    from shoal.judging.models.overall import Overall
    from shoal.release.published import Published

AskedIn = Literal["privacy", "columns", "keys", ""]
Readings = Literal["worst", "all", "any"]
STEP = 1.5
"""The factor by which a relaxed share or distance grows."""


class Model(ABC):
    """A privacy model. Concrete models are frozen, keyword-only dataclasses registered in models/__init__.py.

    The class says all that others need to know: how a policy asks for the model, what it means, which adversary it is
    about, and whether the public may learn how far a release gets.
    """

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: what it guarantees, as the release card says it."""
    key: ClassVar[Key]
    """The key of `[privacy]` that asks for it."""
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """The words in the key's table that ask for it, each with the fields that it sets; none: the key takes the
    parameter itself."""
    options: ClassVar[Mapping[str, str]] = {}
    """Further words in the key's table, each with what it means: fields of this name, which have defaults."""
    about_classes: ClassVar[bool] = False
    """It is about equivalence classes of the published rows and counts the people in them, or those of a population
    behind them; not about which people match which rows."""
    by_cells: ClassVar[bool] = False
    """It is about whom the cells of a row lead to, so it says nothing about rows whose cells were shuffled."""
    asked_in: ClassVar[AskedIn] = "privacy"
    """The section with the key that asks for it. ``columns``: column by column; the hierarchies keep methods within it,
    so they never see it, and releases are verified against it like against all others. ``keys``: k of the section is
    about the sets of columns of `[privacy.keys]`. Empty: no policy asks for it directly, it replaces another model, see
    `instead_of`."""
    usual: ClassVar[Any]
    """A usual value, for examples in messages."""
    about: ClassVar[str] = ""
    """The adversary that a policy with this model is about."""
    threat: ClassVar[Threat] = ATTRIBUTE_DISCLOSURE
    """What it protects people from; empty: none of these."""
    weakest: ClassVar[bool] = False
    """The weakest model that is known to stop that adversary: required if a policy names them."""
    public: ClassVar[Literal["never", "complete", "always"]] = "never"
    """Whether the public may learn how far a release gets: ``always``, where that follows from the published rows;
    ``complete``, where it compares each class with the whole table, so that suppressed rows matter; ``never``, so that
    only the threshold is told."""
    higher_is_safer: ClassVar[bool] = True
    readings: ClassVar[Readings] = "worst"
    """By which readings it judges a release that may have been made in several ways. ``worst``: by the worst of those
    that Shoal lists; ``all``: an adversary who knows more may find a release safer by it, so a reading that shows more
    does not stand for the others, and all must be listed; ``any``: it judges the text of the cells, which all share."""
    over_time: ClassVar[bool] = False
    """It asks how many people or values are possible, so it has a meaning for several releases together. How likely a
    value is after several releases depends on what an adversary believed before, so rules about shares have none."""
    needs_order: ClassVar[bool] = False
    """The values of the sensitive column must stand in an order: see `Hierarchy.in_order`."""

    def __post_init__(self) -> None:
        """Check every bounded field."""
        problems = []
        for name, (kind, limits) in bounds(type(self)).items():
            value = getattr(self, name)
            broken = limits.broken(value, kind)
            if broken:
                key = self.key.name if name in parameters(type(self)) else name
                usual = f"{self.usual} is a usual choice"
                problems.append(Problem(f"privacy.{key}", f"{broken}, not {value}", usual))
        if problems:
            raise PolicyError(problems)

    @classmethod
    def from_policy(cls, value: Any, rule: str = "", **place: Any) -> Model:
        """Return the model that a value in a policy asks for, under one of its rules and about one column."""
        names = parameters(cls)
        values = value if len(names) > 1 else (value,)
        given = {**dict(zip(names, values, strict=True)), **place}
        for name, (kind, _) in bounds(cls).items():
            if kind is Fraction and name in given:
                given[name] = exact(given[name])
        return cls(**given, **cls.rules.get(rule, {}))

    @classmethod
    def of_column(cls, name: str, column: Any) -> Model | None:
        """Return the model that a column of a policy asks for, or None. Only called where columns ask for it."""
        value = getattr(column, cls.key.name)
        return None if value is None else cls.from_policy(value, column_name=name)

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Return the next weaker value in a policy, or None if the only weaker one is to drop the requirement."""
        return None

    @classmethod
    def in_words(cls, value: Any) -> str:
        """Say what a value in a policy means, if the number itself does not."""
        return ""

    @classmethod
    def instead_of(
        cls, model: Model, notions: tuple[Model, ...], protected: Mapping[str, tuple[str, ...]]
    ) -> Model | None:
        """Return the model that takes the place of another one under the policy's notion of k and the protected
        nodes of each column, or None. By default, it takes the place of none.
        """
        return None

    @property
    def known_sets(self) -> KeySets | None:
        """The sets of quasi-identifiers of which its adversary knows one; None: they know all."""
        return None

    @property
    def belief(self) -> float:
        """The largest probability of a sensitive value that it lets an adversary reach; 1: any."""
        return 1.0

    @property
    def gain_allowed(self) -> float:
        """By how much it lets the probability of a sensitive value rise above its share in the table; 1: by any amount
        that satisfies it."""
        return 0.0

    @property
    def values_needed(self) -> int:
        """The smallest number of different values of its column in a class."""
        return 1

    @property
    def belief_of_choice(self) -> float:
        """The same if the adversary also learns from which release the method chose; 1: any."""
        return 1.0

    @classmethod
    def describe_guarantee(cls, *, several: bool, followed: bool) -> str:
        """Describe the guarantee in one line; `several` rows of a person, or `followed` ones, may change the words."""
        return cls.summary

    def meaning(self, *, several: bool, followed: bool) -> str:
        """Describe the guarantee with its own numbers."""
        words = self.describe_guarantee(several=several, followed=followed)
        for name in parameters(type(self)):
            value = number(plain(getattr(self, name)))
            words = re.sub(rf"(?<![\w-]){name}(?![\w-])", value.replace("\\", ""), words)
        return words

    @property
    def by_classes(self) -> GroupModel | None:
        """A rule over single classes that is enough for the model, so that searches by classes can serve it."""
        return None

    def needs_population(self) -> bool:
        """Return whether it is about everybody who could be in the table, so that a policy must name or count them."""
        return False

    def in_table(self, table: CodedTable) -> Model | None:
        """Return the model as searches in this table take it; None if every release of it satisfies the model."""
        return self

    def overall(self, table: CodedTable) -> Overall | None:
        """Return its rule over all classes together, if it has one: then no single class satisfies or fails it."""
        return None

    @property
    @abstractmethod
    def title(self) -> str:
        """Name and parameters as a person reads them."""

    @property
    def threshold(self) -> Any:
        """The first parameter, which `score_groups` is compared with."""
        return getattr(self, parameters(type(self))[0])

    @abstractmethod
    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the published rows."""

    def verdict_unknown(self, published: Published, why: str) -> Verdict:
        """Return the verdict that the model could not be checked, with the reason."""
        return self.verdict(published, None, None, f"could not be checked: {why}")

    def verdict(self, published: Published, reached: Any, holds: bool | None, detail: str = "") -> Verdict:
        """Return a verdict that knows what of it is public."""
        told = self.public == "always" or (self.public == "complete" and not published.suppressed)
        return Verdict(self.title, self.threshold, reached, holds, detail, told, self.higher_is_safer)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Return why no release of this table can satisfy the model, even if `suppressible` rows are suppressed, or
        None if no reason is known. Called before any work starts.
        """
        return None


@dataclass(frozen=True)
class Spreading:
    """In every group, no value of a sensitive column may have more than 1/l of the rows."""

    l: int  # noqa: E741
    column: int
    column_name: str


class Monotone(Enum):
    """Whether merging two groups that satisfy a rule always gives one that satisfies it."""

    NEVER = "not in general"
    OVER_ROWS = "if each row is a person"
    """Not for rules about shares: somebody with rows in both groups counts once in their union, so shares of a union do
    not lie between those of the groups."""
    ALWAYS = "also if people have several rows"


class GroupModel(Model):
    """A model that holds if every class by itself satisfies a rule. An empty group satisfies none."""

    about_classes: ClassVar[bool] = True
    monotone: ClassVar[Monotone]
    """Whether merging two groups that satisfy the rule always gives one that satisfies it."""

    needs_owners: ClassVar[bool] = True
    """Where people have several rows, it depends on whose each row of a class is; not if it only asks which values
    occur."""

    def merges(self, counting: Counting) -> bool:
        """Return whether merging satisfying groups always gives a satisfying group, if they are counted like this."""
        return self.monotone is Monotone.ALWAYS or (self.monotone is Monotone.OVER_ROWS and counting.adds_up)

    @property
    def by_classes(self) -> GroupModel | None:
        """The model itself."""
        return self

    @property
    def spread(self) -> Spreading | None:
        """Sensitive values in equal numbers that satisfy it; None if it is not known how many it takes."""
        return None

    @property
    def threshold(self) -> float:
        """The first parameter, which `score_groups` is compared with."""
        found: float = super().threshold
        return found

    @abstractmethod
    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the score of each group, in the unit of `threshold`."""

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups satisfy the rule. The tolerance for rounding errors of sums is 1e-9."""
        reached = self.score_groups(groups)
        if self.higher_is_safer:
            return np.asarray(reached >= self.threshold - 1e-9)
        return np.asarray(reached <= self.threshold + 1e-9)

    def hopeless(self, groups: Groups) -> BoolVector:
        """Return the groups that have no satisfying subset, so that all their rows must be suppressed.

        Sound, but may miss some.
        """
        return np.zeros(len(groups), np.bool_)

    def keepable(self, groups: Groups) -> LongVector:
        """Return an upper bound on the rows of each group that satisfying subsets can hold together, however the
        group is split. The tighter the bound, the earlier a search with suppression can prune.
        """
        return np.where(self.hopeless(groups), 0, groups.rows)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the worst published class."""
        unknown = evidence.owners.unknown
        # If rows can be followed, classes are people who show the same rows, and nobody knows these then.
        if unknown and (self.needs_owners or evidence.persons.followed):
            return self.verdict_unknown(evidence.published, unknown)
        found = self.judge(evidence.published, evidence.groups)
        # How many people a class has does not follow from the published rows, unless they can be followed.
        hidden = evidence.owners.person is not None and not evidence.persons.followed
        return replace(found, public=False) if hidden else found

    def judge(self, published: Published, groups: Groups) -> Verdict:
        """Judge the worst of the published classes."""
        if len(groups) == 0:
            return self.verdict(published, None, True, "nothing is published")
        reached = self.score_groups(groups)
        worst = float(reached.min() if self.higher_is_safer else reached.max())
        return self.judge_summary(published, worst, int((~self.holds_in(groups)).sum()), len(groups))

    def judge_summary(self, published: Published, worst: float, failing: int, classes: int) -> Verdict:
        """Return a verdict from the score of the worst class and the number of classes that fall short."""
        detail = f"{failing:,} of {classes:,} classes fall short" if failing else ""
        return self.verdict(published, plain(worst), failing == 0, detail)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Without suppression, the whole table as one class is the best release for a monotone rule."""
        if suppressible > 0 or not self.merges(table.counting):
            return None
        whole = one_class(table)
        if self.holds_in(whole)[0]:
            return None
        reached = number(float(self.score_groups(whole)[0]))
        return (
            f"no release can satisfy {self.title}: even the whole table as one class reaches only {reached}, but "
            f"{number(self.threshold)} is required"
        )


@dataclass(frozen=True, kw_only=True)
class SensitiveModel(GroupModel):
    """A rule about the values that one sensitive column takes in each class."""

    column: int
    """Which of the sensitive columns, from 0."""
    column_name: str
    """Its name."""
    needs_hierarchy: ClassVar[bool] = False
    """The column needs a hierarchy."""

    def histograms(self, groups: Groups) -> Histograms:
        """Return the values of the column in each group."""
        return groups.sensitive[self.column]

    def lifts(self, groups: Groups) -> FloatVector:
        """Return, for each value of each group, its share in the group over its share in the whole table.

        Counts are multiplied before they are divided, so that a quotient is rounded once.
        """
        own, totals = self.histograms(groups), groups.totals[self.column]
        size = np.repeat(groups.size, np.diff(own.start))
        with np.errstate(divide="ignore"):
            return np.asarray(own.count * groups.everybody(self.column) / (size * totals[own.value]))

    def combine_values(
        self, groups: Groups, combine: np.ufunc, each: FloatVector, empty: float
    ) -> FloatVector:
        """Reduce the numbers of each group's values with `np.maximum` or `np.add`; `empty` for empty groups."""
        start = self.histograms(groups).start
        found = np.full(len(groups), empty, np.float64)
        filled = np.diff(start) > 0
        if filled.any():
            found[filled] = combine.reduceat(each, start[:-1][filled])
        return found
