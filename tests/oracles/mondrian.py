"""Plain twins of the kernels in `shoal/kernels/mondrian.py`, written to be read and not to be fast."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.cuts import _mondrian_cuts
from tests.oracles.losses import lift, range_loss


def _mondrian_sides(members, cut, losses, k, strict):
    """Both sides of a cut of `members` = (codes, id), filled up to k rows unless strict."""
    j, first, last = cut
    front = [member for member in members if first <= member[0][j] <= last]
    back = [member for member in members if not first <= member[0][j] <= last]
    while not strict and min(len(front), len(back)) < k:
        small, large, nearest = (front, back, 0) if len(front) < k else (back, front, -1)
        shown = large[:64] if nearest == 0 else large[-64:][::-1]

        def joint_loss(member, small=small):
            columns = [[codes[i] for codes, _ in [*small, member]] for i in range(len(losses.shape))]
            return sum(range_loss(losses, i, min(c), max(c)) for i, c in enumerate(columns))

        best = large.index(min(shown, key=joint_loss))
        large[best], large[nearest] = large[nearest], large[best]
        if nearest == 0:
            front.append(back.pop(0))
        else:
            back.insert(0, front.pop())
    return front, back


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
    def descend(members):
        cuts = _mondrian_cuts([row for row, _ in members], losses, k, strict, by_width)
        if cuts and len(members) > enough:
            for side in _mondrian_sides(members, cuts[0], losses, k, strict):
                descend(side)
            return
        region = workspace.state[2]
        for _, row_id in members:
            region_of[row_id] = region
        for j in range(len(losses.shape)):
            present = [row[j] for row, _ in members]
            low[region, j], high[region, j] = lift(losses, j, min(present), max(present))
        workspace.state[2] += 1
        workspace.state[3] += len(members)

    for begin, end in pairwise(blocks):
        descend([(tuple(codes[i, : len(losses.shape)].tolist()), int(ids[i, -1])) for i in range(begin, end)])


def try_cuts(codes, words, ids, begins, ends, column, first, last, losses, k, strict):
    half = len(words) // 2
    middles, rows, sides = [], [], []
    for i in range(len(begins)):
        members = [
            (tuple(codes[row, : len(losses.shape)].tolist()), int(ids[row, -1]))
            for row in range(begins[i], ends[i])
        ]
        source = {int(ids[row, -1]): words[row].copy() for row in range(begins[i], ends[i])}
        cut = (column[i], first[i], last[i])
        front, back = _mondrian_sides(members, cut, losses, k, strict)
        shift = -half if begins[i] >= half else half
        begins[i] += shift
        ends[i] += shift
        for at, (_, row_id) in enumerate(front + back):
            words[begins[i] + at] = source[row_id]
            rows.append(row_id)
            sides.append(2 * i + (at >= len(front)))
        middles.append(begins[i] + len(front))
    return np.array(middles, np.int64), np.array(rows, np.int32), np.array(sides, np.int32)
