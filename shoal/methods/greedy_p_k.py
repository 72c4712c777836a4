"""Greedy clustering for p-sensitive k-anonymity (GreedyPKClustering, Campan, Truta et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.errors import PolicyError, Problem, did_you_mean
from shoal.methods.base import Method
from shoal.methods.sensitive_classes import cluster
from shoal.release import Release
from shoal.requirements import Requirements
from shoal.run import Run
from shoal.table import CodedTable

SEEDS = ("farthest", "random")


@dataclass(frozen=True, kw_only=True)
class GreedyPK(Method):
    """One class after the other grows from a seed: first by sensitive values it lacks, then by rows that are near.

    Serves k-anonymity, p-sensitivity plain and extended, distinct l-diversity and (alpha,k) in any combination;
    other models are met by merging classes.
    """

    name: ClassVar[str] = "greedy-p-k"
    summary: ClassVar[str] = (
        "classes grown one by one, by missing sensitive values, then by loss; for small p"
    )
    paper: ClassVar[str] = "Campan, Truta, Miller and Sinca 2007 (GreedyPKClustering)"

    seeds: str = "farthest"
    """Where the next class begins: at the row `farthest` from the last beginning, or at a `random` one."""

    def __post_init__(self) -> None:
        if self.seeds not in SEEDS:
            raise PolicyError(
                [Problem("method.seeds", f"'{self.seeds}' is unknown", did_you_mean(self.seeds, SEEDS))]
            )

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Grow classes until no further one can be completed, and deal out the rest.

        O(classes x distinct rows x columns) to look for near rows, and O(rows x distinct rows) at worst to
        choose among them.
        """
        found = cluster(table, requirements, run, guarded=False, at_random=self.seeds == "random")
        return found.release(table)
