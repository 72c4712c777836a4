"""Classification: how well a learner predicts a column after training on the release.

Rows are split once, by a fixed seed, into training and test. One learner is trained on the published rows of the
training people, another on their original rows; both are tested on the original rows of the others. The learner is
logistic regression. A cell is represented by its expected value: a number by the middle of its range, a category by
the share of the cell that each value has (one-hot for an exact value), a category with very many values by the middle
of its range of codes. Needs the extra ``learn``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.coding import Attribute, CodedTable
from shoal.errors import PolicyError, Problem, ShoalError, did_you_mean
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.measure import Analysis, Measure, Needs, Reported
from shoal.support.arrays import FloatMatrix, IntMatrix, IntVector, LongVector
from shoal.support.brief import Brief

MANY_VALUES = 100
"""Categories with more values than this are not represented value by value, and are not predicted."""

FEW_NUMBERS = 20
"""A column with more different numbers is not classified because a policy names it; other measures predict numbers."""


@dataclass(frozen=True)
class Learning:
    """What a learner achieves on unseen original rows."""

    target: str
    accuracy: float
    """Trained on the release."""
    auc: float
    """Trained on the release: area under the ROC curve, one class against the rest, weighted by class."""
    original_accuracy: float
    """Trained on the original."""
    original_auc: float
    majority: float
    """Share of the most frequent class among the tested rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Split(Brief):
    """Rows to train on and rows to test, and what represents them."""

    seen: LongVector
    """Rows of the original that learners are trained on."""
    unseen: LongVector
    """Rows of the original that they are tested on."""
    shown: LongVector
    """Published rows of the people that learners are trained on."""
    cells: FloatMatrix
    """What represents the published rows."""
    exact: FloatMatrix
    """What represents the same people's rows of the original; those of suppressed rows, too."""
    tests: FloatMatrix

    @classmethod
    def of(cls, evidence: Evidence, test_share: float, people: int, seed: int) -> Split:
        """Draw and split rows by a seed. O(rows x columns)."""
        published, original, owner = evidence.published, evidence.original, evidence.owner
        assert owner is not None
        low, high = published.cell_ranges
        random = np.random.Generator(np.random.PCG64(seed))
        drawn = random.permutation(original.rows)[:people]
        tested = max(1, min(len(drawn) - 1, round(test_share * len(drawn))))
        # In the order of the original, so that an unchanged release trains exactly the same learner.
        unseen, seen = np.sort(drawn[:tested]), np.sort(drawn[tested:])
        row_of = np.full(original.rows, -1, np.int64)
        row_of[owner] = np.arange(len(owner))
        shown = row_of[seen]
        shown = shown[shown >= 0]
        class_of = published.class_of[shown]
        return cls(
            seen,
            unseen,
            shown,
            represent_ranges(original.attributes, low[class_of], high[class_of]),
            represent_ranges(original.attributes, original.quasi.wide[seen], original.quasi.wide[seen]),
            represent_ranges(original.attributes, original.quasi.wide[unseen], original.quasi.wide[unseen]),
        )


@dataclass(frozen=True, kw_only=True)
class Classification(Measure):
    """The accuracy of a learner that was trained on the release."""

    name: ClassVar[str] = "classification"
    summary: ClassVar[str] = "accuracy, on unseen original rows, of a learner trained on the release"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True, owner=True)
    lower_is_better: ClassVar[bool] = False
    reported: ClassVar[Reported] = Reported(default=False)
    analysis: ClassVar[Analysis] = Analysis(key="predict", assumes=True, library="sklearn learn")

    target: str | None = None
    """Column to predict: a sensitive or plain one; without it that of the policy, or the first sensitive column."""
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
            if target_of(self.target, original) is None:
                return "needs a column to predict, and no column is sensitive"
            if original.rows < 2:
                return "needs at least two rows, one to train on and one to test"
            named = original.context.purpose.predict
            classes = 0 if self.target is not None or named is None else original.kept[named].n_unique()
            if classes > MANY_VALUES:
                return f"{named} has {classes:,} values, but a learner can distinguish only {MANY_VALUES}"
            if classes > FEW_NUMBERS and named is not None and original.kept[named].dtype.is_numeric():
                return f"{named} holds {classes:,} numbers, which are not taken for categories"
        return missing

    def compute(self, evidence: Evidence) -> float:
        """Train the learners, and return what they achieve."""
        return self.score_learner(self.learn(evidence))

    def score_learner(self, learned: Learning) -> float:
        """Return the accuracy of the learner that was trained on the release."""
        return learned.accuracy

    def learn(self, evidence: Evidence) -> Learning:
        """Train on the release and on the original, and test both."""
        asked = (Learning, self.target, self.test_share, self.people, self.seed)
        if asked not in evidence.shared_results:
            evidence.shared_results[asked] = self._learn(evidence)
        found: Learning = evidence.shared_results[asked]
        return found

    def _learn(self, evidence: Evidence) -> Learning:
        require_scikit_learn()
        reason = self.why_unknown(evidence)
        original, owner = evidence.table, evidence.owner
        if reason or original is None or owner is None:
            raise ShoalError(f"classification cannot be measured: it {reason}")
        target, labels, shown_labels = self._labels(evidence, original, owner)
        split = Split.of(evidence, self.test_share, self.people, self.seed)
        seen, unseen, shown = split.seen, split.unseen, split.shown
        cells, exact, tests = split.cells, split.exact, split.tests
        truth, classes = labels[unseen], int(max(labels.max(), shown_labels.max(initial=0))) + 1
        ours = train_and_test(cells, shown_labels[shown], tests, truth, classes)
        theirs = train_and_test(exact, labels[seen], tests, truth, classes)
        majority = float(np.bincount(truth).max() / len(truth))
        return Learning(target, *ours, *theirs, majority)

    def _labels(
        self, evidence: Evidence, original: CodedTable, owner: IntVector
    ) -> tuple[str, LongVector, LongVector]:
        """Return the target, and its classes 0, 1, .. per row of the original and as published per row."""
        name = str(target_of(self.target, original))
        for j, attribute in enumerate(original.sensitive):
            if attribute.name == name:
                known, labels = np.unique(original.secrets.wide[:, j], return_inverse=True)
                # If a method permutes values, the published value may be another row's.
                shown = np.searchsorted(known, evidence.published.sensitive_codes[:, j]).astype(np.int64)
                break
        else:
            if name not in original.kept:
                hint = did_you_mean(name, [a.name for a in original.sensitive] + [*original.kept.columns])
                raise PolicyError(
                    [Problem("classification.target", f"'{name}' is not a sensitive or plain column", hint)]
                )
            own, shown_values = original.kept[name], evidence.find_kept_column(name)
            if shown_values is None or shown_values.dtype != own.dtype:
                shown_values = own.gather(owner)
            ranks = pl.concat([own, shown_values.alias(name)]).rank("dense").fill_null(0).to_numpy()
            both = np.unique(ranks, return_inverse=True)[1]
            labels, shown = both[: len(own)], both[len(own) :]
        classes = len(np.unique(labels))
        if classes > MANY_VALUES:
            raise PolicyError(
                [
                    Problem(
                        "classification.target",
                        f"'{name}' has {classes:,} values, but a learner can distinguish only {MANY_VALUES}",
                        "choose a column with few values",
                    )
                ]
            )
        return name, labels, shown


class ClassificationAuc(Classification):
    """The area under the ROC curve of a learner that was trained on the release."""

    name: ClassVar[str] = "classification-auc"
    summary: ClassVar[str] = (
        "area under the ROC curve, on unseen original rows, of a learner trained on the release"
    )

    def score_learner(self, learned: Learning) -> float:
        """Return the area of the learner that was trained on the release."""
        return learned.auc


class ClassificationLoss(Classification):
    """The accuracy that is lost by training on the release instead of the original."""

    name: ClassVar[str] = "classification-loss"
    reported: ClassVar[Reported] = Reported(default=False, terminal=True, percent=True)
    summary: ClassVar[str] = "accuracy lost by training a learner on the release instead of the original"
    lower_is_better: ClassVar[bool] = True

    def score_learner(self, learned: Learning) -> float:
        """Return the difference of the two accuracies."""
        return learned.original_accuracy - learned.accuracy


def target_of(given: str | None, table: CodedTable) -> str | None:
    """Return the column to predict: the given one, else that of the policy, else the first sensitive one, if any."""
    named = given if given is not None else table.context.purpose.predict
    return named if named is not None or not table.sensitive else table.sensitive[0].name


def require_scikit_learn() -> None:
    """Raise ShoalError if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise ShoalError(
            'measuring classification needs scikit-learn, which is not installed: pip install "shoal[learn]"'
        ) from None


def represent_ranges(attributes: tuple[Attribute, ...], low: IntMatrix, high: IntMatrix) -> FloatMatrix:
    """Represent rows of ranges as numbers, all of them between 0 and 1."""
    parts: list[Any] = []
    for j, attribute in enumerate(attributes):
        first, last = low[:, j], high[:, j]
        hierarchy = attribute.hierarchy
        # Leaves of a tree are categories, even if they look like numbers: zip codes have no middle.
        positions = None if hierarchy.category else hierarchy.positions
        line = None if positions is None else positions[: hierarchy.ordered]
        if line is not None and len(line) and np.isfinite(line).all():
            top = hierarchy.ordered - 1
            width = max(float(line[-1] - line[0]), np.finfo(np.float64).tiny)
            middle = (line[np.minimum(first, top)] + line[np.minimum(last, top)]) / 2
            # A null is placed in the middle, and marked as null.
            absent = first > top
            parts.append(np.where(absent, 0.5, (middle - line[0]) / width)[:, None])
            if hierarchy.size > hierarchy.ordered:
                parts.append(absent.astype(np.float64)[:, None])
        elif hierarchy.size <= MANY_VALUES:
            codes = np.arange(hierarchy.size)
            inside = (codes >= first[:, None]) & (codes <= last[:, None])
            parts.append(inside / (last - first + 1.0)[:, None])
        else:
            parts.append(((first.astype(np.float64) + last) / (2.0 * hierarchy.size))[:, None])
    return np.hstack(parts) if parts else np.zeros((len(low), 1))


def train_and_test(
    cells: FloatMatrix, labels: LongVector, unseen: FloatMatrix, truth: LongVector, classes: int
) -> tuple[float, float]:
    """Train on cells and labels; return accuracy and area on the unseen rows."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    known, rows = np.unique(labels, return_counts=True)
    if not len(known):
        # There is nothing to learn from: any class is as good as any other.
        return 1.0 / len(np.unique(truth)), 0.5
    # A constant feature teaches nothing, but would share the weight of the intercept and so rank unseen rows by
    # accident.
    varied = np.ptp(cells, axis=0) > 1e-12
    chances = np.zeros((len(unseen), classes))
    if len(known) > 1 and varied.any():
        middle = cells[:, varied].mean(axis=0)
        learner = LogisticRegression(max_iter=1000, tol=1e-3).fit(cells[:, varied] - middle, labels)
        chances[:, known] = learner.predict_proba(unseen[:, varied] - middle)
    else:
        chances[:, known] = rows / rows.sum()
    accuracy = float((chances.argmax(axis=1) == truth).mean())
    areas, weights = [], []
    for label, tested in zip(*np.unique(truth, return_counts=True), strict=True):
        if tested < len(truth):
            areas.append(float(roc_auc_score(truth == label, chances[:, label])))
            weights.append(tested)
    return accuracy, float(np.average(areas, weights=weights)) if areas else 0.5
