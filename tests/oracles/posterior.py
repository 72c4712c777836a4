"""Plain twins of the kernels in `shoal/kernels/posterior.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def pair_shares(fits, people, places, most):
    """All complete assignments, one by one; `most` is not looked at."""
    kinds = [u for u, many in enumerate(people) for _ in range(many)]
    rows = [g for g, many in enumerate(places) for _ in range(many)]
    found = np.zeros((len(people), len(places)))
    total = 0
    for chosen in itertools.permutations(range(len(rows))):
        if all(fits[u][rows[row]] for u, row in zip(kinds, chosen, strict=True)):
            total += 1
            for u, row in zip(kinds, chosen, strict=True):
                found[u, rows[row]] += 1
    if not total or sum(int(many).bit_length() for many in places) > 62:
        return np.zeros((0, 0))
    return np.array(
        [
            [
                float(Fraction(int(found[u, g]), total * int(people[u]) * int(places[g])))
                for g in range(len(places))
            ]
            for u in range(len(people))
        ]
    )


def walk_assignments(
    kind, start, before, classes, first, holder, link, longest, steps, state, counts, left, visits
):
    """A circle of people passes rows on; every person is looked at in every turn."""
    mask = (1 << 64) - 1

    def random(below):
        state[0] = np.uint64((int(state[0]) + 0x9E3779B97F4A7C15) & mask)
        z = int(state[0])
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        bits = (z ^ (z >> 31)) >> 32
        return bits if below is None else (bits * below) >> 32

    for batch in range(len(visits)):
        done = 0
        while done < steps:
            visits[batch] += 1
            for p in range(len(kind)):
                counts[batch, link[p]] += 1
            coins, scale = random(None), 2
            while coins & 1 and 4 * scale <= longest:
                coins, scale = coins >> 1, 2 * scale
            many = scale + random(scale)
            held = {int(p): row for row, p in enumerate(holder)}
            p = random(len(kind))
            free = held[p]
            circle = []
            while len(circle) < many - 1 and p not in [q for q, _, _ in circle]:
                u = int(kind[p])
                choices = [
                    (edge, int(first[classes[edge]]) + place)
                    for edge in range(start[u], start[u + 1])
                    for place in range(before[edge + u + 1] - before[edge + u])
                ]
                edge, row = choices[random(len(choices))]
                circle.append((p, edge, row))
                p = int(holder[row])
            done += len(circle) + 1
            own = classes[link[circle[0][0]]]
            back = [edge for edge in range(start[kind[p]], start[kind[p] + 1]) if classes[edge] == own]
            if not back or p in [q for q, _, _ in circle]:
                continue
            for q, edge, row in [*circle, (p, back[0], free)]:
                left[link[q]] += link[q] != edge
                link[q], holder[row] = edge, q
