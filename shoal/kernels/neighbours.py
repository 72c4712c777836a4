"""Neighbours: a tree of boxes over distinct rows, and the items or clusters whose union with others loses least."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import SIZE, least_loss, range_loss

LEAST_GAIN = 1e-9
"""Smaller gains are rounding errors."""

Tree = namedtuple("Tree", "left right parent first last floor ceiling leaf_of")
"""Nodes, parents before children: children and parent (-1 for none), the items below (``order[first:last]``),
their lowest and highest codes; and the leaf of each position in the order."""


@njit(cache=True, nogil=True)
def plant(codes, losses, leaf_size):
    """Split distinct rows into ever smaller boxes: return the order of the rows, and the tree over it.

    Each node is split in the column and at the code that give the least total loss of the two boxes.
    O(rows x columns x depth + nodes x codes).
    """
    rows, width = codes.shape
    most = max(2 * (rows // max(leaf_size // 4, 1)) + 3, 3)
    order = np.arange(rows)
    spare = np.empty(rows, np.int64)
    left = np.full(most, -1, np.int64)
    right = np.full(most, -1, np.int64)
    parent = np.full(most, -1, np.int64)
    first = np.zeros(most, np.int64)
    last = np.zeros(most, np.int64)
    floor = np.zeros((most, width), np.int64)
    ceiling = np.zeros((most, width), np.int64)
    leaf_of = np.zeros(rows, np.int64)
    largest = 1
    for j in range(width):
        largest = max(largest, losses.shape[j, SIZE])
    counts = np.zeros(largest, np.int64)
    last[0] = rows
    nodes = 1
    node = 0
    while node < nodes:
        begin, end = first[node], last[node]
        for j in range(width):
            low = high = codes[order[begin], j]
            for at in range(begin + 1, end):
                low, high = min(low, codes[order[at], j]), max(high, codes[order[at], j])
            floor[node, j], ceiling[node, j] = low, high
        column, cut, gain = -1, 0, -1.0
        if end - begin > leaf_size and nodes + 2 <= most:
            for j in range(width):
                low, high = floor[node, j], ceiling[node, j]
                if low == high:
                    continue
                whole = range_loss(losses, j, low, high)
                if high - low > 4 * (end - begin):
                    middle = (low + high) // 2
                    if whole > gain:
                        column, cut, gain = j, middle, whole
                    continue
                for at in range(begin, end):
                    counts[codes[order[at], j]] += 1
                taken = 0
                previous = low
                for code in range(low, high + 1):
                    if counts[code] > 0 and code > low:
                        a = range_loss(losses, j, low, previous)
                        b = range_loss(losses, j, code, high)
                        rest = end - begin - taken
                        if whole == np.inf:
                            worth = 1e6 * min(taken, rest)
                        else:
                            # Uneven cuts make deep trees, so the balance of a cut counts too.
                            worth = taken * (whole - a) + rest * (whole - b) + 0.5 * whole * min(taken, rest)
                        if worth > gain:
                            column, cut, gain = j, previous, worth
                    if counts[code] > 0:
                        previous = code
                        taken += counts[code]
                        counts[code] = 0
        if column >= 0:
            front, back = begin, 0
            for at in range(begin, end):
                row = order[at]
                if codes[row, column] <= cut:
                    order[front] = row
                    front += 1
                else:
                    spare[back] = row
                    back += 1
            for at in range(back):
                order[front + at] = spare[at]
            left[node], right[node] = nodes, nodes + 1
            first[nodes], last[nodes] = begin, front
            first[nodes + 1], last[nodes + 1] = front, end
            parent[nodes] = parent[nodes + 1] = node
            nodes += 2
        else:
            for at in range(begin, end):
                leaf_of[at] = node
        node += 1
    return order, Tree(
        left[:nodes].copy(), right[:nodes].copy(), parent[:nodes].copy(), first[:nodes].copy(), last[:nodes].copy(),
        floor[:nodes].copy(), ceiling[:nodes].copy(), leaf_of,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def nearest_items(codes, tree, losses, many):
    """Return for each item the `many` others with which it loses least, nearest first, -1 if there are fewer.

    Items are in the order of the tree. Among equals any may be chosen. Expected O(items x (log items + items visited)
    x columns).
    """
    left, right, _parent, first, last, floor, ceiling, leaf_of = tree
    items, width = codes.shape
    near = np.full((items, many), -1, np.int64)
    loss = np.full((items, many), np.inf)
    stack = np.empty(2 * len(left) + 4, np.int64)
    bounds = np.empty(2 * len(left) + 4, np.float64)
    for item in range(items):
        home = leaf_of[item]
        stack[0], bounds[0] = 0, 0.0
        stack[1], bounds[1] = home, 0.0
        depth = 2
        seen_home = False
        worst = np.inf
        while depth > 0:
            depth -= 1
            node, bound = stack[depth], bounds[depth]
            if bound >= worst or (node == home and seen_home):
                continue
            if left[node] < 0:
                seen_home = seen_home or node == home
                for other in range(first[node], last[node]):
                    if other == item:
                        continue
                    total = 0.0
                    for j in range(width):
                        low = np.int64(min(codes[item, j], codes[other, j]))
                        high = np.int64(max(codes[item, j], codes[other, j]))
                        total += range_loss(losses, j, low, high)
                        if total >= worst:
                            break
                    if total < worst:
                        at = many - 1
                        while at > 0 and loss[item, at - 1] > total:
                            near[item, at], loss[item, at] = near[item, at - 1], loss[item, at - 1]
                            at -= 1
                        near[item, at], loss[item, at] = other, total
                        worst = loss[item, many - 1]
                continue
            nearer = -1
            for child in (left[node], right[node]):
                bound = 0.0
                for j in range(width):
                    low = min(np.int64(codes[item, j]), ceiling[child, j])
                    high = max(np.int64(codes[item, j]), floor[child, j])
                    bound += least_loss(losses, j, low, high)
                    if bound >= worst:
                        break
                if bound >= worst:
                    continue
                stack[depth], bounds[depth] = child, bound
                depth += 1
                if nearer >= 0 and bounds[nearer] < bound:
                    stack[nearer], stack[depth - 1] = stack[depth - 1], stack[nearer]
                    bounds[nearer], bounds[depth - 1] = bounds[depth - 1], bounds[nearer]
                nearer = depth - 1
    return near, loss


@njit(cache=True, nogil=True)
def nearest_clusters(box, loss, size, wanted, losses, many):
    """Return for each wanted cluster the `many` others with which the sum of losses grows least, the least first,
    then the lowest number; -1 if there are fewer. O(wanted x clusters x columns).
    """
    near = np.full((len(wanted), many), -1, np.int64)
    growth = np.empty(many, np.float64)
    for w in range(len(wanted)):
        c = wanted[w]
        growth[:] = np.inf
        for other in range(len(box)):
            if other == c:
                continue
            fixed = size[c] * loss[c] + size[other] * loss[other]
            limit = (growth[many - 1] + fixed) / (size[c] + size[other]) + LEAST_GAIN
            total = 0.0
            for j in range(box.shape[1] // 2):
                low = min(box[c, 2 * j], box[other, 2 * j])
                high = max(box[c, 2 * j + 1], box[other, 2 * j + 1])
                total += range_loss(losses, j, low, high)
                if total > limit:
                    break
            more = (size[c] + size[other]) * total - fixed
            if total > limit or more >= growth[many - 1]:
                continue
            at = many - 1
            while at > 0 and growth[at - 1] > more:
                near[w, at], growth[at] = near[w, at - 1], growth[at - 1]
                at -= 1
            near[w, at], growth[at] = other, more
    return near
