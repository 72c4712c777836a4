"""Plain twins of the kernels in `shoal/kernels/cuts.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.losses import _level, range_loss


def _mondrian_cuts(rows, losses, k, strict, by_width):
    """All cuts a node proposes, best first, as (column, first, last); `rows` are tuples of codes."""
    return _counted_cuts(
        [sorted(row[j] for row in rows) for j in range(len(losses.shape))], losses, k, strict, by_width
    )


def weigh(losses, j, values, counts, found, rows, k, strict, right):
    """The best cut of a column by gain as (gain, first, last), the end of the cut at the median, the column's loss."""
    values, total = [int(value) for value in values[:found]], rows
    codes = [value for value, count in zip(values, counts, strict=False) for _ in range(count)]
    free = losses.shape[j, 3] >= 0
    whole = range_loss(losses, j, values[0], values[-1])
    child_of = range(losses.shape[j, 1])
    if not free:
        nodes, level = _level(losses, j, values[0], values[-1])
        child_of = nodes[level - 1]
    gains, medians = [(0.0, values[0], values[0])], []
    child = values[0]
    for value, following in pairwise(values):
        left = sum(code <= value for code in codes)
        between = child_of[value] != child_of[following]
        if not strict or min(left, total - left) >= k:
            inside = min(max(left, k), total - k)
            gain = 0.0
            if left >= k:
                gain += inside * (whole - range_loss(losses, j, values[0], value))
            if total - left >= k:
                gain += (total - inside) * (whole - range_loss(losses, j, following, values[-1]))
            gains.append((gain, values[0], value))
            medians.append((between, -abs(2 * left - total), value))
        if between:
            own = sum(child <= code <= value for code in codes)
            if not free and child > values[0] and own >= k and (not strict or total - own >= k):
                loss_of_child = range_loss(losses, j, child, value)
                gains.append((min(own, total - k) * (whole - loss_of_child), child, value))
            child = following
    middle = max(medians, key=lambda cut: cut[:2])[2] if medians else -1
    return *max(gains, key=lambda cut: cut[0]), middle, whole


def _counted_cuts(columns, losses, k, strict, by_width):
    """The same from the sorted codes of each column."""
    by_gain, at_median = [], []
    for j, codes in enumerate(columns):
        values = sorted(set(codes))
        if len(codes) < 2 * k or len(values) == 1:
            continue
        counts = [codes.count(value) for value in values]
        gain, first, last, middle, whole = weigh(
            losses, j, values, counts, len(values), len(codes), k, strict, None
        )
        if gain > 0 and not by_width:
            by_gain.append((gain, (j, first, last)))
        if middle >= 0:
            median = (j, values[0], middle)
            if (median != (j, first, last)) or by_width or gain <= 0:
                at_median.append((whole, median))
    ranked = [sorted(cuts, key=lambda cut: -cut[0]) for cuts in (by_gain, at_median)]
    return [cut for _, cut in ranked[0] + ranked[1]]


def propose_cuts(codes, begins, ends, losses, k, strict, by_width):
    out = np.zeros((3, len(begins), 2 * len(losses.shape)), np.int32)
    out[0] = -1
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        rows = [tuple(row) for row in codes[begin:end, : len(losses.shape)].tolist()]
        for at, cut in enumerate(_mondrian_cuts(rows, losses, k, strict, by_width)):
            out[:, i, at] = cut
    return tuple(out)


def cuts_of_histograms(histograms, losses, k, strict, by_width):
    out = np.zeros((3, len(histograms), 2 * len(losses.shape)), np.int32)
    out[0] = -1
    for i, histogram in enumerate(histograms):
        columns = []
        for size, start in losses.shape[:, [1, 6]]:
            counts = histogram[start : start + size].tolist()
            columns.append([code for code, count in enumerate(counts) for _ in range(count)])
        for at, cut in enumerate(_counted_cuts(columns, losses, k, strict, by_width)):
            out[:, i, at] = cut
    return tuple(out)


def walk_cuts(codes, column, first, last, inside, outside):
    def end(row, node=0):
        if column[node] < 0:
            return node
        side = inside if row[column[node]] in range(first[node], last[node] + 1) else outside
        return end(row, side[node])

    return np.array([end(row) for row in codes.tolist()], np.int32)
