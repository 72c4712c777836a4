"""What to take apart next: clusters near to each other, a slice of one, or rows that clusters can spare.

Choices follow a fixed sequence of numbers, which its first one decides. Items are in the order of the tree of
kernels/neighbours.py; the pool is that of kernels/rebuilding.py.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.losses import PART

TOGETHER = 3
"""Clusters that are taken apart together, at most."""


@PART
def follow(number):
    """Return the next number of the sequence (xorshift, 64 bits)."""
    number ^= number << np.uint64(13)
    number ^= number >> np.uint64(7)
    number ^= number << np.uint64(17)
    return number


@PART
def below(number, count):
    """Return a number below `count`, from a number of the sequence."""
    return np.int64(number >> np.uint64(11)) % count


@PART
def gather(pool, row_item, cluster, rows, items, at):
    """List the rows of a cluster from position `at` on; return the next position."""
    row = pool.head[cluster]
    while row >= 0:
        rows[at], items[at] = row, row_item[row]
        at += 1
        row = pool.next_row[row]
    return at


@PART
def listed(numbers, count, wanted):
    """Whether a number is among the first `count`."""
    found = False
    for i in range(count):
        found = found or numbers[i] == wanted
    return found


@PART
def choose(pool, near, row_item, item_start, item_rows, k, first, most, number, together, rows, items):
    """Choose clusters to take apart: a cluster, and some that have rows near to its rows or to theirs; list their rows.

    Returns how many clusters and rows there are, and the next number of the sequence.
    """
    number = follow(number)
    wanted = 2 + below(number, TOGETHER - 1)
    together[0] = first
    chosen = 1
    count = gather(pool, row_item, first, rows, items, 0)
    look = near.shape[1]
    for _ in range(4 * wanted):
        if chosen == wanted:
            break
        number = follow(number)
        item = items[below(number, count)]
        number = follow(number)
        rank = below(number, look)
        number = follow(number)
        other = near[item, min(rank, below(number, look))]
        if other < 0:
            continue
        number = follow(number)
        begin, end = item_start[other], item_start[other + 1]
        cluster = pool.cluster_of[item_rows[begin + below(number, end - begin)]]
        if cluster < 0 or pool.piece[cluster] != pool.piece[first] or listed(together, chosen, cluster):
            continue
        size = pool.size[cluster]
        if count + size > most or (pool.loss[cluster] == 0.0 and size <= k):
            continue
        together[chosen] = cluster
        chosen += 1
        count = gather(pool, row_item, cluster, rows, items, count)
    return chosen, count, number


@PART
def invite(
    pool, near, item_start, item_rows, k, piece, together, chosen, around, most, count, everyone, number, rows, items,
    hosts,
):  # fmt: skip
    """List, after `count` rows of the chosen clusters, rows that other clusters of a piece can spare, at most `most`,
    near to the first `around` rows, or, if that is 0, to any row before. There are `everyone` rows already.

    Returns how many rows there are in all, and the next number of the sequence.
    """
    look = near.shape[1]
    for _ in range(4 * most):
        if everyone == count + most:
            break
        number = follow(number)
        item = items[below(number, around if around > 0 else everyone)]
        number = follow(number)
        rank = below(number, look)
        number = follow(number)
        other = near[item, min(rank, below(number, look))]
        if other < 0:
            continue
        number = follow(number)
        begin, end = item_start[other], item_start[other + 1]
        row = item_rows[begin + below(number, end - begin)]
        host = pool.cluster_of[row]
        if host < 0 or pool.piece[host] != piece or pool.loss[host] == 0.0 or pool.size[host] <= k:
            continue
        taken, known = 0, listed(together, chosen, host)
        for i in range(count, everyone):
            taken += hosts[i] == host
            known = known or rows[i] == row
        if known or pool.size[host] - taken <= k:
            continue
        rows[everyone], items[everyone], hosts[everyone] = row, other, host
        everyone += 1
    return everyone, number


@PART
def cut_off(codes, box, cluster, count, number, rows, items):
    """Choose a code in a cluster, the outermost of a few rows; put the rows first that are neither there nor beyond.

    Returns how many these are (all, if there are none), and the next number of the sequence.
    """
    number = follow(number)
    j = below(number, codes.shape[1])
    number = follow(number)
    above = below(number, 2) == 0
    number = follow(number)
    looks = 1 + below(number, max(count // 4, 1))
    cut = np.int64(codes[items[0], j])
    for look in range(looks):
        number = follow(number)
        code = np.int64(codes[items[below(number, count)], j])
        cut = code if look == 0 or (code > cut if above else code < cut) else cut
    if cut == (box[cluster, 2 * j] if above else box[cluster, 2 * j + 1]):
        return count, number
    stay, end = 0, count
    while stay < end:
        code = np.int64(codes[items[stay], j])
        if code < cut if above else code > cut:
            stay += 1
            continue
        end -= 1
        rows[stay], rows[end] = rows[end], rows[stay]
        items[stay], items[end] = items[end], items[stay]
    return stay, number
