"""Anatomy: two tables, one with quasi-identifiers and one with sensitive values, joined by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import LimitError, Problem
from shoal.judging.models.k_anonymity import KAnonymity
from shoal.judging.models.model import Spreading
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.blocks import whole_blocks_suffice
from shoal.methods.method import Shows
from shoal.methods.permuting.shuffled_buckets import (
    SHUFFLED,
    Permuting,
    each_column,
    facts_of,
    only_sensitive,
    own_cells,
)
from shoal.release import Release
from shoal.release.layout import ProposedBuckets, Shuffling
from shoal.release.published import Published
from shoal.support.arrays import IntMatrix, IntVector
from shoal.support.run import Run
from shoal.support.wording import format_setting, role_of

OWN = "values"


@dataclass(frozen=True, kw_only=True)
class Anatomy(Permuting):
    """Publishes one table with quasi-identifiers and bucket numbers, and a second one with how often each sensitive
    value occurs in each bucket. In the buckets of the paper no value occurs twice.
    """

    name: ClassVar[str] = "anatomy"
    summary: ClassVar[str] = (
        "two tables, quasi-identifiers and sensitive values, joined by bucket; hides who has which value"
    )
    paper: ClassVar[str] = "Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006"
    shows: ClassVar[Shows] = Shows(buckets=True, exact=True, two_tables=True)
    own_partitioners: ClassVar[tuple[str, ...]] = (OWN,)

    k: int = 2
    """The smallest number of rows in a bucket. Buckets also satisfy the policy's models for sensitive values."""
    permute: bool = False
    """Shuffle each quasi-identifier within buckets too, to hide combinations."""
    partitioner: str = OWN
    """``values``, as in the paper: buckets of as many rows as l requires, all with different sensitive values, without
    regard to quasi-identifiers; or the method whose classes become buckets."""

    @property
    def heeds_limits(self) -> bool:
        """Whether a partitioner makes the buckets. Those of the paper take any rows, because nothing is generalized."""
        return self.partitioner != OWN

    @property
    def keeps_rows(self) -> bool:
        """Quasi-identifiers stay in their rows unless they are shuffled too."""
        return not self.permute

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return a problem without a sensitive column; the buckets of the paper need exactly one column to spread."""
        if not sensitive:
            hint = f"give the column to protect {role_of('sensitive')}, and add "
            message = "anatomy needs a sensitive column"
            return [Problem("method.name", message, hint + format_setting("privacy.l", 3))]
        problems = super().problems_with(requirements, sensitive)
        if self.partitioner != OWN:
            return problems
        names = sorted({spread.column_name for spread in _columns_to_spread(requirements)})
        instead = "choose " + format_setting("method.partitioner", METHODS.default)
        if not names:
            message = "anatomy assigns rows to buckets by l, and the policy has no l"
            problems.append(
                Problem("method.name", message, "add " + format_setting("privacy.l", 3) + ", or " + instead)
            )
        elif len(names) > 1:
            message = f"'{OWN}' considers the values of one column, but the policy has models for {' and '.join(names)}"
            problems.append(Problem("method.partitioner", message, instead))
        return problems

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Make buckets, and split the columns into two tables. O(rows log rows) with the buckets of the paper."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        self.refuse_k(table, requirements)
        if self.partitioner == OWN:
            bucket_of = self._assign_buckets(table, requirements, run)
        else:
            bucket_of = self.buckets(table, requirements, run).region_of
        shuffle = each_column if self.permute else only_sensitive
        return Release(
            own_cells(bucket_of),
            table.quasi.wide,
            table.quasi.wide,
            layout=ProposedBuckets(
                bucket_of,
                _sensitive_as_one(shuffle(table, bucket_of, run), len(table.attributes)),
                self.find_shuffling(table),
                apart=True,
            ),
            facts=facts_of(
                bucket_of,
                quasi=SHUFFLED if self.permute else "as it is",
                sensitive="as it is, in a separate table",
            ),
        )

    def find_shuffling(self, table: CodedTable | Published) -> Shuffling:
        """Quasi-identifiers stay in their rows unless they are shuffled too."""
        return Shuffling(None if self.permute else (tuple(range(len(table.attributes))),))

    def _assign_buckets(self, table: CodedTable, requirements: Requirements, run: Run) -> IntVector:
        """Assign rows to buckets in turn, value by value, so that no bucket gets a value twice.

        With at most rows / l rows of each value and rows // l buckets, two rows of one value never reach the same
        bucket. Which row of a value goes to which bucket is random.
        """
        wanted = _columns_to_spread(requirements)
        column, l = wanted[0].column, max(self.k, *(spread.l for spread in wanted))  # noqa: E741
        codes = table.secrets.wide[:, column]
        counts = table.sensitive_counts[column]
        if int(counts.max(initial=0)) * l > table.rows:
            raise LimitError(_uneven(table, column, l), self._by_partitioner(table, requirements))
        order = np.lexsort((run.random.random(table.rows), codes))
        buckets = table.rows // l
        bucket_of = np.empty(table.rows, np.int32)
        bucket_of[order] = np.arange(table.rows) % buckets
        self._check(table, requirements, bucket_of, buckets)
        return bucket_of

    def _check(
        self, table: CodedTable, requirements: Requirements, bucket_of: IntVector, buckets: int
    ) -> None:
        """Fail at once if different values in one column do not satisfy all requirements."""
        groups = table.group_rows(bucket_of, buckets)
        # `refuse_k` has checked k-anonymity, which does not depend on the buckets.
        for model in requirements.beyond_k:
            if not model.holds_in(groups).all():
                message = f"buckets of different values do not satisfy {model.title}"
                raise LimitError(message, self._by_partitioner(table, requirements))

    def _by_partitioner(self, table: CodedTable, requirements: Requirements) -> str:
        """Name the partitioner that finds buckets, if it is certain to."""
        rules = (KAnonymity(k=self.k), *requirements.group_models)
        if not whole_blocks_suffice(table, replace(requirements, models=rules)):
            return ""
        setting = format_setting("method.partitioner", METHODS.default)
        return "Buckets by another method need not be even: choose " + setting


def _sensitive_as_one(shown_from: IntMatrix, quasi: int) -> IntMatrix:
    """Keep combinations of sensitive values: the second table counts them as a unit."""
    shown_from[:, quasi:] = shown_from[:, quasi : quasi + 1]
    return shown_from


def _columns_to_spread(requirements: Requirements) -> list[Spreading]:
    """Return the sensitive columns of which the values in a bucket must differ, and how many values."""
    rules = [(rule, rule.spread) for rule in requirements.group_models]
    return [replace(spread, l=rule.values_needed) for rule, spread in rules if spread is not None]


def _uneven(table: CodedTable, column: int, l: int) -> str:  # noqa: E741
    """Return why no buckets of different values are possible, and what would help."""
    counts = table.sensitive_counts[column]
    name, values = table.sensitive[column].name, int((counts > 0).sum())
    if values < l:
        return f"buckets of {l:,} different values need {l:,} values, but `{name}` has {values:,}"
    return (
        f"buckets of {l:,} different values are possible only if no value has more than 1/{l:,} of the rows, but the "
        f"most common value of `{name}` has {int(counts.max()):,} of {table.rows:,} rows. Suppression does not help: "
        "all suppressed rows would have that value, so everybody would know it of the people left out"
    )
