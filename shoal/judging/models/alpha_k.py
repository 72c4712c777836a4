"""(alpha,k)-anonymity: can a sensitive value be inferred with confidence? (Wong et al. 2006.)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import STEP, Monotone, SensitiveModel, Spreading
from shoal.judging.models.whole_table import flatten_histogram, one_class
from shoal.support.arrays import BoolVector, FloatVector
from shoal.support.wording import number

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.coding.groups import Groups
    from shoal.coding.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class AlphaK(SensitiveModel):
    """Every class has at least k rows, and no sensitive value has more than the share alpha of them.

    Monotone: the share of a value in a union lies between its shares in the two classes.
    """

    name: ClassVar[str] = "alpha-k"
    summary: ClassVar[str] = "no sensitive value can be inferred with a confidence above alpha"
    key: ClassVar[Key] = Key("alpha", "(alpha,k)-anonymity: no sensitive value has a larger share of a class")
    usual: ClassVar[Any] = 0.5
    public: ClassVar[Any] = "always"
    monotone: ClassVar[Monotone] = Monotone.OVER_ROWS
    higher_is_safer: ClassVar[bool] = False

    alpha: Annotated[float, Bounds(gt=0, le=1)]
    """Largest allowed share of a sensitive value in a class."""
    k: Annotated[int, Bounds(ge=1)] = 1
    """Smallest allowed class; 1 leaves that to k-anonymity."""
    values: tuple[str, ...] = ()
    """The sensitive values to protect; without any, all of them."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Allow half as much again."""
        return value * STEP if value * STEP < 1 else None

    @property
    def belief(self) -> float:
        """A guess from a class is right with probability alpha at most."""
        return self.alpha

    @property
    def title(self) -> str:
        """Name the model."""
        k = self.k if self.k > 1 else "k"
        return f"({number(self.alpha)}, {k})-anonymity of {self.column_name}"

    def score_groups(self, groups: Groups) -> FloatVector:
        """Return the largest share of a protected value in each group; infinite for an empty group."""
        from shoal.kernels.diversity import top_counts

        own = self.histograms(groups)
        count = own.count
        if self.values:
            protected = _find_protected_codes(groups.attributes[self.column].hierarchy, self.values)
            count = np.where(protected[own.value], count, 0)
        largest, _ = top_counts(own.start, count, 1)
        return np.where(groups.size > 0, largest / np.maximum(groups.size, 1), np.inf)

    def holds_in(self, groups: Groups) -> BoolVector:
        """Return which groups have k rows and no share above alpha."""
        return np.asarray((self.score_groups(groups) <= self.alpha + 1e-9) & (groups.size >= self.k))

    def hopeless(self, groups: Groups) -> BoolVector:
        """A group that is too small, or that has too few values for all of them to have small shares."""
        few = np.diff(self.histograms(groups).start) < self.values_needed
        return np.asarray((groups.size < self.k) | few)

    def find_protected_codes(self, hierarchy: Hierarchy) -> BoolVector:
        """Return which codes of the column alpha applies to."""
        return (
            _find_protected_codes(hierarchy, self.values)
            if self.values
            else np.ones(hierarchy.size, np.bool_)
        )

    @property
    def values_needed(self) -> int:
        """The smallest number of values in a class; 1 if only some values are protected."""
        if self.values:
            return 1
        return int(np.ceil(1 / self.alpha - 1e-9))

    @property
    def spread(self) -> Spreading:
        """Shares of at most alpha."""
        return Spreading(int(np.ceil(1 / self.alpha - 1e-9)), self.column, self.column_name)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """The whole table as one class, without the suppressible rows of frequent values, is the best release."""
        if self.k > table.counting.count:
            return f"no release can satisfy {self.title}: the table has {table.rows:,} rows{table.counting.suffix}"
        counts = table.sensitive_counts[self.column]
        values = int((counts > 0).sum())
        if values < self.values_needed:
            return (
                f"no release can satisfy {self.title}: it needs {self.values_needed:,} values, but "
                f"`{self.column_name}` has {values:,}"
            )
        if not table.counting.adds_up:
            return None  # Suppressing some rows of a person may leave their other values, so evening proves nothing.
        protected = counts
        if self.values:
            names = _find_protected_codes(table.sensitive[self.column].hierarchy, self.values)
            protected = np.where(names, counts, 0)
        if suppressible >= int(protected.sum()):
            return None
        best = one_class(table, self.column, counts - protected + flatten_histogram(protected, suppressible))
        if self.score_groups(best)[0] <= self.alpha + 1e-9:
            return None
        share = number(float(self.score_groups(one_class(table))[0]))
        rows = f", and suppressing {suppressible:,} rows is not enough" if suppressible else ""
        return (
            f"no release can satisfy {self.title}: a value of `{self.column_name}` has a share of {share} in "
            f"the whole table{rows}"
        )


@lru_cache(maxsize=16)
def _find_protected_codes(hierarchy: Hierarchy, values: tuple[str, ...]) -> BoolVector:
    """Return which codes are among the values. Hierarchies are compared by identity."""
    names = hierarchy.levels[0].names
    known = set(names.drop_nulls())
    unknown = [value for value in values if value not in known]
    if unknown:
        problems = [
            Problem("privacy.alpha", f"no sensitive value is called '{value}'", did_you_mean(value, known))
            for value in unknown
        ]
        raise PolicyError(problems)
    return np.asarray(names.is_in(list(values)).fill_null(False).to_numpy())
