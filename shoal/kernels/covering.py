"""Cells that grow until every row is covered often enough, and until components of matches are large enough.

Rows are distinct, in the order of their tree (see consistency.py); row u owns the cells
``slots[u]:slots[u + 1]``, one for each of the equal rows it represents. The first ``changed[u]`` of them may
differ, the others are still identical.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import PART, least_loss, lift, range_loss


@PART
def _growth(code, low, high, losses):
    """Return what a row adds to the loss of a cell, and whether it lies outside."""
    total = 0.0
    outside = False
    for j in range(len(low)):
        if code[j] < low[j] or code[j] > high[j]:
            outside = True
            total += range_loss(losses, j, min(low[j], code[j]), max(high[j], code[j]))
            total -= range_loss(losses, j, low[j], high[j])
            if total == np.inf:
                break
    return total, outside


@PART
def _grow(code, low, high, losses):
    """Extend a cell by a row, in place."""
    for j in range(len(low)):
        low[j], high[j] = lift(losses, j, min(low[j], code[j]), max(high[j], code[j]))


@njit(cache=True, nogil=True)
def hulls(slots, low, high, first, last, skip, losses):
    """Return, per node of the tree, the hull of the cells of its rows, and the highest loss among them per column.

    O(cells x columns).
    """
    nodes, columns = len(skip), low.shape[1]
    hull = np.empty((nodes, 2 * columns), np.int32)
    costliest = np.zeros((nodes, columns))
    for node in range(nodes - 1, -1, -1):
        if skip[node] == node + 1:
            begin, end = slots[first[node]], slots[last[node]]
            for j in range(columns):
                hull[node, j], hull[node, columns + j] = low[begin, j], high[begin, j]
            for slot in range(begin, end):
                for j in range(columns):
                    hull[node, j] = min(hull[node, j], low[slot, j])
                    hull[node, columns + j] = max(hull[node, columns + j], high[slot, j])
                    costliest[node, j] = max(
                        costliest[node, j], range_loss(losses, j, low[slot, j], high[slot, j])
                    )
        else:
            a = node + 1
            b = skip[a]
            for j in range(columns):
                hull[node, j] = min(hull[a, j], hull[b, j])
                hull[node, columns + j] = max(hull[a, columns + j], hull[b, columns + j])
                costliest[node, j] = max(costliest[a, j], costliest[b, j])
    return hull, costliest


@PART
def _least(node, code, hull, costliest, worst, losses):
    """Return a lower bound for what a row adds to the loss of any cell of a node that does not cover it.

    If losses never fall when a cell grows, it stops once the bound reaches `worst`.
    """
    columns = len(code)
    total = 0.0
    for j in range(columns):
        c = code[j]
        rising = losses.rising
        if c < hull[node, j]:
            added = least_loss(losses, j, c, hull[node, j]) - costliest[node, j]
        elif c > hull[node, columns + j]:
            added = least_loss(losses, j, hull[node, columns + j], c) - costliest[node, j]
        elif rising:
            continue
        else:
            added = -costliest[node, j]
        total += max(added, 0.0) if rising else added
        if rising and total >= worst:
            break
    return total


@njit(cache=True, nogil=True)
def cover_each(
    codes, slots, changed, low, high, covered, first, last, skip, box, hull, costliest, losses, k, begin, end
):
    """Let at least k cells cover every row from `begin` to `end`; the cells that need to grow least do.

    `covered` counts the cells over each row; it, the cells and their hulls are kept up to date.
    """
    columns = codes.shape[1]
    stack = np.empty(len(skip) + 1, np.int32)
    bounds = np.empty(len(skip) + 1, np.float64)
    costs = np.empty(k + 1, np.float64)
    chosen = np.empty(k + 1, np.int64)
    owners = np.empty(k + 1, np.int32)
    old_low = np.empty(columns, np.int32)
    old_high = np.empty(columns, np.int32)
    grown = 0
    for u in range(begin, end):
        need = k - covered[u]
        if need <= 0:
            continue
        code = codes[u]
        found = 0
        worst = np.inf
        stack[0], bounds[0], depth = 0, -np.inf, 1
        while depth:
            depth -= 1
            node = stack[depth]
            if bounds[depth] >= worst:
                continue
            if skip[node] != node + 1:
                left = node + 1
                right = skip[left]
                a = _least(left, code, hull, costliest, worst, losses)
                b = _least(right, code, hull, costliest, worst, losses)
                if a > b or (a == b and not first[left] <= u < last[left]):
                    left, right, a, b = right, left, b, a
                if b < worst:
                    stack[depth], bounds[depth] = right, b
                    depth += 1
                if a < worst:
                    stack[depth], bounds[depth] = left, a
                    depth += 1
                continue
            for v in range(first[node], last[node]):
                # All cells that are still identical come after the changed ones, and are visited once.
                for slot in range(slots[v], min(slots[v] + changed[v] + 1, slots[v + 1])):
                    cost, outside = _growth(code, low[slot], high[slot], losses)
                    if not outside or cost >= worst:
                        continue
                    alike = slots[v + 1] - slot if slot == slots[v] + changed[v] else 1
                    for copy in range(min(alike, need)):
                        place = min(found, need)
                        if found >= need and cost >= costs[need - 1]:
                            break
                        if found >= need:
                            place = need - 1
                        while place > 0 and costs[place - 1] > cost:
                            costs[place] = costs[place - 1]
                            chosen[place] = chosen[place - 1]
                            owners[place] = owners[place - 1]
                            place -= 1
                        costs[place], chosen[place], owners[place] = cost, slot + copy, v
                        found = min(found + 1, need)
                    if found == need:
                        worst = costs[need - 1]
        grown += found
        for place in range(found):
            slot, v = chosen[place], owners[place]
            # Identical cells were listed in their order, and later ones are pushed out first.
            changed[v] = max(changed[v], slot - slots[v] + 1)
            for j in range(columns):
                old_low[j], old_high[j] = low[slot, j], high[slot, j]
            _grow(code, low[slot], high[slot], losses)
            _cover_more(old_low, old_high, low[slot], high[slot], codes, covered, first, last, skip, box)
            _widen_hulls(v, low[slot], high[slot], last, skip, hull, costliest, losses)
    return grown


@PART
def _widen_hulls(row, low, high, last, skip, hull, costliest, losses):
    """Let the hulls of all nodes with a row take in one of its cells."""
    columns = len(low)
    node = 0
    while True:
        for j in range(columns):
            hull[node, j] = min(hull[node, j], low[j])
            hull[node, columns + j] = max(hull[node, columns + j], high[j])
            costliest[node, j] = max(costliest[node, j], range_loss(losses, j, low[j], high[j]))
        if skip[node] == node + 1:
            break
        node += 1
        if row >= last[node]:
            node = skip[node]


@njit(cache=True, nogil=True)
def open_sets(
    codes, slots, changed, low, high, component, members, starts, first, last, skip, hull, costliest, losses
):
    """Let a cell of somebody else grow over one row of each set ``members[starts[i]:starts[i + 1]]``: the cheapest.

    The rows of a set have a component of their own. A set that a cell of somebody else covers already stays as it is.
    Returns how many cells have grown.
    """
    stack = np.empty(len(skip) + 1, np.int32)
    bounds = np.empty(len(skip) + 1, np.float64)
    grown = 0
    for number in range(len(starts) - 1):
        best, cell, owner, taken = np.inf, np.int64(-1), np.int64(-1), np.int64(-1)
        is_open = False
        for member in range(starts[number], starts[number + 1]):
            u = members[member]
            stack[0], bounds[0], depth = 0, -np.inf, 1
            while depth and not is_open:
                depth -= 1
                node = stack[depth]
                if bounds[depth] >= best:
                    continue
                if skip[node] != node + 1:
                    left = node + 1
                    right = skip[left]
                    a = _least(left, codes[u], hull, costliest, best, losses)
                    b = _least(right, codes[u], hull, costliest, best, losses)
                    if a > b:
                        left, right, a, b = right, left, b, a
                    if b < best:
                        stack[depth], bounds[depth] = right, b
                        depth += 1
                    if a < best:
                        stack[depth], bounds[depth] = left, a
                        depth += 1
                    continue
                for v in range(first[node], last[node]):
                    if component[v] == component[u]:
                        continue
                    for slot in range(slots[v], min(slots[v] + changed[v] + 1, slots[v + 1])):
                        cost, outside = _growth(codes[u], low[slot], high[slot], losses)
                        if not outside:
                            is_open = True
                        elif cost < best:
                            best, cell, owner, taken = cost, slot, v, u
        if is_open or cell < 0:
            continue
        changed[owner] = max(changed[owner], cell - slots[owner] + 1)
        _grow(codes[taken], low[cell], high[cell], losses)
        _widen_hulls(owner, low[cell], high[cell], last, skip, hull, costliest, losses)
        grown += 1
    return grown


@PART
def _cover_more(old_low, old_high, low, high, codes, covered, first, last, skip, box):
    """Count one more cell over every row that a cell newly covers."""
    columns = len(low)
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
            fits, before = True, True
            for j in range(columns):
                c = codes[row, j]
                fits &= low[j] <= c <= high[j]
                before &= old_low[j] <= c <= old_high[j]
            if fits and not before:
                covered[row] += 1
        node = skip[node]


@njit(cache=True, nogil=True)
def join_components(
    codes, slots, owner, changed, low, high, over, over_start, region_of, within, within_start, component,
    first, last, skip, box, losses, k, look, who,
):  # fmt: skip
    """Grow cells until each of the rows `who` has at least k matches, the cheapest step per match first.

    Row u lies in the cells ``over[over_start[u]:over_start[u + 1]]``; those of rows in its component are its
    matches. Cell s covers the rows ``within[within_start[region_of[s]]:..]``. Two kinds of steps put u and another
    row v on a cycle, which merges their components: a cell of u grows over v, from a component with a cell over u;
    or a cell of v grows over u, if some cell of u covers v (at most `look` such rows are tried). Other rows that
    become covered or connected on the way are not counted, so rows may have more matches than counted here, never
    fewer. Returns how many cells have grown.
    """
    rows = len(codes)
    parts = 0
    for part in component:
        parts = max(parts, part + 1)
    parent = np.arange(parts)
    met = np.zeros(len(parent), np.int64)
    gained = np.zeros(rows, np.int64)
    stack = np.empty(len(skip) + 1, np.int32)
    bounds = np.empty(len(skip) + 1, np.float64)
    grown = 0
    for u in who:
        while True:
            mine = _root(parent, component[u])
            for link in range(over_start[u], over_start[u + 1]):
                met[_root(parent, component[owner[over[link]]])] += 1
            need = k - gained[u] - met[mine]
            met[mine] = 0
            best, gain, cell, taken = np.inf, np.int64(1), np.int64(-1), np.int64(-1)
            if need > 0:
                final = min(slots[u] + changed[u] + 1, slots[u + 1])
                most = np.int64(0)
                for link in range(over_start[u], over_start[u + 1]):
                    most = max(most, met[_root(parent, component[owner[over[link]]])])
                if most > 0:
                    for slot in range(slots[u], final):
                        best, gain, cell, taken = _partner(
                            low[slot], high[slot], slot, best, gain, cell, taken, min(most, need), need,
                            codes, component, parent, met, first, last, skip, box, losses, stack, bounds,
                        )  # fmt: skip
                for slot in range(slots[u], final):
                    begin = within_start[region_of[slot]]
                    for link in range(begin, min(within_start[region_of[slot] + 1], begin + look)):
                        v = within[link]
                        more = min(met[_root(parent, component[v])] + 1, need)
                        for other in range(slots[v], min(slots[v] + changed[v] + 1, slots[v + 1])):
                            cost, outside = _growth(codes[u], low[other], high[other], losses)
                            if outside and cost * gain < best * more:
                                best, gain, cell, taken = cost, more, other, u
            for link in range(over_start[u], over_start[u + 1]):
                met[_root(parent, component[owner[over[link]]])] = 0
            if cell < 0:
                break
            v = owner[cell]
            changed[v] = max(changed[v], cell - slots[v] + 1)
            _grow(codes[taken], low[cell], high[cell], losses)
            gained[taken] += 1
            parent[_root(parent, component[taken if v == u else v])] = mine
            grown += 1
    return grown


@PART
def _partner(
    low, high, slot, best, gain, cell, taken, most, need, codes, component, parent, met, first, last, skip, box,
    losses, stack, bounds,
):  # fmt: skip
    """Look for a row that a cell can cover at a lower loss per match than known so far; see `join_components`."""
    columns = len(low)
    stack[0], bounds[0], depth = 0, -np.inf, 1
    while depth:
        depth -= 1
        node = stack[depth]
        if bounds[depth] * gain > best * most:
            continue
        if skip[node] == node + 1:
            for row in range(first[node], last[node]):
                more = min(met[_root(parent, component[row])], need)
                if more > 0:
                    cost, _ = _growth(codes[row], low, high, losses)
                    if cost * gain < best * more:
                        best, gain, cell, taken = cost, more, slot, row
            continue
        left = node + 1
        for side in range(2):
            child = left if side else skip[left]
            total = 0.0
            for j in range(columns):
                if box[child, j] > high[j]:
                    total += least_loss(losses, j, low[j], box[child, j])
                elif box[child, columns + j] < low[j]:
                    total += least_loss(losses, j, box[child, columns + j], high[j])
                elif losses.rising:
                    continue
                else:
                    total += least_loss(losses, j, low[j], high[j])
                total -= range_loss(losses, j, low[j], high[j])
            if total < np.inf and total * gain <= best * most:
                stack[depth], bounds[depth] = child, total
                depth += 1
        if depth > 1 and stack[depth - 2] == skip[left] and bounds[depth - 2] < bounds[depth - 1]:
            stack[depth - 2], stack[depth - 1] = stack[depth - 1], stack[depth - 2]
            bounds[depth - 2], bounds[depth - 1] = bounds[depth - 1], bounds[depth - 2]
    return best, gain, cell, taken


@PART
def _root(parent, number):
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number
