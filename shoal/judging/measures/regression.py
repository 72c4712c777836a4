"""Regression: would the model that the policy names say the same on the release as on the original?

Both tables give coefficients with intervals of 95 %. Their overlap (Karr et al. 2006) is the mean of two shares: how
much of the one interval, and of the other, lies in both; 0 if they are apart, or if the release does not determine the
coefficient. A number is explained by least squares, a column with two values by logistic regression. A cell of the
release has the expected value if it is spread evenly over the values that it covers. Rows without a value in
one of the columns are left out, as analysts do, and so are suppressed rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.coding import Attribute
from shoal.coding.hierarchy.distinct_values import text_of
from shoal.coding.hierarchy.label_parser import locate
from shoal.coding.purpose import Formula
from shoal.errors import ShoalError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Analysis, Measure, Needs, Reported
from shoal.judging.measures.regressions import Fit, linear, logistic
from shoal.judging.measures.spread import Cells, Spread, Values, records_unknown
from shoal.support.arrays import BoolVector, FloatMatrix, FloatVector, LongVector
from shoal.support.brief import Brief

NORMAL = 1.959963984540054
"""How many standard errors an interval of 95 % has on each side."""
MANY_VALUES = 100
"""Categories with more values explain nothing that anybody would read."""


@dataclass(frozen=True)
class Coefficient:
    """One coefficient, before and after; NaN if the rows do not determine it."""

    name: str
    before: float
    before_error: float
    after: float
    after_error: float
    overlap: float


@dataclass(frozen=True)
class Regressions:
    """The same model on the original and on the release."""

    formula: str
    kind: str
    """``linear`` or ``logistic``."""
    coefficients: tuple[Coefficient, ...]
    rows_before: float
    rows_after: float

    @property
    def overlap(self) -> float:
        """The mean overlap of the intervals."""
        return float(np.mean([one.overlap for one in self.coefficients]))


@dataclass(frozen=True, kw_only=True)
class RegressionOverlap(Measure):
    """The mean overlap of the confidence intervals of a regression's coefficients."""

    name: ClassVar[str] = "regression-overlap"
    summary: ClassVar[str] = "overlap of the confidence intervals of the policy's regression (0..1)"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    lower_is_better: ClassVar[bool] = False
    reported: ClassVar[Reported] = Reported(default=False, terminal=True, percent=True)
    analysis: ClassVar[Analysis] = Analysis(key="regression")

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why the model cannot be fitted, or None."""
        missing, table = super().why_unknown(evidence), evidence.table
        if missing is not None or table is None:
            return missing
        if table.context.purpose.regression is None:
            return "needs a regression: utility.regression names one"
        found = _model(evidence, table.context.purpose.regression)
        return found if isinstance(found, str) else None

    def compute(self, evidence: Evidence) -> float:
        """Fit the model twice, and compare."""
        return regressions(evidence).overlap


def overlap(before: float, before_error: float, after: float, after_error: float) -> float:
    """Return how much two intervals of 95 % overlap, 0 to 1."""
    if not np.isfinite([before, before_error, after, after_error]).all():
        return 0.0
    low, high = (
        max(before - NORMAL * before_error, after - NORMAL * after_error),
        min(before + NORMAL * before_error, after + NORMAL * after_error),
    )
    widths = 2 * NORMAL * before_error, 2 * NORMAL * after_error
    if min(widths) <= 0.0:
        return float(before == after and widths[0] == widths[1])
    return max(0.0, 0.5 * ((high - low) / widths[0] + (high - low) / widths[1]))


def regressions(evidence: Evidence) -> Regressions:
    """Fit the model of the policy on the original and on the release. O(rows x terms^2)."""
    formula = evidence.original.context.purpose.regression
    if formula is None:
        raise ShoalError("the policy names no regression: utility.regression does")
    model = _model(evidence, formula)
    if isinstance(model, str):
        raise ShoalError(f"the regression cannot be compared: {model}")
    old, new = model.original, model.fit_release()
    lines = []
    for place, name in enumerate(model.names):
        pair = float(old.coefficients[place]), float(old.errors[place])
        other = (
            (np.nan, np.nan) if new is None else (float(new.coefficients[place]), float(new.errors[place]))
        )
        # What the original does not determine says nothing about the release.
        if np.isfinite(pair[0]):
            lines.append(Coefficient(name, *pair, *other, overlap(*pair, *other)))
    equation = f"{formula.outcome} ~ {' + '.join(formula.on)}"
    return Regressions(equation, model.kind, tuple(lines), old.rows, 0.0 if new is None else new.rows)


@dataclass(frozen=True, eq=False, repr=False)
class _Model(Brief):
    """The terms of a model, and its fit on the original."""

    outcome: _Column
    target: FloatVector
    """``[codes]`` the number that a code of the outcome stands for."""
    terms: list[tuple[_Column, Values]]
    names: list[str]
    kind: str
    original: Fit

    def fit_release(self) -> Fit | None:
        """Fit it on the release; None if that does not determine it."""
        return _fit(self.outcome, self.target, self.terms, self.kind, released=True)


def _model(evidence: Evidence, formula: Formula) -> _Model | str:
    """Return the model, or why there is none."""
    if formula not in evidence.shared_results:
        evidence.shared_results[formula] = _build_model(evidence, formula)
    found: _Model | str = evidence.shared_results[formula]
    return found


def _build_model(evidence: Evidence, formula: Formula) -> _Model | str:
    columns = []
    for name in (formula.outcome, *formula.on):
        found = _column(evidence, name)
        if isinstance(found, str):
            return found
        columns.append(found)
    outcome, *on = columns
    two = len(outcome.present) == 2
    if not two and outcome.number is None:
        return f"the outcome {outcome.name} has {len(outcome.present):,} values: it must be a number, or have two"
    target = outcome.number
    if two or target is None:
        target = (np.arange(len(outcome.known)) == outcome.present[-1]).astype(np.float64)
    names, terms = ["(intercept)"], list[tuple[_Column, Values]]()
    for own in on:
        if own.number is not None:
            names.append(own.name)
            terms.append((own, own.number[:, None]))
        elif len(own.present) > MANY_VALUES:
            return (
                f"{own.name} has {len(own.present):,} values: a category of a model has at most {MANY_VALUES}"
            )
        else:
            # The most frequent value is the reference.
            others = own.present[own.present != np.bincount(own.before[own.known[own.before]]).argmax()]
            names += [f"{own.name} = {own.texts[code]}" for code in others.tolist()]
            terms.append((own, np.eye(len(own.known))[:, others]))
    kind = "logistic" if two else "linear"
    fit = _fit(outcome, target, terms, kind, released=False)
    if fit is None:
        return "the original does not determine it: there are too few rows, or it predicts some without error"
    return _Model(outcome, target, terms, names, kind, fit)


def _fit(
    outcome: _Column, target: FloatVector, terms: list[tuple[_Column, Values]], kind: str, *, released: bool
) -> Fit | None:
    wanted, known = outcome.rows(target[:, None], released)
    design = [np.ones((len(wanted), 1))]
    for own, values in terms:
        means, there = own.rows(values, released)
        design.append(means)
        known = known & there
    whole: FloatMatrix = np.hstack(design)[known]
    if len(whole) <= whole.shape[1]:
        return None
    return (logistic if kind == "logistic" else linear)(whole, wanted[known, 0], np.ones(len(whole)))


@dataclass(frozen=True, eq=False, repr=False)
class _Column(Brief):
    """A column of the model: what its codes stand for, and the rows of both tables."""

    name: str
    texts: pl.Series
    """``[codes]``."""
    number: FloatVector | None
    """``[codes]``; None for categories."""
    known: BoolVector
    """``[codes]`` whether it is a value: not null, not NaN."""
    before: LongVector
    """Row of the original -> code."""
    after: LongVector
    """Published row -> code, or place among the cells."""
    cells: Cells | None = None

    @property
    def present(self) -> LongVector:
        """The codes that the original has, without null."""
        return np.flatnonzero(np.bincount(self.before, minlength=len(self.known)) * self.known)

    def rows(self, values: Values, released: bool) -> tuple[FloatMatrix, BoolVector]:
        """Return the expected numbers of each row of a table, and whether it has a value at all."""
        values = np.where(self.known[:, None], values, 0.0)
        if not released:
            return values[self.before], self.known[self.before]
        if self.cells is None:
            return values[self.after], self.known[self.after]
        share = self.cells.each(self.known.astype(np.float64))
        means = self.cells.each(values) / np.where(share > 0, share, 1.0)[:, None]
        return means[self.after], share[self.after] > 0


def _column(evidence: Evidence, name: str) -> _Column | str:
    """Return a column of the model, or why it cannot be used."""
    table, published = evidence.original, evidence.published
    for j, attribute in enumerate(table.attributes):
        if attribute.name == name:
            cells = Spread(published).columns[j]
            codes = table.quasi.narrow[j].astype(np.int64)
            return _code_column(attribute, codes, cells.place[:-1][published.class_of], cells)
    for j, attribute in enumerate(table.sensitive):
        if attribute.name == name:
            why = records_unknown(evidence)
            if why is not None:
                return why
            codes = table.secrets.narrow[j].astype(np.int64)
            return _code_column(attribute, codes, published.sensitive_codes[:, j].astype(np.int64))
    if name not in table.kept:
        return f"the column {name} is not published"
    shown, original = evidence.find_kept_column(name), table.kept[name]
    if shown is None:
        return f"needs to know what each published row shows in {name}"
    if shown.dtype != original.dtype:
        return f"the release holds {shown.dtype} in {name}, and the original {original.dtype}"
    # A perturbed column shows values that the original does not have.
    values = pl.concat([original, shown.alias(name)]).unique().sort(nulls_last=True)
    before, after = (locate(values, column).astype(np.int64) for column in (original, shown))
    number = values.cast(pl.Float64).to_numpy() if values.dtype.is_numeric() else None
    known = values.is_not_null().to_numpy() if number is None else np.isfinite(number)
    return _Column(name, text_of(values), number, known, before, after)


def _code_column(
    attribute: Attribute, before: LongVector, after: LongVector, cells: Cells | None = None
) -> _Column:
    tree = attribute.hierarchy
    # Numbers are numbers here, whatever tree generalizes them: the policy names the model.
    number = tree.positions
    known = tree.leaves.is_not_null().to_numpy() if number is None else np.isfinite(number)
    return _Column(attribute.name, text_of(tree.leaves), number, known, before, after, cells)
