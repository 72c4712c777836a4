"""Plain twins of the kernels in `shoal/kernels/assignment.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import groupby


def _chacha_words(block):
    """Endless words of ChaCha with 8 rounds, 16 per block; the counter in `block` moves on with every block."""
    full = 0xFFFFFFFF
    while True:
        x = [int(word) for word in block]

        def mix(a, b, c, d, x=x):
            for one, other, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[one] = (x[one] + x[other]) & full
                mixed = x[third] ^ x[one]
                x[third] = (mixed << turn | mixed >> (32 - turn)) & full

        for _ in range(4):
            for i in range(4):
                mix(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        words = [(a + int(b)) & full for a, b in zip(x, block, strict=True)]
        counter = (int(block[12]) | int(block[13]) << 32) + 1
        block[12], block[13] = counter & full, counter >> 32 & full
        yield from words


def _drawn(block, count):
    """At least `count` words, in whole blocks."""
    stream = _chacha_words(block)
    return [next(stream) for _ in range(-(-count // 16) * 16)]


def _drawn_below(block, bound):
    few = 2**32 - 2**32 % bound
    while True:
        for word in _drawn(block, 16):
            if word < few:
                return word % bound


def _shuffled_runs(block, runs):
    size = len(runs[0])
    words = _drawn(block, size * len(runs))
    for i, run in enumerate(runs):
        for last in range(size - 1, 0, -1):
            other = words[i * size + last] * (last + 1) >> 32
            run[last], run[other] = run[other], run[last]


def draw_assignments(starts, degrees, sampled, block, owner):
    for begin, end, d, some in zip(starts, starts[1:], degrees, sampled, strict=False):
        m, d, some = int(end - begin), int(d), int(some)
        if d == 1:
            owner[begin:end] = range(begin, end)
            continue
        if m == d:
            turn = _drawn_below(block, m)
            people = [(j + turn) % m for j in range(m)]
            _shuffled_runs(block, [people])
            owner[begin:end] = [begin + person for person in people]
            continue
        offsets = list(range(d))
        if some < d:
            turn = _drawn_below(block, d)
            offsets = [(s + turn) % d for s in range(d)]
            _shuffled_runs(block, [offsets])
            offsets = sorted(offsets[:some])
        right = [[(j + s) % m for s in offsets] for j in range(m)]
        d = len(offsets)
        while d > 1:
            if d % 2 == 0:
                right = _half(block, right)
            else:
                matching = _random_matching(block, right)
                if _drawn_below(block, d) == 0:
                    right = [[people[s]] for people, s in zip(right, matching, strict=True)]
                else:
                    right = [people[:s] + people[s + 1 :] for people, s in zip(right, matching, strict=True)]
            d = len(right[0])
        turn = _drawn_below(block, m)
        for j in range(m):
            owner[begin + (j + turn) % m] = begin + (right[j][0] + turn) % m


def _in_runs(own, words, key):
    """Neighbours with one key are shuffled; of odd runs the last goes behind that of the next odd run."""
    ordered, odd = [], []
    for _, run in groupby(zip(own, words, strict=True), key=lambda pair: key(pair[0])):
        values, chances = (list(part) for part in zip(*run, strict=True))
        for last in range(len(values) - 1, 0, -1):
            other = chances[last] * (last + 1) >> 32
            values[last], values[other] = values[other], values[last]
        if len(values) % 2:
            odd.append(values.pop())
        ordered += values
        if len(odd) == 2:
            ordered += odd
            odd = []
    return ordered


def _coins(block):
    while True:
        yield from [word >> bit & 1 for word in _drawn(block, 16) for bit in range(32)]


def _half(block, right):
    """Pair edges at both ends at random, walk the closed trails, and keep each second edge."""
    m, d = len(right), len(right[0])
    paired, waiting, right = {}, {}, [list(people) for people in right]
    span = 2048 if d <= 32 else 32
    for first in range(0, m, span):
        own = range(first, min(first + span, m))
        words, more = _drawn(block, len(own) * d), iter(_drawn(block, len(own) * d))
        met = {person: [] for j in own for person in right[j]}
        for j in own:
            begin = (j - first) * d
            right[j] = _in_runs(right[j], words[begin : begin + d], lambda person: person // span)
            for s, person in enumerate(right[j]):
                met[person].append((j, s))
        for person, edges in met.items():
            chances = [next(more) for _ in edges]
            for last in range(len(edges) - 1, 0, -1):
                other = chances[last] * (last + 1) >> 32
                edges[last], edges[other] = edges[other], edges[last]
            edges = waiting.pop(person, []) + edges
            waiting[person] = [edges.pop()] if len(edges) % 2 else []
            for one, other in zip(edges[::2], edges[1::2], strict=True):
                paired[one], paired[other] = other, one
    coins, kept = _coins(block), {}
    for first in [(j, s) for j in range(m) for s in range(d)]:
        if first in kept:
            continue
        edge, coin = first, next(coins)
        while edge not in kept:
            partner = (edge[0], edge[1] ^ 1)
            kept[edge], kept[partner] = coin, 1 - coin
            edge = paired[partner]
    return [[right[j][s] for s in range(d) if kept[j, s]] for j in range(m)]


def _random_matching(block, right):
    """Per position the slot of its edge in a perfect matching, found by random walks without their loops."""
    m, d = len(right), len(right[0])
    order = list(range(m))
    _shuffled_runs(block, [order])
    mate, slot, pick, words = {}, {}, {}, []
    for start in order:
        here = start
        while here is not None:
            words = words or _drawn(block, m)[:m]
            word = words.pop(0)
            if here in slot:
                others = [s for s in range(d) if s != slot[here]]
                pick[here] = others[word * (d - 1) >> 32]
            else:
                pick[here] = word * d >> 32
            here = mate.get(right[here][pick[here]])
        here = start
        while here is not None:
            slot[here] = pick[here]
            person = right[here][slot[here]]
            here, mate[person] = mate.get(person), here
    return [slot[j] for j in range(m)]
