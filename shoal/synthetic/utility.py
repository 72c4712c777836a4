"""What a synthetic table is good for: the measures of releases that compare two tables, with the holdout as reference.

A holdout differs from the training rows only by chance, so its figures show what a table without any fault reaches.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import polars as pl

from shoal.coding import CodedTable
from shoal.coding.columns import Kept
from shoal.coding.counting import ByRows
from shoal.coding.encode import encode
from shoal.errors import ARGUMENTS, PolicyError, Problem, ShoalError
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures import MEASURES
from shoal.judging.measures.classification import (
    MANY_VALUES,
    Classification,
    represent_ranges,
    train_and_test,
)
from shoal.judging.measures.marginals import KMarginal
from shoal.judging.measures.prediction import PredictionR2, explain_variance
from shoal.judging.measures.propensity import Pmse, PmseRatio
from shoal.judging.measures.regression import RegressionOverlap
from shoal.judging.measures.workload import WorkloadError, WorkloadErrorMax
from shoal.policy import Policy
from shoal.policy.purposes import with_purpose
from shoal.release.published import Boxes, Published
from shoal.support.arrays import FloatMatrix, LongVector
from shoal.support.run import Run
from shoal.support.wording import format_value
from shoal.synthetic.arguments import check_named
from shoal.synthetic.tables import HOLDOUT, ORIGINAL, SYNTHETIC, Tables

ROWS = 100_000
"""Rows of each table that measures compare; drawn, if there are more."""
ROWS_OF_MODELS = 10_000
"""The same for measures that fit a model of all pairs of columns."""
ALWAYS = {KMarginal.name: ROWS, Pmse.name: ROWS_OF_MODELS, PmseRatio.name: ROWS_OF_MODELS}
ASKED = {"regression": (RegressionOverlap.name,), "workload": (WorkloadError.name, WorkloadErrorMax.name)}


@dataclass(frozen=True)
class Analyses:
    """What analysts will do with the table, as in the section `[utility]` of a policy."""

    regression: str | None = None
    workload: str | os.PathLike[str] | None = None
    predict: Any = None

    def check(self, tables: Tables) -> None:
        """Raise PolicyError if they name columns that are not audited."""
        if self.predict is not None:
            if not isinstance(self.predict, str):
                message = f"must be the name of a column, not {format_value(self.predict)}"
                raise PolicyError([Problem("predict", message)], where=ARGUMENTS)
            check_named("predict", self.predict, tables.names)
        problems = []
        try:
            self.policy(tables.names)
        except PolicyError as error:
            for one in error.problems:
                message = one.message.replace("the policy has no column", "there is no audited column")
                problems.append(Problem(one.path.removeprefix("utility."), message, one.hint))
        if problems:
            raise PolicyError(problems, where=ARGUMENTS)

    def policy(self, names: Sequence[str]) -> Policy:
        """Return a policy that names the analyses, to code the columns; its requirement does not matter."""
        return Policy.from_keywords(quasi=names, k=2, regression=self.regression, workload=self.workload)


@dataclass(frozen=True)
class Figure:
    """One measure of the synthetic table, and of the holdout in its place."""

    name: str
    summary: str
    synthetic: float | None
    reference: float | None
    """Of the holdout; of the prediction: of a learner that was trained on the original."""
    unknown: str = ""
    """Why it could not be measured."""


@dataclass(frozen=True)
class Usefulness:
    """What the measures say."""

    figures: tuple[Figure, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    """Measure -> how many rows of each table were compared at most."""

    def summary(self) -> list[dict[str, Any]]:
        """Return plain data."""
        return [
            {
                "measure": one.name,
                "synthetic": one.synthetic,
                "reference": one.reference,
                "unknown": one.unknown or None,
            }
            for one in self.figures
        ]


def measure_usefulness(tables: Tables, analyses: Analyses, run: Run) -> Usefulness:
    """Compute the measures of two tables, those of the analyses that were named, and the prediction of a column."""
    wanted = dict(ALWAYS)
    for key, measures in ASKED.items():
        if getattr(analyses, key) is not None:
            wanted |= dict.fromkeys(measures, ROWS)
    figures: list[Figure] = []
    for rows in sorted(set(wanted.values()), reverse=True):
        names = [name for name, own in wanted.items() if own == rows]
        run.progress("usefulness", 0.8 if rows == ROWS else 0.9)
        try:
            figures += _compare(tables, analyses, names, rows, run)
        except PolicyError:
            raise
        except ShoalError as error:
            figures += [Figure(name, MEASURES[name].summary, None, None, str(error)) for name in names]
    if analyses.predict is not None:
        figures.append(_predict(tables, analyses, run))
    return Usefulness(tuple(figures), wanted)


def _compare(tables: Tables, analyses: Analyses, names: Sequence[str], rows: int, run: Run) -> list[Figure]:
    coded = encode_tables(tables, analyses, rows, run)
    synthetic = Evidence(publish_rows(coded[SYNTHETIC]), coded[ORIGINAL])
    holdout = Evidence(publish_rows(coded[HOLDOUT]), coded[ORIGINAL]) if HOLDOUT in coded else None
    found = []
    for name in names:
        measure = MEASURES[name]()
        why = measure.why_unknown(synthetic)
        value = None if why else _known(measure.value(synthetic))
        reference = None if why or holdout is None else _known(measure.value(holdout))
        found.append(Figure(name, measure.summary, value, reference, why or ""))
    return found


def _known(value: float) -> float | None:
    return value if value == value else None


def encode_tables(tables: Tables, analyses: Analyses, rows: int, run: Run) -> dict[str, CodedTable]:
    """Code some rows of all tables over the same domains."""
    parts = {}
    for role, frame in tables.frames.items():
        chosen = np.sort(run.random.permutation(len(frame))[:rows])
        parts[role] = frame if len(frame) <= rows else frame[chosen]
    whole = pl.concat(list(parts.values()))
    empty = [name for name in whole.columns if whole[name].null_count() == len(whole)]
    whole = whole.drop(empty)
    policy = analyses.policy(whole.columns)
    table = with_purpose(encode(whole, list(policy.plans(whole.columns))), policy)
    ends = np.cumsum([0, *(len(part) for part in parts.values())])
    return {
        role: _take(table, np.arange(start, stop))
        for role, start, stop in zip(parts, ends[:-1], ends[1:], strict=True)
    }


def _take(table: CodedTable, rows: LongVector) -> CodedTable:
    secrets = table.secrets.take(rows)
    return replace(
        table, quasi=table.quasi.take(rows), secrets=secrets, kept=Kept(), countings=(ByRows.of(secrets),)
    )


def publish_rows(table: CodedTable) -> Published:
    """Return the rows of a table as an outsider sees them, each cell a single value."""
    number, first = table.number_rows(as_read=True)
    shown = np.ascontiguousarray(table.quasi.wide[first])
    return Published(table.attributes, table.sensitive, number, table.secrets.wide, Boxes(shown, shown))


def _why_no_prediction(tables: Tables, classes: int, name: str) -> str:
    """Return why nothing can be learned about a column, 0 classes if it is a number; empty if it can."""
    if tables.holdout is None:
        return "needs a holdout to test on"
    if len(tables.columns) < 2:
        return "needs other columns to predict from"
    if classes > MANY_VALUES:
        return f"{name} has {classes:,} values, but a learner can distinguish only {MANY_VALUES}"
    if classes and find_spec("sklearn") is None:
        return 'needs scikit-learn, which is not installed: pip install "shoal[learn]"'
    return ""


def _predict(tables: Tables, analyses: Analyses, run: Run) -> Figure:
    """Train a learner on synthetic rows, and one on training rows; test both on the holdout."""
    name = str(analyses.predict)
    column = tables.columns[tables.names.index(name)]
    is_number = column.is_number and len(column.values) > 2
    what = (
        f"share of the variance of {name} that a learner explains"
        if is_number
        else f"share of the values of {name} that a learner predicts"
    )
    what += " after training on the synthetic table (reference: on the original), tested on the holdout"
    title = PredictionR2.name if is_number else Classification.name
    why = _why_no_prediction(tables, 0 if is_number else len(column.values), name)
    if why:
        return Figure(title, what, None, None, why)
    coded = encode_tables(tables, replace(analyses, regression=None, workload=None), ROWS_OF_MODELS, run)
    place = [own.name for own in coded[ORIGINAL].attributes].index(name)
    others = [at for at in range(len(coded[ORIGINAL].attributes)) if at != place]

    def represent(table: CodedTable) -> FloatMatrix:
        codes = table.quasi.wide[:, others]
        return represent_ranges(tuple(table.attributes[at] for at in others), codes, codes)

    cells = {role: represent(table) for role, table in coded.items()}
    label = {role: table.quasi.wide[:, place].astype(np.int64) for role, table in coded.items()}
    line = coded[ORIGINAL].attributes[place].hierarchy.positions
    found = []
    for role in (SYNTHETIC, ORIGINAL):
        if is_number and line is not None:
            numbers = np.append(line.astype(np.float64), np.nan)
            own, truth = (numbers[np.minimum(label[one], len(line))] for one in (role, HOLDOUT))
            found.append(explain_variance(cells[role], own, cells[HOLDOUT], truth))
        else:
            classes = coded[ORIGINAL].attributes[place].hierarchy.size
            found.append(train_and_test(cells[role], label[role], cells[HOLDOUT], label[HOLDOUT], classes)[0])
    return Figure(title, what, found[0], found[1])
