"""Random assignment of people to the cells of a ring, each pair with probability exactly 1/degree.

In a ring of m positions cell j covers the people j, j+1, .., j+degree-1 (mod m): a regular bipartite graph. A
perfect matching of it is drawn by taking the graph apart at random. An even graph is split in two regular
halves, of which a fair coin keeps one: edges are paired at random at each end, so they form closed trails, and
of every trail each second edge stays. From an odd graph a perfect matching is found by random walks; it is the
answer with probability 1/degree and otherwise deleted. By induction every edge of the graph that is left is
the answer's with the same probability, whatever the halves and matchings look like. Of more than `MOST` cells
per person a random subset is drawn first, every offset around the ring with the same probability.

Randomness comes from a stream that is keyed outside: ChaCha with eight rounds, so that whoever knows some of
the assignments cannot compute the others. `block` is what it mixes: four constants, eight words of key, two of
counter, two of nonce.
"""

from __future__ import annotations

import numpy as np
from numba import njit

MOST = 256
"""Of larger graphs only so many offsets take part, drawn at random: the work no longer grows with the degree."""


@njit(cache=True, nogil=True, inline="always")
def _turn(word, by):
    return np.uint32((word << np.uint32(by)) | (word >> np.uint32(32 - by)))


@njit(cache=True, nogil=True)
def _mix(a, b, c, d):
    a = np.uint32(a + b)
    d = _turn(np.uint32(d ^ a), 16)
    c = np.uint32(c + d)
    b = _turn(np.uint32(b ^ c), 12)
    a = np.uint32(a + b)
    d = _turn(np.uint32(d ^ a), 8)
    c = np.uint32(c + d)
    b = _turn(np.uint32(b ^ c), 7)
    return a, b, c, d


@njit(cache=True, nogil=True)
def _draw(block, words, count):
    """Write the next words of the stream: at least `count`, in blocks of 16. They are used once, or dropped."""
    for at in range(0, count, 16):
        x0, x1, x2, x3, x4, x5, x6, x7 = (
            block[0], block[1], block[2], block[3], block[4], block[5], block[6], block[7],
        )  # fmt: skip
        x8, x9, xa, xb, xc, xd, xe, xf = (
            block[8], block[9], block[10], block[11], block[12], block[13], block[14], block[15],
        )  # fmt: skip
        for _ in range(4):
            x0, x4, x8, xc = _mix(x0, x4, x8, xc)
            x1, x5, x9, xd = _mix(x1, x5, x9, xd)
            x2, x6, xa, xe = _mix(x2, x6, xa, xe)
            x3, x7, xb, xf = _mix(x3, x7, xb, xf)
            x0, x5, xa, xf = _mix(x0, x5, xa, xf)
            x1, x6, xb, xc = _mix(x1, x6, xb, xc)
            x2, x7, x8, xd = _mix(x2, x7, x8, xd)
            x3, x4, x9, xe = _mix(x3, x4, x9, xe)
        mixed = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, xa, xb, xc, xd, xe, xf)
        for i in range(16):
            words[at + i] = mixed[i] + block[i]
        block[12] += np.uint32(1)
        if block[12] == 0:
            block[13] += np.uint32(1)


@njit(cache=True, nogil=True)
def _below(block, words, bound):
    """Return a number from 0 to bound - 1, all exactly as likely: words that would favour some are passed over."""
    few = 0x100000000 - 0x100000000 % bound
    while True:
        _draw(block, words, 16)
        for i in range(16):
            if words[i] < few:
                return words[i] % bound


@njit(cache=True, nogil=True)
def _shuffle(block, words, values, begin, size, step):
    """Shuffle each of the runs of `step` values. Orders differ in likelihood by 2**-32, which harms nothing."""
    _draw(block, words, size)
    for start in range(0, size, step):
        for last in range(step - 1, 0, -1):
            other = (
                begin
                + start
                + np.int64((np.uint64(words[start + last]) * np.uint64(last + 1)) >> np.uint64(32))
            )
            values[begin + start + last], values[other] = values[other], values[begin + start + last]


@njit(cache=True, nogil=True)
def _halve(block, words, right, m, d, meeting, place, kept, fill):
    """Keep half of the edges at every end; d is even. Edge e leaves position e // d for right[e]."""
    _shuffle(block, words, right, 0, m * d, d)
    for j in range(m):
        fill[j] = j * d
    for e in range(m * d):
        kept[e] = -1
        meeting[fill[right[e]]] = e
        fill[right[e]] += 1
    _shuffle(block, words, meeting, 0, m * d, d)
    for at in range(m * d):
        place[meeting[at]] = at
    # The words have been used for the second shuffle; coins must be fresh.
    _draw(block, words, m * d // 32 + 1)
    trails = 0
    for first in range(m * d):
        if kept[first] >= 0:
            continue
        coin = (words[trails >> 5] >> np.uint32(trails & 31)) & 1
        trails += 1
        e = first
        while True:
            kept[e] = coin
            kept[e ^ 1] = 1 - coin
            e = meeting[place[e ^ 1] ^ 1]
            if e == first:
                break
    left = 0
    for e in range(m * d):
        right[left] = right[e]
        left += kept[e]


@njit(cache=True, nogil=True)
def _extract(block, words, right, m, d, order, mate, slot, pick):
    """Find a perfect matching by random walks, expected O(m log m): slot[j] is position j's edge in it."""
    for j in range(m):
        order[j] = j
        mate[j] = -1
        slot[j] = -1
    _shuffle(block, words, order, 0, m, m)
    used = m
    for i in range(m):
        here = order[i]
        while here >= 0:
            if used >= m:
                _draw(block, words, m)
                used = 0
            matched = slot[here] >= 0
            s = np.int32((np.uint64(words[used]) * np.uint64(d - matched)) >> np.uint64(32))
            used += 1
            pick[here] = s + (matched and s >= slot[here])
            here = mate[right[here * d + pick[here]]]
        # A position that the walk came to again has its later choice: what is left of the walk has no loops.
        here = order[i]
        while here >= 0:
            slot[here] = pick[here]
            person = right[here * d + slot[here]]
            here, mate[person] = mate[person], here


@njit(cache=True, nogil=True)
def draw_assignments(starts, degrees, block, owner):
    """Write into owner, for the ring starts[r]..starts[r+1]-1 of positions, who gets each position's cell.

    Ring r has at least degrees[r] positions; with degree 1 everyone keeps the own cell. O(rows x min(degree,
    MOST)), and as much memory as the largest ring takes.
    """
    largest = 0
    edges = 0
    widest = 0
    for r in range(len(starts) - 1):
        largest = max(largest, starts[r + 1] - starts[r])
        edges = max(edges, (starts[r + 1] - starts[r]) * min(degrees[r], MOST))
        widest = max(widest, degrees[r])
    edges = max(edges, widest)
    offset = np.empty(widest, np.int32)
    words = np.empty(edges + 16, np.uint32)
    right = np.empty(edges + 1, np.int32)
    meeting = np.empty(edges, np.int32)
    place = np.empty(edges, np.int32)
    kept = np.empty(edges, np.int8)
    fill = np.empty(largest, np.int32)
    mate = np.empty(largest, np.int32)
    slot = np.empty(largest, np.int32)
    pick = np.empty(largest, np.int32)
    for r in range(len(starts) - 1):
        begin = starts[r]
        m = starts[r + 1] - begin
        d = degrees[r]
        if m == d:
            # All pairs are possible: a shuffle, turned by an exactly uniform number of places.
            turn = _below(block, words, m)
            for j in range(m):
                owner[begin + j] = begin + (j + turn) % m
            _shuffle(block, words, owner, begin, m, m)
            continue
        for s in range(d):
            offset[s] = s
        if d > MOST:
            turn = _below(block, words, d)
            for s in range(d):
                offset[s] = (s + turn) % d
            _shuffle(block, words, offset, 0, d, d)
            d = MOST
        for j in range(m):
            for s in range(d):
                right[j * d + s] = (j + offset[s]) % m
        while d > 1:
            if d % 2 == 0:
                _halve(block, words, right, m, d, meeting, place, kept, fill)
                d //= 2
                continue
            _extract(block, words, right, m, d, fill, mate, slot, pick)
            take = _below(block, words, d) == 0
            left = 0
            for e in range(m * d):
                right[left] = right[e]
                left += (e % d == slot[e // d]) == take
            d = 1 if take else d - 1
        for j in range(m):
            owner[begin + j] = begin + right[j]
