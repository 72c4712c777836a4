"""Improvement of finished classes: rows move to other classes, or two rows change places.

Classes keep their number, their least size, and their distinct labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import GRAIN, PART, SIZE, lift, range_loss
from shoal.support.arrays import FloatVector, IntMatrix, IntVector, LongVector

LEAST_GAIN = 1e-9
"""Smaller gains are rounding errors."""
FAR = 1 << 30
"""Beyond every code."""


class Exchange(NamedTuple):
    """Classes while rows move between them; changed in place."""

    class_of: IntVector
    """Row -> class."""
    members: IntVector
    """Row -> the next row of its class, -1 for the last."""
    first: IntVector
    """Class -> its first row."""
    size: LongVector
    loss: FloatVector
    """Class -> loss of one of its rows."""
    ends: IntMatrix
    """``[classes, 4 x columns]``: the least and second least code of a class, its largest and second largest."""
    counts: IntMatrix
    """``[classes, labels]``"""
    different: IntMatrix
    """``[classes, demands]``: distinct labels."""


@PART
def _measure(codes, exchange, losses, c):
    """Compute the ends and the loss of a class from its rows."""
    width = codes.shape[1]
    ends, members = exchange.ends, exchange.members
    total = 0.0
    for j in range(width):
        low, next_low = np.int32(FAR), np.int32(FAR)
        high, next_high = np.int32(-1), np.int32(-1)
        row = exchange.first[c]
        while row >= 0:
            code = np.int32(codes[row, j])
            if code < low:
                low, next_low = code, low
            elif code < next_low:
                next_low = code
            if code > high:
                high, next_high = code, high
            elif code > next_high:
                next_high = code
            row = members[row]
        ends[c, 4 * j], ends[c, 4 * j + 1] = low, next_low
        ends[c, 4 * j + 2], ends[c, 4 * j + 3] = high, next_high
        total += range_loss(losses, j, low, high)
    exchange.loss[c] = total


@PART
def _replaced(codes, ends, losses, c, gone, come, worst):
    """Return the loss of a row of class c without row `gone` and with row `come` (-1: none); `worst` if not less."""
    total = 0.0
    for j in range(codes.shape[1]):
        low, high = ends[c, 4 * j], ends[c, 4 * j + 2]
        if gone >= 0:
            code = np.int32(codes[gone, j])
            low = ends[c, 4 * j + 1] if code == low else low
            high = ends[c, 4 * j + 3] if code == high else high
        if come >= 0:
            code = np.int32(codes[come, j])
            low, high = min(low, code), max(high, code)
        total += range_loss(losses, j, low, high)
        if total >= worst:
            return worst
    return total


@PART
def _spared(labels, exchange, p, c, gone, come):
    """Whether class c has enough distinct labels without row `gone` and with row `come` (-1: none)."""
    for d in range(labels.shape[1]):
        label = labels[gone, d]
        left = exchange.different[c, d] - (exchange.counts[c, label] == 1)
        if come >= 0:
            new = labels[come, d]
            left += exchange.counts[c, new] == 0 or (new == label and exchange.counts[c, new] == 1)
        if left < p[d]:
            return False
    return True


@PART
def _change(labels, exchange, c, row, change):
    """Add a row to a class (1), or take it out (-1)."""
    members, first, counts = exchange.members, exchange.first, exchange.counts
    if change > 0:
        members[row] = first[c]
        first[c] = row
        exchange.class_of[row] = c
    elif first[c] == row:
        first[c] = members[row]
    else:
        before = first[c]
        while members[before] != row:
            before = members[before]
        members[before] = members[row]
    exchange.size[c] += change
    for d in range(labels.shape[1]):
        label = labels[row, d]
        counts[c, label] += change
        exchange.different[c, d] += change * (counts[c, label] == (1 if change > 0 else 0))


@njit(cache=True, nogil=True)
def move_rows(codes, labels, exchange, p, k, even, losses, order, begin, end):
    """Move each of the rows ``order[begin:end]`` to the class where it saves most, if it does; return what is saved.

    A class keeps k rows and its p distinct labels. The cost of classes is the loss of their rows, and `even` times the
    sum of their squared sizes, which keeps sizes even. The first of equals wins. O(rows x classes x columns), but the
    present loss of a class rules out most.
    """
    size, loss, ends = exchange.size, exchange.loss, exchange.ends
    classes = len(size)
    saved = 0.0
    for at in range(begin, end):
        row = order[at]
        a = exchange.class_of[row]
        if size[a] <= k or not _spared(labels, exchange, p, a, row, -1):
            continue
        without = _replaced(codes, ends, losses, a, row, -1, np.inf)
        gain = size[a] * loss[a] - (size[a] - 1) * without + even * (2 * size[a] - 1) - LEAST_GAIN
        best, least = -1, gain
        for b in range(classes):
            start = even * (2 * size[b] + 1)
            # One row more in b loses at least what the others lose now.
            if b == a or (losses.rising and loss[b] + start >= least):
                continue
            worst = (least - start + size[b] * loss[b]) / (size[b] + 1)
            with_it = _replaced(codes, ends, losses, b, -1, row, worst)
            cost = (size[b] + 1) * with_it - size[b] * loss[b] + start
            if with_it < worst and cost < least:
                best, least = b, cost
        if best < 0:
            continue
        saved += gain - least
        _change(labels, exchange, a, row, -1)
        _change(labels, exchange, best, row, 1)
        _measure(codes, exchange, losses, a)
        _measure(codes, exchange, losses, best)
    return saved


@njit(cache=True, nogil=True)
def swap_rows(codes, labels, exchange, p, losses, order, begin, end):
    """Let each of the rows ``order[begin:end]`` change places with the row where that saves most; return what is saved.

    Only rows without which their class would lose less look for one. Sizes stay; both classes keep their p distinct
    labels. The first of equals wins. O(rows^2 x columns) at worst.
    """
    size, loss, ends, class_of = exchange.size, exchange.loss, exchange.ends, exchange.class_of
    classes = len(size)
    saved = 0.0
    for at in range(begin, end):
        row = order[at]
        a = class_of[row]
        without = _replaced(codes, ends, losses, a, row, -1, np.inf) if size[a] > 1 else loss[a]
        if without >= loss[a]:
            continue
        best, other = LEAST_GAIN, -1
        most = size[a] * (loss[a] - without)
        for b in range(classes):
            if b == a:
                continue
            # What b loses today is all that it can save.
            if most + size[b] * loss[b] <= best:
                continue
            come = exchange.first[b]
            while come >= 0:
                mine = _replaced(
                    codes, ends, losses, a, row, come, loss[a] + (size[b] * loss[b] - best) / size[a] + GRAIN
                )
                gain = size[a] * (loss[a] - mine) + size[b] * loss[b]
                if gain >= best:
                    gain -= size[b] * _replaced(codes, ends, losses, b, come, row, np.inf)
                    if (
                        (
                            gain > best
                            or (gain == best and other >= 0 and class_of[other] == b and come < other)
                        )
                        and _spared(labels, exchange, p, a, row, come)
                        and _spared(labels, exchange, p, b, come, row)
                    ):
                        best, other = gain, come
                come = exchange.members[come]
        if other < 0:
            continue
        b = class_of[other]
        saved += best
        _change(labels, exchange, a, row, -1)
        _change(labels, exchange, b, other, -1)
        _change(labels, exchange, b, row, 1)
        _change(labels, exchange, a, other, 1)
        _measure(codes, exchange, losses, a)
        _measure(codes, exchange, losses, b)
    return saved


@njit(cache=True, nogil=True)
def narrow_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    """Let the classes ``order[begin:end]`` give away all rows beyond a code in some column, if that saves; return what
    is saved.

    The rows go one after the other, each to the class where it costs least. A class keeps k rows and its p distinct
    labels. O(classes x codes x rows x classes x columns) at worst, but rows stop as soon as they cost too much.
    """
    size, loss, ends = exchange.size, exchange.loss, exchange.ends
    class_of, members = exchange.class_of, exchange.members
    classes, width = len(size), codes.shape[1]
    rows, demands = codes.shape[0], labels.shape[1]
    goes = np.empty(rows, np.int64)
    values = np.empty(rows, np.int64)
    saved = 0.0
    for at in range(begin, end):
        a = order[at]
        for j in range(width):
            for side in range(2):
                if size[a] <= k or ends[a, 4 * j] == ends[a, 4 * j + 2]:
                    break
                # The codes of the class in this column, outermost first.
                sign = np.int64(1 - 2 * side)
                found = 0
                row = exchange.first[a]
                while row >= 0:
                    values[found] = sign * np.int64(codes[row, j])
                    found += 1
                    row = members[row]
                values[:found].sort()
                turn = 0
                while turn < found and size[a] > k:
                    cut = values[turn]
                    while turn < found and values[turn] == cut:
                        turn += 1
                    if found - turn < k or turn == found:
                        break
                    gone = 0
                    row = exchange.first[a]
                    while row >= 0:
                        if sign * np.int64(codes[row, j]) <= cut:
                            goes[gone] = row
                            gone += 1
                        row = members[row]
                    goes[:gone].sort()
                    before = size[a] * loss[a] + even * size[a] * size[a]
                    for i in range(gone):
                        _change(labels, exchange, a, goes[i], -1)
                    spared = True
                    for d in range(demands):
                        spared &= exchange.different[a, d] >= p[d]
                    budget = -1.0
                    if spared:
                        _measure(codes, exchange, losses, a)
                        budget = before - size[a] * loss[a] - even * size[a] * size[a] - LEAST_GAIN
                    moved = 0
                    while moved < gone and budget > 0:
                        row = goes[moved]
                        best, least = -1, budget
                        for b in range(classes):
                            start = even * (2 * size[b] + 1)
                            if b == a or (losses.rising and loss[b] + start >= least):
                                continue
                            worst = (least - start + size[b] * loss[b]) / (size[b] + 1)
                            with_it = _replaced(codes, ends, losses, b, -1, row, worst)
                            cost = (size[b] + 1) * with_it - size[b] * loss[b] + start
                            if with_it < worst and cost < least:
                                best, least = b, cost
                        if best < 0:
                            break
                        budget -= least
                        _change(labels, exchange, best, row, 1)
                        _measure(codes, exchange, losses, best)
                        moved += 1
                    if moved == gone:
                        saved += budget
                        continue
                    for i in range(moved):
                        b = class_of[goes[i]]
                        _change(labels, exchange, b, goes[i], -1)
                        _measure(codes, exchange, losses, b)
                    for i in range(gone):
                        _change(labels, exchange, a, goes[i], 1)
                    _measure(codes, exchange, losses, a)
    return saved


@njit(cache=True, nogil=True)
def widen_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    """Let the classes ``order[begin:end]`` cover more codes of a column and take the rows that lose less with them, if
    that saves in all; return what is saved.

    The steps to either side are 1, 2, 4, .. codes. Classes keep k rows and their p distinct labels. It assumes that a
    wider range never loses less. O(classes x columns x log codes x rows x columns).
    """
    size, loss, ends = exchange.size, exchange.loss, exchange.ends
    class_of = exchange.class_of
    rows, width = codes.shape
    low = np.empty(width, np.int64)
    high = np.empty(width, np.int64)
    taken = np.empty(rows, np.int64)
    source = np.empty(rows, np.int64)
    saved = 0.0
    for at in range(begin, end):
        b = order[at]
        for j in range(width):
            for side in range(2):
                step = 1
                while step < 2 * losses.shape[j, SIZE]:
                    total = 0.0
                    for c in range(width):
                        low[c], high[c] = ends[b, 4 * c], ends[b, 4 * c + 2]
                        if c == j and side == 0:
                            low[c] = max(low[c] - step, 0)
                        elif c == j:
                            high[c] = min(high[c] + step, losses.shape[j, SIZE] - 1)
                        total += range_loss(losses, c, low[c], high[c])
                        if total < np.inf:
                            low[c], high[c] = lift(losses, c, low[c], high[c])
                    step *= 2
                    if total <= loss[b] or total == np.inf:
                        continue
                    budget = -size[b] * (total - loss[b]) - LEAST_GAIN
                    found = 0
                    for row in range(rows):
                        a = class_of[row]
                        if a == b or loss[a] <= total or size[a] <= k:
                            continue
                        inside = True
                        for c in range(width):
                            if codes[row, c] < low[c] or codes[row, c] > high[c]:
                                inside = False
                                break
                        if not inside:
                            continue
                        gain = loss[a] - total + 2 * even * (size[a] - size[b] - 1)
                        if gain <= 0 or not _spared(labels, exchange, p, a, row, -1):
                            continue
                        budget += gain
                        _change(labels, exchange, a, row, -1)
                        _change(labels, exchange, b, row, 1)
                        taken[found], source[found] = row, a
                        found += 1
                    if budget <= 0:
                        for i in range(found - 1, -1, -1):
                            _change(labels, exchange, b, taken[i], -1)
                            _change(labels, exchange, source[i], taken[i], 1)
                        continue
                    saved += budget
                    _measure(codes, exchange, losses, b)
                    for i in range(found):
                        _measure(codes, exchange, losses, source[i])
    return saved


@njit(cache=True, nogil=True)
def gather_classes(codes, labels, demand_of, exchange, losses):
    """Fill in everything that follows from `Exchange.class_of`, from zeros. O(rows x columns + classes x labels)."""
    class_of, members, first = exchange.class_of, exchange.members, exchange.first
    counts = exchange.counts
    for c in range(len(first)):
        first[c] = -1
    for row in range(len(class_of) - 1, -1, -1):
        c = class_of[row]
        members[row], first[c] = first[c], row
        exchange.size[c] += 1
        for d in range(labels.shape[1]):
            counts[c, labels[row, d]] += 1
    for c in range(len(first)):
        for label in range(counts.shape[1]):
            exchange.different[c, demand_of[label]] += counts[c, label] > 0
        _measure(codes, exchange, losses, c)
