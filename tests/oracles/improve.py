"""Plain twins of the kernels in `shoal/kernels/improve.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.losses import range_loss


def rows_loss(codes, members, losses):
    """The loss of the closure of some items."""
    return sum(
        range_loss(losses, j, codes[members, j].min(), codes[members, j].max()) for j in range(codes.shape[1])
    )


def unlink(head, next_row, cluster_of):
    for c, row in enumerate(head):
        while row >= 0:
            cluster_of[row] = c
            row = next_row[row]


def linked_rows(clusters):
    """The rows of each cluster, in the order of its list."""
    members = []
    for row in clusters.head:
        members.append([])
        while row >= 0:
            members[-1].append(int(row))
            row = clusters.next_row[row]
    return members


def relink(clusters, members, codes, row_item, losses):
    for c, rows in enumerate(members):
        clusters.head[c] = rows[0] if rows else -1
        for row, following in pairwise([*rows, -1]):
            clusters.next_row[row] = following
        clusters.size[c] = len(rows)
        clusters.loss[c] = rows_loss(codes, row_item[rows], losses) if rows else 0.0


def dissolve(codes, row_item, near, clusters, k, losses, begin, end):
    members, losses, gained = linked_rows(clusters), losses, 0.0

    def cost(rows):
        return len(rows) * rows_loss(codes, row_item[rows], losses) if rows else 0.0

    def closest(row, choices, budget):
        growths = [(cost([row, *members[b]]) - cost(members[b]), at) for at, b in enumerate(choices)]
        growths = [pair for pair in growths if pair[0] < budget - 1e-9]
        return (choices[min(growths)[1]], min(growths)[0]) if growths else (None, 0.0)

    for a in range(begin, end):
        if not members[a] or cost(members[a]) == 0.0 or len(members[a]) > 256:
            continue
        rows = list(members[a])
        around = [near[row_item[row], n] for n in range(near.shape[1]) for row in rows]
        choices = dict.fromkeys(int(clusters.cluster_of[item]) for item in around if item >= 0)
        choices = [b for b in choices if b != a and members[b]][:256]
        for row in rows:
            if len(members[a]) <= k:
                break
            without = [other for other in members[a] if other != row]
            b, growth = closest(row, choices, cost(members[a]) - cost(without))
            if b is not None:
                gained += cost(members[a]) - cost(without) - growth
                members[a] = without
                members[b].insert(0, row)
                clusters.cluster_of[row_item[row]] = b
        # Rows beyond a code in some column go together, in the order of rows at the start; at last all rows.
        codes_of = {row: codes[row_item[row]] for row in rows}
        turns = [(j, above, row) for j in range(codes.shape[1]) for above in (False, True) for row in rows]
        for turn in [*turns, None]:
            here = [row for row in rows if row in members[a]]
            goes = here
            if turn is not None:
                j, above, edge = turn
                earlier = here[: here.index(edge)] if edge in here else []
                if edge not in here or len(here) == k:
                    continue
                if any(codes_of[row][j] == codes_of[edge][j] for row in earlier):
                    continue
                goes = [
                    row
                    for row in here
                    if (
                        codes_of[row][j] > codes_of[edge][j]
                        if above
                        else codes_of[row][j] < codes_of[edge][j]
                    )
                ]
                if not goes or len(here) - len(goes) < k:
                    continue
            stay = [row for row in here if row not in goes]
            budget, spent, moved = cost(here) - cost(stay), 0.0, {}
            if turn is not None and budget <= len(goes) * 1e-9:
                continue
            before = [list(rows) for rows in members]
            for row in goes:
                moved[row], growth = closest(row, choices, budget - spent)
                if moved[row] is None:
                    members = before
                    break
                spent += growth
                members[moved[row]].insert(0, row)
            else:
                gained += budget - spent
                members[a] = stay
                for row, b in moved.items():
                    clusters.cluster_of[row_item[row]] = b
    relink(clusters, members, codes, row_item, losses)
    return gained


def parted(codes, items, k, best, losses):
    """The cheapest way to part items in two that costs less than `best`, and the places of one part."""

    def loss(places):
        return rows_loss(codes, [items[i] for i in places], losses)

    found = None
    for seed in range(len(items)):
        if items[seed] in items[:seed]:
            continue
        inside = [seed]
        while True:
            outside = [i for i in range(len(items)) if i not in inside]
            if len(inside) >= k:
                cost = len(inside) * loss(inside) + len(outside) * loss(outside)
                if cost < best:
                    best, found = cost, set(inside)
            if len(inside) >= len(items) - k:
                break
            add = min(outside, key=lambda i: (loss([*inside, i]), i))
            if len(inside) >= k and loss([*inside, add]) > loss(inside):
                break
            inside.append(add)
    return best, found


def resplit(codes, row_item, near, clusters, k, most_rows, partners, losses, begin, end):
    members, losses, gained = linked_rows(clusters), losses, 0.0
    changed, seen, clock = clusters.changed, clusters.seen, clusters.clock

    def cost(rows):
        return len(rows) * rows_loss(codes, row_item[rows], losses)

    for a in range(begin, end):
        if not members[a] or len(members[a]) > most_rows - k:
            continue
        around = [near[row_item[row], n] for row in members[a] for n in range(near.shape[1])]
        choices = dict.fromkeys(int(clusters.cluster_of[item]) for item in around if item >= 0)
        choices = [b for b in choices if b != a and members[b]]
        choices = [b for b in choices if changed[a] > seen[a] or changed[b] > seen[a]]
        unions = [rows_loss(codes, row_item[members[a] + members[b]], losses) for b in choices]
        ranked = sorted((union, at) for at, union in enumerate(unions) if union < np.inf)[:partners]
        seen[a] = clock[0]
        for b in [choices[at] for _, at in ranked]:
            rows = members[a] + members[b]
            if len(rows) > most_rows:
                continue
            now = cost(members[a]) + cost(members[b])
            best, side = parted(codes, row_item[rows].tolist(), k, now - 1e-9, losses)
            if side is None:
                continue
            gained += now - best
            clock[0] += 1
            for c, part in ((a, False), (b, True)):
                members[c] = [row for i, row in enumerate(rows) if (i in side) == part]
                for row in reversed(members[c]):
                    clusters.cluster_of[row_item[row]] = c
                changed[c] = clock[0]
    relink(clusters, members, codes, row_item, losses)
    return gained
