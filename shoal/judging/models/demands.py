"""What requirements ask of the sensitive values of a class, as labels to count, and which p is possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.models.alpha_k import AlphaK
from shoal.judging.models.extended_p import ExtendedPSensitive
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.l_diversity import DistinctDiversity
from shoal.judging.models.model import Model
from shoal.judging.models.p_sensitive import PSensitive
from shoal.judging.models.requirements import Requirements
from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief


@dataclass(frozen=True, eq=False, repr=False)
class Demand(Brief):
    """A number of distinct labels in every class, and optionally a largest share per label."""

    column: str
    """The name of the sensitive column."""
    label_of: IntVector
    """Row -> label; rows with one label count as one value."""
    p: int
    """How many different labels a class needs."""
    alpha: float = 2.0
    """Largest allowed share of a label; above 1, any share."""
    capped: BoolVector | None = None
    """The labels to which alpha applies; None for all."""


@dataclass(frozen=True, eq=False)
class Demands:
    """All demands on a table together."""

    k: int
    """The size that a class needs."""
    each: tuple[Demand, ...]
    complete: bool
    """There is no other model: a class that meets the demands meets the requirements."""

    def bound(self, counts: Sequence[LongVector], size: int) -> int:
        """Return how many classes of this size there can be among rows with such counts of labels, per demand."""
        return min(
            most_sensitive_classes([own], demand.p, size).classes
            for own, demand in zip(counts, self.each, strict=True)
        )

    def size(self, counts: Sequence[LongVector], shares: Sequence[FloatVector]) -> int:
        """Return the least number of rows, from k on, with which a class can respect all shares.

        With a share of 0.4, no two of 4 rows may have one label: such a class needs five rows, or four labels.
        """
        size = self.k
        rows = int(counts[0].sum())
        while size < rows:
            most = [np.floor(np.minimum(share, 1.0) * size + 1e-9) for share in shares]
            if all(own.min(initial=1) >= 1 and own.sum() >= size for own in most):
                break
            size += 1
        return size


def demands_of(table: CodedTable, requirements: Requirements) -> Demands:
    """Translate requirements: k, p-sensitivity plain and extended, distinct l-diversity, (alpha,k).

    Without any requirement for sensitive values, there is one demand that every class meets.
    """
    k, complete = max(requirements.k, 1), True
    each: list[Demand] = []
    for model in requirements.models:
        if isinstance(model, AlphaK):
            k = max(k, model.k)
        found = _demands(table, model)
        each += found
        complete &= bool(found) or isinstance(model, KAnonymity)
    if not each:
        each.append(Demand("", np.zeros(table.rows, np.int32), 1))
    return Demands(k, tuple(each), complete)


def _demands(table: CodedTable, model: Model) -> list[Demand]:
    def own(column: int) -> tuple[str, IntVector]:
        return table.sensitive[column].name, table.secrets.wide[:, column]

    if isinstance(model, PSensitive):
        columns = range(len(table.sensitive)) if model.column is None else [model.column]
        return [Demand(*own(column), model.p) for column in columns]
    if isinstance(model, ExtendedPSensitive):
        name, codes = own(model.column)
        return [Demand(name, model.strong(table.sensitive[model.column].hierarchy)[codes], model.p)]
    if isinstance(model, DistinctDiversity):
        return [Demand(*own(model.column), model.l)]
    if isinstance(model, AlphaK):
        capped = model.find_protected_codes(table.sensitive[model.column].hierarchy)
        return [Demand(*own(model.column), model.values_needed, model.alpha, capped)]
    return []


@dataclass(frozen=True)
class Outlook:
    """How many classes the sensitive values allow, and how many distinct values a class can have."""

    p: int
    """The largest required p."""
    k: int
    classes: int
    """No release without suppression has more classes."""
    by_rows: int
    """How many classes k alone would allow."""
    hardest: str
    """The column that is hardest to make sensitive."""
    rarer: int
    """How many of the p values of a class come from the rarer values of that column if the bound is reached."""
    largest_p: int
    """No release has more distinct values in every class."""
    classes_then: int
    """The most classes with that many values."""

    def __str__(self) -> str:
        if self.classes == 0:
            return f"p = {self.p} is impossible, the largest possible p is {self.largest_p:,}{self._then}"
        if self.classes < self.by_rows:
            why = (
                f"sensitive values limit it: k = {self.k} alone would allow {self.by_rows:,}. `{self.hardest}` is the "
                f"hardest column to make sensitive"
            )
            if self.rarer:
                why += f": each class takes {self.rarer:,} of its values from the rarer ones"
        else:
            why = f"k = {self.k} limits it, not sensitive values"
        text = f"p = {self.p} allows {_classes(self.classes)}; {why}"
        return f"{text}. The largest possible p is {self.largest_p:,}{self._then}"

    @property
    def _then(self) -> str:
        return f", with {_classes(self.classes_then)}" if self.classes_then else ""


def _classes(count: int) -> str:
    return "a single class" if count == 1 else f"at most {count:,} classes"


def outlook(table: CodedTable, requirements: Requirements) -> Outlook | None:
    """Return which p is possible in a table, before any work starts; None if the policy has no p, l or alpha.

    Generalization limits count: the classes of all blocks are summed, and blocks with fewer values than p are left
    out as far as suppression allows it. O(rows + blocks x values log values).
    """
    demands = demands_of(table, requirements)
    if not demands.each[0].column:
        return None
    counts = _counts(table, demands)
    blocks = len(counts[0])
    sizes = np.array([own.sum() for own in counts[0]])
    fewest = np.min([[len(own) for own in column] for column in counts], axis=0)
    order = np.argsort(fewest, kind="stable")
    below = np.cumsum(sizes[order])
    spared = int(np.searchsorted(below, requirements.suppressible(table.rows), side="right"))
    largest = int(fewest[order[min(spared, blocks - 1)]])

    def most(d: int, block: int, p: int) -> int:
        return most_sensitive_classes([counts[d][block]], p, demands.k).classes

    asked = [demand.p for demand in demands.each]
    every = range(len(asked))
    by_column = [sum(most(d, b, asked[d]) for b in range(blocks)) for d in every]
    hardest = min(every, key=lambda d: by_column[d])
    widest = max(range(blocks), key=lambda b: int(sizes[b]))
    classes = sum(min(most(d, b, asked[d]) for d in every) for b in range(blocks))
    served = [b for b in range(blocks) if (fewest[b] >= asked).all() and sizes[b] >= demands.k]
    lost = table.rows - int(sizes[served].sum()) > requirements.suppressible(table.rows)
    return Outlook(
        p=max(asked),
        k=demands.k,
        classes=0 if lost else classes,
        by_rows=int((sizes // demands.k).sum()),
        hardest=demands.each[hardest].column,
        rarer=most_sensitive_classes([counts[hardest][widest]], asked[hardest], demands.k).i_values[0],
        largest_p=largest,
        classes_then=sum(min(most(d, b, largest) for d in every) for b in range(blocks)),
    )


def _counts(table: CodedTable, demands: Demands) -> list[list[LongVector]]:
    """Count the labels of each demand in each block."""
    from shoal.kernels.grouping import histograms

    ones = np.ones(table.rows, np.int64)
    counted = []
    for demand in demands.each:
        start, _, count = histograms(
            table.block_of, len(table.blocks), np.ascontiguousarray(demand.label_of), ones
        )
        counted.append([count[a:b] for a, b in pairwise(start)])
    return counted


@dataclass(frozen=True)
class SensitivityBound:
    """How many p-sensitive classes a table can have at most."""

    classes: int
    """Most classes; 0 if p-sensitive k-anonymity is impossible."""
    hardest: int
    """The sensitive column that is hardest to make sensitive: the one with the smallest bound."""
    i_values: tuple[int, ...]
    """Per column, how many of the p values of a class come from its rarer values when the bound is reached:
    the i at which the minimum lies; 0 if p is 1."""


def most_sensitive_classes(counts: Sequence[LongVector], p: int, k: int = 1) -> SensitivityBound:
    """Bound the number of classes of a p-sensitive k-anonymous release without suppression.

    `counts` holds, per sensitive column, how often each value occurs. Each class needs p different values, at
    most p - i of them among the p - i most frequent ones, so at least i of its rows come from the rest: with
    v classes i v <= n - (rows of the p - i most frequent), for i = 1..p-1, in every column. And
    each class has k rows, or p if k is less. O(values log values).
    """
    rows = int(counts[0].sum())
    bounds, i_values = [], []
    for column in counts:
        cumulated = np.cumsum(np.sort(column[column > 0])[::-1])
        if len(cumulated) < p:
            bounds.append(Fraction(0))
            i_values.append(0)
            continue
        # Compared before rounding: at this i the p - i most frequent values all have enough rows.
        best = min(
            ((Fraction(rows - int(cumulated[p - i - 1]), i), i) for i in range(1, p)),
            default=(Fraction(rows), 0),
        )
        bounds.append(best[0])
        i_values.append(best[1])
    hardest = min(range(len(bounds)), key=lambda column: bounds[column])
    return SensitivityBound(min(int(bounds[hardest]), rows // max(k, p)), hardest, tuple(i_values))
