"""Workload: how well the release answers the queries that the policy names, and a loss that makes it answer better.

The release answers as if the rows of a class were spread evenly over the values that the class covers, and suppressed
rows over the whole domain. A class whose cell lies inside or outside of a condition answers it exactly. Only a cell
that contains a border of the condition has to guess. So the loss counts borders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.coding import Attribute, CodedTable
from shoal.coding.purpose import Query
from shoal.judging.linking.evidence import Evidence
from shoal.judging.measures.cell_losses import leaf_share
from shoal.judging.measures.measure import Analysis, CellMeasure, Measure, Needs, Reported
from shoal.judging.measures.spread import Spread, records_unknown
from shoal.support.arrays import FloatVector, IntVector, LongVector

REST = 0.1
"""The share of LM in the loss: it decides between cells that the workload finds equally good."""
SANITY = 0.001
"""Smaller true answers are raised to this share of the answer over all rows, or to one row."""
NONE = 1e-9


class WorkloadLoss(CellMeasure):
    """The borders of the workload's conditions inside cells, and a tenth of LM."""

    name: ClassVar[str] = "workload-loss"
    summary: ClassVar[str] = "borders of the workload's queries that cells contain, by weight (0..1)"
    reported: ClassVar[Reported] = Reported(default=False, percent=True)
    analysis: ClassVar[Analysis] = Analysis(key="workload")

    def loss(self, attribute: Attribute, counts: LongVector, low: IntVector, high: IntVector) -> FloatVector:
        """Return the weight of the borders inside each range, over that of the column that is asked about most. Without
        a workload it is LM.
        """
        rest = leaf_share(attribute, low, high)
        if attribute.asked is None:
            return rest
        return (1.0 - REST) * (attribute.asked[high] - attribute.asked[low]) + REST * rest


@dataclass(frozen=True)
class Answer:
    """A query of the workload, answered from the original and from the release."""

    query: str
    weight: float
    before: float
    """NaN: the mean of no rows."""
    after: float
    error: float
    """|after - before| / max(|before|, sanity)."""


@dataclass(frozen=True, kw_only=True)
class WorkloadError(Measure):
    """The mean relative error of the workload's queries, by their weights."""

    name: ClassVar[str] = "workload-error"
    summary: ClassVar[str] = "mean relative error of the workload's queries on the release"
    needs: ClassVar[Needs] = Needs(ranges=True, original=True)
    reported: ClassVar[Reported] = Reported(default=False, terminal=True, percent=True)
    analysis: ClassVar[Analysis] = Analysis(key="workload")

    def why_unknown(self, evidence: Evidence) -> str | None:
        """Return why the queries cannot be answered, or None."""
        missing, table = super().why_unknown(evidence), evidence.table
        if missing is not None or table is None:
            return missing
        queries = table.context.purpose.workload
        if not queries:
            return "needs a workload: utility.workload names a file of queries"
        quasi, secret = ({own.name for own in part} for part in (table.attributes, table.sensitive))
        used = {name for query in queries for name in _columns(query)}
        lost = used - quasi - secret
        if lost:
            return f"the workload asks about {', '.join(sorted(lost))}, which is not generalized here"
        return records_unknown(evidence) if used & secret else None

    def compute(self, evidence: Evidence) -> float:
        """Return the mean."""
        found = answers(evidence)
        return float(np.average([one.error for one in found], weights=[one.weight for one in found]))


class WorkloadErrorMax(WorkloadError):
    """The largest relative error of a query of the workload."""

    name: ClassVar[str] = "workload-error-max"
    summary: ClassVar[str] = "largest relative error of a query of the workload on the release"
    reported: ClassVar[Reported] = Reported(default=False, percent=True)

    def compute(self, evidence: Evidence) -> float:
        """Return the largest."""
        return max(one.error for one in answers(evidence))


def answers(evidence: Evidence) -> list[Answer]:
    """Answer all queries of the workload. O(queries x columns x rows)."""
    if Answer not in evidence.shared_results:
        evidence.shared_results[Answer] = _answers(evidence)
    found: list[Answer] = evidence.shared_results[Answer]
    return found


def _answers(evidence: Evidence) -> list[Answer]:
    table = evidence.original
    queries = table.context.purpose.workload
    secret = {own.name for own in table.sensitive}
    sensitive = any(name in secret for query in queries for name in _columns(query))
    before, after = Spread.of_rows(table), Spread(evidence.published, sensitive=sensitive)
    found = []
    for query in queries:
        truth, whole = _answer(before, table, query), _answer(before, table, query, everywhere=True)
        ours, error = _answer(after, table, query), 0.0
        if np.isnan(truth) or np.isnan(ours):
            # The mean of nothing: right if both say so.
            error = float(np.isnan(truth) != np.isnan(ours))
        elif abs(ours - truth) > NONE * max(abs(truth), 1.0):
            least = SANITY * whole if query.asks != "count" else max(1.0, SANITY * whole)
            error = abs(ours - truth) / max(abs(truth), least, NONE)
        found.append(Answer(query.name, query.weight, truth, ours, error))
    return found


def _columns(query: Query) -> list[str]:
    return [*(condition.column for condition in query.conditions), *([query.of] if query.of else [])]


def _answer(spread: Spread, table: CodedTable, query: Query, *, everywhere: bool = False) -> float:
    """Return the expected answer; `everywhere`: over all rows, and of the sizes of numbers, whatever their sign."""
    places = {own.name: j for j, own in enumerate((*table.attributes, *table.sensitive))}
    inside = {} if everywhere else {own.column: own.inside for own in query.conditions}
    rows, summed = spread.rows, spread.rows
    for name, codes in inside.items():
        share = spread.columns[places[name]].mean(codes.astype(np.float64))
        rows = rows * share
        summed = summed * share if name != query.of else summed
    if query.of is None:
        return float(rows.sum())
    line = (*table.attributes, *table.sensitive)[places[query.of]].hierarchy.positions
    assert line is not None
    known, taken = np.isfinite(line), inside.get(query.of, np.ones(len(line), np.bool_))
    values = np.where(known & taken, np.abs(line) if everywhere else line, 0.0)
    total = float((summed * spread.columns[places[query.of]].mean(values)).sum())
    if query.asks == "sum":
        return total
    counted = float(
        (summed * spread.columns[places[query.of]].mean((known & taken).astype(np.float64))).sum()
    )
    return total / counted if counted > NONE else float("nan")
