"""Plain twins of the kernels in `shoal/kernels/losses.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def range_loss(losses, j, low, high):
    """What the smallest publishable range over [low, high] of column j loses; see kernels/losses.py for the arrays."""
    kind, size, place, ordered, levels, nodes, _ = (int(number) for number in losses.shape[j])
    low, high, cells = int(low), int(high), losses.cells[place:]
    if kind == 0:
        return float(cells[low * size + high])
    if kind == 1:
        last = losses.last[nodes : nodes + levels * size].reshape(levels, size)
        fitting = [level for level in range(levels) if last[level, low] >= high]
        return float(cells[fitting[0] * size + low]) if fitting else float("inf")
    if low == high:
        return 0.0
    if kind == 2:
        return float(cells[size] if high >= ordered else cells[high] - cells[low])
    if high >= ordered:
        return float(cells[2 * size + 3])
    counts, logs = np.diff(cells[: size + 1]), np.diff(cells[size + 1 : 2 * size + 2])
    rows = max(float(counts[low : high + 1].sum()), 1.0)
    bits = max(np.log2(rows) - float(logs[low : high + 1].sum()) / rows, 0.0) * float(cells[2 * size + 2])
    return round(bits * 2**20) / 2**20


def least_loss(losses, j, low, high):
    size = int(losses.shape[j, 1])
    return min(range_loss(losses, j, a, z) for a in range(low + 1) for z in range(high, size))


def _level(losses, j, low, high):
    """The codes' nodes at each level of a tree column, and the lowest level with one node over both codes."""
    _, size, _, _, levels, nodes, _ = (int(number) for number in losses.shape[j])
    first = losses.first[nodes : nodes + levels * size].reshape(levels, size)
    return first, next(level for level in range(levels) if first[level, low] == first[level, high])


def lift(losses, j, low, high):
    """The smallest publishable range over [low, high]."""
    size, ordered = int(losses.shape[j, 1]), int(losses.shape[j, 3])
    if ordered >= 0:
        return (0, size - 1) if low < high and high >= ordered else (low, high)
    first, level = _level(losses, j, low, high)
    own = first[level, low]
    return own, int(np.flatnonzero(first[level] == own)[-1])


def widen(losses, j, low, high, grown, least):
    start, size = int(losses.shape[j, 6]), int(losses.shape[j, 1])
    for code in range(size):
        grown[start + code] = range_loss(losses, j, min(low, code), max(high, code))
        if len(least):
            least[start + code] = least_loss(losses, j, min(low, code), max(high, code))


def box_losses(box, losses):
    return np.array(
        [sum(range_loss(losses, j, b[2 * j], b[2 * j + 1]) for j in range(len(losses.shape))) for b in box]
    )
