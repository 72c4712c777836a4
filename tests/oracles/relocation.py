"""Plain twins of the kernels in `shoal/kernels/relocation.py`, written to be read and not to be fast."""

from __future__ import annotations

from tests.oracles.losses import _level, range_loss


def _box_changes(members, k, most, noise, losses):
    """All changes one box may make, as (ratio, kind, column, first, last, cells); members are (codes, true, id)."""
    total = len(members)
    for j in range(len(losses.shape)):
        held = sorted(codes[j] for codes, _, _ in members)
        values = sorted(set(held))
        if len(values) == 1:
            continue
        whole = range_loss(losses, j, values[0], values[-1])
        for a, first in enumerate(values):
            for last in reversed(values[a:]):
                inside = [m for m in members if first <= m[0][j] <= last]
                cells = sum(m[0][j] == m[1][j] for m in members if not first <= m[0][j] <= last)
                if 2 * len(inside) < total or cells > most:
                    continue
                part = range_loss(losses, j, first, last)
                # Does the node that is shown hold more of the box's values than asked for?
                if losses.shape[j, 3] < 0 and first != last:
                    wider = [
                        v
                        for v in values
                        if not first <= v <= last
                        and range_loss(losses, j, min(v, first), max(v, last)) == part
                        and _same_node(losses, j, first, last, v)
                    ]
                    if wider:
                        continue
                yield total * (whole - part) / max(cells, 1) * noise[j], 0, j, first, last, cells
        for z in range(len(values) - 1) if k and total >= 2 * k else ():
            left = sum(code <= values[z] for code in held)
            lack = k - min(left, total - left)
            if 0 < lack <= most:
                into = left + lack if 2 * left < total else left - lack
                gain = into * (whole - range_loss(losses, j, values[0], values[z]))
                gain += (total - into) * (whole - range_loss(losses, j, values[z + 1], values[-1]))
                yield gain / lack * noise[j], 1, j, values[0], values[z], lack


def _same_node(losses, j, first, last, value):
    """Whether a value lies under the lowest node over a range."""
    nodes, level = _level(losses, j, first, last)
    return bool(nodes[level, value] == nodes[level, first])


def relocate_cells(codes, true, ids, begins, ends, boxes, k, cells, limit, noise, losses, workspace):
    """Keep boxes as lists of (codes, true codes, id), and always make the change with the best ratio of all."""
    work = [
        [(tuple(codes[r].tolist()), tuple(true[r].tolist()), int(ids[r])) for r in range(begins[b], ends[b])]
        for b in range(boxes)
    ]
    closed, used = set(), 0

    def untrue(box):
        return sum(now != own for now, own, _ in box)

    def statistic(some):
        return sum(untrue(box) + untrue(box) ** 2 / (len(box) - untrue(box)) for box in some)

    def best(b):
        found = (0.0, None)
        for ratio, *change in _box_changes(work[b], k, cells - used, noise[b], losses):
            if ratio > found[0] * (1 + 1e-12):
                found = ratio, change
        return found

    # What a box would do is looked up again only when it has changed, or can no longer afford it.
    plans = {b: best(b) for b in range(boxes)}
    while True:
        open_boxes = [b for b in range(len(work)) if b not in closed and plans[b][1]]
        if not open_boxes:
            break
        b = max(open_boxes, key=lambda b: (plans[b][0], -b))
        kind, j, first, last, price = plans[b][1]
        if used + price > cells:
            plans[b] = best(b)
            continue
        box = work[b]
        if kind == 0:
            parts = [[(_clamped(now, j, first, last), own, i) for now, own, i in box]]
        else:
            ranked = sorted(box, key=lambda member: member[0][j])
            middle = sum(now[j] <= last for now, _, _ in ranked)
            forward = 2 * middle < len(box)
            moved = range(middle, middle + price) if forward else range(middle - price, middle)
            value = ranked[middle - 1][0][j] if forward else ranked[middle][0][j]
            price = sum(ranked[r][0][j] == ranked[r][1][j] for r in moved)
            changed = [
                (_clamped(now, j, value, value), own, i) if r in moved else (now, own, i)
                for r, (now, own, i) in enumerate(ranked)
            ]
            new = moved.stop if forward else moved.start
            parts = [changed[:new], changed[new:]]
        others = [other for c, other in enumerate(work) if c != b]
        if any(untrue(part) == len(part) for part in parts) or statistic(others + parts) > limit + 1e-9:
            closed.add(b)
            if kind == 1:
                work[b] = ranked
            continue
        used += price
        work[b] = parts[0]
        if kind == 1:
            work.append(parts[1])
            plans[len(work) - 1] = best(len(work) - 1)
        plans[b] = best(b)
    return [sorted((i, now) for now, _, i in box) for box in work], used, statistic(work)


def _clamped(codes, j, first, last):
    return (*codes[:j], min(max(codes[j], first), last), *codes[j + 1 :])
