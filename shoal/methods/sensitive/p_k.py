"""Clusterings for p-sensitive k-anonymity: greedy, enhanced, and the better of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding import CodedTable
from shoal.errors import check_known
from shoal.judging.models.requirements import Requirements
from shoal.methods.method import CLASSES_OF_PARTS, Abilities, Method, Parts, Shows
from shoal.methods.sensitive.p_k_classes import Clustering, cluster, values_limit_classes
from shoal.release import Release
from shoal.support.run import Run

SEEDS = ("farthest", "random")
PARTS = Parts(why=CLASSES_OF_PARTS, whole=100_000, rows=20_000, sums=("clusters",))
"""How all three work on parts. No part knows how many classes the table could have, so nothing is said about that."""


class SensitiveFirst(Method):
    """A method whose classes have enough different sensitive values from the start."""

    can: ClassVar[Abilities] = Abilities(count_people=True, optimize=("cells",))
    shows: ClassVar[Shows] = Shows(classes=True)
    parts: ClassVar[Parts | str] = PARTS


@dataclass(frozen=True, kw_only=True)
class GreedyPK(SensitiveFirst):
    """Grows one class after the other from a seed: first by sensitive values that it lacks, then by near rows.

    Satisfies k-anonymity, plain and extended p-sensitivity, distinct l-diversity and (alpha,k) in any combination;
    merges classes for other models.
    """

    name: ClassVar[str] = "greedy-p-k"
    summary: ClassVar[str] = (
        "grows classes one by one, by missing sensitive values, then by loss; for small p"
    )
    paper: ClassVar[str] = "Campan, Truta, Miller and Sinca 2007 (GreedyPKClustering)"

    seeds: str = "farthest"
    """Where the next class begins: at the row `farthest` from the last beginning, or at a `random` one."""

    def __post_init__(self) -> None:
        check_known("method.seeds", self.seeds, SEEDS)

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Grow classes until no further one can be completed, and assign the leftover rows to them.

        O(classes x distinct rows x columns) to look for near rows, and O(rows x distinct rows) at worst to
        choose among them.
        """
        found = cluster(table, requirements, run, guarded=False, at_random=self.seeds == "random")
        return found.release(table)


@dataclass(frozen=True, kw_only=True)
class EnhancedPK(SensitiveFirst):
    """Grows classes one after the other; each leaves enough sensitive values for all classes that are still possible.

    A class first takes rare values of the column that limits the classes most, as many as every class must have;
    then frequent values complete it, then values that it lacks in other columns, then near rows up to k. With one
    sensitive column the number of classes is the largest possible. Classes begin at random rows. Afterwards rows move
    between classes and change places, while k, p and the number of classes hold.
    """

    name: ClassVar[str] = "enhanced-p-k"
    summary: ClassVar[str] = "makes as many p-sensitive classes as sensitive values allow; for large p"
    paper: ClassVar[str] = "Truta, Campan and Meyer 2007 (EnhancedPKClustering)"

    improve: bool = True
    """Move rows between the finished classes until that saves hardly anything; tens of seconds at most."""

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Grow as many classes as the feasibility bound allows, fewer where several columns conflict; improve them.

        O(classes x distinct rows x columns) to look for near rows, and O(rows x distinct rows) at worst to
        choose among them. See `exchange_rows` for the improvement.
        """
        found = cluster(table, requirements, run, guarded=True, at_random=True, improve=self.improve)
        return found.release(table)


@dataclass(frozen=True, kw_only=True)
class PK(SensitiveFirst):
    """`greedy-p-k` where rows limit the number of classes, `enhanced-p-k` where sensitive values do.

    If rows are the limit, both may reach the bound on the number of classes; if values are, enhanced-p-k may miss it.
    In both cases Shoal tries both. The one with more classes wins, then the one that loses less.
    """

    name: ClassVar[str] = "p-k"
    summary: ClassVar[str] = (
        "the better of greedy-p-k and enhanced-p-k, chosen by what limits the number of classes"
    )
    paper: ClassVar[str] = "Truta and Campan 2009"

    improve: bool = True
    """Move rows between the finished classes, as `enhanced-p-k` does."""

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Choose by the feasibility bound; at worst the cost of both methods."""

        def cluster_rows(guarded: bool) -> Clustering:
            return cluster(table, requirements, run, guarded=guarded, at_random=guarded, improve=self.improve)

        guarded = values_limit_classes(table, requirements, run)
        best = cluster_rows(guarded)
        if best.classes < best.bound or not guarded:
            other = cluster_rows(not guarded)
            if (-other.classes, other.loss) < (-best.classes, best.loss):
                best, guarded = other, not guarded
        return best.release(table, chosen="enhanced-p-k" if guarded else "greedy-p-k")
