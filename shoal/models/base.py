"""What a privacy model is: a rule over published rows, and where possible over candidate groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector, LongVector
from shoal.linking.evidence import Evidence
from shoal.release.groups import Groups, Histograms
from shoal.release.verdict import Verdict
from shoal.table import CodedTable


class Model(ABC):
    """A privacy model. Concrete models are frozen, keyword-only dataclasses registered in models/__init__.py."""

    name: ClassVar[str]
    """The key in the registry."""
    summary: ClassVar[str]
    """One line: the adversary it stops."""
    needs_original: ClassVar[bool] = False

    @property
    def by_classes(self) -> GroupModel | None:
        """A rule over single classes that is enough for the model, so that searches by classes can serve it."""
        return None

    @abstractmethod
    def verify(self, evidence: Evidence) -> Verdict:
        """Judge what is published."""

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Say why no release of this table can satisfy the model though so many rows may be suppressed, or
        None where nothing is known against it. Called before any work starts.
        """
        return None


class GroupModel(Model):
    """A model that holds when every class satisfies a rule of its own. An empty group satisfies none."""

    monotone: ClassVar[bool]
    """Merging two groups that satisfy the rule always gives a group that satisfies it."""
    higher_is_safer: ClassVar[bool] = True

    @property
    def by_classes(self) -> GroupModel:
        """The model itself."""
        return self

    @property
    @abstractmethod
    def required(self) -> float:
        """The threshold that `reached` is held against."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Name and parameters as a person reads them."""

    @abstractmethod
    def reached(self, groups: Groups) -> FloatVector:
        """Return how far each group gets, in the unit of `required`."""

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return which groups satisfy the rule. Only rounding errors of sums are forgiven (1e-9)."""
        reached = self.reached(groups)
        if self.higher_is_safer:
            return np.asarray(reached >= self.required - 1e-9)
        return np.asarray(reached <= self.required + 1e-9)

    def hopeless(self, groups: Groups) -> BoolVector:
        """Return groups of which no part satisfies the rule either: all their rows would have to go.

        Never says so wrongly; may miss some.
        """
        return np.zeros(len(groups), np.bool_)

    def keepable(self, groups: Groups) -> LongVector:
        """Return at most how many rows of each group its satisfying parts can hold together, however it is
        divided. Never too few; the fewer, the earlier a search with suppression gives up what cannot win.
        """
        return np.where(self.hopeless(groups), 0, groups.size)

    def verify(self, evidence: Evidence) -> Verdict:
        """Judge the worst class of what is published."""
        return self.judge(evidence.groups)

    def judge(self, groups: Groups) -> Verdict:
        """Judge the worst of the published classes."""
        if len(groups) == 0:
            return Verdict(self.title, self.required, None, True, "nothing is published")
        reached = self.reached(groups)
        worst = float(reached.min() if self.higher_is_safer else reached.max())
        failing = int((~self.satisfied(groups)).sum())
        detail = f"{failing:,} of {len(groups):,} classes fall short" if failing else ""
        return Verdict(self.title, self.required, plain(worst), failing == 0, detail)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """Where no row may go and the rule is monotone, the whole table as one class is the best there is."""
        if suppressible > 0 or not self.monotone:
            return None
        whole = one_class(table)
        if self.satisfied(whole)[0]:
            return None
        reached = number(float(self.reached(whole)[0]))
        return (
            f"no release can satisfy {self.title}: even the whole table as one class reaches only {reached}, "
            f"{number(self.required)} is required"
        )


@dataclass(frozen=True, kw_only=True)
class SensitiveModel(GroupModel):
    """A rule about the values that one sensitive column takes in each class."""

    column: int
    """Which of the sensitive columns, from 0."""
    column_name: str
    """Its name, for people."""

    def histograms(self, groups: Groups) -> Histograms:
        """Return the values of the column in each group."""
        return groups.sensitive[self.column]


def one_class(table: CodedTable, column: int = 0, counts: LongVector | None = None) -> Groups:
    """Return the whole table as one group; with `counts`, what is left of it as one column sees it."""
    columns = list(table.sensitive_counts)
    if counts is not None:
        columns[column] = counts
    codes = [np.flatnonzero(column) for column in columns]
    histograms = tuple(
        Histograms(np.array([0, len(own)], np.int64), own.astype(np.int32), column[own])
        for own, column in zip(codes, columns, strict=True)
    )
    size = table.rows if counts is None else int(counts.sum())
    return Groups(np.array([size], np.int64), histograms, table.sensitive_counts, table.sensitive)


def evened(counts: LongVector, drop: int) -> LongVector:
    """Cut off the peaks of a histogram: no choice of at most `drop` rows to leave out evens it out more.

    Cuts at the highest level that costs at least `drop` rows, but never a value altogether. For a given
    number of rows, cutting peaks gives shares that those of every other choice majorize, and cutting deeper
    evens them out further; so this bounds every rule that rewards evenness. O(values x log rows).
    """
    low, high = 1, max(int(counts.max(initial=1)), 1)
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.maximum(counts - middle, 0).sum()) >= drop:
            low = middle
        else:
            high = middle - 1
    return np.minimum(counts, low)


def plain(value: float) -> float | None:
    """Return a number as a verdict shows it: counts as integers, and None for what no number expresses."""
    if not np.isfinite(value):
        return None
    return int(value) if value.is_integer() else value


def number(value: float) -> str:
    """Write a number for a message: 3, 0.3333, 1,234."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.4g}"
