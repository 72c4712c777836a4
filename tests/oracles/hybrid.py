"""Plain twins of the kernels in `shoal/kernels/hybrid.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def relocate_groups(keys, word, mask, before, k, cells, limit, most, draws, after, moves):
    """createHybrid by the book, group by group; see kernels/hybrid.py for the arguments."""
    random = iter(draws)
    size = {g: int(rows) for g, rows in enumerate(before)}
    own = dict(size)
    small = [g for g in size if 2 * size[g] <= k]
    big = [g for g in size if k / 2 < size[g] < k]
    full = [g for g in size if size[g] >= k]
    made = []

    def apart(a, b):
        return sum(
            (int(keys[w, a]) & int(m)) != (int(keys[w, b]) & int(m)) for w, m in zip(word, mask, strict=True)
        )

    def statistic():
        return sum((size[g] - int(before[g])) ** 2 / int(before[g]) for g in size)

    def chosen(g, candidates):
        if len(draws):
            number = next(random)
            return candidates[int(number * len(candidates))] if candidates else None
        return min(candidates, key=lambda c: apart(g, c), default=None)

    def move(source, target, rows):
        size[source], size[target] = size[source] - rows, size[target] + rows
        made.append((source, target, rows))
        if sum(r * apart(s, t) for s, t, r in made) > cells or statistic() > limit + 1e-9:
            made.pop()
            size[source], size[target] = size[source] + rows, size[target] - rows
            return False
        own[source] -= rows
        return True

    def work():
        for g in small:
            target = chosen(g, big or full)
            if target is None or not move(g, target, size[g]):
                return
            if target in big and size[target] >= k:
                big.remove(target)
                full.append(target)
        for g in big:
            need = k - size[g]
            donor = chosen(g, [c for c in full if size[c] > 2 * k - size[g] and own[c] >= need])
            if donor is None:
                return
            if len(draws):
                need += int(next(random) * (min(size[donor] - k, own[donor]) - need + 1))
            if not move(donor, g, need):
                return
            full.append(g)

    work()
    after[:] = [size[g] for g in range(len(before))]
    moves[: len(made)] = np.array(made, np.int64).reshape(len(made), 3)
    short = sum(rows for rows in size.values() if rows < k)
    return short <= most, len(made), sum(r * apart(s, t) for s, t, r in made), statistic()
