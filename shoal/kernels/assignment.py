"""Random assignment of people to the cells of a ring, each pair with probability exactly 1/degree.

In a ring of m positions cell j covers the people j, j+1, .., j+degree-1 (mod m): a regular bipartite graph. The
kernel draws a perfect matching by reducing the graph at random. It splits a graph of even degree into two regular
halves, and a fair coin keeps one: edges are paired at random at each end, so they form closed trails, and every
second edge of a trail stays. In a graph of odd degree, random walks find a perfect matching; it is the answer with
probability 1/degree and otherwise deleted.

Why the probability is exact: say a graph of degree d is left. If d is even, an edge stays with probability 1/2, the
coin of its trail, whatever trails there are; by induction the answer then contains it with probability 2/d, together
1/d. If d is odd, the answer contains an edge of the matching with probability 1/d; another edge stays with probability
(d-1)/d, and then the answer contains it with probability 1/(d-1), together 1/d. Neither step depends on how the trails
or the matching were found, so that choice only serves speed, and keeps the dependence between pairs small.

Each halving visits every edge once and leaves half of them: O(m x degree) in all. This speed is real only if a trail
does not jump around in memory. So edges are first paired with edges between the same span of positions and the same
span of people, and a trail leaves such a square only over the few edges left over. Pairs on both sides of a border
depend more on each other, so a random number decides where the first span begins.

If only some of the offsets around the ring take part, they are drawn, each with the same probability.

Randomness comes from a stream that is keyed outside: ChaCha with eight rounds, so that an adversary who knows some of
the assignments cannot compute the others. `block` is its input: four constants, eight words of key, two of counter,
two of nonce.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

DENSE = 32
"""Up to this degree spans are wide: neighbours depend on each other most if the degree is small."""
WIDE = 2048
NARROW = 32
"""Positions, and people, of a square in which edges are paired; its data stay in a fast cache."""


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
    """Return a number from 0 to bound - 1, all equally likely: words that would favour some are skipped."""
    few = 0x100000000 - 0x100000000 % bound
    while True:
        _draw(block, words, 16)
        for i in range(16):
            if words[i] < few:
                return words[i] % bound


@njit(cache=True, nogil=True)
def _shuffle(words, at, values, begin, end):
    """Shuffle a run of values. Probabilities of orders differ by 2**-32, which does no harm."""
    for last in range(end - begin - 1, 0, -1):
        other = begin + np.int64((np.uint64(words[at + last]) * np.uint64(last + 1)) >> np.uint64(32))
        values[begin + last], values[other] = values[other], values[begin + last]


@njit(cache=True, nogil=True)
def _pair(words, more, right, first, last, d, span, across, meeting, place, waiting, people):
    """Pair the edges of the positions first..last-1 at random: e with e ^ 1, and at its person with across[e].

    Edges of a position are roughly in the order of its offsets, so those to one span of people form a run; an edge
    left over waits for the next run with one left over. An edge of a person that is left over waits for those of later
    positions.
    """
    begin, end = first * d, last * d
    seen = 0
    for row in range(begin, end, d):
        run, to, odd = row, row, -1
        for e in range(row, row + d):
            person = right[e]
            if place[person] == 0:
                people[seen] = person
                seen += 1
            place[person] += 1
            if e + 1 < row + d and person // span == right[e + 1] // span:
                continue
            _shuffle(words, run - begin, right, run, e + 1)
            final = right[e]
            for at in range(run, e + (e - run) % 2):
                right[to] = right[at]
                to += 1
            if (e - run) % 2 == 0:
                if odd < 0:
                    odd = final
                else:
                    right[to], right[to + 1], odd = odd, final, -1
                    to += 2
            run = e + 1
    used = 0
    for i in range(seen):
        used += place[people[i]]
        place[people[i]] = used - place[people[i]]
    for e in range(begin, end):
        meeting[place[right[e]]] = e
        place[right[e]] += 1
    used = 0
    for i in range(seen):
        person = people[i]
        _shuffle(more, used, meeting, used, place[person])
        other = waiting[person]
        for at in range(used, place[person]):
            if other < 0:
                other = meeting[at]
            else:
                across[other], across[meeting[at]] = meeting[at], other
                other = -1
        waiting[person] = other
        used = place[person]
        place[person] = 0


@njit(cache=True, nogil=True)
def _halve(block, words, more, right, m, d, across, kept, meeting, place, waiting, people):
    """Keep half of the edges at every end. Edge e leaves position e // d for right[e]; d is even."""
    for j in range(m):
        waiting[j] = -1
        place[j] = 0
    span = WIDE if d <= DENSE else NARROW
    for first in range(0, m, span):
        last = min(first + span, m)
        _draw(block, words, (last - first) * d)
        _draw(block, more, (last - first) * d)
        _pair(words, more, right, first, last, d, span, across, meeting, place, waiting, people)
    for e in range(m * d):
        kept[e] = -1
    trails = 0
    for first in range(m * d):
        if kept[first] >= 0:
            continue
        if trails % 512 == 0:
            _draw(block, words, 16)
        coin = (words[(trails >> 5) & 15] >> np.uint32(trails & 31)) & 1
        trails += 1
        e = first
        while True:
            kept[e] = coin
            kept[e ^ 1] = 1 - coin
            e = across[e ^ 1]
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
    _draw(block, words, m)
    _shuffle(words, 0, order, 0, m)
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
        # A position that the walk visited again has its later choice, so the remaining walk has no loops.
        here = order[i]
        while here >= 0:
            slot[here] = pick[here]
            person = right[here * d + slot[here]]
            here, mate[person] = mate[person], here


@njit(cache=True, nogil=True)
def draw_assignments(starts, degrees, sampled, block, owner):
    """Write into owner, for the ring starts[r]..starts[r+1]-1 of positions, who gets each position's cell.

    Ring r has at least degrees[r] positions; with degree 1 all keep their own cells. sampled[r] of its offsets take
    part, all if that is the degree; rows x sampled of a ring must be below 2**31. O(rows x sampled), and as much
    memory as the largest ring needs.
    """
    largest = 0
    edges = 0
    widest = 0
    spans = 0
    for r in range(len(starts) - 1):
        m = starts[r + 1] - starts[r]
        largest = max(largest, m)
        edges = max(edges, m * sampled[r])
        spans = max(spans, min(m, NARROW) * sampled[r], min(m, WIDE) * min(sampled[r], DENSE))
        widest = max(widest, degrees[r])
    offset = np.empty(widest + 1, np.int32)
    chosen = np.empty(widest, np.bool_)
    words = np.empty(max(spans, largest, widest) + 16, np.uint32)
    more = np.empty(spans + 16, np.uint32)
    right = np.empty(edges + 1, np.int32)
    across = np.empty(edges, np.int32)
    kept = np.empty(edges, np.int8)
    meeting = np.empty(spans, np.int32)
    waiting = np.empty(largest, np.int32)
    mate = np.empty(largest, np.int32)
    slot = np.empty(largest, np.int32)
    pick = np.empty(largest, np.int32)
    for r in range(len(starts) - 1):
        begin = starts[r]
        m = starts[r + 1] - begin
        d = degrees[r]
        if d == 1:
            for j in range(begin, begin + m):
                owner[j] = j
            continue
        if m == d:
            # All pairs are possible: a shuffle, rotated by an exactly uniform number of positions.
            turn = _below(block, words, m)
            for j in range(m):
                owner[begin + j] = begin + (j + turn) % m
            _draw(block, words, m)
            _shuffle(words, 0, owner, begin, begin + m)
            continue
        for s in range(d):
            offset[s] = s
        if sampled[r] < d:
            turn = _below(block, words, d)
            for s in range(d):
                offset[s] = (s + turn) % d
            _draw(block, words, d)
            _shuffle(words, 0, offset, 0, d)
            for s in range(d):
                chosen[offset[s]] = s < sampled[r]
            d = 0
            for s in range(degrees[r]):
                offset[d] = s
                d += chosen[s]
        for j in range(m):
            for s in range(d):
                person = j + offset[s]
                right[j * d + s] = person if person < m else person - m
        while d > 1:
            if d % 2 == 0:
                _halve(block, words, more, right, m, d, across, kept, meeting, mate, waiting, pick)
                d //= 2
                continue
            _extract(block, words, right, m, d, waiting, mate, slot, pick)
            take = _below(block, words, d) == 0
            left = 0
            for e in range(m * d):
                right[left] = right[e]
                left += (e % d == slot[e // d]) == take
            d = 1 if take else d - 1
        turn = _below(block, words, m)
        for j in range(m):
            position, person = j + turn, right[j] + turn
            position -= m if position >= m else 0
            owner[begin + position] = begin + person - (m if person >= m else 0)
