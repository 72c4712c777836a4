"""Full-domain generalization: the optimum over all mappings, or the best that was found, with a proven bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.coding import CodedTable
from shoal.errors import PolicyError, Problem
from shoal.judging.models.requirements import Requirements
from shoal.methods.full_domain import mapping_lattice
from shoal.methods.full_domain.mapping_judge import Judge, SearchesMappings
from shoal.methods.full_domain.search import Search
from shoal.methods.full_domain.wide import WideSearch
from shoal.release import Release
from shoal.support.run import Run


@dataclass(frozen=True, kw_only=True)
class FullDomain(SearchesMappings):
    """One level per column for the whole table, chosen so that no other choice loses less information."""

    name: ClassVar[str] = "full-domain"
    summary: ClassVar[str] = (
        "one level per column for all rows, with the least possible loss; every column shows one level"
    )
    paper: ClassVar[str] = "Samarati 2001; search in the spirit of Kohlmayer et al. 2012 (Flash)"

    seconds: float = 60.0
    """Of more mappings than can be listed, search for this long; the release then says how far from the best it can
    be at most, and depends on how fast the machine is. With fewer mappings the search ends by itself."""

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise PolicyError([Problem("method.seconds", f"must be more than 0, not {self.seconds}")])

    def anonymize(self, table: CodedTable, requirements: Requirements, run: Run) -> Release:
        """Return the optimum over all mappings; ties are broken by `shoal.methods.full_domain.mapping_lattice.rank`.

        Each round takes the mapping with the lowest bound and bisects a chain from it to the top for the highest
        mapping that rules it out, together with all other specializations of that mapping. Worst case O(mappings x
        distinct rows), usually a few hundred groupings. More mappings than fit into memory are searched by
        `shoal.methods.full_domain.wide.WideSearch`, for `seconds` at most.
        """
        mappings = mapping_lattice.mappings_of(table)
        if mappings > mapping_lattice.MOST_MAPPINGS:
            return WideSearch(table, requirements, mappings, self.seconds, run).best()
        return self.search(table, Judge(table, requirements), run)

    def search(self, table: CodedTable, judge: Judge, run: Run) -> Release:
        """Return the optimum over mappings that can be listed, by a judge who may have the rows elsewhere."""
        return Search(table, judge.requirements, run, judge=judge).best()
