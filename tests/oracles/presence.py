"""Plain twins of the kernels in `shoal/kernels/presence.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.losses import _level, range_loss


def regions_of_people(low, high, codes):
    lists = [
        [r for r in range(len(low)) if all(low[r][j] <= v <= high[r][j] for j, v in enumerate(person))]
        for person in codes.tolist()
    ]
    start = np.cumsum([0, *map(len, lists)])
    return start, np.array([r for own in lists for r in own], np.int32)


def class_totals(keys, people, rows):
    totals = {}
    for key, p, r in zip(keys.tolist(), people.tolist(), rows.tolist(), strict=True):
        before = totals.get(key, (0, 0))
        totals[key] = (before[0] + p, before[1] + r)
    return [p for p, _ in totals.values()], [r for _, r in totals.values()]


def cut_boxes(codes, people, rows, order, ends, losses, low, high):
    """The boxes themselves, as lists of tuples, in the order in which they are finished, and the number of cuts."""

    def within(part):
        p, r = sum(int(people[t]) for t in part), sum(int(rows[t]) for t in part)
        return low * p - 1e-9 * p <= r <= high * p + 1e-9 * p

    def split(box, j, name):
        values = sorted({name(int(codes[t, j])) for t in box})
        return [[t for t in box if name(int(codes[t, j])) == value] for value in values]

    def cuts_of(box, j):
        """All ways to cut one column: parts, and the codes of each of them, or of the child that it is shown as."""
        ordered = int(losses.shape[j, 3])
        present = sorted({int(codes[t, j]) for t in box})
        if len(present) < 2:
            return
        if 0 <= present[-1] < ordered:
            for value in present[1:]:
                parts = split(box, j, lambda code, value=value: code >= value)
                yield parts, shown(parts, j)
        elif ordered >= 0:
            parts = split(box, j, lambda code: 0 if code < ordered else code)
            yield parts, shown(parts, j)
        else:
            nodes, level = _level(losses, j, present[0], present[-1])
            parts = split(box, j, lambda code: int(nodes[level - 1, code]))
            children = [
                np.flatnonzero(nodes[level - 1] == nodes[level - 1, own[0]]) for own in shown(parts, j)
            ]
            yield parts, children

    def shown(parts, j):
        return [[int(codes[t, j]) for t in part] for part in parts]

    begin = [0, *ends.tolist()[:-1]]
    open_ = [order[a:b].tolist() for a, b in zip(begin, ends.tolist(), strict=True)]
    done, cuts = [], 0
    while open_:
        box = open_.pop()
        best, best_gain = None, -1e-9
        for j in range(codes.shape[1]) if any(rows[t] for t in box) else ():
            for parts, covered in cuts_of(box, j):
                present = [int(codes[t, j]) for t in box]
                whole = range_loss(losses, j, min(present), max(present))
                saved = [whole - range_loss(losses, j, min(own), max(own)) for own in covered]
                owned = (sum(int(rows[t]) for t in part) for part in parts)
                gain = sum(r * s for r, s in zip(owned, saved, strict=True))
                if gain > best_gain and all(within(part) for part in parts):
                    best, best_gain = parts, gain
        if best is None:
            done.append(box)
        else:
            cuts += 1
            open_ += best
    return done, cuts
