"""Plain twins of the kernels in `shoal/kernels/ring.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np


def sort_by(codes, size, order):
    return np.array(sorted(order, key=lambda row: codes[row]), order.dtype)


def lexicographic_groups(codes, blocks, k):
    starts = []

    def cut(begin, end, column):
        if column == len(codes) or end - begin < 2 * k:
            starts.append(begin)
            return
        runs = [[begin]]
        for row in range(begin + 1, end):
            if codes[column, row] == codes[column, row - 1]:
                runs[-1].append(row)
            else:
                runs.append([row])
        at = 0
        while at < len(runs):
            own = runs[at]
            left = runs[at - 1] if at else []
            right = runs[at + 1] if at + 1 < len(runs) else []
            if len(own) >= k or not left + right:
                at += 1
            elif len(left + own) >= 2 * k:
                runs[at - 1 : at + 1] = [(left + own)[:-k], (left + own)[-k:]]
            elif len(own + right) >= 2 * k:
                runs[at : at + 2] = [(own + right)[:k], (own + right)[k:]]
            elif right and (not left or len(right) <= len(left)):
                runs[at : at + 2] = [own + right]
            else:
                runs[at - 1 : at + 1] = [left + own]
                at -= 1
        for run in runs:
            cut(run[0], run[-1] + 1, column + 1)

    for begin, end in pairwise(blocks):
        cut(int(begin), int(end), 0)
    return np.array([*starts, blocks[-1]], np.int64)


def window_sets(codes, starts, widths, size):
    set_of, sets = [], []
    for begin, end, width in zip(starts, starts[1:], widths, strict=False):
        part = codes[begin:end].tolist()
        for i in range(len(part)):
            shown = sorted({part[(i + step) % len(part)] for step in range(width)})
            if i == 0 or shown != sets[-1]:
                sets.append(shown)
            set_of.append(len(sets) - 1)
    begins = np.cumsum([0, *map(len, sets)])
    return np.array(set_of, np.int32), begins, np.array([code for own in sets for code in own], np.int32)


def number_lists(start, values):
    seen = {}
    lists = [tuple(values[a:b]) for a, b in pairwise(start)]
    numbers = [seen.setdefault(own, len(seen)) for own in lists]
    return np.array(numbers, np.int32), np.array([lists.index(own) for own in seen], np.int64)


def diverse_pieces(values, starts, least, target):
    order, cuts = [], [0]
    for begin, end in pairwise(starts):
        rest = list(range(begin, end))
        while rest:
            counts = {}
            for row in rest:
                counts[int(values[row])] = counts.get(int(values[row]), 0) + 1
            size = max(least, min(target, len(rest) - (max(counts.values()) - 1) * least))
            forced = {v for v, count in counts.items() if count * least > len(rest) - size}
            if len(forced) > size:
                size = least
                forced = {v for v, count in counts.items() if count * least > len(rest) - size}
            size = max(size, len(forced))
            piece = []
            for row in rest:
                inside = {int(values[other]) for other in piece}
                room = size - len(piece) > len(forced - inside)
                if len(piece) < size and values[row] not in inside and (room or values[row] in forced):
                    piece.append(row)
            order += piece
            cuts.append(len(order))
            rest = [row for row in rest if row not in piece]
    return np.array(order, np.int32), np.array(cuts, np.int64)


def diverse_groups(codes, values, blocks, k, least):
    starts = []

    def fine(rows):
        own = [int(values[row]) for row in rows]
        return len(own) >= k and max(own.count(v) for v in own) * least <= len(own)

    def cut(begin, end, column):
        if column == len(codes) or end - begin < 2 * k:
            starts.append(begin)
            return
        parts, hand = [], []
        for row in range(begin, end):
            hand.append(row)
            last = row + 1 == end
            if not last and codes[column, row] == codes[column, row + 1]:
                continue
            while last and parts and not fine(hand):
                hand = parts.pop() + hand
            if last or fine(hand):
                parts.append(hand)
                hand = []
        for part in parts:
            pure = codes[column, part[0]] == codes[column, part[-1]]
            cut(part[0], part[-1] + 1, column + 1 if pure else len(codes))

    for begin, end in pairwise(blocks):
        cut(int(begin), int(end), 0)
    return np.array([*starts, blocks[-1]], np.int64)
