"""Growing classes for p-sensitive k-anonymity, one at a time from a seed: by diversity first, then by loss.

Rows with equal quasi-identifiers lie at one *point*; rows with equal labels are of one *kind*; rows with both equal
are one *atom*. Labels are what diversity counts: sensitive values, or the protected nodes over them. They are numbered
consecutively over all demands, so that a label also identifies its demand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import PART, START, range_loss, widen
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector

MUST = 1 << 40
"""Score of a label that must be taken now, or its share of the remaining rows becomes too large."""
FORBIDDEN = -(1 << 55)
"""Score of a label that a class may not take."""
RARE = 1 << 20
"""Score of a rare value of the hardest demand while a class still lacks rare values that it must take."""


class Pool(NamedTuple):
    """The rows that are in no class yet, as counts; changed in place."""

    codes: IntMatrix
    """``[points, columns]``"""
    point: IntVector
    """Atom -> point."""
    kind: IntVector
    """Atom -> kind."""
    left: LongVector
    """Atom -> rows left."""
    start: LongVector
    """Kind -> first position in `listed`; one more at the end."""
    listed: IntVector
    """Atoms, kind after kind; in each kind those with rows left come first."""
    place: IntVector
    """Atom -> its position in `listed`."""
    live: LongVector
    """Kind -> atoms with rows left."""
    labels: IntMatrix
    """``[kinds, demands]``"""
    rows: LongVector
    """Label -> rows left."""
    point_rows: LongVector
    """Point -> rows left."""


class Rules(NamedTuple):
    """What every class needs."""

    k: int
    """Rows."""
    p: LongVector
    """Demand -> different labels."""
    most: LongVector
    """Label -> most rows in a class of k rows."""
    share: FloatVector
    """Label -> largest allowed share; above 1: any."""
    guarded: bool
    """Leave enough labels for the classes that are still to come."""
    farthest: bool
    """The next seed is the row farthest from the last one; otherwise the first suitable atom."""


class ClassWorkspace(NamedTuple):
    """Working memory of `grow_classes`; also keeps its state between calls."""

    state: LongVector
    """Rows drawn, classes made, classes still to come, rows left, 1 when done."""
    far: FloatVector
    """Point -> loss together with the latest seed."""
    atom: IntVector
    """The atoms that were drawn, in order."""
    owner: IntVector
    """The class of each."""
    cost: FloatVector
    """Point -> loss of the class together with it."""
    bound: FloatVector
    """Point -> lower bound for the loss of the class with it, now and when the class is larger."""
    seen: LongVector
    """Point -> when its cost and bound were computed."""
    standing: IntVector
    """The points with rows left."""
    worth: LongVector
    """Label -> its score for the class."""
    inside: LongVector
    """Label -> rows in the class."""
    demand_of: LongVector
    """Label -> demand."""
    kinds_left: IntVector
    chosen_kinds: IntVector
    grown: FloatVector
    """Code of any column -> loss of the class in that column with it."""
    least: FloatVector
    """Lower bound of the same when the class is larger; empty if losses never fall when a class grows."""
    low: LongVector
    """Ends of the class, per column."""
    high: LongVector
    different: LongVector
    """Demand -> labels in the class."""
    spare: LongVector
    """Demand -> labels that the classes to come do not need."""


@PART
def _draw(pool, atom, change):
    """Take a row of an atom out of the pool (change = -1), or put it back (1)."""
    left, listed, place, live, rows = pool.left, pool.listed, pool.place, pool.live, pool.rows
    kind = pool.kind[atom]
    if change > 0 and left[atom] == 0:
        live[kind] += 1
    if left[atom] + min(change, 0) == 0:
        # Swap the atom with the last live one, or with the first that is not live.
        here, there = place[atom], pool.start[kind] + live[kind] - 1
        other = listed[there]
        listed[here], listed[there] = other, atom
        place[other], place[atom] = here, there
        if change < 0:
            live[kind] -= 1
    left[atom] += change
    pool.point_rows[pool.point[atom]] += change
    for d in range(pool.labels.shape[1]):
        rows[pool.labels[kind, d]] += change


@PART
def _value(shape, codes, point, grown, least, cost, bound):
    """Store the loss of the class with a point, and a lower bound of it when the class is larger."""
    total = 0.0
    for j in range(codes.shape[1]):
        total += grown[shape[j, START] + codes[point, j]]
    cost[point] = bound[point] = total
    if len(least) > 0:
        total = 0.0
        for j in range(codes.shape[1]):
            total += least[shape[j, START] + codes[point, j]]
        bound[point] = total


@njit(cache=True, nogil=True)
def grow_classes(pool, losses, rules, workspace, patience):
    """Grow classes until no further one can be completed; return after about `patience` visits of points.

    While a class lacks labels, it takes the row that adds most missing ones; later the row that adds fewest labels
    (any row if guarded). Among those it takes the row with which it loses least. The next seed is the row that loses
    most together with the last seed (`Rules.farthest`). The lower atom number decides ties. All points are visited
    once per class, later only those whose bound does not rule them out.
    O(classes x points x columns + rows x (kinds + atoms)).

    A guarded class leaves enough labels for the v classes after it: v classes with p labels each exist if and only if
    the labels, each counted at most v times, add up to p v. A class that cannot be completed under this rule gives its
    rows back, and one class fewer is expected.
    """
    # Read each field once: every access to a field of a tuple costs compile time.
    state, far, drawn, owner = workspace.state, workspace.far, workspace.atom, workspace.owner
    codes, point_of, labels, rows = pool.codes, pool.point, pool.labels, pool.rows
    live, start, listed, point_rows = pool.live, pool.start, pool.listed, pool.point_rows
    k, p, most, share, guarded = rules.k, rules.p, rules.most, rules.share, rules.guarded
    points, width = codes.shape
    kinds, demands = labels.shape
    cost, bound, seen, standing = workspace.cost, workspace.bound, workspace.seen, workspace.standing
    worth, inside, demand_of = workspace.worth, workspace.inside, workspace.demand_of
    kinds_left, chosen_kinds = workspace.kinds_left, workspace.chosen_kinds
    grown, minimum, low, high = workspace.grown, workspace.least, workspace.low, workspace.high
    different, spare, shape = workspace.different, workspace.spare, losses.shape
    for point in range(points):
        seen[point] = 0
    standing_points = -1
    # Avoid labels that the class does not lack, unless it is guarded: then only the loss counts.
    extra = 0 if guarded else -1
    now = 0
    visits = 0
    while state[4] == 0 and visits < patience:
        if state[3] < k:
            state[4] = 1
            break
        if standing_points < 0:
            standing_points = 0
            for point in range(points):
                if point_rows[point] > 0:
                    standing[standing_points] = point
                    standing_points += 1
        begin = state[0]
        state[2] = min(state[2], state[3] // k)
        later = max(state[2] - 1, 0) if guarded else 0
        rest = state[3] - k
        for d in range(demands):
            spare[d] = -p[d] * later
            different[d] = 0
        frequent = 0
        for label in range(len(rows)):
            inside[label] = 0
            spare[demand_of[label]] += min(rows[label], later)
        hardest = 0
        for d in range(demands):
            if spare[d] * p[hardest] < spare[hardest] * p[d]:
                hardest = d
        for label in range(len(rows)):
            frequent += 1 if demand_of[label] == hardest and rows[label] > later else 0
        rare = p[hardest] - frequent if later > 0 else 0
        standing_kinds = 0
        for kind in range(kinds):
            if live[kind] > 0:
                kinds_left[standing_kinds] = kind
                standing_kinds += 1
        size = 0
        complete = False
        while True:
            missing = False
            for d in range(demands):
                missing |= different[d] < p[d]
            if size >= k and not missing:
                complete = True
                break
            for label in range(len(rows)):
                d = demand_of[label]
                lack = p[d] - different[d]
                scarce = rows[label] <= later
                if inside[label] >= most[label] or (scarce and spare[d] < 1):
                    worth[label] = FORBIDDEN
                    continue
                worth[label] = 0
                if inside[label] == 0:
                    worth[label] = extra if not missing else lack * (demands + 1) if lack > 0 else -extra
                    if missing and d == hardest and scarce and rare > 0 and lack > 0:
                        worth[label] += RARE
                if share[label] <= 1.0 and rows[label] > share[label] * rest + 1e-9:
                    worth[label] += MUST
            # In a class that lacks labels, a row without a missing label scores lower, whatever other labels it has.
            best = np.int64(demands + 1) if missing else np.int64(-demands)
            equals = 0
            for at in range(standing_kinds):
                kind = kinds_left[at]
                total = np.int64(0)
                for d in range(demands):
                    total += worth[labels[kind, d]]
                if total >= best and live[kind] > 0:
                    equals = 0 if total > best else equals
                    best = total
                    chosen_kinds[equals] = kind
                    equals += 1
            if equals == 0:
                break
            chosen = -1
            least = -1.0
            for turn in range(equals):
                kind = chosen_kinds[turn]
                for at in range(start[kind], start[kind] + live[kind]):
                    atom = listed[at]
                    point = point_of[atom]
                    if size == 0:
                        if far[point] > least or (far[point] == least and atom < chosen):
                            least, chosen = far[point], atom
                        continue
                    if chosen >= 0 and (bound[point] > least or (bound[point] == least and atom > chosen)):
                        continue
                    if seen[point] != now:
                        _value(shape, codes, point, grown, minimum, cost, bound)
                        seen[point] = now
                    total = cost[point]
                    if chosen < 0 or total < least or (total == least and atom < chosen):
                        least, chosen = total, atom
            kind = pool.kind[chosen]
            for d in range(demands):
                label = labels[kind, d]
                if rows[label] <= later:
                    spare[d] -= 1
                    if d == hardest and inside[label] == 0:
                        rare -= 1
                different[d] += 1 if inside[label] == 0 else 0
                inside[label] += 1
            _draw(pool, chosen, np.int64(-1))
            drawn[state[0]] = chosen
            owner[state[0]] = state[1]
            state[0] += 1
            state[3] -= 1
            point = point_of[chosen]
            now += 1
            for j in range(width):
                code = codes[point, j]
                if size == 0:
                    low[j] = high[j] = code
                elif low[j] <= code <= high[j]:
                    continue
                low[j], high[j] = min(low[j], code), max(high[j], code)
                widen(losses, j, low[j], high[j], grown, minimum)
            if size == 0:
                kept = 0
                for at in range(standing_points):
                    point = standing[at]
                    if point_rows[point] == 0 and point != point_of[chosen]:
                        continue
                    standing[kept] = point
                    kept += 1
                    _value(shape, codes, point, grown, minimum, cost, bound)
                    far[point] = cost[point] if rules.farthest else 0.0
                    seen[point] = now
                standing_points = kept
                visits += kept
            size += 1
        if complete:
            state[1] += 1
            state[2] -= 1
            continue
        while state[0] > begin:
            state[0] -= 1
            state[3] += 1
            _draw(pool, np.int64(drawn[state[0]]), np.int64(1))
        standing_points = -1
        if later == 0:
            state[4] = 1
        state[2] -= 1


@njit(cache=True, nogil=True)
def assign_to_classes(codes, labels, low, high, size, counts, share, losses):
    """Assign each row to the class whose total loss grows least by it, the first of equals; return the classes.

    The ends `low` and `high`, the sizes and the label counts of each class are updated as it grows. Classes in which
    a label would exceed its share are excluded, unless all are. O(rows x classes x columns), but the current loss
    rules out most classes.
    """
    rows, width = codes.shape
    classes = len(size)
    own = np.zeros((classes, width))
    whole = np.zeros(classes)
    for c in range(classes):
        for j in range(width):
            own[c, j] = range_loss(losses, j, low[c, j], high[c, j])
            whole[c] += own[c, j]
    given = np.zeros(rows, np.int32)
    for row in range(rows):
        best, least, strict = -1, 0.0, counts.shape[1] > 0
        while best < 0:
            for c in range(classes):
                if losses.rising and best >= 0 and whole[c] >= least:
                    continue
                allowed = True
                if strict:
                    for d in range(labels.shape[1]):
                        label = labels[row, d]
                        if counts[c, label] + 1 > share[label] * (size[c] + 1) + 1e-9:
                            allowed = False
                            break
                if not allowed:
                    continue
                growth = whole[c]
                for j in range(width):
                    code = codes[row, j]
                    if code < low[c, j] or code > high[c, j]:
                        wide = range_loss(losses, j, min(low[c, j], code), max(high[c, j], code))
                        growth += (size[c] + 1) * (wide - own[c, j])
                        if losses.rising and best >= 0 and growth >= least:
                            break
                if best < 0 or growth < least:
                    best, least = c, growth
            strict = False
        given[row] = best
        size[best] += 1
        for j in range(width):
            code = codes[row, j]
            if code < low[best, j] or code > high[best, j]:
                low[best, j], high[best, j] = min(low[best, j], code), max(high[best, j], code)
                wide = range_loss(losses, j, low[best, j], high[best, j])
                whole[best] += wide - own[best, j]
                own[best, j] = wide
        if counts.shape[1] > 0:
            for d in range(labels.shape[1]):
                counts[best, labels[row, d]] += 1
    return given
