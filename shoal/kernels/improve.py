"""Improvement of a finished clustering: neighbouring clusters are joined and split again, or dissolved.

Items are in the order of the tree of kernels/neighbours.py.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import range_loss

LEAST_GAIN = 1e-9
"""Smaller gains are rounding errors."""
SEEDS = 12
"""With at least this many rows, only some are tried as the first row of a side."""
CANDIDATES = 256
"""Neighbours among which the rows of a cluster choose where to go."""
LARGEST = 256
"""Larger clusters are not dissolved."""

Clusters = namedtuple("Clusters", "cluster_of head next_row size loss box changed seen clock")
"""By item: a cluster that has rows of it. By cluster: its rows (`head`, and by row `next_row`), their number, loss and
bounds, when it last changed, and when its neighbours were last visited. `clock` counts changes."""


@njit(cache=True, nogil=True)
def unlink(head, next_row, cluster_of):
    """Write the cluster of each row that is in a list. O(rows)."""
    for c in range(len(head)):
        row = head[c]
        while row >= 0:
            cluster_of[row] = c
            row = next_row[row]


@njit(cache=True, nogil=True)
def _gather(head, next_row, row_item, cluster, rows, items, at):
    """List the rows of a cluster from position `at` on; return the next position."""
    row = head[cluster]
    while row >= 0:
        rows[at], items[at] = row, row_item[row]
        at += 1
        row = next_row[row]
    return at


@njit(cache=True, nogil=True)
def _cover(codes, items, chosen, wanted, count, losses, box):
    """Write the bounds of the rows whose `chosen` is `wanted` into `box`, and return their loss."""
    total = 0.0
    for j in range(codes.shape[1]):
        low, high = np.int64(1) << 40, np.int64(-1)
        for i in range(count):
            if chosen[i] == wanted:
                code = np.int64(codes[items[i], j])
                low, high = min(low, code), max(high, code)
        box[2 * j], box[2 * j + 1] = low, high
        total += range_loss(losses, j, low, high)
    return total


@njit(cache=True, nogil=True)
def _cheapest(codes, items, chosen, count, box, loss, losses):
    """Return the row outside a growing side that raises its loss least, the first of equals, and the new loss."""
    add, add_loss = -1, np.inf
    for i in range(count):
        if chosen[i]:
            continue
        total = 0.0
        for j in range(codes.shape[1]):
            code = np.int64(codes[items[i], j])
            low, high = min(box[2 * j], code), max(box[2 * j + 1], code)
            total += range_loss(losses, j, low, high)
            if total >= add_loss:
                break
        if total < add_loss:
            add, add_loss = i, total
            if total == loss:
                break
    return add, add_loss


@njit(cache=True, nogil=True)
def _begin(codes, items, seed, count, chosen, box):
    """Begin a side with one row, unless an equal row was tried before."""
    for i in range(seed):
        if items[i] == items[seed]:
            return False
    for i in range(count):
        chosen[i] = 0
    chosen[seed] = 1
    for j in range(codes.shape[1]):
        box[2 * j] = box[2 * j + 1] = codes[items[seed], j]
    return True


@njit(cache=True, nogil=True)
def _add(codes, item, box):
    """Widen bounds so that they cover an item."""
    for j in range(codes.shape[1]):
        code = np.int64(codes[item, j])
        box[2 * j], box[2 * j + 1] = min(box[2 * j], code), max(box[2 * j + 1], code)


@njit(cache=True, nogil=True)
def _split(codes, items, count, k, best, losses, chosen, side, box, rest):
    """Look for a way to split rows in two that costs less than `best`.

    From each seed, a side grows by the row that raises its loss least; once it has k rows, only by rows that do not
    raise it. Writes the best side to `side` and returns its cost, or `best` unchanged. O(seeds x rows x k x columns).
    """
    for seed in range(0, count, 1 + count // SEEDS):
        if not _begin(codes, items, seed, count, chosen, box):
            continue
        inside, loss = 1, 0.0
        while True:
            if inside >= k:
                others = _cover(codes, items, chosen, 0, count, losses, rest)
                cost = inside * loss + (count - inside) * others
                if cost < best:
                    best = cost
                    for i in range(count):
                        side[i] = chosen[i]
            if inside >= count - k:
                break
            add, add_loss = _cheapest(codes, items, chosen, count, box, loss, losses)
            if add < 0 or (inside >= k and add_loss > loss) or max(inside + 1, k) * add_loss >= best:
                break
            chosen[add] = 1
            inside += 1
            loss = add_loss
            _add(codes, items[add], box)
    return best


@njit(cache=True, nogil=True)
def resplit(codes, row_item, near, clusters, k, most_rows, partners, losses, begin, end):
    """Join each of the clusters ``begin..end`` with one neighbour and split them again, if that costs less; return
    the gain. At most `most_rows` rows are joined.

    Neighbours are the `partners` clusters with near rows whose union with the cluster loses least. Neighbours that
    have not changed since the last visit are skipped.
    """
    cluster_of, head, next_row, size, loss, box, changed, seen, clock = clusters
    width = codes.shape[1]
    rows = np.empty(most_rows, np.int64)
    items = np.empty(most_rows, np.int64)
    chosen = np.empty(most_rows, np.int64)
    side = np.empty(most_rows, np.int64)
    boxes = np.empty((2, 2 * width), np.int64)
    candidates = np.empty(partners, np.int64)
    unions = np.empty(partners, np.float64)
    marked = np.full(len(size), -1, np.int64)
    gained = 0.0
    for a in range(begin, end):
        if size[a] == 0 or size[a] > most_rows - k:
            continue
        found = 0
        marked[a] = a
        row = head[a]
        while row >= 0:
            for n in range(near.shape[1]):
                item = near[row_item[row], n]
                b = cluster_of[item] if item >= 0 else a
                if marked[b] == a or size[b] == 0:
                    continue
                marked[b] = a
                if changed[a] <= seen[a] and changed[b] <= seen[a]:
                    continue
                total = 0.0
                for j in range(width):
                    low, high = min(box[a, 2 * j], box[b, 2 * j]), max(box[a, 2 * j + 1], box[b, 2 * j + 1])
                    total += range_loss(losses, j, low, high)
                if total == np.inf or (found == partners and total >= unions[found - 1]):
                    continue
                found = min(found + 1, partners)
                at = found - 1
                while at > 0 and unions[at - 1] > total:
                    candidates[at], unions[at] = candidates[at - 1], unions[at - 1]
                    at -= 1
                candidates[at], unions[at] = b, total
            row = next_row[row]
        seen[a] = clock[0]
        for y in range(found):
            b = candidates[y]
            now = size[a] * loss[a] + size[b] * loss[b]
            if size[a] + size[b] > most_rows:
                continue
            count = _gather(head, next_row, row_item, a, rows, items, 0)
            count = _gather(head, next_row, row_item, b, rows, items, count)
            best = _split(
                codes,
                items,
                count,
                k,
                now - LEAST_GAIN,
                losses,
                chosen,
                side,
                boxes[0],
                boxes[1],
            )
            if best >= now - LEAST_GAIN:
                continue
            gained += now - best
            clock[0] += 1
            for own, half in ((a, 0), (b, 1)):
                head[own], size[own], changed[own] = -1, 0, clock[0]
                for i in range(count - 1, -1, -1):
                    if side[i] == half:
                        next_row[rows[i]] = head[own]
                        head[own] = rows[i]
                        size[own] += 1
                        cluster_of[items[i]] = own
                loss[own] = _cover(codes, items, side, half, count, losses, boxes[0])
                box[own] = boxes[0]
    return gained


@njit(cache=True, nogil=True)
def _closest(codes, item, candidates, found, size, loss, box, budget, losses):
    """Return the candidate whose sum of losses grows least when a row of an item joins it, if by less than `budget`,
    the first of equals; also the growth, and its new loss.
    """
    best, choice, choice_loss = budget, -1, 0.0
    for n in range(found):
        b = candidates[n]
        limit = (best + size[b] * loss[b]) / (size[b] + 1)
        total = 0.0
        for j in range(codes.shape[1]):
            code = np.int64(codes[item, j])
            low, high = min(box[b, 2 * j], code), max(box[b, 2 * j + 1], code)
            total += range_loss(losses, j, low, high)
            if total > limit:
                break
        if total > limit:
            continue
        growth = (size[b] + 1) * total - size[b] * loss[b]
        if growth < best:
            best, choice, choice_loss = growth, b, total
    return choice, best, choice_loss


@njit(cache=True, nogil=True)
def dissolve(codes, row_item, near, clusters, k, losses, begin, end):
    """Move rows of the clusters ``begin..end`` to neighbours, if that costs less; return the gain.

    First single rows of a cluster with more than k; then the rows below or above a code in some column, as long as k
    stay; finally all rows. Rows that go together go one after the other.
    O(rows x candidates x columns) for single rows, times the codes that are tried at worst.
    """
    cluster_of, head, next_row, size, loss, box, changed, _seen, clock = clusters
    width = codes.shape[1]
    rows = np.empty(LARGEST, np.int64)
    items = np.empty(LARGEST, np.int64)
    stays = np.empty(LARGEST, np.int64)
    goes = np.empty(LARGEST, np.int64)
    keeps = np.empty(LARGEST, np.int64)
    target = np.empty(LARGEST, np.int64)
    old_box = np.empty((LARGEST, 2 * width), np.int64)
    old_loss = np.empty(LARGEST, np.float64)
    own = np.empty(2 * width, np.int64)
    candidates = np.empty(CANDIDATES, np.int64)
    marked = np.full(len(size), -1, np.int64)
    gained = 0.0
    for a in range(begin, end):
        if size[a] == 0 or loss[a] == 0.0 or size[a] > LARGEST:
            continue
        count = _gather(head, next_row, row_item, a, rows, items, 0)
        stays[:count] = 1
        found = 0
        marked[a] = a
        # Nearest neighbours of all rows first, then second nearest, ..
        for n in range(near.shape[1]):
            for i in range(count):
                b = cluster_of[near[items[i], n]] if near[items[i], n] >= 0 else a
                if marked[b] != a and size[b] > 0 and found < CANDIDATES:
                    marked[b] = a
                    candidates[found] = b
                    found += 1
        for i in range(count):
            if size[a] <= k:
                break
            stays[i] = 0
            without = _cover(codes, items, stays, 1, count, losses, own)
            budget = size[a] * loss[a] - (size[a] - 1) * without
            b, growth, new_loss = _closest(
                codes, items[i], candidates, found, size, loss, box, budget - LEAST_GAIN, losses
            )
            if b < 0:
                stays[i] = 1
                continue
            gained += budget - growth
            clock[0] += 1
            changed[a] = changed[b] = clock[0]
            size[a] -= 1
            size[b] += 1
            loss[a], loss[b] = without, new_loss
            box[a] = own
            _add(codes, items[i], box[b])
            next_row[rows[i]] = head[b]
            head[b] = rows[i]
            cluster_of[items[i]] = b
        head[a] = -1
        for i in range(count - 1, -1, -1):
            if stays[i]:
                next_row[rows[i]] = head[a]
                head[a] = rows[i]
        # Then all rows beyond a code in some column go together, or all rows (the last turn).
        for turn in range(2 * width * count + 1):
            if size[a] == 0:
                break
            everyone = turn == 2 * width * count
            gone = size[a]
            budget = size[a] * loss[a]
            if everyone:
                for i in range(count):
                    goes[i] = stays[i]
            else:
                j, i = turn // (2 * count), turn % count
                if not stays[i] or size[a] == k:
                    continue
                code, above = codes[items[i], j], turn // count % 2
                gone = 0
                for h in range(count):
                    beyond = codes[items[h], j] > code if above else codes[items[h], j] < code
                    goes[h] = stays[h] if beyond else 0
                    gone += goes[h]
                    if stays[h] and codes[items[h], j] == code and h < i:
                        gone = count + 1
                        break
                if gone == 0 or size[a] - gone < k:
                    continue
                for h in range(count):
                    keeps[h] = stays[h] - goes[h]
                without = _cover(codes, items, keeps, 1, count, losses, own)
                budget -= (size[a] - gone) * without
                if budget <= gone * LEAST_GAIN:
                    continue
            spent, moved = 0.0, 0
            for i in range(count):
                if not goes[i]:
                    continue
                b, growth, new_loss = _closest(
                    codes,
                    items[i],
                    candidates,
                    found,
                    size,
                    loss,
                    box,
                    budget - spent - LEAST_GAIN,
                    losses,
                )
                if b < 0:
                    break
                target[moved], old_loss[moved] = b, loss[b]
                old_box[moved] = box[b]
                moved += 1
                spent += growth
                size[b] += 1
                loss[b] = new_loss
                _add(codes, items[i], box[b])
            if moved < gone:
                for m in range(moved - 1, -1, -1):
                    b = target[m]
                    size[b] -= 1
                    loss[b] = old_loss[m]
                    box[b] = old_box[m]
                continue
            gained += budget - spent
            clock[0] += 1
            changed[a] = clock[0]
            size[a] -= gone
            if not everyone:
                loss[a] = without
                box[a] = own
            moved = 0
            head[a] = -1
            for i in range(count - 1, -1, -1):
                if stays[i] and not goes[i]:
                    next_row[rows[i]] = head[a]
                    head[a] = rows[i]
            for i in range(count):
                if goes[i]:
                    b = target[moved]
                    moved += 1
                    next_row[rows[i]] = head[b]
                    head[b] = rows[i]
                    cluster_of[items[i]] = b
                    changed[b] = clock[0]
                    stays[i] = 0
            if everyone:
                loss[a] = 0.0
    return gained
