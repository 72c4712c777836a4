"""People who match several classes: who is certainly in the table, and how certain can the adversary be of the others?

To the adversary the people in the table are one of the sets that can fill all classes, all equally likely; each row
belongs to a different person. Exchanging one person for another proves these bounds:

- A set without a person stays possible if any row of the person's classes is given to the person. So the probability is
  at least the rows of these classes over the people who match any of them.
- A set with the person stays possible if the person's row is given to anybody who matches it and is not in the set. So
  among people who can replace the person, the probability is at most the share of them that can be present.

A person is certainly present if fewer rows can be filled without the person: one maximum flow decides it for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.support.arrays import BoolVector, FloatVector, IntVector, LongVector
from shoal.support.brief import Brief

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GROUPS_AT_ONCE = 512
"""How many groups are compared with all others at once, to save memory."""


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps(Brief):
    """Bounds for the people whose classes overlap, directly or through others."""

    tuples: LongVector
    """The numbers of their distinct tuples."""
    union: FloatVector
    """Rows of the matching classes, over the people who match any of them: a lower bound on the probability."""
    high: FloatVector
    """An upper bound on the probability."""
    certain: BoolVector
    """Everybody of this tuple is certainly present."""


def overlaps(
    start: LongVector, region: IntVector, people: LongVector, rows: LongVector, suppressed: int
) -> Overlaps:
    """Return bounds for everybody in a component in which somebody matches several classes.

    ``region[start[t]:start[t + 1]]`` are the classes that match tuple t, in order; `people` is the number of people
    with each tuple, `rows` the number of rows of each class. The `suppressed` rows could be anybody's. People who match
    the same classes form one group: O(groups^2) at worst, and one maximum flow.
    """
    tuples = in_reach(start, region, len(rows))
    groups: dict[bytes, int] = {}
    own = np.array(
        [groups.setdefault(region[start[t] : start[t + 1]].tobytes(), len(groups)) for t in tuples], np.int64
    )
    if not len(tuples):
        return Overlaps(tuples, np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))
    many = np.bincount(own, people[tuples], len(groups)).astype(np.int64)
    fits = _match_groups([np.frombuffer(key, region.dtype) for key in groups], len(rows))
    union, high = _bounds(fits, many, rows, suppressed)
    certain = _certain(fits, many, rows)
    return Overlaps(tuples, union[own], np.where(certain, 1.0, high)[own], certain[own])


def in_reach(start: LongVector, region: IntVector, classes: int) -> LongVector:
    """Return the tuples in connected components of classes where somebody matches several; they affect each other."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    many = np.diff(start)
    owner = np.repeat(np.arange(len(many)), many)
    next_to = np.flatnonzero(owner[1:] == owner[:-1])
    links = csr_array(
        (np.ones(len(next_to), np.int8), (region[next_to], region[next_to + 1])), (classes, classes)
    )
    part = connected_components(links, directed=False)[1]
    overlapping = np.zeros(classes, np.bool_)
    overlapping[part[region[start[:-1][many > 1]]]] = True
    some = np.flatnonzero(many)
    found: LongVector = some[overlapping[part[region[start[some]]]]]
    return found


def _match_groups(classes: list[Any], number: int) -> csr_array:
    """Return ``[groups, classes]``, 1 where the people of a group match a class."""
    from scipy.sparse import csr_array

    at = np.concatenate([[0], np.cumsum([len(own) for own in classes])])
    return csr_array((np.ones(at[-1], np.int64), np.concatenate(classes), at), (len(classes), number))


def _bounds(
    fits: csr_array, many: LongVector, rows: LongVector, suppressed: int
) -> tuple[FloatVector, FloatVector]:
    """Return a lower and an upper bound on the probability of each group."""

    def most(members: csr_array) -> tuple[LongVector, LongVector]:
        """Return the people of some sets of groups, and how many of them can be present at most."""
        number = members @ many
        held = (members.multiply(many[None, :]).tocsr() @ fits).tocsr()
        held.data = np.minimum(held.data, rows[held.indices])
        return number, np.minimum(held.sum(axis=1) + suppressed, number)

    number, full = most(fits.T.tocsr())
    spare = np.minimum.reduceat((number - full)[fits.indices], fits.indptr[:-1])
    own_rows = fits @ rows
    high = np.minimum((own_rows + suppressed) / many, 1.0)
    union = np.empty(len(many))
    width = np.diff(fits.indptr)
    for begin in range(0, len(many), GROUPS_AT_ONCE):
        chunk = slice(begin, begin + GROUPS_AT_ONCE)
        shared = (fits[chunk] @ fits.T).tocsr()
        wide = np.repeat(width[chunk], np.diff(shared.indptr))
        # Anybody who matches all classes of the person can replace the person anywhere.
        alike = shared.copy()
        alike.data = (shared.data == wide).astype(np.int64)
        alike.eliminate_zeros()
        number, full = most(alike)
        high[chunk] = np.minimum(high[chunk], full / number)
        # And within one class, anybody who matches that class.
        shared.data[:] = 1
        number, full = most(shared)
        open_ = np.minimum(spare[chunk], number - full) if suppressed else spare[chunk]
        high[chunk] = np.minimum(high[chunk], full / (full + open_))
        union[chunk] = np.minimum(own_rows[chunk] / number, 1.0)
    return union, np.maximum(high, union)


def _certain(fits: csr_array, many: LongVector, rows: LongVector) -> BoolVector:
    """Return the groups whose people are all in every set that fills the classes.

    All people of the group are in, and no chain of people who take over each other's rows ends at somebody who is out.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    groups, classes = fits.shape
    link = fits.tocoo()
    source, sink = groups + classes, groups + classes + 1
    used = np.unique(link.col)
    tails = np.concatenate([np.full(len(used), source), groups + link.col, np.arange(groups)])
    heads = np.concatenate([groups + used, link.row, np.full(groups, sink)])
    room = np.concatenate([rows[used], rows[link.col], many]).astype(np.int32)
    shape = (groups + classes + 2, groups + classes + 2)
    flow = maximum_flow(csr_array((room, (tails, heads)), shape), source, sink).flow.tocoo()
    filled = (flow.data > 0) & (flow.row >= groups) & (flow.row < source) & (flow.col < groups)
    into = np.zeros(groups, np.int64)
    np.add.at(into, flow.col[filled], flow.data[filled])
    free = np.flatnonzero(into < many)
    # Search backwards from people who may be absent: their classes, and everybody who holds rows of these.
    tails = np.concatenate([np.full(len(free), source), link.row, flow.row[filled]])
    heads = np.concatenate([free, groups + link.col, flow.col[filled]])
    chain = coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape).tocsr()
    reached = breadth_first_order(chain, source, return_predecessors=False)
    certain = np.ones(shape[0], np.bool_)
    certain[reached] = False
    return certain[:groups]
