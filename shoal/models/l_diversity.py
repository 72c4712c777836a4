"""l-diversity: does a class give its members' sensitive value away? (Machanavajjhala et al. 2007.)

Four readings of "well represented": distinct values, largest share, entropy, recursive (c,l). Nulls are values.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import BoolVector, FloatVector
from shoal.errors import PolicyError, Problem
from shoal.models.base import SensitiveModel, evened, number, one_class
from shoal.release.groups import Groups
from shoal.table import CodedTable


@dataclass(frozen=True, kw_only=True)
class Diversity(SensitiveModel):
    """What the four readings share: nothing with fewer than l values satisfies any of them."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def values_needed(self) -> int:
        """How many values a class needs at the very least."""

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.kind} {number(self.required)}-diversity of {self.column_name}"

    def hopeless(self, groups: Groups) -> BoolVector:
        """Fewer values than needed are no more in any part."""
        return np.asarray(np.diff(self.histograms(groups).start) < self.values_needed)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """The most even part of the table that suppression may leave, as one class, is the best there is."""
        counts = table.sensitive_counts[self.column]
        values = int((counts > 0).sum())
        if values < self.values_needed:
            return (
                f"no release can satisfy {self.title}: it takes {self.values_needed:,} values, "
                f"`{self.column_name}` has {values:,}"
            )
        best = one_class(table, self.column, evened(counts, suppressible))
        if self.satisfied(best)[0]:
            return None
        value = number(float(self.reached(best)[0]))
        reached = f"reaches only {value}" if self.higher_is_safer else f"needs a c above {value}"
        rows = f" without the {suppressible:,} rows that may be suppressed" if suppressible else ""
        return (
            f"no release can satisfy {self.title}: even the whole table as one class{rows} {reached}, "
            f"so common are its most frequent values"
        )


def _whole(model: str, least: int, value: float) -> None:
    if not (value >= least and float(value).is_integer()):
        raise PolicyError(
            [Problem("privacy.l", f"{model} l must be a whole number of at least {least}, not {value}")]
        )


def _above_one(model: str, value: float) -> None:
    if not (value > 1 and np.isfinite(value)):
        raise PolicyError(
            [Problem("privacy.l", f"{model} l must be greater than 1, not {value}", "it may be a fraction")]
        )


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(Diversity):
    """Every class has at least l different values. Monotone: a union has the values of both."""

    name: ClassVar[str] = "distinct-l"
    summary: ClassVar[str] = "whoever finds a person's class still faces at least l sensitive values"
    monotone: ClassVar[bool] = True
    kind: ClassVar[str] = "distinct"

    l: int  # noqa: E741
    """Number of different values."""

    def __post_init__(self) -> None:
        _whole("distinct", 2, self.l)

    @property
    def required(self) -> float:
        """Return l."""
        return self.l

    @property
    def values_needed(self) -> int:
        """Return l."""
        return self.l

    def reached(self, groups: Groups) -> FloatVector:
        """Return the number of different values of each group."""
        return np.diff(self.histograms(groups).start).astype(np.float64)

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return which groups have l values."""
        return np.asarray(np.diff(self.histograms(groups).start) >= self.l)


@dataclass(frozen=True, kw_only=True)
class ProbabilisticDiversity(Diversity):
    """No value has more than 1/l of a class.

    Monotone: the largest count of a union is at most the sum of the two largest counts, so its share is at
    most the larger of the two shares.
    """

    name: ClassVar[str] = "probabilistic-l"
    summary: ClassVar[str] = "whoever guesses the most frequent sensitive value of a class is right once in l"
    monotone: ClassVar[bool] = True
    kind: ClassVar[str] = "probabilistic"

    l: float  # noqa: E741
    """1 over the largest permitted share."""

    def __post_init__(self) -> None:
        _above_one("probabilistic", self.l)

    @property
    def required(self) -> float:
        """Return l."""
        return self.l

    @property
    def values_needed(self) -> int:
        """Shares of at most 1/l need l values to sum to one."""
        return int(np.ceil(self.l - 1e-9))

    def reached(self, groups: Groups) -> FloatVector:
        """Return 1 over the share of each group's most frequent value; 0 for an empty group."""
        from shoal.kernels.diversity import top_counts

        own = self.histograms(groups)
        largest, _ = top_counts(own.start, own.count, 1)
        return np.asarray(groups.size / np.maximum(largest, 1))


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(Diversity):
    """The entropy of every class is at least log l: as uncertain as l equally frequent values.

    Monotone: entropy is concave, and the shares of a union are a weighted mean of those of its parts.
    """

    name: ClassVar[str] = "entropy-l"
    summary: ClassVar[str] = "a class leaves as much doubt about the sensitive value as l equally likely ones"
    monotone: ClassVar[bool] = True
    kind: ClassVar[str] = "entropy"

    l: float  # noqa: E741
    """Exponential of the entropy; need not be a whole number."""

    def __post_init__(self) -> None:
        _above_one("entropy", self.l)

    @property
    def required(self) -> float:
        """Return l."""
        return self.l

    @property
    def values_needed(self) -> int:
        """The entropy of m values is at most log m."""
        return int(np.ceil(self.l - 1e-9))

    def reached(self, groups: Groups) -> FloatVector:
        """Return the exponential of each group's entropy; 0 for an empty group."""
        from shoal.kernels.diversity import group_entropies

        own = self.histograms(groups)
        effective = np.exp(group_entropies(own.start, own.count, groups.size))
        effective[groups.size == 0] = 0.0
        return np.asarray(effective)


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(Diversity):
    """With counts r1 >= r2 >= .. in every class, r1 < c (r_l + r_(l+1) + ..), strictly.

    Monotone: r1 of a union is at most the sum of both r1, and what its l-1 most frequent values leave over
    is at least the sum of what theirs leave over.
    """

    name: ClassVar[str] = "recursive-cl"
    summary: ClassVar[str] = "even after ruling out l-2 values, the most frequent one is not c times the rest"
    monotone: ClassVar[bool] = True
    higher_is_safer: ClassVar[bool] = False
    kind: ClassVar[str] = "recursive"

    c: float
    """How many times the rest the most frequent value must stay below."""
    l: int  # noqa: E741
    """From which rank on the values count as the rest."""

    def __post_init__(self) -> None:
        _whole("recursive", 2, self.l)
        if not (self.c > 0 and np.isfinite(self.c)):
            raise PolicyError([Problem("privacy.l", f"recursive c must be greater than 0, not {self.c}")])

    @property
    def required(self) -> float:
        """Return c."""
        return self.c

    @property
    def values_needed(self) -> int:
        """With fewer than l values there is no rest."""
        return self.l

    @property
    def title(self) -> str:
        """Name the model."""
        return f"recursive ({number(self.c)}, {self.l})-diversity of {self.column_name}"

    def reached(self, groups: Groups) -> FloatVector:
        """Return the c that each group must stay below: r1 / (r_l + ..); infinite with fewer than l values."""
        from shoal.kernels.diversity import top_counts

        own = self.histograms(groups)
        largest, top = top_counts(own.start, own.count, self.l - 1)
        rest = groups.size - top
        return np.where(rest > 0, largest / np.maximum(rest, 1), np.inf)

    def satisfied(self, groups: Groups) -> BoolVector:
        """Return which groups stay below c. A quotient of counts is rounded once, as c is: nothing to forgive."""
        return np.asarray(self.reached(groups) < self.c)
