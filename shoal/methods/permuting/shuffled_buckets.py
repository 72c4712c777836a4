"""Permuting methods: they shuffle values within buckets, instead of generalizing them or in addition to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from shoal.coding import CodedTable
from shoal.errors import InfeasibleError, LimitError, PolicyError, Problem, did_you_mean
from shoal.judging.models.delta_presence import presence_models
from shoal.judging.models.hybrid_k import FalseCellLimit
from shoal.judging.models.k_anonymity import K, KAnonymity
from shoal.judging.models.k_type import KType
from shoal.judging.models.model import Model
from shoal.judging.models.requirements import Requirements
from shoal.methods import METHODS
from shoal.methods.blocks import whole_blocks_suffice
from shoal.methods.method import Method, Parts, Shows
from shoal.methods.parts import release_in_parts
from shoal.release import Release
from shoal.release.layout import ProposedBuckets, Shuffling
from shoal.release.published import Published
from shoal.support.arrays import IntMatrix, IntVector
from shoal.support.run import Run
from shoal.support.wording import format_setting

SHUFFLED = "as it is, shuffled within buckets"


@dataclass(frozen=True, kw_only=True)
class Permuting(Method):
    """What all permuting methods share: buckets from a partitioner, and a shuffle within each bucket."""

    shows: ClassVar[Shows] = Shows(buckets=True, exact=True)
    parts: ClassVar[Parts | str] = (
        "its buckets are made of the whole table; only a method whose classes become buckets works on parts"
    )

    k: int = 4
    """The smallest number of rows in a bucket. Buckets also satisfy the policy's models for sensitive values."""
    strict: bool = True
    """With `mondrian`: rows with equal values in the split column go to the same bucket."""
    partitioner: str = METHODS.default
    """The method whose classes become buckets, with its default options."""

    least_k: ClassVar[int] = 2
    """The smallest `k` that makes sense: one row cannot be shuffled, but it may be generalized."""
    own_partitioners: ClassVar[tuple[str, ...]] = ()
    """Ways to make buckets that only this method has."""

    @property
    def sizes(self) -> tuple[Model, ...]:
        """The rule about the number of rows of a bucket, if there is one."""
        return (KAnonymity(k=self.k),) if self.k > 1 else ()

    @property
    def keeps_rows(self) -> bool:
        """The quasi-identifiers of a row stay together, so that a row can be compared with a person."""
        return False

    def problems_with(self, requirements: Requirements, sensitive: Sequence[str]) -> list[Problem]:
        """Return what cannot be verified if quasi-identifiers are shuffled: who can be linked, and which cells are
        false."""
        problems = []
        for model in requirements.models if not self.keeps_rows else ():
            if isinstance(model, KType):
                message = (
                    f"{self.name} shuffles quasi-identifiers, so rows match nobody, as {model.name} asks"
                )
                hint = f"remove k and what needs it, or take {METHODS.default}"
                problems.append(Problem("method.name", message, hint))
            elif isinstance(model, FalseCellLimit):
                message = f"{self.name} shuffles quasi-identifiers, so many cells are not their owner's"
                problems.append(Problem("privacy.relocation", message, "remove it, or take another method"))
        return problems

    def __post_init__(self) -> None:
        problems = []
        if self.k < self.least_k:
            problems.append(Problem("method.k", f"must be at least {self.least_k}, not {self.k}"))
        own = self.partitioner in self.own_partitioners
        kind = METHODS[self.partitioner] if self.partitioner in METHODS else None  # noqa: SIM401  (`get` would raise)
        if not own and (kind is None or not kind.can.make_buckets):
            known = [
                *self.own_partitioners,
                *(name for name, other in METHODS.items() if other.can.make_buckets),
            ]
            message = f"'{self.partitioner}' cannot make buckets"
            hint = did_you_mean(self.partitioner, known) or f"choose one of {', '.join(known)}"
            problems.append(Problem("method.partitioner", message, hint))
        elif not self.strict and (kind is None or not _has_strict(kind)):
            known = [name for name, other in METHODS.items() if other.can.make_buckets and _has_strict(other)]
            message = f"works only with {' or '.join(known)}, not with {self.partitioner}"
            problems.append(Problem("method.strict", message))
        if problems:
            raise PolicyError(problems)

    @property
    def kinds_that_steer(self) -> tuple[str, ...]:
        """Return what steers the method that makes the buckets; nothing else is optimized."""
        return (
            () if self.partitioner in self.own_partitioners else METHODS[self.partitioner]().kinds_that_steer
        )

    @property
    def builds_on(self) -> Method | None:
        """The method whose classes become buckets; the rest takes little time."""
        return None if self.partitioner in self.own_partitioners else METHODS[self.partitioner]()

    def refuse_k(self, table: CodedTable, requirements: Requirements) -> None:
        """Refuse k before the work if exact quasi-identifiers do not satisfy it. O(rows)."""
        from shoal.kernels.grouping import distinct

        asked = [int(model.threshold) for model in requirements.models if model.key is K]
        if not asked:
            return
        number, first = distinct(table.quasi.wide)
        if int(np.bincount(number, minlength=len(first)).min(initial=table.rows)) < max(asked):
            message = (
                f"{self.name} publishes exact quasi-identifiers, which rows do not share, so k = {max(asked):,} "
                "cannot hold"
            )
            raise PolicyError(
                [Problem("method.name", message, "remove k from the requirements, or choose mondrian")]
            )

    def buckets(
        self, table: CodedTable, requirements: Requirements, run: Run, rules: tuple[Model, ...] | None = None
    ) -> Release:
        """Partition the table into buckets. `rules`, if given, replace the policy's models for classes."""
        kind: Any = METHODS[self.partitioner]
        more = presence_models(requirements.models) if kind.can.presence_only else []
        wanted = Requirements(
            models=(*self.sizes, *(requirements.group_models if rules is None else rules), *more),
            suppression=requirements.suppression,
            measure=requirements.measure,
        )
        options = {"strict": self.strict} if _has_strict(kind) else {}
        try:
            made = release_in_parts(kind(**options), table, wanted, run)
        except (InfeasibleError, LimitError) as error:
            # The policy does not ask for buckets of k rows, so nothing is proven about other releases.
            raise LimitError(str(error), self._smaller(table, wanted)) from None
        return made

    def _smaller(self, table: CodedTable, wanted: Requirements) -> str:
        """Name the largest smaller k with which there are buckets, if there is one. O(k x rows)."""
        others = wanted.models[len(self.sizes) :]
        for k in range(self.k - 1, 1, -1):
            if whole_blocks_suffice(table, replace(wanted, models=(KAnonymity(k=k), *others))):
                return f"Buckets have at least {self.k:,} rows: choose " + format_setting("method.k", k)
        return ""


def _has_strict(kind: Any) -> bool:
    """Whether a method has the option to keep rows with equal values together."""
    return any(option.name == "strict" for option in fields(kind))


def shuffle_within(bucket_of: IntVector, random: np.random.Generator) -> IntVector:
    """Return for each row another row of its bucket, each once, in random order. Rows without a bucket stay.

    O(rows log rows).
    """
    rows = len(bucket_of)
    source = np.arange(rows, dtype=np.int32)
    inside = np.flatnonzero(bucket_of >= 0)
    places = inside[np.argsort(bucket_of[inside], kind="stable")]
    mixed = inside[np.lexsort((random.random(len(inside)), bucket_of[inside]))]
    source[places] = mixed
    return source


def own_cells(bucket_of: IntVector) -> IntVector:
    """Return one region per row, and none for rows without a bucket."""
    return np.where(bucket_of >= 0, np.arange(len(bucket_of)), -1).astype(np.int32)


def each_column(table: CodedTable, bucket_of: IntVector, run: Run) -> IntMatrix:
    """Return whose value each cell shows if every column is shuffled by itself."""
    columns = len(table.attributes) + len(table.sensitive)
    return np.stack([shuffle_within(bucket_of, run.random) for _ in range(columns)], axis=1)


def only_sensitive(table: CodedTable, bucket_of: IntVector, run: Run) -> IntMatrix:
    """Return whose value each cell shows if the sensitive columns are shuffled as a unit."""
    quasi = len(table.attributes)
    own = np.arange(table.rows, dtype=np.int32)[:, None]
    shown_from = np.tile(own, (1, quasi + len(table.sensitive)))
    shown_from[:, quasi:] = shuffle_within(bucket_of, run.random)[:, None]
    return shown_from


def facts_of(bucket_of: IntVector, *, quasi: str, sensitive: str, **more: Any) -> dict[str, Any]:
    """Return what a method reports about its work: the number of buckets, and how columns are published."""
    buckets = len(np.unique(bucket_of[bucket_of >= 0]))
    return {"buckets": buckets, "published_as": {"quasi": quasi, "sensitive": sensitive}, **more}


@dataclass(frozen=True, kw_only=True)
class Bucketization(Permuting):
    """Publishes quasi-identifiers as they are, and shuffles sensitive values within buckets."""

    name: ClassVar[str] = "bucketization"
    summary: ClassVar[str] = (
        "shuffles sensitive values within buckets; hides who has which value, but not who is in the table"
    )
    paper: ClassVar[str] = "Xiao, Tao: Anatomy, VLDB 2006; Martin et al., ICDE 2007"

    @property
    def keeps_rows(self) -> bool:
        """Only sensitive values are shuffled."""
        return True

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Shuffle all sensitive columns as a unit, so that their combinations stay true. O(rows log rows)."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        self.refuse_k(table, requirements)
        bucket_of = self.buckets(table, requirements, run).region_of
        return Release(
            own_cells(bucket_of),
            table.quasi.wide,
            table.quasi.wide,
            layout=ProposedBuckets(
                bucket_of, only_sensitive(table, bucket_of, run), self.find_shuffling(table)
            ),
            facts=facts_of(bucket_of, quasi="as it is", sensitive=SHUFFLED),
        )

    def find_shuffling(self, table: CodedTable | Published) -> Shuffling:
        """Quasi-identifiers stay in their rows."""
        return Shuffling((tuple(range(len(table.attributes))),))


@dataclass(frozen=True, kw_only=True)
class SliceColumns(Permuting):
    """Shuffles every column by itself within buckets."""

    name: ClassVar[str] = "slice-columns"
    summary: ClassVar[str] = (
        "shuffles every column by itself within buckets; values stay exact, combinations do not"
    )
    paper: ClassVar[str] = "Li, Li, Zhang, Molloy: Slicing, TKDE 2012"

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Shuffle each column independently. O(columns x rows log rows)."""
        self.check_suited(requirements, [attribute.name for attribute in table.sensitive])
        self.refuse_k(table, requirements)
        bucket_of = self.buckets(table, requirements, run).region_of
        return Release(
            own_cells(bucket_of),
            table.quasi.wide,
            table.quasi.wide,
            layout=ProposedBuckets(bucket_of, each_column(table, bucket_of, run)),
            facts=facts_of(bucket_of, quasi=SHUFFLED, sensitive=SHUFFLED),
        )
