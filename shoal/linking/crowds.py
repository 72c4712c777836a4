"""How many different people the rows that may be somebody's belong to."""

from __future__ import annotations

import numpy as np

from shoal.arrays import LongVector
from shoal.errors import DataError
from shoal.linking.evidence import Evidence

MOST_AT_ONCE = 1 << 24
"""Pairs of a distinct row and a person that are held in memory at a time."""


def candidate_people(evidence: Evidence, *, pruned: bool) -> LongVector:
    """Return, per distinct row of the original, how many people own the published rows that match it; `pruned` leaves
    only rows that belong to it in some complete assignment of published rows to rows of the original.

    O(links + people of the classes of rows that match several classes). Raises DataError if owners are not known.
    """
    graph, published, person = evidence.consistency, evidence.published, evidence.owners.person
    if person is None:
        raise DataError(f"people cannot be counted: {evidence.owners.unknown}")
    classes, people = published.classes, evidence.original.people
    links = graph.links[: graph.start[classes]]
    class_of = np.repeat(np.arange(classes, dtype=np.int64), np.diff(graph.start[: classes + 1]))
    if pruned:
        of_class, of_row = graph.components
        kept = of_class[class_of] == of_row[links]
        links, class_of = links[kept], class_of[kept]
    found = np.zeros(len(graph.people.weight), np.int64)
    degree = np.bincount(links, minlength=len(found))
    alone = degree[links] == 1
    found[links[alone]] = evidence.sizes[class_of[alone]]
    links, class_of = links[~alone], class_of[~alone]
    order = np.argsort(links, kind="stable")
    links, class_of = links[order].astype(np.int64), class_of[order]
    members = np.unique(published.class_of.astype(np.int64) * people + person)
    begins = np.searchsorted(members // people, np.arange(classes + 1))
    lengths = np.diff(begins)[class_of]
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(links):
        # Whole rows at a time, so that every person counts once for a row.
        done = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, done + MOST_AT_ONCE)), begin + 1)
        end = int(np.searchsorted(links, links[end - 1], side="right"))
        part = slice(begin, end)
        places = np.repeat(begins[class_of[part]] - (ends[part] - lengths[part]), lengths[part])
        who = members[places + np.arange(done, ends[end - 1])] % people
        pairs = np.unique(np.repeat(links[part], lengths[part]) * people + who)
        found += np.bincount(pairs // people, minlength=len(found))
        begin = end
    return found
