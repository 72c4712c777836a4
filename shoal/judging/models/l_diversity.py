"""l-diversity: does a class reveal its members' sensitive value? (Machanavajjhala et al. 2007.)

Four readings of "well represented": distinct values, largest share, entropy, recursive (c,l). Nulls are values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import Monotone, SensitiveModel, Spreading
from shoal.judging.models.whole_table import flatten_histogram, one_class
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups

L = Key(
    "l",
    "l-diversity: every class shows several sensitive values; some rules limit how often each",
    "distinct",
)


def one_less(value: Any) -> Any:
    """Return one less, or None if fewer than two would be left."""
    return value - 1 if value > 2 else None


@dataclass(frozen=True, kw_only=True)
class Diversity(SensitiveModel):
    """What the four variants share: a class with fewer than l values satisfies none of them."""

    key: ClassVar[Key] = L
    usual: ClassVar[Any] = 3
    public: ClassVar[Any] = "always"
    kind: ClassVar[str]

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Ask for one value less."""
        return one_less(value)

    @property
    @abstractmethod
    def values_needed(self) -> int:
        """The smallest number of values in a class."""

    @property
    def spread(self) -> Spreading:
        """As many values as a class needs."""
        return Spreading(self.values_needed, self.column, self.column_name)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.kind} {number(self.threshold)}-diversity of {self.column_name}"

    def hopeless(self, groups: Groups) -> BoolVector:
        """No subset has more values."""
        return np.asarray(np.diff(self.histograms(groups).start) < self.values_needed)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """The best possible class is the most even subset of the table that suppression can leave."""
        counts = table.sensitive_counts[self.column]
        values = int((counts > 0).sum())
        if values < self.values_needed:
            return (
                f"no release can satisfy {self.title}: it needs {self.values_needed:,} values, but "
                f"`{self.column_name}` has {values:,}"
            )
        if not table.counting.adds_up:
            return None  # Suppressing some rows of a person may leave their other values, so evening proves nothing.
        best = one_class(table, self.column, flatten_histogram(counts, suppressible))
        if self.holds_in(best)[0]:
            return None
        value = number(float(self.score_groups(best)[0]))
        reached = f"reaches only {value}" if self.higher_is_safer else f"needs a c above {value}"
        rows = f" without the {suppressible:,} rows that may be suppressed" if suppressible else ""
        return (
            f"no release can satisfy {self.title}: even the whole table as one class{rows} {reached}, "
            f"because its most frequent values are too common"
        )


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(Diversity):
    """Every class has at least l different values. Monotone: a union has the values of both."""

    name: ClassVar[str] = "distinct-l"
    summary: ClassVar[str] = (
        "an adversary who finds a person's class sees at least l different sensitive values"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"distinct": {}}
    over_time: ClassVar[bool] = True
    monotone: ClassVar[Monotone] = Monotone.ALWAYS
    needs_owners: ClassVar[bool] = False
    kind: ClassVar[str] = "distinct"

    l: Annotated[int, Bounds(ge=2)]  # noqa: E741
    """Smallest allowed number of distinct values."""

    @property
    def values_needed(self) -> int:
        """Return l."""
        return self.l

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the number of different values of each group."""
        return np.diff(self.histograms(groups).start).astype(np.float64)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups have l values."""
        return np.asarray(np.diff(self.histograms(groups).start) >= self.l)


@dataclass(frozen=True, kw_only=True)
class ProbabilisticDiversity(Diversity):
    """No value has more than 1/l of a class.

    Monotone: the largest count of a union is at most the sum of the two largest counts, so its share is at
    most the larger of the two shares.
    """

    name: ClassVar[str] = "probabilistic-l"
    summary: ClassVar[str] = (
        "guessing a person's sensitive value from their class succeeds with a probability of at most 1/l"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"probabilistic": {}}
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    kind: ClassVar[str] = "probabilistic"

    l: Annotated[float, Bounds(gt=1)]  # noqa: E741
    """1 over the largest allowed share of a value."""

    @property
    def belief(self) -> float:
        """A guess from a class is right with probability 1/l at most."""
        return 1.0 / self.l

    @property
    def values_needed(self) -> int:
        """Shares of at most 1/l need l values to sum to one."""
        return int(np.ceil(self.l - 1e-9))

    def score_groups(self, groups: Groups) -> FloatVector:
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
    summary: ClassVar[str] = "the sensitive values of a class are as uncertain as l equally likely ones"
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"entropy": {}}
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    kind: ClassVar[str] = "entropy"

    l: Annotated[float, Bounds(gt=1)]  # noqa: E741
    """The entropy of the values is at least log(l)."""

    @property
    def values_needed(self) -> int:
        """The entropy of m values is at most log m."""
        return int(np.ceil(self.l - 1e-9))

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the exponential of each group's entropy; 0 for an empty group."""
        from shoal.kernels.diversity import group_entropies

        own = self.histograms(groups)
        effective = np.exp(group_entropies(own.start, own.count, groups.mass(self.column)))
        effective[groups.size == 0] = 0.0
        return np.asarray(effective)


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(Diversity):
    """With counts r1 >= r2 >= .. in every class, r1 < c (r_l + r_(l+1) + ..), strictly.

    Monotone: r1 of a union is at most the sum of both r1, and what its l-1 most frequent values leave over
    is at least the sum of what theirs leave over.
    """

    name: ClassVar[str] = "recursive-cl"
    summary: ClassVar[str] = (
        "even with l-2 values ruled out, the most frequent one is less than c times as frequent as the rest"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"recursive": {}}
    usual: ClassVar[Any] = (3.0, 3)
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    higher_is_safer: ClassVar[bool] = False
    kind: ClassVar[str] = "recursive"

    c: Annotated[float, Bounds(gt=0)]
    """How many times the rest the most frequent value must stay below."""
    l: Annotated[int, Bounds(ge=2)]  # noqa: E741
    """From which rank on the values count as the rest."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Count from one rank less."""
        c, l = value  # noqa: E741
        return (c, l - 1) if l > 2 else None

    @property
    def values_needed(self) -> int:
        """With fewer than l values there is no rest."""
        return self.l

    @property
    def spread(self) -> Spreading:
        """With m values in equal numbers, r1 < c (r_l + ..) is 1 < c (m - l + 1)."""
        return Spreading(self.l + int(1 / self.c + 1e-9), self.column, self.column_name)

    @property
    def title(self) -> str:
        """Name the model."""
        return f"recursive ({number(self.c)}, {self.l})-diversity of {self.column_name}"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the c that each group must stay below: r1 / (r_l + ..); infinite with fewer than l values."""
        from shoal.kernels.diversity import top_counts

        own = self.histograms(groups)
        largest, top = top_counts(own.start, own.count, self.l - 1)
        rest = groups.mass(self.column) - top
        return np.where(rest > 0, largest / np.maximum(rest, 1), np.inf)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups stay below c. A quotient of counts is rounded once, as c is, so it needs no tolerance."""
        return np.asarray(self.score_groups(groups) < self.c)
