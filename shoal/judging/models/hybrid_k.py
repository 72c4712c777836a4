"""Hybrid k-anonymity: how much of a release is false, and would the true distribution reveal it?

(Nergiz, Gök and Özkanlı 2013.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import numpy as np

from shoal.errors import DataError
from shoal.judging.models.exact_sizes import exact_test, pearson
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.keys import Bounds, Key
from shoal.judging.models.model import Model
from shoal.judging.models.threats import RE_IDENTIFICATION, Threat
from shoal.support.arrays import BoolVector, IntMatrix, LongVector

if TYPE_CHECKING:
    from shoal.coding import CodedTable
    from shoal.judging.linking.evidence import Evidence
    from shoal.release.published import Published
    from shoal.release.verdict import Verdict

LEAST_BUDGET = 0.01
"""A relaxed budget is raised to at least this."""

LEAST_EXPECTED = 5
"""Pearson's test wants groups that expect at least so many rows ..."""
MOST_SMALL = 0.2
"""... for all but this share of them (Cochran 1954)."""

CELLS_AT_ONCE = 1 << 22
"""How many comparisons of rows with classes are in memory at a time."""


class FalseCellLimit(Model):
    """A rule about false cells, which a release of true cells satisfies. Judging it takes the original and the owner
    of each row."""

    key: ClassVar[Key] = Key(
        "relocation", "how many cells may be false, and how visible relocated rows may be"
    )
    threat: ClassVar[Threat] = RE_IDENTIFICATION


@dataclass(frozen=True, kw_only=True)
class HybridK(FalseCellLimit):
    """Every class has at least k rows, and at most a share of all quasi-identifier cells is false."""

    name: ClassVar[str] = "hybrid-k"
    summary: ClassVar[str] = (
        "at most the stated share of quasi-identifier cells is false: they do not hold their owner's value"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"budget": {}}
    usual: ClassVar[Any] = 0.01
    higher_is_safer: ClassVar[bool] = False

    k: Annotated[int, Bounds(ge=1)] = 1
    """Smallest allowed class; 1 leaves that to another model."""
    budget: Annotated[float, Bounds(ge=0, le=1)]
    """Largest allowed share of false cells: published cells that do not cover their owner's value."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Double the budget."""
        wider = min(1.0, max(2 * value, LEAST_BUDGET))
        return wider if wider != value else None

    @property
    def title(self) -> str:
        """Name the model."""
        share = f"at most {100 * self.budget:.4g} % of cells false"
        return share if self.k == 1 else f"{self.k}-anonymity with {share}"

    def verify(self, evidence: Evidence) -> Verdict:
        """Count the false cells. O(rows x quasi-identifiers)."""
        published, original = evidence.published, evidence.table
        reason = _why_unknown(evidence)
        smallest = int(published.sizes.min(initial=self.k))
        if reason is not None or original is None:
            # If all cells may be false, nobody has to count them.
            if smallest >= self.k and self.budget < 1:
                return self.verdict_unknown(published, str(reason))
            return self.verdict(
                published, None, smallest >= self.k, f"false cells were not counted: {reason}"
            )
        changed = int(untrue_cells(evidence).sum())
        share = changed / max(original.rows * len(original.attributes), 1)
        holds = smallest >= self.k and share <= self.budget + 1e-9
        detail = f"{changed:,} cells are false"
        if smallest < self.k:
            detail += f"; the smallest class has {smallest:,} rows, {self.k:,} are required"
        return self.verdict(published, share, holds, detail)

    def infeasible(self, table: CodedTable, suppressible: int = 0) -> str | None:
        """No class can have more rows than the table."""
        return KAnonymity(k=self.k).infeasible(table, suppressible) if self.k > 1 else None


@dataclass(frozen=True, kw_only=True)
class AlphaHybrid(FalseCellLimit):
    """A test does not reject that the class sizes come from the true distribution: Pearson's chi-squared test, or the
    same statistic against all possible or drawn tables, which does not need large groups."""

    name: ClassVar[str] = "alpha-hybrid"
    summary: ClassVar[str] = (
        "an adversary who knows the true distribution cannot tell the sizes of the classes from random ones"
    )
    rules: ClassVar[Mapping[str, Mapping[str, Any]]] = {"alpha": {}, "exact": {"exact": True}}
    usual: ClassVar[Any] = 0.05
    about: ClassVar[str] = "knows-distribution"
    weakest: ClassVar[bool] = True

    alpha: Annotated[float, Bounds(gt=0, lt=1)]
    """Significance level of the test."""
    exact: bool = False
    """Compare with tables instead of the chi-squared distribution."""

    @classmethod
    def looser(cls, value: Any) -> Any:
        """Halve the significance level: the test rejects less."""
        return value / 2

    @property
    def title(self) -> str:
        """Name the model."""
        return f"{self.alpha:.4g}-hybrid{' by the exact test' if self.exact else ''}"

    def verify(self, evidence: Evidence) -> Verdict:
        """Test the sizes of the classes against the rows that they truly cover."""
        published = evidence.published
        reason = _why_unknown(evidence, owners=published.suppressed > 0)
        if reason is not None:
            return self.verdict_unknown(published, reason)
        try:
            truth = count_expected_rows(evidence)
        except DataError as error:
            # The other verdicts of an audit still say something.
            return self.verdict_unknown(published, str(error))
        if not self.exact:
            test = chi_squared(evidence, truth)
            detail = f"X^2 = {test.statistic:.4g} with {test.degrees:,} degrees of freedom"
            detail += f"; {few}" if (few := too_few(truth)) else ""
            return self.verdict(published, test.p_value, test.p_value >= self.alpha - 1e-9, detail)
        found = exact_test(*truth.beside(published.sizes), self.alpha)
        drawn = (
            f"p = {found.value:.4g}, {found.low:.4g} to {found.high:.4g}, from {found.draws:,} drawn tables; the "
            "lower end counts"
        )
        detail = drawn if found.draws else "all possible tables were compared"
        return self.verdict(published, found.low, found.low >= self.alpha - 1e-9, detail)


def _why_unknown(evidence: Evidence, *, owners: bool = True) -> str | None:
    if evidence.table is None:
        return "the original table is needed"
    if not evidence.published.readable:
        return "some cells are not in their hierarchies"
    if owners and evidence.owner is None:
        return "the owner of each published row is known only to the maker of the release"
    return None


def untrue_cells(evidence: Evidence) -> LongVector:
    """Count, per quasi-identifier, the false cells: published cells that do not cover their owner's value.

    Needs ranges and owners. O(rows x quasi-identifiers).
    """
    outside = _outside(evidence)
    return np.array([np.count_nonzero(column) for column in outside], np.int64)


def _outside(evidence: Evidence) -> list[BoolVector]:
    """Return, per quasi-identifier, which published rows show a range without their owner's value."""
    published, original = evidence.published, evidence.table
    assert original is not None
    assert evidence.owner is not None
    low, high = published.cell_ranges
    found = []
    for j in range(len(published.attributes)):
        own = original.quasi.narrow[j][evidence.owner]
        found.append((own < low[published.class_of, j]) | (own > high[published.class_of, j]))
    return found


def untrue_rows(evidence: Evidence) -> BoolVector:
    """Return which published rows have a false cell. This is secret."""
    rows = np.zeros(evidence.published.rows, np.bool_)
    for column in _outside(evidence):
        rows |= column
    return rows


class Expected(NamedTuple):
    """How the true values of the rows spread over the published classes."""

    classes: LongVector
    """Per class, the rows whose own values it covers. A row that several cover counts in its own, or if it was
    relocated in the class that has lost most: nobody can know better, and this is the most suspicious reading."""
    elsewhere: LongVector
    """The sizes of dissolved groups, which no class covers."""

    def beside(self, sizes: LongVector) -> tuple[LongVector, LongVector]:
        """Return the sizes of all groups, dissolved ones included, and what they should be."""
        every = np.concatenate([self.classes, self.elsewhere])
        return np.concatenate([sizes, np.zeros_like(self.elsewhere)]), every


def too_few(truth: Expected) -> str:
    """Say that too many groups are too small for Pearson's test, by Cochran's rule, or nothing. No count is told: how
    many groups were dissolved is secret."""
    every = np.concatenate([truth.classes, truth.elsewhere])
    if np.count_nonzero(every < LEAST_EXPECTED) <= MOST_SMALL * len(every):
        return ""
    return (
        f"more than {MOST_SMALL:.0%} of the groups expect fewer than {LEAST_EXPECTED} rows, too many for Pearson's "
        "test: it is only approximate, and small groups vary so much by chance that it detects little; "
        "privacy.relocation.exact asks for the exact test"
    )


def count_expected_rows(evidence: Evidence) -> Expected:
    """Return how many rows each class should have, by the true values of the rows that are published.

    If all ranges of each column are nodes of one level, dissolved groups are those of that mapping; otherwise the rows
    that no class covers count as one group. If owners are unknown, all rows of the original count.
    O(rows x quasi-identifiers), plus a comparison of all distinct rows that left their class with all classes.
    """
    from shoal.kernels.grouping import distinct

    published, original = evidence.published, evidence.table
    assert original is not None
    low, high = published.cell_ranges
    sizes = np.zeros(published.classes, np.int64)
    codes = original.quasi.wide
    if evidence.owner is not None:
        away = untrue_rows(evidence)
        sizes += np.bincount(published.class_of[~away], minlength=published.classes)
        codes = original.quasi.wide[evidence.owner[away]]
    number_of, first = distinct(codes)
    rows = np.bincount(number_of, minlength=len(first)).astype(np.int64)
    codes = codes[first]
    times, covered_by = _count_covering(codes, low, high)
    if evidence.owner is None and np.any(times > 1):
        raise DataError(
            "classes of this release overlap, so the size that each should have is not defined without knowing "
            "the owners of rows; the statistical test is for releases with one level per column"
        )
    once = times == 1
    np.add.at(sizes, covered_by[once], rows[once])
    several = times > 1
    if several.any():
        # The order must depend on nothing but the classes, or the rows' order would decide the verdict.
        order = np.lexsort((*low.T, *high.T, -(sizes / published.sizes)))
        chosen = order[_count_covering(codes[several], low[order], high[order])[1]]
        np.add.at(sizes, chosen, rows[several])
    lost, lost_rows = codes[times == 0], rows[times == 0]
    levels = find_common_levels(published)
    if levels is None or not len(lost):
        return Expected(sizes, np.array([lost_rows.sum()] if len(lost) else [], np.int64))
    nodes = [a.hierarchy.low[levels[j], lost[:, j]] for j, a in enumerate(published.attributes)]
    group_of, groups = distinct(np.stack(nodes, axis=1))
    return Expected(sizes, np.bincount(group_of, weights=lost_rows, minlength=len(groups)).astype(np.int64))


def _count_covering(codes: IntMatrix, low: IntMatrix, high: IntMatrix) -> tuple[LongVector, LongVector]:
    """Return how many ranges cover each row, and the first that does. O(rows x ranges x columns)."""
    times, first = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    step = max(1, CELLS_AT_ONCE // max(low.size, 1))
    for begin in range(0, len(codes), step):
        some = codes[begin : begin + step, None, :]
        inside = np.all((some >= low) & (some <= high), axis=2)
        times[begin : begin + step] = inside.sum(axis=1)
        first[begin : begin + step] = np.argmax(inside, axis=1) if inside.size else 0
    return times, first


def find_common_levels(published: Published) -> list[int] | None:
    """Return the lowest level of each column that has all its ranges as nodes; None if a column mixes levels.

    If names are made of the values of published rows, a range is the part of its node that they show.
    """
    assert published.ranges is not None
    found = []
    for attribute, (low, high, _) in zip(published.attributes, published.ranges, strict=True):
        tree = attribute.hierarchy
        fits = ((tree.low[:, low] == low) & (tree.high[:, low] == high)).all(axis=1)
        if not fits.any() and tree.naming is not None and not tree.free:
            nodes = tree.low[:, low]
            apart = (np.diff(np.sort(nodes, axis=1), axis=1) > 0).all(axis=1)
            fits = (tree.high[:, low] >= high).all(axis=1) & apart
        if not fits.any():
            return None
        found.append(int(fits.argmax()))
    return found


class ChiSquared(NamedTuple):
    """Pearson's test of class sizes."""

    statistic: float
    degrees: int
    p_value: float


def chi_squared(evidence: Evidence, truth: Expected | None = None) -> ChiSquared:
    """Test the sizes of the classes against the true distribution, by Pearson's test."""
    from scipy.special import chdtrc

    truth = truth or count_expected_rows(evidence)
    # A class that covers nobody's true values cannot come from the true distribution at all.
    statistic = pearson(*truth.beside(evidence.published.sizes))
    degrees = len(truth.classes) + len(truth.elsewhere) - 1
    if degrees <= 0 or not np.isfinite(statistic):
        return ChiSquared(statistic, max(degrees, 0), 1.0 if statistic == 0 else 0.0)
    return ChiSquared(statistic, degrees, float(chdtrc(degrees, statistic)))


def false_shares(models: Iterable[Model]) -> list[float]:
    """Return the shares of cells that a policy allows to be false."""
    return [model.budget for model in models if isinstance(model, HybridK)]


def size_test_levels(models: Iterable[Model]) -> list[float]:
    """Return the levels of significance at which a policy wants the sizes of classes tested."""
    return [model.alpha for model in models if isinstance(model, AlphaHybrid)]


def exact_tests(models: Iterable[Model]) -> list[AlphaHybrid]:
    """Return the tests of the sizes of classes that compare with tables."""
    return [model for model in models if isinstance(model, AlphaHybrid) and model.exact]


def without_false_cells(models: Iterable[Model]) -> tuple[Model, ...]:
    """Return what the models ask for besides false cells: all others, and the k of hybrid k-anonymity."""
    models = tuple(models)
    sizes = (KAnonymity(k=model.k) for model in models if isinstance(model, HybridK) and model.k > 1)
    return (*(model for model in models if not isinstance(model, FalseCellLimit)), *sizes)
