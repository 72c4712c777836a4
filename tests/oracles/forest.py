"""Plain twins of the kernels in `shoal/kernels/forest.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.improve import rows_loss


def grow_forest(codes, count, tree, losses, k):
    items = [item for item in range(len(codes)) if count[item] > 0]
    component = {item: item for item in items}
    edges = []

    def rows(own):
        return sum(int(count[item]) for item in items if component[item] == own)

    grown = True
    while grown:
        grown = False
        offers = {}
        for own in sorted(set(component.values())):
            if rows(own) < k:
                edges_out = [
                    (rows_loss(codes, [item, other], losses), item, other)
                    for item in items
                    for other in items
                    if component[item] == own != component[other]
                ]
                edges_out = [offer for offer in edges_out if offer[0] < np.inf]
                if edges_out:
                    offers[own] = min(edges_out)[1:]
        for own in sorted(offers):
            start, end = offers[own]
            if component[start] == component[end] or rows(component[start]) >= k:
                continue
            grown = True
            edges.append((start, end))
            mine, other = component[start], component[end]
            component = {item: other if c == mine else c for item, c in component.items()}
    above = np.full(len(codes), -1, np.int64)
    # The root of a tree is the root of the component that was joined to last, and so on back.
    for start, end in edges:
        node, to = start, end
        while node >= 0:
            following = above[node]
            above[node] = to
            node, to = following, node
    return above


def cut_trees(above, rows, k):
    def root(row):
        return row if above[row] < 0 else root(above[row])

    def depth(row):
        return 0 if above[row] < 0 else 1 + depth(above[row])

    left = {}
    for row in rows:
        left.setdefault(root(row), set()).add(int(row))
    children = {row: [child for child in rows if above[child] == row] for row in rows}
    # From the leaves up: a row comes when all rows below it have come, first come first served.
    order = [row for row in rows if not children[row]]
    for row in order:
        up = above[row]
        if up >= 0 and up not in order and all(child in order for child in children[up]):
            order.append(up)
    part = np.full(len(above), -1, np.int32)
    gathered = {int(row): {int(row)} for row in rows}
    for row in map(int, order):
        own, below = left[root(row)], gathered[row]
        if len(below) >= k and len(own) > max(2 * k - 1, 3 * k - 5) and len(own) - len(below) >= k:
            own -= below
            part[list(below)] = row
        elif above[row] >= 0:
            gathered[int(above[row])] |= below
    for own, rest in left.items():
        part[list(rest)] = own
    return part
