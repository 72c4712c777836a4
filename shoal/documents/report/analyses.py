"""The section of a report about what analysts will find: similarity, and the workload, the regression and the learner
that the policy names.

Not for the public: all of it follows from exact counts of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from shoal.documents.report.report_parts import Part, Section, Table, Words
from shoal.judging.measures import MEASURES
from shoal.judging.measures.classification import Classification
from shoal.judging.measures.evaluate import explain_unmeasured
from shoal.judging.measures.marginals import KMarginal
from shoal.judging.measures.prediction import PredictionR2
from shoal.judging.measures.propensity import Pmse, propensity
from shoal.judging.measures.regression import RegressionOverlap, regressions
from shoal.judging.measures.workload import WorkloadError, answers
from shoal.support.wording import format_count, number

if TYPE_CHECKING:
    from shoal.documents.report.subject import Subject


def analyses(subject: Subject) -> Section | None:
    """Say how well the release serves analysts; None if nothing is known of it."""
    parts = [*_similar(subject), *_workload(subject), *_regression(subject), *_list_predictions(subject)]
    return Section("analyses", "What analysts will find", parts) if parts else None


def _similar(subject: Subject) -> Iterator[Part]:
    if KMarginal().why_unknown(subject) is not None or Pmse().why_unknown(subject) is not None:
        return
    marginals, told = KMarginal().similarity(subject), propensity(subject)
    some = "all" if marginals.marginals == marginals.possible else f"of {marginals.possible:,}, drawn"
    yield Words(
        "A cell of the release counts as if its rows were spread evenly over the values that it covers, a suppressed "
        "row as if it could have any value."
    )
    rows = [
        (
            "k-marginal score", number(marginals.score),
            f"densities over {format_count(marginals.columns, 'column')}: 1000 if equal, 0 if disjoint "
            f"({format_count(marginals.marginals, 'marginal')}, {some})",
        ),
        ("its lowest marginal", number(marginals.worst_score), ", ".join(marginals.worst)),
        (
            "pMSE", number(told.pmse),
            f"how well a logistic model with {format_count(told.parameters, 'parameter')} tells release and "
            "original apart: "
            "0 not at all, 0.25 always",
        ),
        ("pMSE ratio", number(told.ratio), "pMSE over its expectation if the release were drawn from the original"),
    ]  # fmt: skip
    yield Table("Similarity to the original", ("measure", "value", "what it is"), rows)


def _workload(subject: Subject) -> Iterator[Part]:
    if WorkloadError().why_unknown(subject) is not None:
        return
    found = answers(subject)
    errors = np.array([one.error for one in found])
    mean = WorkloadError().value(subject)
    yield Words(
        f"Relative error of the {format_count(len(found), 'query', 'queries')} of the workload: {mean:.1%} on "
        "average (by "
        f"weight), {np.median(errors):.1%} in the median, and {errors.max():.1%} at most."
    )
    rows = [
        (one.query, number(one.weight), number(one.before), number(one.after), f"{one.error:.1%}")
        for one in found
    ]
    yield Table("Queries of the workload", ("query", "weight", "original", "release", "relative error"), rows)


def _regression(subject: Subject) -> Iterator[Part]:
    if RegressionOverlap().why_unknown(subject) is not None:
        return
    found = regressions(subject)
    yield Words(
        f"The regression {found.formula} ({found.kind}) was fitted to "
        f"{format_count(round(found.rows_before), 'row')} of "
        f"the original and {format_count(round(found.rows_after), 'row')} of the release. On average, the confidence "
        f"intervals (95 %) of its coefficients overlap by {found.overlap:.1%}."
    )
    rows = [
        (
            one.name, number(one.before), number(one.before_error), number(one.after), number(one.after_error),
            f"{one.overlap:.1%}",
        )
        for one in found.coefficients
    ]  # fmt: skip
    head = ("coefficient", "original", "its standard error", "release", "its standard error", "overlap")
    yield Table("Coefficients of the regression", head, rows)


def _list_predictions(subject: Subject) -> Iterator[Part]:
    purpose = subject.table.context.purpose
    if purpose.predict is None:
        return
    missing, rows = explain_unmeasured(subject), []
    if Classification.name not in missing:
        learned = Classification().learn(subject)
        rows.append(("accuracy", f"{learned.original_accuracy:.1%}", f"{learned.accuracy:.1%}"))
        rows.append(("area under the ROC curve", number(learned.original_auc), number(learned.auc)))
        rows.append(
            ("accuracy of the most frequent value", f"{learned.majority:.1%}", f"{learned.majority:.1%}")
        )
    if PredictionR2.name not in missing:
        found = PredictionR2().predict(subject)
        rows.append(("explained variance (R²)", f"{found.original:.1%}", f"{found.released:.1%}"))
    if not rows:
        yield _read_recorded(subject, purpose.predict, missing[Classification.name])
        return
    yield Table(
        f"Learners that predict {purpose.predict}, tested on original rows that they have not seen",
        ("", "trained on the original", "trained on the release"),
        rows,
    )


def _read_recorded(subject: Subject, target: str, why: str) -> Part:
    """Return the measures that the record of the run contains, or the reason why no models were trained."""
    record = subject.origin.record
    told = {} if record is None else record.get("measures", {})
    rows = [
        (name, number(float(told[name])), kind.summary)
        for name, kind in MEASURES.items()
        if kind.analysis.key == Classification.analysis.key and isinstance(told.get(name), int | float)
    ]
    if not rows:
        return Words(f"Learners that predict {target} were not tried: {why}.")
    return Table(
        f"Learners that predict {target}, by the record of the run", ("measure", "value", "what it is"), rows
    )
