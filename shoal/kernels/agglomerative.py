"""Agglomeration: merge the two closest clusters again and again, with a tree of boxes to find neighbours.

A cluster is stored as its lowest and highest code per column, next to each other: ``box[slot, 2j], box[slot, 2j + 1]``.
Slots of a leaf of the tree are neighbours in memory.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import least_loss, range_loss

SLACK = 1e-9

GONE, FINISHED = -1, -2
"""Slots of clusters that were merged, and of those that have k rows."""

State = namedtuple(
    "State",
    "counters keys ids box loss size slot_of id_at starts used most_loss"
    " nearest found waiting next_waiting head tail next_row anchor",
)
"""An unfinished clustering. `counters`: entries of the heap, clusters so far, finished ones, searches so far. `keys`
and `ids` are the heap. By slot: `box`, `id_at`. By node: first slot (`starts`), clusters below (`used`), their
largest loss. By cluster: loss, rows, slot, closest older cluster and its distance, who waits for it, first and last
row, and an item of it, in whose leaf it lives. By row: the next row of the cluster."""


@njit(cache=True, nogil=True)
def _distance(kind, union, loss_a, size_a, loss_b, size_b):
    """The paper's distances (8) to (11), and Nergiz and Clifton's, in the better of its two directions."""
    if kind == 0:
        return (size_a + size_b) * union - size_a * loss_a - size_b * loss_b
    if kind == 1:
        return union - loss_a - loss_b
    if kind == 2:
        return (union - loss_a - loss_b) / np.log(size_a + size_b)
    if kind == 3:
        return union / (loss_a + loss_b + 0.1)
    return union - max(loss_a, loss_b)


@njit(cache=True, nogil=True)
def _limit(kind, best, loss_a, size_a, loss_b, size_b):
    """The largest loss of a union whose distance is at most `best`, give or take rounding."""
    if kind == 0:
        return (best + size_a * loss_a + size_b * loss_b) / (size_a + size_b) + SLACK
    if kind == 1:
        return best + loss_a + loss_b + SLACK
    if kind == 2:
        return best * np.log(size_a + size_b) + loss_a + loss_b + SLACK
    if kind == 3:
        return best * (loss_a + loss_b + 0.1) + SLACK
    return best + max(loss_a, loss_b) + SLACK


@njit(cache=True, nogil=True)
def _push(keys, ids, held, key, number):
    """Add a cluster to the heap of `held` entries; return how many there are now."""
    at = held
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] < key or (keys[up] == key and ids[up] <= number):
            break
        keys[at], ids[at] = keys[up], ids[up]
        at = up
    keys[at], ids[at] = key, number
    return held + 1


@njit(cache=True, nogil=True)
def _pop(keys, ids, held):
    """Take the entry with the lowest key, then the lowest number, out of the heap."""
    top = ids[0]
    end = held - 1
    key, number = keys[end], ids[end]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= end:
            break
        if down + 1 < end and (
            keys[down + 1] < keys[down] or (keys[down + 1] == keys[down] and ids[down + 1] < ids[down])
        ):
            down += 1
        if key < keys[down] or (key == keys[down] and number < ids[down]):
            break
        keys[at], ids[at] = keys[down], ids[down]
        at = down
    keys[at], ids[at] = key, number
    return top


@njit(cache=True, nogil=True)
def _search(
    box, loss, size, id_at, used, most_loss, left, right, floor, ceiling, starts,
    c, slot, home, kind, k, losses, stack, bounds,
):  # fmt: skip
    """Find the closest live cluster: its distance and number. The older of two equally close ones wins.

    The search skips nodes of the tree whose nearest possible cluster would be too far away; `least` makes that
    safe if a wider range may lose less.
    """
    width = box.shape[1] // 2
    loss_c, size_c = loss[c], size[c]
    best, best_id = np.inf, np.int64(1) << 60
    stack[0], bounds[0] = 0, 0.0
    stack[1], bounds[1] = home, 0.0
    depth = 2
    seen_home = False
    while depth > 0:
        depth -= 1
        node, bound = stack[depth], bounds[depth]
        if node == home and seen_home:
            continue
        limit = max(
            _limit(kind, best, loss_c, size_c, most_loss[node], 1),
            _limit(kind, best, loss_c, size_c, most_loss[node], k - 1),
        )
        if bound > limit:
            continue
        if left[node] < 0:
            seen_home = seen_home or node == home
            for at in range(starts[node], starts[node] + used[node]):
                other = id_at[at]
                if other == c:
                    continue
                loss_o, size_o = loss[other], size[other]
                limit = _limit(kind, best, loss_c, size_c, loss_o, size_o)
                total = 0.0
                for j in range(width):
                    low = np.int64(min(box[slot, 2 * j], box[at, 2 * j]))
                    high = np.int64(max(box[slot, 2 * j + 1], box[at, 2 * j + 1]))
                    total += range_loss(losses, j, low, high)
                    if total > limit:
                        break
                if total > limit or total == np.inf:
                    continue
                distance = _distance(kind, total, loss_c, size_c, loss_o, size_o)
                if distance < best or (distance == best and other < best_id):
                    best, best_id = distance, other
            continue
        near = -1
        for child in (left[node], right[node]):
            if used[child] == 0:
                continue
            limit = max(
                _limit(kind, best, loss_c, size_c, most_loss[child], 1),
                _limit(kind, best, loss_c, size_c, most_loss[child], k - 1),
            )
            bound = 0.0
            for j in range(width):
                low = min(np.int64(box[slot, 2 * j]), ceiling[child, j])
                high = max(np.int64(box[slot, 2 * j + 1]), floor[child, j])
                bound += least_loss(losses, j, low, high)
                if bound > limit:
                    break
            if bound > limit or bound == np.inf:
                continue
            stack[depth], bounds[depth] = child, bound
            depth += 1
            # Visit the nearer child first.
            if near >= 0 and bounds[near] < bound:
                stack[near], stack[depth - 1] = stack[depth - 1], stack[near]
                bounds[near], bounds[depth - 1] = bounds[depth - 1], bounds[near]
            near = depth - 1
    return best, best_id


@njit(cache=True, nogil=True)
def _leave(box, loss, slot_of, id_at, used, most_loss, left, right, parent, starts, leaf, c):
    """Take a cluster out of its leaf."""
    slot = slot_of[c]
    used[leaf] -= 1
    last = starts[leaf] + used[leaf]
    for at in range(box.shape[1]):
        box[slot, at] = box[last, at]
    id_at[slot] = id_at[last]
    slot_of[id_at[slot]] = slot
    slot_of[c] = GONE
    most = 0.0
    for at in range(starts[leaf], last):
        most = max(most, loss[id_at[at]])
    most_loss[leaf] = most
    node = parent[leaf]
    while node >= 0:
        used[node] -= 1
        most_loss[node] = max(most_loss[left[node]], most_loss[right[node]])
        node = parent[node]


@njit(cache=True, nogil=True)
def _enter(loss, slot_of, id_at, used, most_loss, parent, starts, leaf, c):
    """Put a cluster into its leaf; return its slot."""
    slot = starts[leaf] + used[leaf]
    id_at[slot] = c
    slot_of[c] = slot
    node = leaf
    while node >= 0:
        used[node] += 1
        most_loss[node] = max(most_loss[node], loss[c])
        node = parent[node]
    return slot


@njit(cache=True, nogil=True)
def _worst(codes, row_item, members, count, losses):
    """Return the member without which the loss of the others is least, the first of equals, and that loss."""
    worst, least_loss = -1, np.inf
    for i in range(count):
        total = 0.0
        for j in range(codes.shape[1]):
            low, high = np.int64(1) << 40, np.int64(-1)
            for h in range(count):
                if h != i:
                    code = np.int64(codes[row_item[members[h]], j])
                    low, high = min(low, code), max(high, code)
            total += range_loss(losses, j, low, high)
            if total >= least_loss:
                break
        if total < least_loss:
            worst, least_loss = i, total
    return worst, least_loss


@njit(cache=True, nogil=True)
def agglomerate(codes, row_item, state, tree, losses, k, kind, modified, patience):
    """Merge the closest two clusters until none with fewer than k rows has a partner left.

    Clusters 0..items-1 are the distinct rows; merged clusters, and rows that a cluster gave up, get the next numbers.
    Among equally close pairs, the one whose newer cluster is the oldest goes first, then the one whose older cluster
    is. Returns after about `patience` searches; a further call with the same state continues.

    A cluster whose closest partner is newer than itself waits until that one is gone: the newer cluster owns the pair.
    So the stored distance of a cluster is a lower bound, and nothing needs an update when others merge.
    Expected O(searches x (log items + clusters visited) x columns); the worst case is O(items^2 x columns).
    """
    counters, keys, ids, box, loss, size, slot_of, id_at, starts, used, most_loss = state[:11]
    nearest, found, waiting, next_waiting, head, tail, next_row, anchor = state[11:]
    left, right, parent, _first, _last, floor, ceiling, leaf_of = tree
    width = codes.shape[1]
    stack = np.empty(2 * len(left) + 4, np.int64)
    bounds = np.empty(2 * len(left) + 4, np.float64)
    union = np.empty(2 * width, box.dtype)
    held, new, searches = counters[0], counters[1], 0
    while held > 0 and searches < patience:
        c = _pop(keys, ids, held)
        held -= 1
        if slot_of[c] < 0:
            continue
        partner = nearest[c]
        if partner < 0 or slot_of[partner] < 0:
            searches += 1
            best, partner = _search(
                box, loss, size, id_at, used, most_loss, left, right, floor, ceiling, starts,
                c, slot_of[c], leaf_of[anchor[c]], kind, k, losses, stack, bounds,
            )  # fmt: skip
            nearest[c] = -1
            if best == np.inf:
                continue
            found[c] = best
            if partner < c:
                nearest[c] = partner
                held = _push(keys, ids, held, best, c)
            else:
                next_waiting[c] = waiting[partner]
                waiting[partner] = c
            continue
        total = 0.0
        a, b = slot_of[partner], slot_of[c]
        for j in range(width):
            union[2 * j] = min(box[a, 2 * j], box[b, 2 * j])
            union[2 * j + 1] = max(box[a, 2 * j + 1], box[b, 2 * j + 1])
            total += range_loss(losses, j, union[2 * j], union[2 * j + 1])
        loss[new] = total
        size[new] = size[partner] + size[c]
        anchor[new] = anchor[partner]
        head[new], tail[new] = head[partner], tail[c]
        next_row[tail[partner]] = head[c]
        for old in (partner, c):
            _leave(
                box,
                loss,
                slot_of,
                id_at,
                used,
                most_loss,
                left,
                right,
                parent,
                starts,
                leaf_of[anchor[old]],
                old,
            )
            waiter = waiting[old]
            while waiter >= 0:
                if slot_of[waiter] >= 0:
                    held = _push(keys, ids, held, found[waiter], waiter)
                waiter = next_waiting[waiter]
        if size[new] < k:
            slot = _enter(loss, slot_of, id_at, used, most_loss, parent, starts, leaf_of[anchor[new]], new)
            box[slot] = union
            held = _push(keys, ids, held, -np.inf, new)
            new += 1
            continue
        slot_of[new] = FINISHED
        counters[2] += 1
        ripe = new
        new += 1
        if modified and size[ripe] > k:
            members = np.empty(size[ripe], np.int64)
            row, count = head[ripe], 0
            while row >= 0:
                members[count] = row
                count += 1
                row = next_row[row]
            while count > k:
                worst, loss[ripe] = _worst(codes, row_item, members, count, losses)
                row = members[worst]
                count -= 1
                for h in range(worst, count):
                    members[h] = members[h + 1]
                size[new], loss[new] = 1, 0.0
                head[new] = tail[new] = row
                next_row[row] = -1
                anchor[new] = row_item[row]
                slot = _enter(
                    loss, slot_of, id_at, used, most_loss, parent, starts, leaf_of[anchor[new]], new
                )
                for j in range(width):
                    box[slot, 2 * j] = box[slot, 2 * j + 1] = codes[row_item[row], j]
                held = _push(keys, ids, held, -np.inf, new)
                new += 1
            size[ripe], head[ripe], tail[ripe] = k, members[0], members[count - 1]
            for h in range(count - 1):
                next_row[members[h]] = members[h + 1]
            next_row[members[count - 1]] = -1
    counters[0], counters[1] = held, new
    counters[3] += searches


@njit(cache=True, nogil=True)
def assign_to_clusters(codes, row_item, state, losses, kind, cluster_of):
    """Assign the rows of unfinished clusters, one by one, each to the closest finished cluster, the first of equals;
    write the cluster of every row. Rows that may join none stay in their cluster. O(leftover x clusters).
    """
    loss, size, slot_of, head, next_row = state.loss, state.size, state.slot_of, state.head, state.next_row
    clusters, width = state.counters[1], codes.shape[1]
    low = np.full((clusters, width), np.int64(1) << 40)
    high = np.full((clusters, width), np.int64(-1))
    left = 0
    for c in range(clusters):
        if slot_of[c] == GONE:
            continue
        row = head[c]
        while row >= 0:
            cluster_of[row] = c
            left += slot_of[c] >= 0
            for j in range(width):
                code = np.int64(codes[row_item[row], j])
                low[c, j], high[c, j] = min(low[c, j], code), max(high[c, j], code)
            row = next_row[row]
    if left == 0:
        return
    finished = np.flatnonzero(slot_of[:clusters] == FINISHED)
    for c in range(clusters):
        if slot_of[c] < 0:
            continue
        row = head[c]
        while row >= 0:
            best, choice, choice_loss = np.inf, -1, 0.0
            for other in finished:
                total = 0.0
                for j in range(width):
                    code = np.int64(codes[row_item[row], j])
                    total += range_loss(losses, j, min(low[other, j], code), max(high[other, j], code))
                    if total == np.inf:
                        break
                if total < np.inf:
                    distance = _distance(kind, total, 0.0, 1, loss[other], size[other])
                    if distance < best:
                        best, choice, choice_loss = distance, other, total
            if choice >= 0:
                cluster_of[row] = choice
                size[choice] += 1
                loss[choice] = choice_loss
                for j in range(width):
                    code = np.int64(codes[row_item[row], j])
                    low[choice, j], high[choice, j] = min(low[choice, j], code), max(high[choice, j], code)
            row = next_row[row]
