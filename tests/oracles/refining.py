"""Plain twins of the kernels in `shoal/kernels/refining.py`, written to be read and not to be fast."""

from __future__ import annotations

from tests.oracles.expansion import _closure, _smallest_cell
from tests.oracles.followed import _covers


def refine(codes, weight, slots, low, high, covered, first, last, skip, box, losses, k, hand, begin, end):
    """The same steps as the kernel, on lists of all rows; rows must be few."""
    rows = [tuple(row) for row in codes.tolist()]
    saved = 0

    def price(*ranges):
        closure = _closure(losses, ranges)
        return float("inf") if closure is None else closure[2]

    def count(cell):
        return sum(
            w for w, row in zip(weight.tolist(), rows, strict=True) if row in near and _covers(*cell, row)
        )

    def moved(cell, base, j, side, wider):
        """The cell with the next smaller or wider range in one column, None where there is none."""
        a, b = cell[0][j], cell[1][j]
        if losses.shape[j, 3] < 0:
            _, size, _, _, levels, start, _ = losses.shape[j].tolist()
            at = [start + level * size + base[0][j] for level in range(levels)]
            nodes = [(int(losses.first[x]), int(losses.last[x])) for x in at]
            if wider:
                options = [node for node in nodes if node[0] < a or node[1] > b][:1]
            else:
                options = [
                    n for n in nodes if n[1] >= base[1][j] and a <= n[0] and n[1] <= b and n != (a, b)
                ][-1:]
            options = options if side == 0 else []
        else:
            values = {row[j] for row in near}
            if wider:
                ends = [
                    max((v for v in values if v < a), default=a),
                    min((v for v in values if v > b), default=b),
                ]
            else:
                ends = [
                    min({v for v in values if v > a} | {base[0][j]}, default=a) if a < base[0][j] else a,
                    max({v for v in values if v < b} | {base[1][j]}, default=b) if b > base[1][j] else b,
                ]
            options = [(ends[0], b) if side == 0 else (a, ends[1])]
        for option in options:
            x, y, _ = _smallest_cell(losses, j, *option)
            if (x, y) != (a, b):
                return (*cell[0][:j], x, *cell[0][j + 1 :]), (*cell[1][:j], y, *cell[1][j + 1 :])
        return None

    def tightened(cell, base, fixed):
        while True:
            steps = [
                (price(*cell) - price(*smaller), smaller)
                for j in range(len(cell[0]))
                if j != fixed
                for side in range(2)
                if (smaller := moved(cell, base, j, side, False)) and count(smaller) >= k
            ]
            best = max((step[0] for step in steps), default=0)
            if best <= 0:
                return cell
            cell = next(smaller for gain, smaller in steps if gain == best)

    def traded(cell, base):
        cell, column, turns = tightened(cell, base, None), 0, 0
        while turns < len(cell[0]):
            turns += 1
            for side in range(2):
                wide = cell
                while turns and (wide := moved(wide, base, column, side, True)):
                    other = tightened(wide, base, column)
                    if price(*other) < price(*cell):
                        cell, turns = other, 0
            column = (column + 1) % len(cell[0])
        return cell

    def grown(cell):
        while count(cell) < k:
            others = [(price(*cell, row), row) for row in near if not _covers(*cell, row)]
            if not others or min(others)[0] == float("inf"):
                return None
            least = min(cost for cost, _ in others)
            cell = _closure(losses, [*cell, next(row for cost, row in others if cost == least)])[:2]
        return cell

    def put(slot, cell):
        for row in range(len(rows)):
            covered[row] += _covers(*cell, rows[row]) - _covers(low[slot], high[slot], rows[row])
        low[slot], high[slot] = cell

    owners = [(s, row) for row in range(begin, end) for s in range(slots[row], slots[row + 1])]
    for slot, u in owners:
        for turn in range(1 + hand):
            old = tuple(low[slot].tolist()), tuple(high[slot].tolist())
            inside = [row for row in range(len(rows)) if _covers(*old, rows[row])]
            relying = [rows[row] for row in inside if covered[row] <= k and row != u]
            if turn == 1 and not relying:
                continue
            base = _closure(losses, [rows[u], *relying] if turn == 0 else [rows[u]])[:2]
            near = [row for row in rows if price(*base, row) < price(*old)]
            near.sort(key=lambda row: price(*base, row))
            best = old
            for start in (grown(old), grown(base)) if price(*base) < price(*old) else ():
                made = start and traded(start, base)
                if made and price(*made) < price(*best):
                    best = made
            budget, before = price(*old) - price(*best), (low.copy(), high.copy(), covered.copy())
            put(slot, best)
            for v in inside if budget > 0 else ():
                if covered[v] >= k or budget <= 0:
                    continue
                nearest = sorted(range(len(rows)), key=lambda row: price(rows[row], rows[v]))
                heirs = [
                    (price(low[s], high[s], rows[v]) - price(low[s], high[s]), s)
                    for row in nearest
                    for s in range(slots[row], slots[row + 1])
                    if s != slot and not _covers(low[s], high[s], rows[v])
                ]
                least = min((cost for cost, _ in heirs), default=budget)
                if least >= budget:
                    budget = -1
                    break
                budget -= least
                heir = next(s for cost, s in heirs if cost == least)
                put(heir, _closure(losses, [low[heir].tolist(), high[heir].tolist(), rows[v]])[:2])
            if budget > 0:
                saved += budget
            else:
                low[:], high[:], covered[:] = before
    return saved
