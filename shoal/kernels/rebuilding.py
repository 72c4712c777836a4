"""Neighbouring clusters are taken apart and built anew, again and again, and the result mostly has to lose less.

Items are in the order of the tree of kernels/neighbours.py. Choices follow a fixed sequence of numbers, which its first
one decides.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.choosing import TOGETHER, below, choose, cut_off, follow, gather, invite, listed
from shoal.kernels.compiled import njit
from shoal.kernels.losses import PART, range_loss

OUTSIDE = 10
"""So many neighbours of each row that is left over name the clusters that may take such rows."""
CANDIDATES = 256
"""Clusters that may take rows that are left over, at most."""
FEWER = 4
"""In so many of 16 times, one cluster less is built than there could be: its rows go to others."""
MORE = 4
"""In so many of 16 times, one cluster more is built, with rows that other clusters can spare."""
APART = (384, 9600)
"""In so many of 1,024 steps several clusters are taken apart: at most, and times k. Such steps take far longer
if k is large."""
FOUNDED = (128, 640)
"""The same for steps in which a cluster is founded of rows that others can spare. In all other steps, one cluster gives
up the rows beyond a code."""
GUESTS = 4
"""A founded cluster has so many times k rows to choose from, at most."""
FREE = 0
"""Where `spare` holds how many numbers of clusters are free; the numbers follow."""

Pool = namedtuple("Pool", "cluster_of next_row head size loss box piece")
"""By row: its cluster (-1 for none) and the next row of it. By cluster: first row, rows, loss, bounds, and the piece of
work that it belongs to."""


@PART
def _leave(codes, row_item, pool, losses, cluster, row):
    """Take a row out of a cluster, and measure the rest. O(rows x columns)."""
    head, next_row, box = pool.head, pool.next_row, pool.box
    if head[cluster] == row:
        head[cluster] = next_row[row]
    else:
        at = head[cluster]
        while next_row[at] != row:
            at = next_row[at]
        next_row[at] = next_row[row]
    pool.size[cluster] -= 1
    total = 0.0
    for j in range(codes.shape[1]):
        low, high = np.int64(1) << 40, np.int64(-1)
        at = head[cluster]
        while at >= 0:
            code = np.int64(codes[row_item[at], j])
            low, high = min(low, code), max(high, code)
            at = next_row[at]
        box[cluster, 2 * j], box[cluster, 2 * j + 1] = low, high
        total += range_loss(losses, j, low, high)
    pool.loss[cluster] = total


@PART
def _grow(values, losses, k, new, size, loss, limit, left, rest, own, box, shares, totals):
    """Let a cluster grow: always by the row that raises its loss least, until it has k; from then on only by rows that
    do not raise it. It stops if k rows would lose more than `limit`.

    Returns its rows, its loss, how many rows are left, and the rows visited.
    """
    width = values.shape[1]
    for i in range(left):
        total = 0.0
        for j in range(width):
            code = values[rest[i], j]
            share = range_loss(losses, j, min(box[new, 2 * j], code), max(box[new, 2 * j + 1], code))
            shares[rest[i], j] = share
            total += share
        totals[rest[i]] = total
    work = left
    while left > 0 and max(size, k) * loss <= limit:
        at = 0
        for i in range(1, left):
            if totals[rest[i]] < totals[rest[at]]:
                at = i
        row = rest[at]
        if totals[row] == np.inf or (size >= k and totals[row] > loss):
            break
        loss = totals[row]
        size += 1
        left -= 1
        work += left
        rest[at] = rest[left]
        own[row] = new
        for j in range(width):
            low, high = box[new, 2 * j], box[new, 2 * j + 1]
            if low <= values[row, j] <= high:
                continue
            low, high = min(low, values[row, j]), max(high, values[row, j])
            box[new, 2 * j], box[new, 2 * j + 1] = low, high
            for i in range(left):
                other = rest[i]
                code = values[other, j]
                share = range_loss(losses, j, min(low, code), max(high, code))
                totals[other] += share - shares[other, j]
                shares[other, j] = share
    return size, loss, left, work


@PART
def _covered(values, count, losses, box):
    """Write the bounds of the first `count` rows into ``box[0]``, and return their loss."""
    total = 0.0
    for j in range(values.shape[1]):
        low, high = values[0, j], values[0, j]
        for i in range(1, count):
            low, high = min(low, values[i, j]), max(high, values[i, j])
        box[0, 2 * j], box[0, 2 * j + 1] = low, high
        total += range_loss(losses, j, low, high)
    return total


@PART
def _growth(box, size, loss, cluster, values, row, losses, most):
    """Return by how much the sum of losses grows if a row joins a cluster, and its loss then; `most` if not by less."""
    worst = (most + size[cluster] * loss[cluster]) / (size[cluster] + 1)
    total = 0.0
    for j in range(values.shape[1]):
        code = values[row, j]
        total += range_loss(losses, j, min(box[cluster, 2 * j], code), max(box[cluster, 2 * j + 1], code))
        if total >= worst:
            return most, loss[cluster]
    return (size[cluster] + 1) * total - size[cluster] * loss[cluster], total


@PART
def _join(box, size, loss, cluster, values, row, now):
    """Let a row join a cluster, which then has the loss `now`."""
    size[cluster] += 1
    loss[cluster] = now
    for j in range(values.shape[1]):
        code = values[row, j]
        box[cluster, 2 * j] = min(box[cluster, 2 * j], code)
        box[cluster, 2 * j + 1] = max(box[cluster, 2 * j + 1], code)


@njit(cache=True, nogil=True)
def rebuild(
    codes, row_item, item_start, item_rows, near, pool, k, losses, seeds, warmth, number, work, spare
):
    """Take clusters apart and build them anew, until `work` rows were visited; return the next number of the sequence.

    A step begins with the cluster of one of the rows `seeds`. Rows of it and of neighbours, two or three clusters in
    all, form as many clusters of k rows as they can, or one less; each row that is left joins the new cluster or the
    neighbour where it adds least. The result is kept if it adds less than some share of `warmth`: at 0, if it loses
    less. Only clusters of the same piece change. Numbers of clusters come from `spare` and go there.
    A step takes O(rows x k x columns) at worst.
    """
    width = codes.shape[1]
    size, loss, box, head, cluster_of = pool.size, pool.loss, pool.box, pool.head, pool.cluster_of
    largest = (TOGETHER + 1) * (k + k // 2)
    most = max(largest + k, GUESTS * k + 1)
    rows = np.empty(most, np.int64)
    items = np.empty(most, np.int64)
    hosts = np.empty(most, np.int64)
    rest = np.empty(most, np.int64)
    own = np.empty(most, np.int64)
    values = np.empty((most, width), np.int64)
    shares = np.empty((most, width))
    totals = np.empty(most)
    most_new = most // k + 1
    together = np.empty(max(most_new, TOGETHER), np.int64)
    new_box = np.empty((most_new, 2 * width), np.int64)
    new_loss = np.empty(most_new)
    new_size = np.empty(most_new, np.int64)
    takers = np.empty(most, np.int64)
    old_loss = np.empty(most)
    old_box = np.empty((most, 2 * width), np.int64)
    candidates = np.empty(CANDIDATES, np.int64)
    seen = np.zeros(len(size), np.int64)
    look, steps = near.shape[1], 0
    apart = min(APART[0], APART[1] // k)
    founding = apart + min(FOUNDED[0], FOUNDED[1] // k)
    while work > 0:
        work -= 4
        number = follow(number)
        seed = seeds[below(number, len(seeds))]
        first = cluster_of[seed]
        if loss[first] == 0.0 or size[first] > largest:
            continue
        number = follow(number)
        kind = below(number, 1024)
        founded = apart <= kind < founding
        sliced = kind >= founding
        number = follow(number)
        plan = below(number, 16)
        if sliced:
            together[0], chosen = first, 1
            count = gather(pool, row_item, first, rows, items, 0)
            stay, number = cut_off(codes, box, first, count, number, rows, items)
            if stay == count:
                continue
            if stay < k - k // 4:
                continue
            goal = 1
            inviting = stay < k
        elif founded:
            if size[first] <= k:
                continue
            chosen, count, stay, goal, inviting = 0, 0, 0, 1, True
            rows[0], items[0], hosts[0] = seed, row_item[seed], first
        else:
            chosen, count, number = choose(
                pool, near, row_item, item_start, item_rows, k, first, largest, number, together, rows, items
            )
            if chosen < 2:
                continue
            stay = 0
            inviting = FEWER <= plan < FEWER + MORE
            goal = count // k + (1 if inviting else 0) - (1 if plan < FEWER else 0)
        everyone = count
        if inviting:
            most_guests = GUESTS * k if founded else (2 * (k - stay) + 2 if sliced else k)
            everyone, number = invite(
                pool, near, item_start, item_rows, k, pool.piece[first], together, chosen,
                stay if sliced else count, most_guests, count, count + founded, number, rows, items, hosts,
            )  # fmt: skip
        work -= everyone
        before = 0.0
        for c in range(chosen):
            before += size[together[c]] * loss[together[c]]
        number = follow(number)
        limit = before + warmth * (below(number, 1024) / 1024.0)
        # What guests lose now is saved if they leave.
        bonus = 0.0
        for i in range(count, everyone):
            bonus += loss[hosts[i]]
        left = 0
        for i in range(everyone):
            own[i] = 0 if i < stay else -1
            if not sliced or i >= count:
                rest[left] = i
                left += 1
            for j in range(width):
                values[i, j] = codes[items[i], j]
        built, cost = 0, -bonus
        while built < goal and cost < limit and left >= (0 if sliced else k):
            if sliced:
                new_size[0], new_loss[0] = stay, _covered(values, stay, losses, new_box)
            else:
                number = follow(number)
                at = 0 if founded else below(number, left)
                row = rest[at]
                left -= 1
                rest[at] = rest[left]
                own[row] = built
                new_size[built], new_loss[built] = 1, 0.0
                for j in range(width):
                    new_box[built, 2 * j] = new_box[built, 2 * j + 1] = values[row, j]
            new_size[built], new_loss[built], left, visited = _grow(
                values, losses, k, built, new_size[built], new_loss[built], limit - cost, left, rest, own, new_box,
                shares, totals,
            )  # fmt: skip
            work -= visited
            cost += max(new_size[built], k) * new_loss[built]
            if new_size[built] < k:
                cost = np.inf
            built += 1
        for i in range(count, everyone):
            cost += loss[hosts[i]] if own[i] < 0 else 0.0
        asked, found = 0, 0
        steps += 1
        for row in range(count if cost < limit else 0):
            for n in range(OUTSIDE if own[row] == -1 else 0):
                item = near[items[row], n * look // OUTSIDE]
                c = cluster_of[item_rows[item_start[item]]] if item >= 0 else np.int64(-1)
                if c < 0 or seen[c] == steps or pool.piece[c] != pool.piece[first]:
                    continue
                seen[c] = steps
                if found < CANDIDATES and not listed(together, chosen, c):
                    candidates[found] = c
                    found += 1
        for row in range(count):
            if cost >= limit:
                break
            if own[row] != -1:
                continue
            best, taker, now = limit - cost, np.int64(-1), 0.0
            for c in range(built):
                growth, total = _growth(new_box, new_size, new_loss, c, values, row, losses, best)
                if growth < best:
                    best, taker, now = growth, c, total
            inside = True
            for n in range(found):
                growth, total = _growth(box, size, loss, candidates[n], values, row, losses, best)
                if growth < best:
                    best, taker, now, inside = growth, candidates[n], total, False
            work -= built + found
            if taker < 0:
                # Not `cost + best`: rounded, that can lie below `limit`, and a row without a cluster would be kept.
                cost = np.inf
                break
            cost += best
            if inside:
                own[row] = taker
                _join(new_box, new_size, new_loss, taker, values, row, now)
            else:
                own[row] = -2 - asked
                takers[asked], old_loss[asked] = taker, loss[taker]
                old_box[asked] = box[taker]
                asked += 1
                _join(box, size, loss, taker, values, row, now)
        if cost >= limit:
            for n in range(asked - 1, -1, -1):
                size[takers[n]] -= 1
                loss[takers[n]] = old_loss[n]
                box[takers[n]] = old_box[n]
            continue
        for c in range(max(built, chosen)):
            if c >= chosen:
                together[c] = spare[spare[FREE]]
                spare[FREE] -= 1
                pool.piece[together[c]] = pool.piece[first]
            elif c >= built:
                spare[FREE] += 1
                spare[spare[FREE]] = together[c]
            head[together[c]] = -1
            size[together[c]] = new_size[c] if c < built else 0
            loss[together[c]] = new_loss[c] if c < built else 0.0
            if c < built:
                box[together[c]] = new_box[c]
        for i in range(everyone):
            if i >= count:
                if own[i] < 0:
                    continue
                _leave(codes, row_item, pool, losses, hosts[i], rows[i])
            c = together[own[i]] if own[i] >= 0 else takers[-2 - own[i]]
            cluster_of[rows[i]] = c
            pool.next_row[rows[i]] = head[c]
            head[c] = rows[i]
    return number
