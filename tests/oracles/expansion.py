"""Plain twins of the kernels in `shoal/kernels/expansion.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools

import numpy as np

from tests.oracles.followed import _covers
from tests.oracles.losses import lift, range_loss


def _smallest_cell(losses, j, low, high):
    """First code, last code and loss of the smallest publishable cell over a range; None under a limit."""
    lost = range_loss(losses, j, low, high)
    return None if lost == np.inf else (*map(int, lift(losses, j, low, high)), lost)


def _closure(losses, rows):
    """Lows, highs and loss of the smallest cells over some rows; None where a limit keeps them apart."""
    cells = [
        _smallest_cell(losses, j, int(min(c)), int(max(c))) for j, c in enumerate(zip(*rows, strict=True))
    ]
    if None in cells:
        return None
    low, high, price = zip(*cells, strict=True)
    return low, high, sum(price)


def expand(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """All cells that each row may end with, since equally cheap steps are equally good."""
    rows = [tuple(int(code) for code in row) for row in codes]
    ends = []
    for row in rows[begin:end]:
        found, seen, waiting = set(), set(), [_closure(losses, [row])]
        while waiting:
            cell = waiting.pop()
            if cell[:2] in seen:
                continue
            seen.add(cell[:2])
            outside = [other for other in rows if not _covers(cell[0], cell[1], other)]
            if sum(w for w, other in zip(weight, rows, strict=True) if other not in outside) >= k:
                found.add(cell[:2])
                continue
            grown = [_closure(losses, [cell[0], cell[1], other]) for other in outside]
            grown = [c for c in grown if c is not None]
            best = min(c[2] for c in grown)
            waiting += [c for c in grown if c[2] <= best]
        ends.append(found)
    return ends


def join_nearest(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """All cells that each row may end with, since equally near rows are equally good."""
    rows = [tuple(int(code) for code in row) for row in codes]
    ends = []
    for row, own in list(zip(rows, weight, strict=True))[begin:end]:
        if own >= k:
            ends.append({(row, row)})
            continue
        pairs = [(_closure(losses, [row, other]), w, other) for other, w in zip(rows, weight, strict=True)]
        near = sorted((c[2], w, other) for c, w, other in pairs if c is not None and other != row)
        enough = next(i for i in range(len(near)) if own + sum(w for _, w, _ in near[: i + 1]) >= k)
        reach = near[enough][0]
        sure = [(w, other) for price, w, other in near if price < reach]
        ties = [(w, other) for price, w, other in near if price == reach]
        found = set()
        for size in range(1, len(ties) + 1):
            for some in itertools.combinations(ties, size):
                chosen = [*sure, *some]
                total = own + sum(w for w, _ in chosen)
                if total >= k > total - max(w for w, _ in some):
                    found.add(_closure(losses, [row, *(other for _, other in chosen)])[:2])
        ends.append(found)
    return ends


def _added(losses, low, high, row):
    grown = _closure(losses, [low.tolist(), high.tolist(), [int(code) for code in row]])
    return None if grown is None else grown[2] - _closure(losses, [low.tolist(), high.tolist()])[2]
