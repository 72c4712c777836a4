"""Which published regions cover which people."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit
from shoal.kernels.losses import NODES, ORDERED, SIZE, range_loss

NOTHING = -1e-9
"""A cut may gain nothing, but must not lose more than this."""


@njit(cache=True, nogil=True)
def regions_of_people(low, high, codes):
    """Return for each person the regions that cover all their codes, as ``region[start[i]:start[i + 1]]``.

    O(people x regions), and little more than one comparison for most pairs.
    """
    people, columns = codes.shape
    start = np.zeros(people + 1, np.int64)
    region = np.empty(max(people, 16), np.int32)
    found = 0
    for i in range(people):
        for r in range(len(low)):
            inside = True
            for j in range(columns):
                if codes[i, j] < low[r, j] or codes[i, j] > high[r, j]:
                    inside = False
                    break
            if inside:
                if found == len(region):
                    larger = np.empty(2 * found, np.int32)
                    larger[:found] = region
                    region = larger
                region[found] = r
                found += 1
        start[i + 1] = found
    return start, region[:found].copy()


@njit(cache=True, nogil=True)
def class_totals(keys, people, rows):
    """Sum people and rows over equal keys; one entry per key, in order of first appearance. Expected O(keys)."""
    bits = 4
    while (1 << bits) < 2 * len(keys):
        bits += 1
    slots = np.full(1 << bits, -1, np.int32)
    mask = np.uint64((1 << bits) - 1)
    first = np.empty(len(keys), np.int64)
    all_people = np.zeros(len(keys), np.int64)
    all_rows = np.zeros(len(keys), np.int64)
    found = 0
    for i in range(len(keys)):
        at = (np.uint64(keys[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits)
        while slots[at] >= 0 and first[slots[at]] != keys[i]:
            at = (at + np.uint64(1)) & mask
        known = slots[at]
        if known < 0:
            known = found
            slots[at] = found
            first[found] = keys[i]
            found += 1
        all_people[known] += people[i]
        all_rows[known] += rows[i]
    return all_people[:found].copy(), all_rows[:found].copy()


@njit(cache=True, nogil=True)
def cut_boxes(codes, people, rows, order, ends, losses, low, high):
    """Split boxes of tuples as long as rows divided by people stay within ``[low, high]`` in every new box; take the
    cut with the highest gain.

    ``order[ends[b - 1]:ends[b]]`` are the tuples of box b; `order` is changed. A tree is split into the children of the
    lowest node over the box, a free range in two. Return where boxes begin in `order`, where they end, in the order in
    which they were finished, and the number of cuts.
    O(tuples x columns) for each level of boxes.
    """
    columns = codes.shape[1]
    largest = 1
    for j in range(columns):
        largest = max(largest, losses.shape[j, SIZE])
    inside = np.zeros(largest, np.int64)
    covered = np.zeros(largest, np.int64)
    piece_of = np.zeros(largest, np.int64)
    best_piece_of = np.zeros(largest, np.int64)
    spare = np.empty(len(order), np.int64)
    room = np.zeros(largest + 2, np.int64)
    # Boxes that are open never overlap and are not empty.
    stack_from = np.empty(len(order) + 1, np.int64)
    stack_to = np.empty(len(order) + 1, np.int64)
    done_from = np.empty(len(order) + 1, np.int64)
    done_to = np.empty(len(order) + 1, np.int64)
    open_ = 0
    done = 0
    cuts = 0
    begin = 0
    for b in range(len(ends)):
        stack_from[open_] = begin
        stack_to[open_] = ends[b]
        begin = ends[b]
        open_ += 1
    while open_ > 0:
        open_ -= 1
        start = stack_from[open_]
        stop = stack_to[open_]
        total_in = 0
        total = 0
        for i in range(start, stop):
            total_in += rows[order[i]]
            total += people[order[i]]
        best_gain = NOTHING
        best_column = -1
        best_pieces = 0
        for j in range(columns if total_in > 0 else 0):
            size, ordered = losses.shape[j, SIZE], losses.shape[j, ORDERED]
            free = ordered >= 0
            first = codes[order[start], j]
            last = first
            for i in range(start + 1, stop):
                code = codes[order[i], j]
                first = min(first, code)
                last = max(last, code)
            if first == last:
                continue
            whole = range_loss(losses, j, first, last)
            for code in range(first, last + 1):
                inside[code] = 0
                covered[code] = 0
            for i in range(start, stop):
                code = codes[order[i], j]
                inside[code] += rows[order[i]]
                covered[code] += people[order[i]]
            if free and last < ordered:
                # The best of all allowed cuts between two values that are present.
                left_in = 0
                left = 0
                chosen = -1
                chosen_gain = NOTHING
                previous = first
                for code in range(first, last + 1):
                    if covered[code] == 0:
                        continue
                    if code > first:
                        right_in = total_in - left_in
                        right = total - left
                        if (
                            low * left - 1e-9 * left <= left_in <= high * left + 1e-9 * left
                            and low * right - 1e-9 * right <= right_in <= high * right + 1e-9 * right
                        ):
                            gain = left_in * (whole - range_loss(losses, j, first, previous))
                            gain += right_in * (whole - range_loss(losses, j, code, last))
                            if gain > chosen_gain:
                                chosen_gain = gain
                                chosen = code
                    left_in += inside[code]
                    left += covered[code]
                    previous = code
                if chosen >= 0 and chosen_gain > best_gain:
                    best_gain = chosen_gain
                    best_column = j
                    best_pieces = 2
                    for code in range(first, last + 1):
                        best_piece_of[code] = 1 if code >= chosen else 0
                continue
            # The level below the lowest node over the box.
            at = losses.shape[j, NODES]
            if not free:
                while losses.last[at + first] < last:
                    at += size
                at -= size
            pieces = 0
            gain_in = 0.0
            allowed = True
            code = first
            while code <= last and allowed:
                # One new box: a child, or all ordered values, or a value beyond them.
                if free:
                    to = min(ordered - 1, last) if code < ordered else np.int64(code)
                else:
                    to = min(np.int64(losses.last[at + code]), np.int64(last))
                piece_in = 0
                piece = 0
                lowest = -1
                highest = -1
                for c in range(code, to + 1):
                    piece_of[c] = pieces
                    piece_in += inside[c]
                    piece += covered[c]
                    if covered[c] > 0:
                        highest = c
                        if lowest < 0:
                            lowest = c
                if piece > 0:
                    # The cell shows a child as a whole.
                    lost = range_loss(losses, j, lowest, highest)
                    if not free:
                        lost = range_loss(losses, j, losses.first[at + code], losses.last[at + code])
                    if piece_in < low * piece - 1e-9 * piece or piece_in > high * piece + 1e-9 * piece:
                        allowed = False
                    gain_in += piece_in * (whole - lost)
                    pieces += 1
                code = to + 1
            if allowed and pieces > 1 and gain_in > best_gain:
                best_gain = gain_in
                best_column = j
                best_pieces = pieces
                for c in range(first, last + 1):
                    best_piece_of[c] = piece_of[c]
        if best_column < 0:
            done_from[done] = start
            done_to[done] = stop
            done += 1
            continue
        cuts += 1
        for p in range(best_pieces + 1):
            room[p] = 0
        for i in range(start, stop):
            room[best_piece_of[codes[order[i], best_column]] + 1] += 1
        for p in range(best_pieces):
            room[p + 1] += room[p]
        for p in range(best_pieces):
            stack_from[open_] = start + room[p]
            stack_to[open_] = start + room[p + 1]
            open_ += 1
        for i in range(start, stop):
            p = best_piece_of[codes[order[i], best_column]]
            spare[start + room[p]] = order[i]
            room[p] += 1
        for i in range(start, stop):
            order[i] = spare[i]
    return done_from[:done].copy(), done_to[:done].copy(), cuts
