"""Replace cells by cheaper ones, or let others cover their rows, as long as every row stays covered often enough.

Rows and cells are those of kernels/covering.py. `people` bundles the rows: their codes, how many equal rows each
represents, and the tree over them: ``(codes, weight, first, last, skip, box)``.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import LEVELS, NODES, ORDERED, PART, SIZE, least_loss, lift, range_loss

NEAR = 256
"""Rows around a cell that are considered for a better one."""
HEIRS = 16
"""How many rows a cell hands over to others at most."""


@PART
def _joined(low, high, other_low, other_high, bound, worst, losses):
    """Return the loss of a cell extended by a range, or a lower bound for all cells over both; at most `worst`.

    Given the ends of a box in reverse, high before low, it extends the cell by the nearest point of the box.
    """
    total = 0.0
    for j in range(len(low)):
        first, last = min(low[j], other_low[j]), max(high[j], other_high[j])
        total += least_loss(losses, j, first, last) if bound else range_loss(losses, j, first, last)
        if total >= worst:
            return worst
    return total


@PART
def _take(code, low, high, losses):
    """Extend a cell by a row, in place."""
    for j in range(len(low)):
        low[j], high[j] = lift(losses, j, min(low[j], code[j]), max(high[j], code[j]))


@PART
def _copy(from_low, from_high, low, high):
    """Copy a cell. A loop, because slices take numba far longer to compile."""
    for j in range(len(low)):
        low[j], high[j] = from_low[j], from_high[j]


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _counted(low, high, change, covered, people, found):
    """Add `change` to the count of all rows inside a cell; return their list, which may grow, and their number."""
    codes, _weight, first, last, skip, box = people
    columns = len(low)
    used = 0
    node = 0
    while node < len(skip):
        outside = False
        for j in range(columns):
            if box[node, j] > high[j] or box[node, columns + j] < low[j]:
                outside = True
                break
        if outside:
            node = skip[node]
            continue
        if skip[node] != node + 1:
            node += 1
            continue
        for row in range(first[node], last[node]):
            fits = True
            for j in range(columns):
                if codes[row, j] < low[j] or codes[row, j] > high[j]:
                    fits = False
                    break
            if not fits:
                continue
            if used == len(found):
                longer = np.empty(2 * used, np.int32)
                for at in range(used):
                    longer[at] = found[at]
                found = longer
            found[used] = row
            used += 1
            covered[row] += change
        node = skip[node]
    return found, used


@PART
def _around(low, high, limit, people, losses, found, away):
    """List at most `NEAR` rows with which a cell can lose less than `limit`, nearest first; return how many.

    A row is near if the lower bound for all cells over the cell and the row is small.
    """
    codes, _weight, first, last, skip, box = people
    columns = len(low)
    used, worst = 0, limit
    node = 0
    while node < len(skip):
        if _joined(low, high, box[node, columns:], box[node, :columns], True, worst, losses) >= worst:
            node = skip[node]
            continue
        if skip[node] != node + 1:
            node += 1
            continue
        for row in range(first[node], last[node]):
            total = _joined(low, high, codes[row], codes[row], True, worst, losses)
            if total >= worst:
                continue
            at = min(used, NEAR - 1)
            while at > 0 and away[at - 1] > total:
                found[at], away[at] = found[at - 1], away[at - 1]
                at -= 1
            found[at], away[at] = row, total
            used = min(used + 1, NEAR)
            if used == NEAR:
                worst = away[NEAR - 1]
        node = skip[node]
    return used


@PART
def _enough(low, high, k, near, codes, weight):
    """Whether at least k of the listed rows are inside a cell."""
    found = np.int64(0)
    for row in near:
        fits = True
        for j in range(len(low)):
            if codes[row, j] < low[j] or codes[row, j] > high[j]:
                fits = False
                break
        if fits:
            found += weight[row]
            if found >= k:
                return True
    return False


@PART
def _next(j, side, wider, low, high, base_low, base_high, near, codes, losses):
    """Return the next smaller range of a column that still covers the base, or the next wider one; unchanged if none.

    Nodes of a tree have one side. A free range moves its low end (side 0) or its high end to a value of a listed row.
    """
    first, last = np.int64(low[j]), np.int64(high[j])
    if losses.shape[j, ORDERED] < 0:
        if side == 1:
            return first, last
        size = losses.shape[j, SIZE]
        at = losses.shape[j, NODES] + base_low[j]
        end = losses.shape[j, NODES] + size * losses.shape[j, LEVELS]
        while at < end:
            node_low, node_high = np.int64(losses.first[at]), np.int64(losses.last[at])
            if node_low < low[j] or node_high > high[j]:
                return (node_low, node_high) if wider else (first, last)
            if not wider and node_high >= base_high[j] and (node_low > low[j] or node_high < high[j]):
                first, last = node_low, node_high
            at += size
        return first, last
    if side == 0 and not wider:
        first = base_low[j]
    if side == 1 and not wider:
        last = base_high[j]
    for row in near:
        code = codes[row, j]
        if side == 0 and code < low[j] and wider and (first == low[j] or code > first):
            first = code
        elif side == 0 and code > low[j] and not wider:
            first = min(first, code)
        elif side == 1 and code > high[j] and wider and (last == high[j] or code < last):
            last = code
        elif side == 1 and code < high[j] and not wider:
            last = max(last, code)
    return lift(losses, j, first, last)


@PART
def _tighten(low, high, base_low, base_high, fixed, k, near, codes, weight, losses):
    """Shrink a cell by the steps that save most, as long as k rows stay inside; leave the column `fixed` as it is."""
    while True:
        best, column = 0.0, -1
        best_low, best_high = low[0], high[0]
        for j in range(len(low)):
            if j == fixed or (low[j] == base_low[j] and high[j] == base_high[j]):
                continue
            old_low, old_high = low[j], high[j]
            price = range_loss(losses, j, old_low, old_high)
            for side in range(2):
                first, last = _next(j, side, False, low, high, base_low, base_high, near, codes, losses)
                saved = price - range_loss(losses, j, first, last)
                if saved <= best:
                    continue
                low[j], high[j] = first, last
                if _enough(low, high, k, near, codes, weight):
                    best, column, best_low, best_high = saved, j, first, last
                low[j], high[j] = old_low, old_high
        if column < 0:
            return
        low[column], high[column] = best_low, best_high


@PART
def _traded(low, high, base_low, base_high, k, near, codes, weight, losses, try_low, try_high):
    """Make a cell cheaper: tighten it, then widen a column and tighten the others, wherever that helps.

    Returns its loss afterwards.
    """
    columns = len(low)
    _tighten(low, high, base_low, base_high, -1, k, near, codes, weight, losses)
    cost = _joined(low, high, low, high, False, np.inf, losses)
    column, turns = 0, 0
    while turns < columns:
        turns += 1
        for side in range(2):
            wide_low, wide_high = low[column], high[column]
            while turns > 0:
                _copy(low, high, try_low, try_high)
                try_low[column], try_high[column] = wide_low, wide_high
                first, last = _next(
                    column, side, True, try_low, try_high, base_low, base_high, near, codes, losses
                )
                if first == wide_low and last == wide_high:
                    break
                wide_low, wide_high = first, last
                try_low[column], try_high[column] = first, last
                _tighten(try_low, try_high, base_low, base_high, column, k, near, codes, weight, losses)
                now = _joined(try_low, try_high, try_low, try_high, False, cost, losses)
                if now < cost:
                    cost, turns = now, 0
                    _copy(try_low, try_high, low, high)
        column = (column + 1) % columns
    return cost


@njit(cache=True, nogil=True, no_cpython_wrapper=True)
def _replaced(low, high, cost, base_low, base_high, k, people, losses, workspace, near, away):
    """Replace a cell by one over the base with k rows that loses less than `cost`, if it finds one; return the loss.

    It tries two: the cell itself, made cheaper, and the base, grown by the rows that add least.
    """
    if _joined(base_low, base_high, base_low, base_high, False, cost, losses) >= cost:
        return cost
    codes, weight = people[0], people[1]
    near = near[: _around(base_low, base_high, cost, people, losses, near, away)]
    least = cost
    _copy(low, high, workspace[0], workspace[1])
    for turn in range(2):
        while not _enough(workspace[0], workspace[1], k, near, codes, weight):
            best, chosen = np.inf, -1
            for row in near:
                total = _joined(workspace[0], workspace[1], codes[row], codes[row], False, best, losses)
                if total >= best:
                    continue
                for j in range(len(low)):
                    if codes[row, j] < workspace[0, j] or codes[row, j] > workspace[1, j]:
                        best, chosen = total, row
            if chosen < 0:
                break
            _take(codes[chosen], workspace[0], workspace[1], losses)
        if _enough(workspace[0], workspace[1], k, near, codes, weight):
            found = _traded(
                workspace[0],
                workspace[1],
                base_low,
                base_high,
                k,
                near,
                codes,
                weight,
                losses,
                workspace[2],
                workspace[3],
            )
            if found < least:
                least = found
                _copy(workspace[0], workspace[1], low, high)
        if turn == 0:
            _copy(base_low, base_high, workspace[0], workspace[1])
    return least


@PART
def _heir(v, slot, budget, slots, low, high, people, losses, near, away):
    """Return the cell of a row near row v, other than `slot`, that can cover v at the least cost, and that cost."""
    codes = people[0]
    used = _around(codes[v], codes[v], np.inf, people, losses, near, away)
    best, chosen = budget, np.int64(-1)
    for n in range(used):
        for other in range(slots[near[n]], slots[near[n] + 1]):
            own = _joined(low[other], high[other], low[other], high[other], False, np.inf, losses)
            total = _joined(low[other], high[other], codes[v], codes[v], False, own + best, losses)
            if other == slot or total >= own + best:
                continue
            for j in range(codes.shape[1]):
                if codes[v, j] < low[other, j] or codes[v, j] > high[other, j]:
                    best, chosen = total - own, other
    return chosen, best


@njit(cache=True, nogil=True)
def refine(codes, weight, slots, low, high, covered, first, last, skip, box, losses, k, hand, begin, end):
    """Replace cells of the rows `begin` to `end` by cheaper ones over their owners and k rows; return the saved loss.

    A row that fewer than k other cells cover depends on a cell, and stays inside. With `hand`, a cell may also release
    all such rows, if other cells can cover them for less than it saves. `covered` counts the cells over each row, and
    is kept up to date. O(cells x rows around a cell x columns squared), times the steps that help.
    """
    columns = codes.shape[1]
    people = (codes, weight, first, last, skip, box)
    inside = np.empty(1024, np.int32)
    others = np.empty(1024, np.int32)
    near = np.empty(NEAR, np.int32)
    away = np.empty(NEAR, np.float64)
    workspace = np.empty((8 + 2 * HEIRS, columns), np.int32)
    base_low, base_high, old_low, old_high = workspace[4], workspace[5], workspace[6], workspace[7]
    heirs = np.empty(HEIRS, np.int64)
    saved = 0.0
    for u in range(begin, end):
        for slot in range(slots[u], slots[u + 1]):
            for turn in range(2 if hand else 1):
                mine_low, mine_high = low[slot], high[slot]
                cost = _joined(mine_low, mine_high, mine_low, mine_high, False, np.inf, losses)
                _copy(mine_low, mine_high, old_low, old_high)
                _copy(codes[u], codes[u], base_low, base_high)
                inside, count = _counted(mine_low, mine_high, -1, covered, people, inside)
                relying = 0
                for n in range(count):
                    if covered[inside[n]] < k and inside[n] != u:
                        relying += 1
                        if turn == 0:
                            _take(codes[inside[n]], base_low, base_high, losses)
                budget = 0.0
                if turn == 0 or relying:
                    budget = cost - _replaced(
                        mine_low,
                        mine_high,
                        cost,
                        base_low,
                        base_high,
                        k,
                        people,
                        losses,
                        workspace,
                        near,
                        away,
                    )
                others, _ = _counted(mine_low, mine_high, 1, covered, people, others)
                moves = 0
                for n in range(count if budget > 0 else 0):
                    v = inside[n]
                    # An heir may cover further rows as it grows, so one heir per row is enough.
                    if covered[v] >= k or budget <= 0:
                        continue
                    heir, growth = _heir(v, slot, budget, slots, low, high, people, losses, near, away)
                    if heir < 0 or moves == HEIRS:
                        budget = -1.0
                        break
                    budget -= growth
                    heirs[moves] = heir
                    _copy(low[heir], high[heir], workspace[8 + 2 * moves], workspace[9 + 2 * moves])
                    moves += 1
                    others, _ = _counted(low[heir], high[heir], -1, covered, people, others)
                    _take(codes[v], low[heir], high[heir], losses)
                    others, _ = _counted(low[heir], high[heir], 1, covered, people, others)
                if budget > 0:
                    saved += budget
                    continue
                for m in range(moves - 1, -1, -1):
                    heir = heirs[m]
                    others, _ = _counted(low[heir], high[heir], -1, covered, people, others)
                    _copy(workspace[8 + 2 * m], workspace[9 + 2 * m], low[heir], high[heir])
                    others, _ = _counted(low[heir], high[heir], 1, covered, people, others)
                others, _ = _counted(mine_low, mine_high, -1, covered, people, others)
                _copy(old_low, old_high, mine_low, mine_high)
                others, _ = _counted(mine_low, mine_high, 1, covered, people, others)
    return saved
