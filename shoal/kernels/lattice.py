"""Mappings of full-domain generalization: rolling up packed rows, what a mapping drops, bounds over boxes.

A row is one or more 64-bit words with a bit field per column. The node that a code shows at a level is named by
its first code, which has room in the same field, so a mapping is rolled up from any of its specializations.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def roll_up(keys, weights, before, after, fields, single, table, rolled, slots, merged, total, numbers):
    """Merge rows that become equal when columns rise from levels `before` to levels `after`; return how many
    are left.

    ``fields[j]`` is word, shift, mask, start, size of column j: its code is ``(keys[word, row] >> shift) & mask``,
    and ``table[start + level * size + code]`` its node at a level; a level of one node (``single[j, level]``)
    needs no lookup. The rest are buffers: `merged` and `total` receive the keys and summed weights in order of
    first appearance, `numbers` row -> merged row; `rolled` and `slots` are scratch, `slots` of at least 65,536 and
    4 x rows entries. Expected O(rows x risen columns).
    """
    words, rows = keys.shape
    for w in range(words):
        keep = ~np.uint64(0)
        for j in range(len(fields)):
            if before[j] != after[j] and fields[j, 0] == w:
                keep &= ~(np.uint64(fields[j, 2]) << np.uint64(fields[j, 1]))
        for row in range(rows):
            rolled[w, row] = keys[w, row] & keep
    for j in range(len(fields)):
        if before[j] != after[j] and not single[j, after[j]]:
            source = keys[fields[j, 0]]
            target = rolled[fields[j, 0]]
            shift = np.uint64(fields[j, 1])
            mask = np.uint64(fields[j, 2])
            nodes = table[fields[j, 3] + after[j] * fields[j, 4] :]
            for row in range(rows):
                target[row] |= np.uint64(nodes[np.int64((source[row] >> shift) & mask)]) << shift
    golden = np.uint64(0x9E3779B97F4A7C15)
    one = np.uint64(1)
    bits = 10
    slots[: 1 << bits] = -1
    found = 0
    for row in range(rows):
        if 2 * found >= 1 << bits:
            bits += 2 if bits < 16 else 1
            slots[: 1 << bits] = -1
            for known in range(found):
                mixed = merged[0, known] * golden
                for w in range(1, words):
                    mixed = ((mixed ^ (mixed >> np.uint64(29))) + merged[w, known]) * golden
                at = mixed >> np.uint64(64 - bits)
                while slots[at] >= 0:
                    at = (at + one) & np.uint64((1 << bits) - 1)
                slots[at] = known
        key = rolled[0, row]
        mixed = key * golden
        for w in range(1, words):
            mixed = ((mixed ^ (mixed >> np.uint64(29))) + rolled[w, row]) * golden
        at = mixed >> np.uint64(64 - bits)
        while True:
            known = slots[at]
            if known < 0:
                slots[at] = found
                for w in range(words):
                    merged[w, found] = rolled[w, row]
                total[found] = weights[row]
                numbers[row] = found
                found += 1
                break
            if merged[0, known] == key:
                same = True
                for w in range(1, words):
                    same = same and merged[w, known] == rolled[w, row]
                if same:
                    total[known] += weights[row]
                    numbers[row] = known
                    break
            at = (at + one) & np.uint64((1 << bits) - 1)
    return found


@njit(cache=True, nogil=True)
def shortfall(keys, lost, levels, fields, gain, most):
    """Return how many rows are lost, and how much more it costs to drop than to show them.

    ``lost[g]`` rows of group g are dropped; ``gain[start + level * size + code]`` is the additional loss of a dropped
    row in this column. The second number is infinite if more than `most` rows are lost.
    O(groups + groups with losses x columns).
    """
    dropped = 0
    for g in range(len(lost)):
        dropped += lost[g]
    if dropped > most:
        return dropped, np.inf
    penalty = 0.0
    for g in range(len(lost)):
        if lost[g]:
            each = 0.0
            for j in range(len(fields)):
                code = (keys[fields[j, 0], g] >> np.uint64(fields[j, 1])) & np.uint64(fields[j, 2])
                each += gain[fields[j, 3] + levels[j] * fields[j, 4] + np.int64(code)]
            penalty += each * lost[g]
    return dropped, penalty


@njit(cache=True, nogil=True)
def raise_box(values, strides, low, high, floor):
    """Raise every value of a lattice inside the box of levels ``low..high`` to at least `floor`, in place.

    O(box), with the last column innermost.
    """
    columns = len(strides)
    at = low.copy()
    index = 0
    for j in range(columns):
        index += at[j] * strides[j]
    last = columns - 1
    while True:
        for step in range(high[last] - low[last] + 1):
            if values[index + step] < floor:
                values[index + step] = floor
        j = last - 1
        while j >= 0 and at[j] == high[j]:
            index -= (high[j] - low[j]) * strides[j]
            at[j] = low[j]
            j -= 1
        if j < 0:
            return
        at[j] += 1
        index += strides[j]


@njit(cache=True, nogil=True)
def next_open(order, at, least, more, most):
    """Return the first position in `order`, from `at` on, whose mapping has ``least + more`` of at most `most`.

    The length of `order` if there is none. O(positions passed).
    """
    while at < len(order) and least[order[at]] + more[order[at]] > most:
        at += 1
    return at


@njit(cache=True, nogil=True)
def smallest_below(known, sizes, count, levels):
    """Return which of the first `count` known mappings is a specialization of `levels` with the fewest groups."""
    best = -1
    for c in range(count):
        if best >= 0 and sizes[c] >= sizes[best]:
            continue
        below = True
        for j in range(len(levels)):
            if known[c, j] > levels[j]:
                below = False
                break
        if below:
            best = c
    return best
