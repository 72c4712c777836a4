"""Prediction of a number: how much of its variance a learner explains after training on the release.

Rows are split and represented as for classification. The learner is linear regression with a small penalty (ridge), so
that columns that say nothing in the release do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.classification import Split, target_of
from shoal.judging.measures.measure import Analysis, Measure, Needs, Reported
from shoal.support.arrays import FloatMatrix, FloatVector

PENALTY = 1.0


@dataclass(frozen=True)
class Predicted:
    """Share of the variance of unseen original rows that learners explain: 1 for all of it, below 0 if they predict
    worse than the mean.
    """

    target: str
    released: float
    """Trained on the release."""
    original: float
    """Trained on the original."""


@dataclass(frozen=True, kw_only=True)
class PredictionR2(Measure):
    """The share of the variance that a learner explains which was trained on the release."""

    name: ClassVar[str] = "prediction-r2"
    summary: ClassVar[str] = (
        "variance of a number, on unseen original rows, that a learner trained on the release explains"
    )
    needs: ClassVar[Needs] = Needs(ranges=True, original=True, owner=True)
    lower_is_better: ClassVar[bool] = False
    reported: ClassVar[Reported] = Reported(default=False)
    analysis: ClassVar[Analysis] = Analysis(key="predict", assumes=True)

    target: str | None = None
    """Column to predict: a sensitive or plain number; without it that of the policy, or the first sensitive column."""
    test_share: float = 0.3
    """Share of the rows that are held out for the test."""
    people: int = 50_000
    """From a larger table, this many rows are drawn, for training and test together."""
    seed: int = 20240229
    """Rows are drawn and split by this seed, so that the result is the same every time."""

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return what is missing for training or testing, or None."""
        missing, original = super().why_unknown(evidence), evidence.table
        if missing is None and original is not None:
            target = target_of(self.target, original)
            if target is None:
                return "needs a column to predict, and no column is sensitive"
            values = _numbers(original, target)
            if values is None:
                return f"{target} holds no numbers; classification measures categories"
            if original.rows < 2 or len(np.unique(values[np.isfinite(values)])) < 2:
                return f"{target} needs at least two rows with different numbers"
        return missing

    def compute(self, evidence: Evidence) -> float:
        """Train the learners, and return what they achieve."""
        return self.score_prediction(self.predict(evidence))

    def score_prediction(self, found: Predicted) -> float:
        """Return what the learner that was trained on the release explains."""
        return found.released

    def predict(self, evidence: Evidence) -> Predicted:
        """Train on the release and on the original, and test both."""
        asked = (Predicted, self.target, self.test_share, self.people, self.seed)
        if asked not in evidence.shared_results:
            evidence.shared_results[asked] = self._train_and_test(evidence)
        found: Predicted = evidence.shared_results[asked]
        return found

    def _train_and_test(self, evidence: Evidence) -> Predicted:
        original, target = evidence.original, str(target_of(self.target, evidence.original))
        values, owner = _numbers(original, target), evidence.owner
        assert values is not None
        assert owner is not None
        split = Split.of(evidence, self.test_share, self.people, self.seed)
        given = evidence.find_kept_column(target)
        shown = values[owner] if given is None or not given.dtype.is_numeric() else _floats(given)
        for j, attribute in enumerate(original.sensitive):
            if attribute.name == target:
                # If a method permutes values, the published value may be another row's.
                line = attribute.hierarchy.positions
                assert line is not None
                shown = line[evidence.published.sensitive_codes[:, j]]
        truth = values[split.unseen]
        return Predicted(
            target,
            explain_variance(split.cells, shown[split.shown], split.tests, truth),
            explain_variance(split.exact, values[split.seen], split.tests, truth),
        )


class PredictionR2Loss(PredictionR2):
    """The variance that is no longer explained because a learner was trained on the release."""

    name: ClassVar[str] = "prediction-r2-loss"
    summary: ClassVar[str] = (
        "explained variance lost by training a learner on the release instead of the original"
    )
    lower_is_better: ClassVar[bool] = True
    reported: ClassVar[Reported] = Reported(default=False, terminal=True)

    def score_prediction(self, found: Predicted) -> float:
        """Return the difference of the two."""
        return found.original - found.released


def _numbers(table: CodedTable, name: str) -> FloatVector | None:
    """Return a column as numbers, NaN for null; None if it holds none."""
    for j, attribute in enumerate(table.sensitive):
        if attribute.name == name:
            line = attribute.hierarchy.positions if attribute.hierarchy.by_width else None
            return None if line is None else line[table.secrets.narrow[j]].astype(np.float64)
    if name not in table.kept or not table.kept[name].dtype.is_numeric():
        return None
    return _floats(table.kept[name])


def _floats(column: pl.Series) -> FloatVector:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def explain_variance(
    cells: FloatMatrix, numbers: FloatVector, tests: FloatMatrix, truth: FloatVector
) -> float:
    """Train on some rows, and return the share of the variance of others that is explained."""
    known, tested = np.isfinite(numbers), np.isfinite(truth)
    cells, numbers, tests, truth = cells[known], numbers[known], tests[tested], truth[tested]
    guess = np.zeros(len(truth))
    if len(numbers):
        middle, mean = cells.mean(axis=0), float(numbers.mean())
        own = cells - middle
        slopes = np.linalg.solve(own.T @ own + PENALTY * np.eye(own.shape[1]), own.T @ (numbers - mean))
        guess = mean + (tests - middle) @ slopes
    spread = float(((truth - truth.mean()) ** 2).sum()) if len(truth) else 0.0
    missed = float(((truth - guess) ** 2).sum())
    return 1.0 - missed / spread if spread > 0 else float(missed == 0.0)
