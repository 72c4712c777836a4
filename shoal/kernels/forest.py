"""The forest algorithm: grow trees by cheapest edges, and split those that are too large.

Items are in the order of the tree of kernels/neighbours.py.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import least_loss, range_loss


@njit(cache=True, nogil=True)
def _root(parent, item):
    """Return the root of the component, and shorten the path to it."""
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@njit(cache=True, nogil=True)
def _nearest_outside(codes, tree, losses, component, same, item, best, stack, bounds):
    """Return the nearest item of another component that is nearer than `best`, the lowest of equals, and its loss.

    `same` is the component of all items below a node of the tree, -1 if there are several.
    """
    left, right, _parent, first, last, floor, ceiling, leaf_of = tree
    width = codes.shape[1]
    choice = -1
    home = leaf_of[item]
    stack[0], bounds[0] = 0, 0.0
    stack[1], bounds[1] = home, 0.0
    depth = 2
    seen_home = False
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        if bound > best or same[node] == component[item] or (node == home and seen_home):
            continue
        if left[node] < 0:
            seen_home = seen_home or node == home
            for other in range(first[node], last[node]):
                if component[other] == component[item] or component[other] < 0:
                    continue
                total = 0.0
                for j in range(width):
                    low = np.int64(min(codes[item, j], codes[other, j]))
                    high = np.int64(max(codes[item, j], codes[other, j]))
                    total += range_loss(losses, j, low, high)
                    if total > best:
                        break
                if total < best or (total == best and total < np.inf and choice >= 0 and other < choice):
                    best, choice = total, other
            continue
        nearer = -1
        for child in (left[node], right[node]):
            if same[child] == component[item]:
                continue
            bound = 0.0
            for j in range(width):
                low = min(np.int64(codes[item, j]), ceiling[child, j])
                high = max(np.int64(codes[item, j]), floor[child, j])
                bound += least_loss(losses, j, low, high)
                if bound > best:
                    break
            if bound > best or bound == np.inf:
                continue
            stack[depth], bounds[depth] = child, bound
            depth += 1
            if nearer >= 0 and bounds[nearer] < bound:
                stack[nearer], stack[depth - 1] = stack[depth - 1], stack[nearer]
                bounds[nearer], bounds[depth - 1] = bounds[depth - 1], bounds[nearer]
            nearer = depth - 1
    return choice, best


@njit(cache=True, nogil=True)
def grow_forest(codes, count, tree, losses, k):
    """Let each component with fewer than k rows take its cheapest edge to another one, until none is left that can.

    Components take turns in rounds, in the order of their first items. Among equally cheap edges, a component takes the
    one that begins at the lowest item, then the one that ends at the lowest. Items have `count` rows; those with none
    are skipped. Returns the parent of each item in a rooted forest of these edges, -1 for roots.
    O(items x (log items + items visited) x columns) per round, at most log2 k + 1 rounds.
    """
    left, right, _parent, first, last, _floor, _ceiling, _leaf_of = tree
    items = len(codes)
    union = np.arange(items)
    size = count.copy()
    component = np.empty(items, np.int64)
    same = np.empty(len(left), np.int64)
    above = np.full(items, -1, np.int64)
    stack = np.empty(2 * len(left) + 4, np.int64)
    bounds = np.empty(2 * len(left) + 4, np.float64)
    start = np.empty(items, np.int64)
    end = np.empty(items, np.int64)
    cost = np.empty(items, np.float64)
    grown = True
    while grown:
        grown = False
        for item in range(items):
            component[item] = _root(union, item) if count[item] > 0 else -1
        for node in range(len(left) - 1, -1, -1):
            if left[node] >= 0:
                same[node] = same[left[node]] if same[left[node]] == same[right[node]] else -1
            else:
                same[node] = component[first[node]]
                for item in range(first[node], last[node]):
                    if component[item] != same[node]:
                        same[node] = -1
        cost[:] = np.inf
        start[:] = -1
        for item in range(items):
            own = component[item]
            if own < 0 or size[own] >= k:
                continue
            choice, best = _nearest_outside(
                codes,
                tree,
                losses,
                component,
                same,
                item,
                cost[own],
                stack,
                bounds,
            )
            if choice >= 0 and best < cost[own]:
                cost[own], start[own], end[own] = best, item, choice
        for own in range(items):
            if start[own] < 0:
                continue
            a, b = _root(union, start[own]), _root(union, end[own])
            # Edges of this round may have joined them already, or made this one large enough.
            if a == b or size[a] >= k:
                continue
            grown = True
            # Make the start the root of its tree, and attach it below the end.
            node, to = start[own], end[own]
            while node >= 0:
                following = above[node]
                above[node] = to
                node, to = following, node
            union[a] = b
            size[b] += size[a]
    return above


@njit(cache=True, nogil=True)
def cut_trees(above, rows, k):
    """Split trees with more than max(2k - 1, 3k - 5) rows into trees of at least k; return the tree of each row.

    From the leaves up, each row collects the rows below it. As soon as they are k rows, they become a separate tree,
    if at least k rows of the old one remain. O(rows).
    """
    total = len(above)
    tree = np.full(total, -1, np.int32)
    root = np.full(total, -1, np.int64)
    waiting = np.zeros(total, np.int64)
    order = np.empty(len(rows), np.int64)
    for row in rows:
        if above[row] >= 0:
            waiting[above[row]] += 1
    used = 0
    for row in rows:
        if waiting[row] == 0:
            order[used] = row
            used += 1
    at = 0
    while at < used:
        up = above[order[at]]
        at += 1
        if up >= 0:
            waiting[up] -= 1
            if waiting[up] == 0:
                order[used] = up
                used += 1
    left = np.zeros(total, np.int64)
    for at in range(used - 1, -1, -1):
        row = order[at]
        root[row] = row if above[row] < 0 else root[above[row]]
        left[root[row]] += 1
    most = max(2 * k - 1, 3 * k - 5)
    gathered = np.ones(total, np.int64)
    cut = np.zeros(total, np.bool_)
    for at in range(used):
        row = order[at]
        own = root[row]
        if gathered[row] >= k and left[own] > most and left[own] - gathered[row] >= k:
            cut[row] = True
            left[own] -= gathered[row]
        elif above[row] >= 0:
            gathered[above[row]] += gathered[row]
    for at in range(used - 1, -1, -1):
        row = order[at]
        tree[row] = row if above[row] < 0 or cut[row] else tree[above[row]]
    return tree
