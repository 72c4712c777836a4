"""What published rows show by themselves: sensitive values to infer, and distributions of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.coding import Attribute
from shoal.coding.column_plan import ColumnPlan
from shoal.coding.encode import encode_column
from shoal.coding.hierarchy.kinds import parse_hierarchy
from shoal.coding.roles import PLAIN
from shoal.documents.report.bins import Bins, bins_of
from shoal.documents.report.charts import bars
from shoal.documents.report.gate import Gate
from shoal.documents.report.report_parts import Chart, Grid, Part, Section, Table, Words
from shoal.errors import ShoalError
from shoal.io.coded import code_column
from shoal.io.type_inference import guess_numbers_and_dates
from shoal.judging.case import Case
from shoal.judging.identifier_columns import columns_without_role
from shoal.judging.models.extended_p import strong_values
from shoal.pipeline.attack import belief_allowed, gain_allowed
from shoal.release.bounds import label_texts
from shoal.support.arrays import FloatVector


@dataclass(frozen=True)
class Inferred:
    """What the rows show about one sensitive column to someone who finds the rows that a person may own."""

    column: str
    success: float
    """The mean share of the own value among the rows that could also be the person's."""
    blind: float
    """The same without quasi-identifiers."""
    certain: float
    """The share of rows for which all these rows have one value."""
    exposed: bool
    """A value is more likely for some row than the policy allows."""

    @property
    def words(self) -> str:
        """Say it in one line."""
        return (
            f"{self.column}: by the published rows, a guess of the value is right about {self.success:.2%}, a blind "
            f"guess about {self.blind:.2%}; certain for {self.certain:.2%} of the rows."
        )


def infer_values(case: Case) -> Iterator[Inferred]:
    """Measure what each sensitive column lets an adversary infer from classes or buckets. O(rows log rows) each."""
    published = case.published
    if not published.rows or not (case.classes_tell or published.in_buckets):
        return
    group = published.candidates
    size = np.bincount(group)
    for j, attribute in enumerate(published.sensitive):
        nodes = tuple(case.policy.columns[attribute.name].protected or ())
        strong = strong_values(attribute.hierarchy, nodes)
        value = strong[published.sensitive_codes[:, j]].astype(np.int64)
        pairs, count = np.unique(group * np.int64(len(strong)) + value, return_counts=True)
        share = count / size[pairs // len(strong)]
        top = np.zeros(len(size))
        np.maximum.at(top, pairs // len(strong), share)
        limit = 1.0 if nodes else belief_allowed(case.requirements, j)
        certain = top[group] >= 1 - 1e-12
        blind = np.bincount(value) / len(value)
        gaining = certain & (1 - blind[value] > gain_allowed(case.requirements, j))
        yield Inferred(
            attribute.name,
            math.fsum(share * count) / len(value),
            math.fsum(blind**2),
            float(certain.mean()),
            bool(gaining.any() or (limit < 1 and (top > limit + 1e-12).any())),
        )


def inference_section(inferred: Sequence[Inferred]) -> Section:
    """Return the section about sensitive values."""
    rows = [
        (
            one.column,
            "more likely for some rows than the policy allows, or certain" if one.exposed else "within the policy",
            f"{one.success:.2%}", f"{one.blind:.2%}", f"{one.certain:.2%}",
        )
        for one in inferred
    ]  # fmt: skip
    head = ("sensitive column", "outcome", "right on average", "by a blind guess", "certain")
    words = (
        "An adversary who knows quasi-identifiers finds the rows that could be a person's, and guesses by them. These "
        "are shares of the published rows, computed from the rows only. The private edition compares with the original "
        "and counts its people, so its shares differ."
    )
    parts: list[Part] = [Words(words)]
    parts += [Table("What the rows show about sensitive values", head, rows)] if rows else []
    if not rows:
        parts.append(Words("There is no sensitive column, or the rows do not show whose they could be."))
    return Section("attacks", "What can be inferred from the rows", parts)


def distribution_sections(case: Case) -> Iterator[Section]:
    """Yield the section about columns that are not generalized, if there is any."""
    charts: list[Chart] = []
    for at, (own, rows) in enumerate(_values(case)):
        used = rows > 0
        kept = [name for name, there in zip(own.labels, used, strict=True) if there]
        charts.append(
            bars(
                f"published{at}", f"Distribution of {own.column} in the release", kept,
                rows[used] / max(case.published.rows, 1), "share of rows", own.column,
            )
        )  # fmt: skip
    words = "What the published rows show in columns that are not generalized. Rare values are joined with others."
    if charts:
        yield Section("distributions", "Distributions in the release", (Words(words), Grid(charts)))


def _values(case: Case) -> Iterator[tuple[Bins, FloatVector]]:
    """Yield each column that is published as it is, in bins. Types follow from the published cells: those of the
    original may follow from rows that were suppressed. O(rows) each.
    """
    published, policy = case.published, case.policy
    gate = Gate.of(case.requirements)
    columns: dict[str, tuple[pl.Series, ColumnPlan]] = {}
    for j, attribute in enumerate(published.sensitive):
        codes = published.sensitive_codes[:, j]
        shown = attribute.hierarchy.leaves.gather(codes[codes >= 0].astype(np.uint32))
        columns[attribute.name] = shown, policy.column_plans[attribute.name]
    columns |= {
        name: (case.sheet[name], ColumnPlan(name, PLAIN))
        for name in (*policy.names(PLAIN), *columns_without_role(case))
        if name in case.sheet.columns
    }
    for name, (cells, plan) in columns.items():
        try:
            values = guess_numbers_and_dates(label_texts(cells))
            hierarchy, own = encode_column(code_column(values), plan)
        except ShoalError:
            continue
        held = np.bincount(own, minlength=hierarchy.size)
        named = parse_hierarchy(plan.hierarchy).names_values
        bins = bins_of(Attribute(name, hierarchy), held, gate, made_from_data=named)
        yield bins, bins.count(held)
