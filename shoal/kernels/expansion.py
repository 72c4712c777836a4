"""The cheapest closures of each row with others: grown one row at a time, or with the nearest rows.

Rows are distinct, weighted, and in the order of their tree (see consistency.py).
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import PART, least_loss, lift, range_loss


@PART
def _settle(low, high, own, inner, losses):
    """Lift a range to the smallest cells over it; store their losses, and by how much a larger cell may lose less."""
    for j in range(len(low)):
        low[j], high[j] = lift(losses, j, low[j], high[j])
        own[j] = range_loss(losses, j, low[j], high[j])
        inner[j] = min(least_loss(losses, j, low[j], high[j]) - own[j], 0.0)


@PART
def _count(low, high, enough, codes, weight, first, last, skip, box):
    """Count the rows inside a range; stop at `enough`."""
    columns = len(low)
    found = np.int64(0)
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
            if fits:
                found += weight[row]
                if found >= enough:
                    return found
        node = skip[node]
    return found


@PART
def _bound(node, low, high, own, inner, best, box, losses):
    """Return a lower bound for what any row of a node adds to the loss of a cell; stop once it reaches `best`."""
    columns = len(low)
    total = 0.0
    for j in range(columns):
        total += inner[j]
    for j in range(columns):
        near = low[j]
        if box[node, j] > high[j]:
            near = box[node, j]
        elif box[node, columns + j] < low[j]:
            near = box[node, columns + j]
        else:
            continue
        total += least_loss(losses, j, min(low[j], near), max(high[j], near)) - own[j] - inner[j]
        if total >= best:
            break
    return total


@PART
def _added(row, low, high, own, codes, losses):
    """Return what a row adds to the loss of a cell, and whether it lies outside."""
    total = 0.0
    outside = False
    for j in range(len(low)):
        code = codes[row, j]
        if code < low[j] or code > high[j]:
            outside = True
            total += range_loss(losses, j, min(low[j], code), max(high[j], code)) - own[j]
    return total, outside


@PART
def _cheapest(low, high, own, inner, codes, first, last, skip, box, losses, stack, bounds):
    """Return the row outside a cell that adds least to its loss; -1 if none can be added."""
    best, chosen = np.inf, -1
    stack[0], bounds[0], depth = 0, -np.inf, 1
    while depth:
        depth -= 1
        node = stack[depth]
        if bounds[depth] >= best:
            continue
        if skip[node] == node + 1:
            for row in range(first[node], last[node]):
                added, outside = _added(row, low, high, own, codes, losses)
                if outside and added < best:
                    best, chosen = added, row
            continue
        left = node + 1
        right = skip[left]
        a = _bound(left, low, high, own, inner, best, box, losses)
        b = _bound(right, low, high, own, inner, best, box, losses)
        if a > b:
            left, right, a, b = right, left, b, a
        if b < best:
            stack[depth], bounds[depth] = right, b
            depth += 1
        if a < best:
            stack[depth], bounds[depth] = left, a
            depth += 1
    return chosen


@njit(cache=True, nogil=True)
def expand(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """Grow each row from `begin` to `end` into a cell with at least k rows: always add the row that costs least.

    `low` and `high` hold the rows themselves at first, and the cells in the end. Rows inside a cell add nothing,
    so the next step depends on the cell alone, and each cell is computed once for all rows that reach it. Every row
    must have k rows within its limits.
    """
    columns = codes.shape[1]
    own = np.empty(columns, np.float64)
    inner = np.empty(columns, np.float64)
    stack = np.empty(len(skip) + 1, np.int32)
    bounds = np.empty(len(skip) + 1, np.float64)
    known = 0
    cells = np.empty((1024, 2 * columns), np.int32)
    after = np.empty(1024, np.int32)
    slots = np.full(4096, -1, np.int32)
    for row in range(begin, end):
        mine_low, mine_high = low[row], high[row]
        previous = -1
        while True:
            if 2 * known >= len(after):
                wider = np.empty((2 * len(after), 2 * columns), np.int32)
                longer = np.empty(2 * len(after), np.int32)
                # Loops, because slices take numba more than a second longer to compile.
                for number in range(known):
                    longer[number] = after[number]
                    for j in range(2 * columns):
                        wider[number, j] = cells[number, j]
                cells, after = wider, longer
                slots = np.full(4 * len(after), -1, np.int32)
                for number in range(known):
                    mixed = np.uint64(0)
                    for j in range(2 * columns):
                        mixed = (mixed ^ np.uint64(cells[number, j])) * np.uint64(0x9E3779B97F4A7C15)
                        mixed ^= mixed >> np.uint64(29)
                    place = mixed & np.uint64(len(slots) - 1)
                    while slots[place] >= 0:
                        place = (place + np.uint64(1)) & np.uint64(len(slots) - 1)
                    slots[place] = number
            _settle(mine_low, mine_high, own, inner, losses)
            mixed = np.uint64(0)
            for j in range(columns):
                mixed = (mixed ^ np.uint64(mine_low[j])) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            for j in range(columns):
                mixed = (mixed ^ np.uint64(mine_high[j])) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            place = mixed & np.uint64(len(slots) - 1)
            number = -1
            while slots[place] >= 0:
                number = slots[place]
                same = True
                for j in range(columns):
                    if cells[number, j] != mine_low[j] or cells[number, columns + j] != mine_high[j]:
                        same = False
                        break
                if same:
                    break
                number = -1
                place = (place + np.uint64(1)) & np.uint64(len(slots) - 1)
            if number >= 0:
                if previous >= 0:
                    after[previous] = number
                while after[number] != number:
                    number = after[number]
                for j in range(columns):
                    mine_low[j], mine_high[j] = cells[number, j], cells[number, columns + j]
                break
            number = known
            known += 1
            slots[place] = number
            for j in range(columns):
                cells[number, j], cells[number, columns + j] = mine_low[j], mine_high[j]
            if previous >= 0:
                after[previous] = number
            previous = number
            after[number] = number
            if _count(mine_low, mine_high, k, codes, weight, first, last, skip, box) >= k:
                break
            taken = _cheapest(
                mine_low, mine_high, own, inner, codes, first, last, skip, box, losses, stack, bounds
            )
            for j in range(columns):
                mine_low[j] = min(mine_low[j], codes[taken, j])
                mine_high[j] = max(mine_high[j], codes[taken, j])
    return known


@njit(cache=True, nogil=True)
def join_nearest(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """Join each row from `begin` to `end` with the nearest others until they are k, and return the cells over them.

    `low` and `high` hold the rows themselves at first, and the cells in the end. Rows are near if their closure with
    the row alone loses little. Every row must have k rows within its limits.
    """
    columns = codes.shape[1]
    own = np.empty(columns, np.float64)
    inner = np.empty(columns, np.float64)
    stack = np.empty(len(skip) + 1, np.int32)
    bounds = np.empty(len(skip) + 1, np.float64)
    costs = np.empty(k + 1, np.float64)
    chosen = np.empty(k + 1, np.int32)
    for row in range(begin, end):
        mine_low, mine_high = low[row], high[row]
        if weight[row] >= k:
            continue
        _settle(mine_low, mine_high, own, inner, losses)
        found, together, worst = 0, weight[row], np.inf
        stack[0], bounds[0], depth = 0, -np.inf, 1
        while depth:
            depth -= 1
            node = stack[depth]
            if bounds[depth] >= worst:
                continue
            if skip[node] != node + 1:
                left = node + 1
                right = skip[left]
                a = _bound(left, mine_low, mine_high, own, inner, worst, box, losses)
                b = _bound(right, mine_low, mine_high, own, inner, worst, box, losses)
                if a > b:
                    left, right, a, b = right, left, b, a
                if b < worst:
                    stack[depth], bounds[depth] = right, b
                    depth += 1
                if a < worst:
                    stack[depth], bounds[depth] = left, a
                    depth += 1
                continue
            for other in range(first[node], last[node]):
                cost, outside = _added(other, mine_low, mine_high, own, codes, losses)
                if not outside or cost >= worst:
                    continue
                place = found
                while place > 0 and costs[place - 1] > cost:
                    costs[place], chosen[place] = costs[place - 1], chosen[place - 1]
                    place -= 1
                costs[place], chosen[place] = cost, other
                found += 1
                together += weight[other]
                while together - weight[chosen[found - 1]] >= k:
                    found -= 1
                    together -= weight[chosen[found]]
                if together >= k:
                    worst = costs[found - 1]
        for place in range(found):
            for j in range(columns):
                mine_low[j] = min(mine_low[j], codes[chosen[place], j])
                mine_high[j] = max(mine_high[j], codes[chosen[place], j])
        _settle(mine_low, mine_high, own, inner, losses)
