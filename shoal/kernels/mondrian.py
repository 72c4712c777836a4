"""Mondrian's descent: how to move the rows of a node that is cut, and all cuts for plain k. `cuts.py` chooses them.

A node is a run of rows of a packed row-major matrix. The matrix has twice as many rows as the table: a cut
moves its node from one half to the other, the rows whose code in one column lies in ``first..last`` to the
front. `words` is the matrix as 64-bit words, `codes` and `ids` are views of the same memory: the codes from
the start of each row, the number of the table's row at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.cuts import weigh
from shoal.kernels.losses import SIZE, START, lift, range_loss
from shoal.support.arrays import FloatVector, IntVector, LongVector

SHOWN = 64
"""A side that is too small takes the best of this many rows of the other side."""


class CutWorkspace(NamedTuple):
    """Working memory of `cut_by_size`; also keeps its state between calls. All zero at the start."""

    state: LongVector
    """Open nodes, blocks begun, regions made, rows done."""
    stack: LongVector
    """Begin and end of the open nodes."""
    histogram: IntVector
    """Counts of all codes of all columns, a run of cells for each open node."""
    least: LongVector
    """Lower bounds for the codes of each column, for each open node."""
    most: LongVector
    active: LongVector
    """Columns that are not known to be constant, for each open node."""
    actives: LongVector
    values: LongVector
    counts: LongVector
    right: FloatVector
    widths: FloatVector
    """Loss of the node in each column."""


@njit(cache=True, nogil=True)
def _divide(codes, words, begin, end, j, first, last, front, back):
    """Copy the rows whose code lies in ``first..last`` to `front`, the others to `back`, both in their order.

    Only the cursors depend on the data, so there is no branch to miss. Indexes are unsigned here and below, because
    numba asks of others, each time, whether they count from the end.
    """
    width = words.shape[1]
    j, front, back, one = np.uint64(j), np.uint64(front), np.uint64(back), np.uint64(1)
    for row in range(np.uint64(begin), np.uint64(end)):
        code = codes[row, j]
        inside = one if code >= first and code <= last else np.uint64(0)
        to = front if inside else back
        words[to, 0] = words[row, 0]
        words[to, width - 1] = words[row, width - 1]
        for w in range(1, width - 1):
            words[to, w] = words[row, w]
        front += inside
        back += one - inside


@njit(cache=True, nogil=True)
def _fill(codes, words, begin, middle, end, losses, k):
    """Fill up a side with fewer than k rows: take, one by one, the row of the other side that adds least to the
    loss, the first of equals; return the new middle. Candidates are the `SHOWN` rows of the other side nearest
    to the middle. O(k x SHOWN x columns).
    """
    front = middle - begin < k
    inside, inside_end = (begin, middle) if front else (middle, end)
    width = len(losses.shape)
    low = np.empty(width, np.int64)
    high = np.empty(width, np.int64)
    for j in range(width):
        low[j] = high[j] = codes[inside, j]
        for row in range(inside, inside_end):
            low[j] = min(low[j], np.int64(codes[row, j]))
            high[j] = max(high[j], np.int64(codes[row, j]))
    for _ in range(k - (inside_end - inside)):
        best, least = middle, np.inf
        for step in range(min(SHOWN, end - middle if front else middle - begin)):
            row = middle + step if front else middle - 1 - step
            total = 0.0
            for j in range(width):
                code = np.int64(codes[row, j])
                total += range_loss(losses, j, min(low[j], code), max(high[j], code))
                if total >= least:
                    break
            if total < least:
                best, least = row, total
        for j in range(width):
            low[j] = min(low[j], np.int64(codes[best, j]))
            high[j] = max(high[j], np.int64(codes[best, j]))
        other = middle if front else middle - 1
        for w in range(words.shape[1]):
            words[best, w], words[other, w] = words[other, w], words[best, w]
        middle += 1 if front else -1
    return middle


@njit(cache=True, nogil=True)
def cut_by_size(
    codes,
    words,
    ids,
    blocks,
    losses,
    k,
    strict,
    by_width,
    enough,
    region_of,
    low,
    high,
    workspace,
    patience,
):
    """Split blocks of rows down to regions of at least k rows; the descent for plain k-anonymity. Nodes of at most
    `enough` rows are not split further.

    Block `b` is ``blocks[b]..blocks[b+1]`` and must hold at least k rows. Writes `region_of` by table row, and
    the ranges `low`, `high` that regions show. Returns after about `patience` row visits; a further call with the
    same `workspace` continues. A cut visits all rows of its node to move them, but only those of its smaller side
    to count them: O(rows x (depth + columns x log rows) + regions x cells).
    """
    state, stack, histogram, least, most = (
        workspace.state,
        workspace.stack,
        workspace.histogram,
        workspace.least,
        workspace.most,
    )
    active, actives = workspace.active, workspace.actives
    values, counts, widths = workspace.values, workspace.counts, workspace.widths
    shape = losses.shape
    width = len(shape)
    half = len(words) // 2
    cells = len(values)
    id_at = ids.shape[1] - 1
    visits = 0
    columns = np.empty(width, np.uint64)
    places = np.empty(width, np.uint64)
    # Smaller nodes will not be split, so nobody needs their histograms.
    splittable = max(2 * k, enough + 1)
    while visits < patience and (state[0] > 0 or state[1] < len(blocks) - 1):
        if state[0] == 0:
            begin, end = blocks[state[1]], blocks[state[1] + 1]
            stack[0], stack[1] = begin, end
            state[0] = 1
            state[1] += 1
            for cell in range(cells):
                histogram[cell] = 0
            for j in range(width):
                least[j], most[j], active[j] = 0, shape[j, SIZE] - 1, j
                columns[j], places[j] = j, shape[j, START]
            actives[0] = width
            for row in range(np.uint64(begin), np.uint64(end)):
                for i in range(width):
                    histogram[places[i] + codes[row, columns[i]]] += 1
        top = state[0] - 1
        begin, end = stack[2 * top], stack[2 * top + 1]
        rows = end - begin
        visits += rows
        at_column, at_cell = top * width, top * cells
        # Typed constants: with a literal in one of their types, the functions below would be compiled twice.
        column, first, last = np.int64(-1), np.int64(0), np.int64(0)
        if rows >= splittable:
            widest, widest_loss = -1, -1.0
            kept = 0
            for i in range(actives[top]):
                j = active[at_column + i]
                a, z = least[at_column + j], most[at_column + j]
                at = at_cell + shape[j, START]
                while histogram[at + a] == 0:
                    a += 1
                while histogram[at + z] == 0:
                    z -= 1
                least[at_column + j], most[at_column + j] = a, z
                if a < z:
                    active[at_column + kept] = j
                    kept += 1
                    widths[j] = range_loss(losses, j, a, z)
                    if widths[j] > widest_loss:
                        widest, widest_loss = j, widths[j]
            actives[top] = kept
            best, middle_loss, middle_column, middle_last = 0.0, -1.0, -1, 0
            # The widest column comes first: its gain often rules out the others without a visit.
            for turn in range(-1 if kept else 0, kept):
                j = active[at_column + turn] if turn >= 0 else widest
                if turn >= 0 and (j == widest or rows * widths[j] < best):
                    continue
                a, z = least[at_column + j], most[at_column + j]
                at = at_cell + shape[j, START]
                found = np.int64(0)
                for code in range(np.uint64(a), np.uint64(z + 1)):
                    values[found], counts[found] = code, histogram[np.uint64(at) + code]
                    found += 1 if counts[found] > 0 else 0
                gain, a, z, middle, whole = weigh(
                    losses, j, values, counts, found, rows, k, strict, workspace.right
                )
                if not by_width and (gain > best or (gain == best and gain > 0.0 and j < column)):
                    best, column, first, last = gain, j, a, z
                if middle >= 0 and (whole > middle_loss or (whole == middle_loss and j < middle_column)):
                    middle_loss, middle_column, middle_last = whole, j, middle
            if column < 0 and middle_column >= 0:
                column, first, last = middle_column, least[at_column + middle_column], middle_last
        if column < 0:
            region = state[2]
            for j in range(width):
                low[region, j] = high[region, j] = codes[begin, j]
            for i in range(actives[top]):
                j = active[at_column + i]
                a = z = np.int64(codes[begin, j])
                for row in range(np.uint64(begin + 1), np.uint64(end)):
                    code = np.int64(codes[row, np.uint64(j)])
                    a, z = min(a, code), max(z, code)
                low[region, j], high[region, j] = lift(losses, j, a, z)
            for row in range(np.uint64(begin), np.uint64(end)):
                region_of[ids[row, np.uint64(id_at)]] = region
            state[0] -= 1
            state[2] += 1
            state[3] += rows
            continue
        inside = 0
        for code in range(first, last + 1):
            inside += histogram[at_cell + shape[column, START] + code]
        to = begin - half if begin >= half else begin + half
        _divide(codes, words, begin, end, column, first, last, to, to + inside)
        begin, end, middle = to, to + rows, to + inside
        if not strict:
            middle = _fill(codes, words, begin, middle, end, losses, k)
        # The larger side stays where its parent was, so the stack never holds more than log2(rows) nodes, and
        # its histogram is the parent's without the rows of the smaller side.
        small, small_end, large = (
            (begin, middle, end - middle) if 2 * middle <= begin + end else (middle, end, middle - begin)
        )
        stack[2 * top], stack[2 * top + 1] = (middle, end) if small == begin else (begin, middle)
        stack[2 * top + 2], stack[2 * top + 3] = small, small_end
        state[0] += 1
        actives[top + 1] = actives[top]
        for i in range(actives[top]):
            j = active[at_column + i]
            active[at_column + width + i] = j
            a, z = least[at_column + j], most[at_column + j]
            least[at_column + width + j], most[at_column + width + j] = a, z
            if small_end - small >= splittable:
                at = at_cell + cells + shape[j, START]
                for cell in range(at + a, at + z + 1):
                    histogram[cell] = 0
        if large < splittable:
            continue
        many = actives[top]
        for i in range(many):
            columns[i] = active[at_column + i]
            places[i] = at_cell + shape[columns[i], START]
        if small_end - small < splittable:
            # This side will not be split: only remove its few rows from the parent's histogram.
            for row in range(np.uint64(small), np.uint64(small_end)):
                for i in range(many):
                    histogram[places[i] + codes[row, columns[i]]] -= 1
            continue
        for i in range(many):
            places[i] += np.uint64(cells)
        for row in range(np.uint64(small), np.uint64(small_end)):
            for i in range(many):
                histogram[places[i] + codes[row, columns[i]]] += 1
        for i in range(actives[top]):
            j = active[at_column + i]
            at = at_cell + shape[j, START]
            for cell in range(at + least[at_column + j], at + most[at_column + j] + 1):
                histogram[cell] -= histogram[cell + cells]


@njit(cache=True, nogil=True)
def try_cuts(codes, words, ids, begins, ends, column, first, last, losses, k, strict):
    """Split each node ``begins[i]..ends[i]`` by one cut; the node moves to the other half of the matrix, so `begins`
    and `ends` change. Return where the second sides begin, and for all rows of these nodes, one node after the
    other, the table's row and the number of its side: 2i and 2i + 1 for node i. O(rows).
    """
    half = len(words) // 2
    id_at = ids.shape[1] - 1
    total = 0
    for i in range(len(begins)):
        total += ends[i] - begins[i]
    middles = np.empty(len(begins), np.int64)
    rows = np.empty(total, np.int32)
    sides = np.empty(total, np.int32)
    at = 0
    for i in range(len(begins)):
        begin, end, j, a, z = begins[i], ends[i], np.int64(column[i]), np.int64(first[i]), np.int64(last[i])
        inside = 0
        for row in range(begin, end):
            inside += 1 if codes[row, j] >= a and codes[row, j] <= z else 0
        to = begin - half if begin >= half else begin + half
        _divide(codes, words, begin, end, j, a, z, to, to + inside)
        begins[i], ends[i], middles[i] = to, to + end - begin, to + inside
        if not strict:
            middles[i] = _fill(codes, words, to, to + inside, to + end - begin, losses, k)
        for row in range(begins[i], ends[i]):
            rows[at] = ids[row, id_at]
            sides[at] = 2 * i + (1 if row >= middles[i] else 0)
            at += 1
    return middles, rows, sides
