"""Anatomy: two tables, one with quasi-identifiers and one with sensitive values, joined by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import IntMatrix, IntVector
from shoal.errors import InfeasibleError, PolicyError, Problem
from shoal.methods.base import Shuffled
from shoal.methods.permuting.permuting import (
    SHUFFLED,
    Permuting,
    each_column,
    facts_of,
    only_sensitive,
    own_cells,
)
from shoal.models.alpha_k import AlphaK
from shoal.models.l_diversity import Diversity
from shoal.models.p_sensitive import PSensitive
from shoal.models.requirements import Requirements
from shoal.release import Release
from shoal.release.groups import group
from shoal.run import Run
from shoal.table import CodedTable

OWN = "values"


@dataclass(frozen=True, kw_only=True)
class Anatomy(Permuting):
    """Publishes quasi-identifiers with a bucket number, and apart from them how often each bucket has which sensitive
    value. In the buckets of the paper no value occurs twice.
    """

    name: ClassVar[str] = "anatomy"
    summary: ClassVar[str] = (
        "two tables, quasi-identifiers and sensitive values, joined by bucket; hides who has which value"
    )
    paper: ClassVar[str] = "Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006"
    two_tables: ClassVar[bool] = True
    own_partitioners: ClassVar[tuple[str, ...]] = (OWN,)

    k: int = 2
    """Rows in a bucket, at least; buckets also satisfy the policy's rules about sensitive values."""
    permute: bool = False
    """Shuffle each quasi-identifier within buckets too, so that combinations do not show."""
    partitioner: str = OWN
    """``values``, as in the paper: buckets of as many rows as l asks for, all with different sensitive values, whoever
    they are; or the method whose classes become buckets."""

    @property
    def heeds_limits(self) -> bool:
        """Whether buckets come from a partitioner; the paper's take any rows, for nothing is generalized."""
        return self.partitioner != OWN

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Make buckets, and part the columns. O(rows log rows) with the buckets of the paper."""
        if not table.sensitive:
            hint = 'give the column to protect role = "sensitive"'
            raise PolicyError([Problem("method.name", "anatomy needs a sensitive column", hint)])
        self.refuse_k(table, requirements)
        if self.partitioner == OWN:
            bucket_of = self._dealt(table, requirements, run)
        else:
            bucket_of = self.buckets(table, requirements, run).region_of
        shuffle = each_column if self.permute else only_sensitive
        return Release(
            own_cells(bucket_of),
            table.codes,
            table.codes,
            bucket_of=bucket_of,
            shown_from=_sensitive_as_one(shuffle(table, bucket_of, run), len(table.attributes)),
            together=self.shuffled_together(table)[0],
            apart=True,
            facts=facts_of(
                bucket_of,
                quasi=SHUFFLED if self.permute else "as it is",
                sensitive="as it is, in a table of its own",
            ),
        )

    def shuffled_together(self, table: CodedTable) -> Shuffled:
        """Quasi-identifiers stand in their rows unless they are shuffled too."""
        return None if self.permute else (tuple(range(len(table.attributes))),), None

    def _dealt(self, table: CodedTable, requirements: Requirements, run: Run) -> IntVector:
        """Deal rows out to buckets, value by value, so that none gets a value twice.

        With at most rows / l rows of each value and rows // l buckets, the rows of one value never come round to the
        same bucket. Which row of a value goes where is random.
        """
        column, l = _asked(requirements, self.k)  # noqa: E741
        codes = table.sensitive_codes[:, column]
        counts = table.sensitive_counts[column]
        if int(counts.max(initial=0)) * l > table.rows:
            raise InfeasibleError(_uneven(table, column, l))
        order = np.lexsort((run.random.random(table.rows), codes))
        buckets = table.rows // l
        bucket_of = np.empty(table.rows, np.int32)
        bucket_of[order] = np.arange(table.rows) % buckets
        self._check(table, requirements, bucket_of, buckets)
        return bucket_of

    def _check(
        self, table: CodedTable, requirements: Requirements, bucket_of: IntVector, buckets: int
    ) -> None:
        """Say so at once where different values of one column are not all that is asked for."""
        groups = group(bucket_of, buckets, table.sensitive_codes, table.sensitive, table.sensitive_counts)
        for model in requirements.group_models:
            # Who looks for k rows that read alike finds none in any exact release.
            if model.name != "k-anonymity" and not model.satisfied(groups).all():
                raise InfeasibleError(
                    f'buckets of different values do not satisfy {model.title}: choose partitioner = "mondrian", '
                    "which looks at every rule, or ask for less"
                )


def _sensitive_as_one(shown_from: IntMatrix, quasi: int) -> IntMatrix:
    """Let combinations of sensitive values stay true: the second table counts them as one."""
    shown_from[:, quasi:] = shown_from[:, quasi : quasi + 1]
    return shown_from


def _asked(requirements: Requirements, k: int) -> tuple[int, int]:
    """Return the sensitive column whose values are to differ, and how many rows a bucket gets."""
    wanted: list[tuple[int, str, int]] = []
    for rule in requirements.group_models:
        if isinstance(rule, Diversity):
            wanted.append((rule.column, rule.column_name, rule.values_needed))
        elif isinstance(rule, AlphaK):
            wanted.append((rule.column, rule.column_name, int(np.ceil(1 / rule.alpha - 1e-9))))
        elif isinstance(rule, PSensitive) and rule.column is not None:
            wanted.append((rule.column, rule.column_name, rule.p))
    if not wanted:
        hint = 'add l = 3 to [privacy], or choose partitioner = "mondrian"'
        raise PolicyError(
            [Problem("method.name", "anatomy deals rows out by l, and no l is asked for", hint)]
        )
    names = sorted({name for _, name, _ in wanted})
    if len(names) > 1:
        message = f"'{OWN}' looks at the values of one column, and rules are about {' and '.join(names)}"
        raise PolicyError([Problem("method.partitioner", message, 'choose partitioner = "mondrian"')])
    return wanted[0][0], max(k, *(needed for _, _, needed in wanted))


def _uneven(table: CodedTable, column: int, l: int) -> str:  # noqa: E741
    """Say why no buckets of different values can be made, and what would help."""
    counts = table.sensitive_counts[column]
    name, values = table.sensitive[column].name, int((counts > 0).sum())
    if values < l:
        return (
            f"buckets of {l:,} different values need {l:,} values, and `{name}` has {values:,}: ask for less"
        )
    return (
        f"buckets of {l:,} different values are possible only if no value has more than 1/{l:,} of the rows, and the "
        f"most common value of `{name}` has {int(counts.max()):,} of {table.rows:,} rows. Suppression is no way out: "
        "all rows left out would have that value, and whoever is missing would be known to have it. Ask for less, or "
        'choose partitioner = "mondrian" if distinct values are all that is asked for'
    )
