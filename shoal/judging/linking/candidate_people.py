"""How many different people the rows that may be somebody's belong to, and how many of these show a value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import DataError
from shoal.judging.linking.evidence import Evidence
from shoal.support.arrays import IntVector, LongVector
from shoal.support.brief import Brief

MOST_AT_ONCE = 1 << 24
"""Pairs of a distinct row and a person that are held in memory at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class Crowds(Brief):
    """The owners of the published rows that match each distinct row of the original, by the label that they show."""

    crowd_of: LongVector
    """Distinct row -> crowd; -1 where nothing matches. Rows that match one class only share its crowd."""
    keys: LongVector
    """``crowd x labels + label``, ascending: the labels that each crowd shows."""
    counts: LongVector
    """How many owners of the crowd show the label in at least one matching row."""
    labels: int

    def top(self) -> LongVector:
        """Return, per distinct row, how many owners show the most frequent label; 0 where nothing matches."""
        crowds = int(self.crowd_of.max(initial=-1)) + 1
        best = np.zeros(crowds + 1, np.int64)
        own = self.keys // self.labels
        inside = own < crowds
        np.maximum.at(best, own[inside], self.counts[inside])
        best[-1] = 0
        return best[self.crowd_of]

    def count_showing(self, rows: IntVector | LongVector, labels: IntVector) -> LongVector:
        """Return how many owners in the crowds of distinct rows show one label each."""
        crowd = self.crowd_of[rows]
        wanted = crowd * self.labels + labels
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        found = np.zeros(len(wanted), np.int64)
        if len(self.keys):
            hit = (crowd >= 0) & (self.keys[at] == wanted)
            found[hit] = self.counts[at[hit]]
        return found


def crowds(evidence: Evidence, label_of: IntVector, labels: int, *, pruned: bool = False) -> Crowds:
    """Count the owners of the published rows that match each distinct row of the original, label by label.

    `label_of` is the label of each published row, below `labels`; `pruned` leaves only rows that belong to it in some
    complete assignment of published rows to rows of the original. O(rows log rows + links + people of the classes of
    rows that match several classes). Raises DataError if owners are not known.
    """
    graph, published, person = evidence.consistency, evidence.published, evidence.owners.person
    if person is None:
        raise DataError(f"people cannot be counted: {evidence.owners.unknown}")
    classes, people = published.classes, int(person.max(initial=-1)) + 1
    links = graph.links[: graph.start[classes]]
    class_of = np.repeat(np.arange(classes, dtype=np.int64), np.diff(graph.start[: classes + 1]))
    if pruned:
        of_class, of_row = graph.components
        kept = of_class[class_of] == of_row[links]
        links, class_of = links[kept], class_of[kept]
    crowd_of = np.full(len(graph.people.weight), -1, np.int64)
    degree = np.bincount(links, minlength=len(crowd_of))
    alone = degree[links] == 1
    crowd_of[links[alone]] = class_of[alone]
    several = np.flatnonzero(degree > 1)
    crowd_of[several] = classes + np.arange(len(several))
    # Pairs of a label and a person are numbered, so that products of three numbers stay small.
    shown, pair = np.unique(label_of.astype(np.int64) * people + person, return_inverse=True)
    members = np.unique(published.class_of.astype(np.int64) * len(shown) + pair)
    keys, counts = _labels(members, shown // people, labels)
    links, class_of = crowd_of[links[~alone]], class_of[~alone]
    order = np.argsort(links, kind="stable")
    links, class_of = links[order], class_of[order]
    begins = np.searchsorted(members // max(len(shown), 1), np.arange(classes + 1))
    lengths = np.diff(begins)[class_of]
    ends = np.cumsum(lengths)
    found = [(keys, counts)]
    begin = 0
    while begin < len(links):
        # Whole rows at a time, so that every person counts once for a row.
        done = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, done + MOST_AT_ONCE)), begin + 1)
        end = int(np.searchsorted(links, links[end - 1], side="right"))
        part = slice(begin, end)
        places = np.repeat(begins[class_of[part]] - (ends[part] - lengths[part]), lengths[part])
        what = members[places + np.arange(done, ends[end - 1])] % len(shown)
        pairs = np.unique(np.repeat(links[part], lengths[part]) * len(shown) + what)
        found.append(_labels(pairs, shown // people, labels))
        begin = end
    return Crowds(
        crowd_of, np.concatenate([own for own, _ in found]), np.concatenate([own for _, own in found]), labels
    )


def _labels(pairs: LongVector, label_of: LongVector, labels: int) -> tuple[LongVector, LongVector]:
    """Count the pairs of each crowd and label: a pair stands for a label and a person."""
    size = max(len(label_of), 1)
    keys, counts = np.unique(pairs // size * labels + label_of[pairs % size], return_counts=True)
    return keys, counts.astype(np.int64)


def candidate_people(evidence: Evidence, *, pruned: bool) -> LongVector:
    """Return, per distinct row of the original, how many people own the published rows that match it; see `crowds`."""
    return crowds(evidence, np.zeros(evidence.published.rows, np.int32), 1, pruned=pruned).top()
