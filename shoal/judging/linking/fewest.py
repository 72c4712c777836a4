"""How few people the rows of a class can belong to, if a release does not show whose they are."""

from __future__ import annotations

import numpy as np

from shoal.coding import CodedTable
from shoal.judging.linking.consistency import Consistency
from shoal.release.published import Published
from shoal.support.arrays import IntVector, LongVector

MOST_PAIRS = 30_000_000
"""Pairs of a class and a row of the original that fits it that are looked at; with more, nothing is said."""


def fewest_people(published: Published, table: CodedTable, graph: Consistency) -> int | None:
    """Return a number of people that every class has at least, whoever owns its rows; None if nothing can be said.

    A published row comes from a row of the original that it covers and whose sensitive values it shows, and no two come
    from the same one. So a person owns at most as many rows of a class as they have rows that fit it, value by value.
    The people with the most such rows are taken until they could own the class. Other classes may need the same rows,
    which is not looked at: the true number may be larger, and never smaller. O(pairs log pairs).
    """
    if table.counting.adds_up or not published.classes:
        return None
    people, owner, count = graph.people, table.counting.owner, table.counting.count
    start, links = graph.start[: published.classes + 1], graph.links
    weights = people.weight[links[: start[-1]]].astype(np.int64)
    if int(weights.sum()) > MOST_PAIRS:
        return None
    order = np.argsort(people.row_of, kind="stable")
    begin = np.searchsorted(people.row_of[order], np.arange(len(people.weight) + 1))[links[: start[-1]]]
    ends = np.cumsum(weights)
    rows = order[np.repeat(begin - (ends - weights), weights) + np.arange(int(weights.sum()))]
    class_of = np.repeat(np.repeat(np.arange(published.classes), np.diff(start)), weights)
    value_of, shown = _values(table, published)
    values = int(max(value_of.max(initial=-1), shown.max(initial=-1))) + 1
    cells, counts = np.unique(published.class_of.astype(np.int64) * values + shown, return_counts=True)
    wanted = class_of * values + value_of[rows]
    at = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    fits = cells[at] == wanted
    pairs, many = np.unique(at[fits] * count + owner[rows[fits]], return_counts=True)
    own = np.minimum(many, counts[pairs // count])
    part = cells[pairs // count] // values * count + pairs % count
    whose, place = np.unique(part, return_inverse=True)
    return _count_needed(whose // count, np.bincount(place, own).astype(np.int64), published.sizes)


def _values(table: CodedTable, published: Published) -> tuple[IntVector, LongVector]:
    """Number the combinations of sensitive values of both tables alike."""
    from shoal.kernels.grouping import distinct

    both = np.asfortranarray(np.concatenate([table.secrets.wide, published.sensitive_codes]))
    number = distinct(both)[0] if both.shape[1] else np.zeros(len(both), np.int32)
    return number[: table.rows], number[table.rows :].astype(np.int64)


def _count_needed(class_of: LongVector, most: LongVector, sizes: LongVector) -> int | None:
    """Return the fewest members of any class whose numbers add up to its size; None if those of some class do not."""
    order = np.lexsort((-most, class_of))
    class_of, most = class_of[order], most[order]
    begins = np.searchsorted(class_of, np.arange(len(sizes) + 1))
    total = np.concatenate(([0], np.cumsum(most)))
    if (total[begins[1:]] - total[begins[:-1]] < sizes).any():
        return None
    reached = np.searchsorted(total, total[begins[:-1]] + sizes)
    return int((reached - begins[:-1]).min())
