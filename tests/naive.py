"""Plain references: one same-named twin for every kernel, written to be read and not to be fast."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np


def distinct(matrix):
    seen = {}
    numbers = [seen.setdefault(tuple(row), len(seen)) for row in matrix.tolist()]
    first = [numbers.index(number) for number in range(len(seen))]
    return np.array(numbers, np.int32), np.array(first, np.int64)


def distinct_rows(columns, rows=None):
    cells = list(zip(*(column.tolist() for column in columns), strict=True)) if columns else [()] * rows
    seen = {}
    numbers = [seen.setdefault(row, len(seen)) for row in cells]
    return np.array(numbers, np.int32), np.array(
        [numbers.index(number) for number in range(len(seen))], np.int64
    )


def pack(keys, values, lowest, span):
    keys[:] = [int(key) * span + int(value) - lowest for key, value in zip(keys, values, strict=True)]


def number(keys):
    return distinct(np.asarray(keys).reshape(-1, 1))


def histograms(group_of, groups, codes, weights):
    start, value, count = [0], [], []
    for g in range(groups):
        inside = {}
        for number, code, weight in zip(group_of, codes, weights, strict=True):
            if number == g:
                inside[int(code)] = inside.get(int(code), 0) + int(weight)
        for code in sorted(inside):
            value.append(code)
            count.append(inside[code])
        start.append(len(value))
    return np.array(start, np.int64), np.array(value, np.int32), np.array(count, np.int64)


def merge_histograms(start, value, count, numbers, groups, codes):
    group_of = np.repeat(numbers, np.diff(start))
    return histograms(group_of, groups, value, count)


def kept_histograms(start, value, count, good):
    kept = [g for g in range(len(good)) if good[g]]
    pieces = [slice(start[g], start[g + 1]) for g in kept]
    ends = np.cumsum([0, *(start[g + 1] - start[g] for g in kept)])
    return (
        np.array(ends, np.int64),
        np.array([code for piece in pieces for code in value[piece]], np.int32),
        np.array([number for piece in pieces for number in count[piece]], np.int64),
    )


def bounds(codes, group_of, groups):
    members = [
        [code for code, g in zip(codes, group_of, strict=True) if g == wanted] for wanted in range(groups)
    ]
    low = [min(m, default=np.iinfo(np.int32).max) for m in members]
    high = [max(m, default=-1) for m in members]
    return np.array(low, np.int32), np.array(high, np.int32)


def group_sizes(group_of, groups, weights):
    return np.array(
        [
            sum(int(w) for g, w in zip(group_of, weights, strict=True) if g == wanted)
            for wanted in range(groups)
        ],
        np.int64,
    )


def top_counts(start, count, many):
    runs = [sorted(count[a:b].tolist(), reverse=True) for a, b in pairwise(start)]
    largest = [max(run, default=0) for run in runs]
    return np.array(largest, np.int64), np.array([sum(run[:many]) for run in runs], np.int64)


def group_entropies(start, count, size):
    entropies = []
    for g in range(len(size)):
        shares = [c / size[g] for c in count[start[g] : start[g + 1]]]
        entropies.append(-sum(share * np.log(share) for share in shares))
    return np.array(entropies, np.float64)


def level_distances(start, value, count, size, low, totals):
    """Li et al. 2007: what each node has too much of is sent up; a node settles what its children can."""
    levels, codes = low.shape
    whole = int(sum(totals))
    distances = []
    for g in range(len(size)):
        if size[g] == 0 or whole == 0:
            distances.append(np.inf)
            continue
        inside = dict(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))
        extra = {
            code: Fraction(int(inside.get(code, 0)), int(size[g])) - Fraction(int(totals[code]), whole)
            for code in range(codes)
        }
        cost = Fraction(0)
        for level in range(1, levels + 1):
            children = {}
            for node, amount in extra.items():
                parent = int(low[level, node]) if level < levels else 0
                children.setdefault(parent, []).append(amount)
            for amounts in children.values():
                positive = sum(amount for amount in amounts if amount > 0)
                negative = -sum(amount for amount in amounts if amount < 0)
                cost += Fraction(level, levels) * min(positive, negative)
            extra = {parent: sum(amounts) for parent, amounts in children.items()}
        distances.append(float(cost))
    return np.array(distances)


def ordered_distances(start, value, count, size, totals):
    whole = int(sum(totals))
    places = [code for code in range(len(totals)) if totals[code] > 0]
    distances = []
    for g in range(len(size)):
        if size[g] == 0 or whole == 0:
            distances.append(np.inf)
            continue
        inside = dict(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))
        ahead, crossing = Fraction(0), Fraction(0)
        for code in places:
            ahead += Fraction(int(inside.get(code, 0)), int(size[g])) - Fraction(int(totals[code]), whole)
            crossing += abs(ahead)
        distances.append(float(crossing / max(len(places) - 1, 1)))
    return np.array(distances)


def roll_up(keys, weights, before, after, fields, single, table, rolled, slots, merged, total, numbers):
    seen = {}
    for row in range(keys.shape[1]):
        cells = [int(word) for word in keys[:, row]]
        for j, (word, shift, mask, start, size) in enumerate(fields.tolist()):
            if before[j] != after[j]:
                code = (int(keys[word, row]) >> shift) & mask
                node = 0 if single[j, after[j]] else int(table[start + after[j] * size + code])
                cells[word] += (node - code) << shift
        number = seen.setdefault(tuple(cells), len(seen))
        if number == len(seen) - 1 and number not in numbers[:row]:
            merged[:, number], total[number] = cells, 0
        numbers[row] = number
        total[number] += weights[row]
    return len(seen)


def small_groups(weights, k):
    lost = np.array([0 if weight >= k else weight for weight in weights], np.int64)
    return np.array([weight >= k for weight in weights], np.bool_), lost, int(lost.sum())


def lost_rows(weights, good, kept):
    kept = iter(kept)
    lost = np.array([w - (next(kept) if g else 0) for w, g in zip(weights, good, strict=True)], np.int64)
    return lost, int(lost.sum())


def shortfall(keys, lost, levels, fields, gain, most):
    penalty = 0.0
    for g in range(len(lost)):
        for level, (word, shift, mask, start, size) in zip(levels, fields.tolist(), strict=True):
            code = (int(keys[word, g]) >> shift) & mask
            penalty += gain[start + level * size + code] * lost[g]
    dropped = int(sum(lost))
    return dropped, penalty if dropped <= most else np.inf


def least_shortfall(keys, lost, levels, fields, gains, counts, floors):
    own = least = 0.0
    for j, (word, shift, mask, _, _) in enumerate(fields.tolist()):
        level = int(levels[j])
        nodes = gains.nodes[gains.first[j, level] : gains.first[j, level + 1]].tolist()
        for below in range(level + 1):
            place = gains.place[j, level] + below * len(nodes)
            floors[j, below] = sum(
                int(lost[g]) * gains.least[place + nodes.index((int(keys[word, g]) >> shift) & mask)]
                for g in range(len(lost))
            )
        own += floors[j, level]
        least += min(floors[j, : level + 1])
    return int(sum(lost)), own, least


def raise_below(values, strides, levels, floors):
    for below in itertools.product(*(range(level + 1) for level in levels)):
        index = sum(int(level * stride) for level, stride in zip(below, strides, strict=True))
        values[index] = max(values[index], sum(floors[j, level] for j, level in enumerate(below)))


def climb_open(levels, top, strides, least, more, most):
    while True:
        higher = [j for j in range(len(levels)) if levels[j] < top[j]]
        at = {j: int(levels @ strides + strides[j]) for j in higher}
        higher = [j for j in higher if least[at[j]] + more[at[j]] <= most]
        if not higher:
            return
        levels[min(higher, key=lambda j: (least[at[j]], j))] += 1


def descend_open(levels, steps, strides, least, more, most):
    now, found = [int(level) for level in levels], []
    while True:
        index = sum(level * int(stride) for level, stride in zip(now, strides, strict=True))
        if least[index] + more[index] <= most:
            found.append(index)
        lower = [j for j, level in enumerate(now) if level]
        if not lower:
            return np.array(found, np.int64)
        now[max(lower, key=lambda j: (steps[j, now[j] - 1], -j))] -= 1


def raise_box(values, strides, low, high, floor):
    for levels in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        index = sum(int(level * stride) for level, stride in zip(levels, strides, strict=True))
        values[index] = max(values[index], floor)


def next_open(order, at, least, more, most):
    places = (p for p in range(at, len(order)) if least[order[p]] + more[order[p]] <= most)
    return next(places, len(order))


def smallest_below(known, sizes, count, levels):
    below = [c for c in range(count) if all(known[c] <= levels)]
    return min(below, key=lambda c: sizes[c], default=-1)


def level_keepable(start, value, count, size, low, totals, most):
    levels, whole = len(low), int(sum(totals))
    keep = []
    for g in range(len(size)):
        inside = list(zip(value[start[g] : start[g + 1]], count[start[g] : start[g + 1]], strict=True))

        def moved(rows, inside=inside):
            """At least this share of so many rows of the group is not where the table has it."""
            shared = Fraction(0)
            for level in range(levels):
                for node in {int(low[level, code]) for code, _ in inside}:
                    own = sum(int(c) for code, c in inside if low[level, code] == node)
                    table = sum(int(c) for code, c in enumerate(totals) if low[level, code] == node)
                    shared += min(Fraction(own, rows), Fraction(table, whole))
            return 1 - shared / levels

        keep.append(max((rows for rows in range(1, size[g] + 1) if moved(rows) <= most + 1e-8), default=0))
    return np.array(keep, np.int64)


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


def relocate_groups(keys, word, mask, before, k, cells, limit, most, draws, after, moves):
    """createHybrid by the book, group by group; see kernels/hybrid.py for the arguments."""
    random = iter(draws)
    size = {g: int(rows) for g, rows in enumerate(before)}
    own = dict(size)
    small = [g for g in size if 2 * size[g] <= k]
    big = [g for g in size if k / 2 < size[g] < k]
    full = [g for g in size if size[g] >= k]
    made = []

    def apart(a, b):
        return sum(
            (int(keys[w, a]) & int(m)) != (int(keys[w, b]) & int(m)) for w, m in zip(word, mask, strict=True)
        )

    def statistic():
        return sum((size[g] - int(before[g])) ** 2 / int(before[g]) for g in size)

    def chosen(g, candidates):
        if len(draws):
            number = next(random)
            return candidates[int(number * len(candidates))] if candidates else None
        return min(candidates, key=lambda c: apart(g, c), default=None)

    def move(source, target, rows):
        size[source], size[target] = size[source] - rows, size[target] + rows
        made.append((source, target, rows))
        if sum(r * apart(s, t) for s, t, r in made) > cells or statistic() > limit + 1e-9:
            made.pop()
            size[source], size[target] = size[source] + rows, size[target] - rows
            return False
        own[source] -= rows
        return True

    def work():
        for g in small:
            target = chosen(g, big or full)
            if target is None or not move(g, target, size[g]):
                return
            if target in big and size[target] >= k:
                big.remove(target)
                full.append(target)
        for g in big:
            need = k - size[g]
            donor = chosen(g, [c for c in full if size[c] > 2 * k - size[g] and own[c] >= need])
            if donor is None:
                return
            if len(draws):
                need += int(next(random) * (min(size[donor] - k, own[donor]) - need + 1))
            if not move(donor, g, need):
                return
            full.append(g)

    work()
    after[:] = [size[g] for g in range(len(before))]
    moves[: len(made)] = np.array(made, np.int64).reshape(len(made), 3)
    short = sum(rows for rows in size.values() if rows < k)
    return short <= most, len(made), sum(r * apart(s, t) for s, t, r in made), statistic()


def grow_classes(pool, losses, rules, workspace, patience):
    """One class after the other, everything counted anew at every step."""
    labels_of = [[int(label) for label in pool.labels[kind]] for kind in pool.kind]
    cells_of = [[int(code) for code in pool.codes[point]] for point in pool.point]
    demands = range(len(rules.p))
    demand_of = {label: d for labels in labels_of for d, label in enumerate(labels)}
    left = [int(count) for count in pool.left]
    drawn, owner, last, wanted = [], [], None, int(workspace.state[2])
    classes = 0

    def lost(atoms):
        columns = zip(*(cells_of[atom] for atom in atoms), strict=True)
        return sum(range_loss(losses, j, min(codes), max(codes)) for j, codes in enumerate(columns))

    def counted():
        rows = dict.fromkeys(demand_of, 0)
        for atom, count in enumerate(left):
            for label in labels_of[atom]:
                rows[label] += count
        return rows

    while sum(left) >= rules.k:
        wanted = min(wanted, sum(left) // rules.k)
        later = max(wanted - 1, 0) if rules.guarded else 0
        rest = sum(left) - rules.k
        rows = counted()

        def spare(d, later=later):
            return (
                sum(min(n, later) for label, n in counted().items() if demand_of[label] == d)
                - rules.p[d] * later
            )

        hardest = min(demands, key=lambda d: Fraction(int(spare(d)), int(rules.p[d])))
        frequent = sum(demand_of[label] == hardest and n > later for label, n in rows.items())
        rare = rules.p[hardest] - frequent if later else 0
        members = []
        while True:
            inside = [label for atom in members for label in labels_of[atom]]
            lack = [
                int(rules.p[d]) - len({label for label in inside if demand_of[label] == d}) for d in demands
            ]
            missing = any(short > 0 for short in lack)
            if len(members) >= rules.k and not missing:
                break
            rows = counted()
            spares = [spare(d) for d in demands]

            def worth(
                label, inside=inside, lack=lack, missing=missing, rows=rows, spares=spares, later=later,
                rare=rare, rest=rest, hardest=hardest,
            ):  # fmt: skip
                d = demand_of[label]
                scarce = rows[label] <= later
                if inside.count(label) >= rules.most[label] or (scarce and spares[d] < 1):
                    return None
                points = 0
                if label not in inside:
                    extra = 0 if rules.guarded else 1
                    points = -extra if not missing else lack[d] * (len(lack) + 1) if lack[d] > 0 else extra
                    if missing and d == hardest and scarce and rare > 0 and lack[d] > 0:
                        points += 1 << 20
                if rules.share[label] <= 1 and rows[label] > rules.share[label] * rest + 1e-9:
                    points += 1 << 40
                return points

            scores = {}
            for atom, count in enumerate(left):
                points = [worth(label) for label in labels_of[atom]]
                if count and None not in points and (not missing or sum(points) > len(lack)):
                    scores[atom] = sum(points)
            if not scores:
                break
            best = [atom for atom in scores if scores[atom] == max(scores.values())]
            if members:
                chosen = min(best, key=lambda atom: (lost([*members, atom]), atom))
            else:
                away = rules.farthest and last is not None
                chosen = min(best, key=lambda atom: (-lost([last, atom]) if away else 0, atom))
                last = chosen
            new = labels_of[chosen][hardest] not in inside
            rare -= new and rows[labels_of[chosen][hardest]] <= later
            left[chosen] -= 1
            members.append(chosen)
        if len(members) >= rules.k and not missing:
            drawn += members
            owner += [classes] * len(members)
            classes += 1
        else:
            for atom in members:
                left[atom] += 1
            if later == 0:
                break
        wanted -= 1
    workspace.state[:2] = len(drawn), classes
    workspace.state[4] = 1
    workspace.atom[: len(drawn)], workspace.owner[: len(drawn)] = drawn, owner


def assign_to_classes(codes, labels, low, high, size, counts, share, losses):
    given = []
    for row in range(len(codes)):
        growth, strictly = [], []
        for c in range(len(size)):
            ends = list(zip(low[c], high[c], strict=True))
            before = sum(range_loss(losses, j, *pair) for j, pair in enumerate(ends))
            after = sum(
                range_loss(losses, j, min(*pair, codes[row, j]), max(*pair, codes[row, j]))
                for j, pair in enumerate(ends)
            )
            growth.append((size[c] + 1) * after - size[c] * before)
            inside = [counts[c, label] + 1 if counts.shape[1] else 0 for label in labels[row]]
            allowed = [
                n <= share[label] * (size[c] + 1) + 1e-9 for n, label in zip(inside, labels[row], strict=True)
            ]
            strictly.append(all(allowed))
        choices = [c for c in range(len(size)) if strictly[c]] or range(len(size))
        best = min(choices, key=lambda c: (growth[c], c))
        low[best], high[best] = np.minimum(low[best], codes[row]), np.maximum(high[best], codes[row])
        size[best] += 1
        if counts.shape[1]:
            counts[best, labels[row]] += 1
        given.append(best)
    return np.array(given, np.int32)


def gather_classes(codes, labels, demand_of, exchange, losses):
    for c in range(len(exchange.first)):
        own = np.flatnonzero(exchange.class_of == c)
        exchange.size[c] = len(own)
        exchange.loss[c] = _class_loss(codes, own, losses)
        inside = set(labels[own].ravel().tolist())
        for label in range(exchange.counts.shape[1]):
            exchange.counts[c, label] = int((labels[own] == label).sum())
        for d in range(exchange.different.shape[1]):
            exchange.different[c, d] = len({label for label in inside if demand_of[label] == d})


def _class_loss(codes, rows, losses):
    columns = codes[np.asarray(rows, int)].astype(int).T
    return sum(range_loss(losses, j, min(column), max(column)) for j, column in enumerate(columns))


def _class_cost(codes, rows, losses, even):
    return len(rows) * _class_loss(codes, rows, losses) + even * len(rows) ** 2 if len(rows) else 0.0


def _labels_suffice(labels, rows, p):
    return all(len(set(labels[rows, d].tolist())) >= p[d] for d in range(labels.shape[1]))


def _class_lists(exchange):
    return [np.flatnonzero(exchange.class_of == c).tolist() for c in range(len(exchange.first))]


def _cheapest_class(codes, classes, row, without, losses, even):
    """The class that costs least more with a row, the first of equals, and how much more."""
    found = []
    for b, own in enumerate(classes):
        if b != without:
            found.append(
                (_class_cost(codes, [*own, row], losses, even) - _class_cost(codes, own, losses, even), b)
            )
    return min(found)


def move_rows(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for row in order[begin:end]:
        classes = _class_lists(exchange)
        a = exchange.class_of[row]
        rest = [r for r in classes[a] if r != row]
        if len(rest) < k or not _labels_suffice(labels, rest, p) or len(classes) == 1:
            continue
        gain = _class_cost(codes, classes[a], losses, even) - _class_cost(codes, rest, losses, even) - 1e-9
        cost, b = _cheapest_class(codes, classes, row, a, losses, even)
        if cost < gain:
            exchange.class_of[row] = b
            saved += gain - cost
    return saved


def swap_rows(codes, labels, exchange, p, losses, order, begin, end):
    saved = 0.0
    for row in order[begin:end]:
        classes = _class_lists(exchange)
        a = exchange.class_of[row]
        rest = [r for r in classes[a] if r != row]
        if not rest or _class_loss(codes, rest, losses) >= _class_loss(codes, classes[a], losses):
            continue
        best, chosen = 1e-9, None
        for b, own in enumerate(classes):
            for come in own if b != a else []:
                mine, theirs = [*rest, come], [*(r for r in own if r != come), row]
                gain = _class_cost(codes, classes[a], losses, 0) + _class_cost(codes, own, losses, 0)
                gain -= _class_cost(codes, mine, losses, 0) + _class_cost(codes, theirs, losses, 0)
                if gain > best and _labels_suffice(labels, mine, p) and _labels_suffice(labels, theirs, p):
                    best, chosen = gain, (come, b)
        if chosen:
            exchange.class_of[row], exchange.class_of[chosen[0]] = chosen[1], a
            saved += best
    return saved


def narrow_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for a in order[begin:end]:
        for j, side in itertools.product(range(codes.shape[1]), range(2)):
            values = sorted({int(c) for c in codes[exchange.class_of == a, j]}, reverse=bool(side))
            for cut in values[:-1]:
                classes = _class_lists(exchange)
                beyond = [r for r in classes[a] if (codes[r, j] >= cut if side else codes[r, j] <= cut)]
                rest = [r for r in classes[a] if r not in beyond]
                if len(rest) < k or not beyond:
                    break
                if not _labels_suffice(labels, rest, p):
                    continue
                budget = _class_cost(codes, classes[a], losses, even) - 1e-9
                budget -= _class_cost(codes, rest, losses, even)
                classes[a] = rest
                for row in beyond:
                    if len(classes) > 1 and budget > 0:
                        cost, b = _cheapest_class(codes, classes, row, a, losses, even)
                        budget = budget - cost if cost < budget else -1.0
                        classes[b].append(row)
                    else:
                        budget = -1.0
                if budget > 0:
                    saved += budget
                    for b, own in enumerate(classes):
                        exchange.class_of[own] = b
    return saved


def widen_classes(codes, labels, exchange, p, k, even, losses, order, begin, end):
    saved = 0.0
    for b, j, side in itertools.product(order[begin:end], range(codes.shape[1]), range(2)):
        top = int(losses.shape[j, 1])
        for step in (2**i for i in range(40) if 2**i < 2 * top):
            classes = _class_lists(exchange)
            low, high = (getattr(codes[classes[b]].astype(int), end)(axis=0) for end in ("min", "max"))
            if side:
                high[j] = min(high[j] + step, top - 1)
            else:
                low[j] = max(low[j] - step, 0)
            wide = sum(range_loss(losses, c, low[c], high[c]) for c in range(len(low)))
            now = [_class_loss(codes, own, losses) for own in classes]
            if wide <= now[b] or wide == np.inf:
                continue
            ends = [lift(losses, c, low[c], high[c]) for c in range(len(low))]
            budget = -len(classes[b]) * (wide - now[b]) - 1e-9
            for row in range(len(codes)):
                a = next(c for c, own in enumerate(classes) if row in own)
                rest = [r for r in classes[a] if r != row]
                if a == b or now[a] <= wide or len(rest) < k or not _labels_suffice(labels, rest, p):
                    continue
                if all(first <= codes[row, c] <= last for c, (first, last) in enumerate(ends)):
                    gain = now[a] - wide + 2 * even * (len(classes[a]) - len(classes[b]) - 1)
                    if gain > 0:
                        budget += gain
                        classes[a] = rest
                        classes[b].append(row)
            if budget > 0:
                saved += budget
                for c, own in enumerate(classes):
                    exchange.class_of[own] = c
    return saved


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


# (k,1), (k,k), global (1,k): rows and the cells over them

NEVER = 1 << 60


def plant_boxes(codes, scale, cuts, starts):
    """A single leaf: every tree must give the same answers as this one."""
    if len(codes) == 0:
        nothing = np.zeros(0, np.int32)
        return nothing, nothing, nothing, nothing, np.zeros((0, 2 * codes.shape[1]), np.int32)
    box = np.concatenate([codes.min(axis=0), codes.max(axis=0)]).reshape(1, -1)
    one = np.ones(1, np.int32)
    return np.arange(len(codes), dtype=np.int32), 0 * one, len(codes) * one, one, box.astype(np.int32)


def _covers(low, high, row):
    return all(a <= code <= b for a, code, b in zip(low, row, high, strict=True))


def rows_inside(codes, first, last, skip, box, low, high):
    lists = [
        [row for row in range(len(codes)) if _covers(a, b, codes[row])]
        for a, b in zip(low, high, strict=True)
    ]
    start = np.cumsum([0, *map(len, lists)])
    return start.astype(np.int64), np.array([row for found in lists for row in found], np.int32)


def assign_units(start, links, supply, demand, order):
    """One unit after the other, each along any augmenting path."""
    flow = np.zeros(len(links), np.int64)
    source = np.repeat(np.arange(len(supply)), np.diff(start))

    def augment(g, seen):
        for edge in range(start[g], start[g + 1]):
            row = links[edge]
            if row in seen:
                continue
            seen.add(row)
            if flow[links == row].sum() < demand[row]:
                flow[edge] += 1
                return True
            for other in np.flatnonzero((links == row) & (flow > 0)):
                if augment(source[other], seen):
                    flow[other] -= 1
                    flow[edge] += 1
                    return True
        return False

    for g in order:
        for _ in range(supply[g]):
            augment(g, set())
    return flow


def _smallest_cell(losses, j, low, high):
    """First code, last code and loss of the smallest publishable cell over a range; None under a limit."""
    lost = range_loss(losses, j, low, high)
    return None if lost == np.inf else (*map(int, lift(losses, j, low, high)), lost)


def _closure(losses, rows):
    """Lows, highs and loss of the smallest cells over some rows; None where a limit keeps them apart."""
    cells = [
        _smallest_cell(losses, j, int(min(c)), int(max(c))) for j, c in enumerate(zip(*rows, strict=True))
    ]
    if None in cells:
        return None
    low, high, price = zip(*cells, strict=True)
    return low, high, sum(price)


def expand(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """All cells that each row may end with, since equally cheap steps are equally good."""
    rows = [tuple(int(code) for code in row) for row in codes]
    ends = []
    for row in rows[begin:end]:
        found, seen, waiting = set(), set(), [_closure(losses, [row])]
        while waiting:
            cell = waiting.pop()
            if cell[:2] in seen:
                continue
            seen.add(cell[:2])
            outside = [other for other in rows if not _covers(cell[0], cell[1], other)]
            if sum(w for w, other in zip(weight, rows, strict=True) if other not in outside) >= k:
                found.add(cell[:2])
                continue
            grown = [_closure(losses, [cell[0], cell[1], other]) for other in outside]
            grown = [c for c in grown if c is not None]
            best = min(c[2] for c in grown)
            waiting += [c for c in grown if c[2] <= best]
        ends.append(found)
    return ends


def join_nearest(codes, weight, first, last, skip, box, losses, k, begin, end, low, high):
    """All cells that each row may end with, since equally near rows are equally good."""
    rows = [tuple(int(code) for code in row) for row in codes]
    ends = []
    for row, own in list(zip(rows, weight, strict=True))[begin:end]:
        if own >= k:
            ends.append({(row, row)})
            continue
        pairs = [(_closure(losses, [row, other]), w, other) for other, w in zip(rows, weight, strict=True)]
        near = sorted((c[2], w, other) for c, w, other in pairs if c is not None and other != row)
        enough = next(i for i in range(len(near)) if own + sum(w for _, w, _ in near[: i + 1]) >= k)
        reach = near[enough][0]
        sure = [(w, other) for price, w, other in near if price < reach]
        ties = [(w, other) for price, w, other in near if price == reach]
        found = set()
        for size in range(1, len(ties) + 1):
            for some in itertools.combinations(ties, size):
                chosen = [*sure, *some]
                total = own + sum(w for w, _ in chosen)
                if total >= k > total - max(w for w, _ in some):
                    found.add(_closure(losses, [row, *(other for _, other in chosen)])[:2])
        ends.append(found)
    return ends


def hulls(slots, low, high, first, last, skip, losses):
    hull, costliest = [], []
    for a, b in zip(first, last, strict=True):
        own = slice(slots[a], slots[b])
        hull.append([*low[own].min(axis=0), *high[own].max(axis=0)])
        cells = zip(low[own].tolist(), high[own].tolist(), strict=True)
        prices_of = [
            [_smallest_cell(losses, j, *ends)[2] for j, ends in enumerate(zip(a, b, strict=True))]
            for a, b in cells
        ]
        costliest.append(np.max(prices_of, axis=0))
    return np.array(hull, np.int32), np.array(costliest)


def _added(losses, low, high, row):
    grown = _closure(losses, [low.tolist(), high.tolist(), [int(code) for code in row]])
    return None if grown is None else grown[2] - _closure(losses, [low.tolist(), high.tolist()])[2]


def _take_in(losses, low, high, row):
    low[:], high[:], _ = _closure(losses, [low.tolist(), high.tolist(), [int(code) for code in row]])


def cover_each(
    codes, slots, changed, low, high, covered, first, last, skip, box, hull, costliest, losses, k, begin, end
):
    grown = 0
    for u in range(begin, end):
        open_cells = [s for s in range(len(low)) if not _covers(low[s], high[s], codes[u])]
        costs = [(_added(losses, low[s], high[s], codes[u]), s) for s in open_cells]
        costs = sorted(cost for cost in costs if cost[0] is not None)
        for _, s in costs[: max(k - covered[u], 0)]:
            before = [_covers(low[s], high[s], row) for row in codes]
            _take_in(losses, low[s], high[s], codes[u])
            covered += np.array([_covers(low[s], high[s], row) for row in codes]) & ~np.array(before)
            grown += 1
    return grown


def join_components(
    codes, slots, owner, changed, low, high, over, over_start, region_of, within, within_start, component,
    first, last, skip, box, losses, k, look, who,
):  # fmt: skip
    grown = 0
    component = component.copy()
    gained = np.zeros(len(codes), int)
    for u in who:
        while True:
            mine = list(over[over_start[u] : over_start[u + 1]])
            matches = gained[u] + sum(component[owner[s]] == component[u] for s in mine)
            if matches >= k:
                break
            own = range(slots[u], slots[u + 1])
            steps = []
            others = {int(component[owner[s]]) for s in mine} - {int(component[u])}
            for v in [v for v in range(len(codes)) if component[v] in others]:
                gain = sum(component[owner[s]] == component[v] for s in mine)
                steps += [(_added(losses, low[s], high[s], codes[v]), gain, s, v, v) for s in own]
            for s in own:
                inside = within[within_start[region_of[s]] : within_start[region_of[s] + 1]]
                for v in inside.tolist():
                    gain = 1 + (component[u] != component[v]) * sum(
                        component[owner[c]] == component[v] for c in mine
                    )
                    for cell in range(slots[v], slots[v + 1]):
                        if not _covers(low[cell], high[cell], codes[u]):
                            steps.append((_added(losses, low[cell], high[cell], codes[u]), gain, cell, u, v))
            steps = [
                (Fraction(cost) / min(gain, k - matches), *rest)
                for cost, gain, *rest in steps
                if cost is not None
            ]
            if not steps:
                break
            _, cell, taken, v = min(steps)
            _take_in(losses, low[cell], high[cell], codes[taken])
            gained[taken] += 1
            component[component == component[v]] = component[u]
            grown += 1
    return grown


def beliefs(over_start, over, start, label, count, labels, own_start, own_label):
    fitting, top, own = [], [], []
    for i in range(len(over_start) - 1):
        seen = [0] * labels
        for c in over[over_start[i] : over_start[i + 1]]:
            for at in range(start[c], start[c + 1]):
                seen[label[at]] += int(count[at])
        fitting.append(sum(seen))
        top.append(max(seen))
        own += [seen[value] for value in own_label[own_start[i] : own_start[i + 1]]]
    return np.array(fitting), np.array(top), np.array(own)


def rows_loss(codes, members, losses):
    """The loss of the closure of some items."""
    return sum(
        range_loss(losses, j, codes[members, j].min(), codes[members, j].max()) for j in range(codes.shape[1])
    )


def cluster_distance(kind, union, loss_a, size_a, loss_b, size_b):
    if kind == 0:
        return (size_a + size_b) * union - size_a * loss_a - size_b * loss_b
    if kind == 1:
        return union - loss_a - loss_b
    if kind == 2:
        return (union - loss_a - loss_b) / np.log(size_a + size_b)
    if kind == 3:
        return union / (loss_a + loss_b + 0.1)
    return union - max(loss_a, loss_b)


def plant(codes, losses, leaf_size):
    """A tree that is one leaf: every search looks at everything."""
    from shoal.kernels.neighbours import Tree

    def one(value):
        return np.array([value], np.int64)

    floor, ceiling = codes.min(axis=0, keepdims=True), codes.max(axis=0, keepdims=True)
    leaf_of = np.zeros(len(codes), np.int64)
    ends = one(0), one(len(codes))
    tree = Tree(one(-1), one(-1), one(-1), *ends, floor.astype(np.int64), ceiling.astype(np.int64), leaf_of)
    return np.arange(len(codes)), tree


def agglomerate(codes, row_item, state, tree, losses, k, kind, modified, patience):
    """Algorithms 1 and 2 of Gionis, Mazza and Tassa as written; the state is only read at the start and written
    at the end. Equal rows start together; pairs go by distance, then newer cluster, then older cluster.
    """
    members = {}
    for c in range(int(state.counters[1])):
        if state.slot_of[c] != -1:
            row, members[c] = int(state.head[c]), []
            while row >= 0:
                members[c].append(row)
                row = int(state.next_row[row])
    live = [c for c in members if state.slot_of[c] >= 0]
    finished = [c for c in members if state.slot_of[c] == -2]
    new = int(state.counters[1])

    def loss(c):
        return rows_loss(codes, row_item[members[c]], losses)

    while True:
        pairs = []
        for b in live:
            for a in live:
                if a < b:
                    union = rows_loss(codes, row_item[members[a] + members[b]], losses)
                    if union < np.inf:
                        sizes = len(members[a]), len(members[b])
                        pairs.append(
                            (cluster_distance(kind, union, loss(a), sizes[0], loss(b), sizes[1]), b, a)
                        )
        if not pairs:
            break
        _, b, a = min(pairs)
        members[new] = members.pop(a) + members.pop(b)
        live = [c for c in live if c not in (a, b)]
        if len(members[new]) < k:
            live.append(new)
            new += 1
            continue
        ripe = new
        finished.append(ripe)
        new += 1
        while modified and len(members[ripe]) > k:
            rows = members[ripe]
            without = [rows_loss(codes, row_item[rows[:i] + rows[i + 1 :]], losses) for i in range(len(rows))]
            members[new] = [rows.pop(without.index(min(without)))]
            live.append(new)
            new += 1
    state.counters[:2] = 0, new
    state.slot_of[:] = -1
    for c in members:
        state.slot_of[c] = 0 if c in live else -2
        state.size[c], state.loss[c] = len(members[c]), loss(c)
        state.head[c] = members[c][0]
        for row, following in pairwise([*members[c], -1]):
            state.next_row[row] = following


def assign_to_clusters(codes, row_item, state, losses, kind, cluster_of):
    members = {}
    for c in range(int(state.counters[1])):
        if state.slot_of[c] != -1:
            row, members[c] = int(state.head[c]), []
            while row >= 0:
                members[c].append(row)
                row = int(state.next_row[row])
    finished = [c for c in members if state.slot_of[c] == -2]
    for c in members:
        cluster_of[members[c]] = c
    for c in members:
        for row in members[c] if state.slot_of[c] >= 0 else ():
            choices = []
            for other in finished:
                now = rows_loss(codes, row_item[members[other]], losses)
                union = rows_loss(codes, row_item[[*members[other], row]], losses)
                if union < np.inf:
                    distance = cluster_distance(kind, union, 0.0, 1, now, len(members[other]))
                    choices.append((distance, other))
            if choices:
                members[min(choices)[1]].append(row)
                cluster_of[row] = min(choices)[1]


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


def unlink(head, next_row, cluster_of):
    for c, row in enumerate(head):
        while row >= 0:
            cluster_of[row] = c
            row = next_row[row]


def nearest_items(codes, tree, losses, many):
    near = np.full((len(codes), many), -1, np.int64)
    loss = np.full((len(codes), many), np.inf)
    for item in range(len(codes)):
        others = [(rows_loss(codes, [item, other], losses), other) for other in range(len(codes))]
        others = sorted(pair for pair in others if pair[1] != item and pair[0] < np.inf)[:many]
        for at, (value, other) in enumerate(others):
            near[item, at], loss[item, at] = other, value
    return near, loss


def nearest_clusters(box, loss, size, wanted, losses, many):
    near = np.full((len(wanted), many), -1, np.int64)
    for at, c in enumerate(wanted):
        choices = []
        for other in range(len(box)):
            if other != c:
                ends = [f(box[c][i], box[other][i]) for i, f in enumerate((min, max) * len(losses.shape))]
                union = box_losses([ends], losses)[0]
                growth = (size[c] + size[other]) * union - size[c] * loss[c] - size[other] * loss[other]
                if growth < np.inf:
                    choices.append((growth, other))
        for place, (_, other) in enumerate(sorted(choices)[:many]):
            near[at, place] = other
    return near


def _chacha_words(block):
    """Endless words of ChaCha with 8 rounds, 16 per block; the counter in `block` moves on with every block."""
    full = 0xFFFFFFFF
    while True:
        x = [int(word) for word in block]

        def mix(a, b, c, d, x=x):
            for one, other, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[one] = (x[one] + x[other]) & full
                mixed = x[third] ^ x[one]
                x[third] = (mixed << turn | mixed >> (32 - turn)) & full

        for _ in range(4):
            for i in range(4):
                mix(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        words = [(a + int(b)) & full for a, b in zip(x, block, strict=True)]
        counter = (int(block[12]) | int(block[13]) << 32) + 1
        block[12], block[13] = counter & full, counter >> 32 & full
        yield from words


def _drawn(block, count):
    """At least `count` words, in whole blocks."""
    stream = _chacha_words(block)
    return [next(stream) for _ in range(-(-count // 16) * 16)]


def _drawn_below(block, bound):
    few = 2**32 - 2**32 % bound
    while True:
        for word in _drawn(block, 16):
            if word < few:
                return word % bound


def _shuffled_runs(block, runs):
    size = len(runs[0])
    words = _drawn(block, size * len(runs))
    for i, run in enumerate(runs):
        for last in range(size - 1, 0, -1):
            other = words[i * size + last] * (last + 1) >> 32
            run[last], run[other] = run[other], run[last]


def draw_assignments(starts, degrees, sampled, block, owner):
    for begin, end, d, some in zip(starts, starts[1:], degrees, sampled, strict=False):
        m, d, some = int(end - begin), int(d), int(some)
        if d == 1:
            owner[begin:end] = range(begin, end)
            continue
        if m == d:
            turn = _drawn_below(block, m)
            people = [(j + turn) % m for j in range(m)]
            _shuffled_runs(block, [people])
            owner[begin:end] = [begin + person for person in people]
            continue
        offsets = list(range(d))
        if some < d:
            turn = _drawn_below(block, d)
            offsets = [(s + turn) % d for s in range(d)]
            _shuffled_runs(block, [offsets])
            offsets = sorted(offsets[:some])
        right = [[(j + s) % m for s in offsets] for j in range(m)]
        d = len(offsets)
        while d > 1:
            if d % 2 == 0:
                right = _half(block, right)
            else:
                matching = _random_matching(block, right)
                if _drawn_below(block, d) == 0:
                    right = [[people[s]] for people, s in zip(right, matching, strict=True)]
                else:
                    right = [people[:s] + people[s + 1 :] for people, s in zip(right, matching, strict=True)]
            d = len(right[0])
        turn = _drawn_below(block, m)
        for j in range(m):
            owner[begin + (j + turn) % m] = begin + (right[j][0] + turn) % m


def _in_runs(own, words, key):
    """Neighbours with one key are shuffled; of odd runs the last goes behind that of the next odd run."""
    ordered, odd = [], []
    for _, run in groupby(zip(own, words, strict=True), key=lambda pair: key(pair[0])):
        values, chances = (list(part) for part in zip(*run, strict=True))
        for last in range(len(values) - 1, 0, -1):
            other = chances[last] * (last + 1) >> 32
            values[last], values[other] = values[other], values[last]
        if len(values) % 2:
            odd.append(values.pop())
        ordered += values
        if len(odd) == 2:
            ordered += odd
            odd = []
    return ordered


def _coins(block):
    while True:
        yield from [word >> bit & 1 for word in _drawn(block, 16) for bit in range(32)]


def _half(block, right):
    """Pair edges at both ends at random, walk the closed trails, and keep each second edge."""
    m, d = len(right), len(right[0])
    paired, waiting, right = {}, {}, [list(people) for people in right]
    span = 2048 if d <= 32 else 32
    for first in range(0, m, span):
        own = range(first, min(first + span, m))
        words, more = _drawn(block, len(own) * d), iter(_drawn(block, len(own) * d))
        met = {person: [] for j in own for person in right[j]}
        for j in own:
            begin = (j - first) * d
            right[j] = _in_runs(right[j], words[begin : begin + d], lambda person: person // span)
            for s, person in enumerate(right[j]):
                met[person].append((j, s))
        for person, edges in met.items():
            chances = [next(more) for _ in edges]
            for last in range(len(edges) - 1, 0, -1):
                other = chances[last] * (last + 1) >> 32
                edges[last], edges[other] = edges[other], edges[last]
            edges = waiting.pop(person, []) + edges
            waiting[person] = [edges.pop()] if len(edges) % 2 else []
            for one, other in zip(edges[::2], edges[1::2], strict=True):
                paired[one], paired[other] = other, one
    coins, kept = _coins(block), {}
    for first in [(j, s) for j in range(m) for s in range(d)]:
        if first in kept:
            continue
        edge, coin = first, next(coins)
        while edge not in kept:
            partner = (edge[0], edge[1] ^ 1)
            kept[edge], kept[partner] = coin, 1 - coin
            edge = paired[partner]
    return [[right[j][s] for s in range(d) if kept[j, s]] for j in range(m)]


def _random_matching(block, right):
    """Per position the slot of its edge in a perfect matching, found by random walks without their loops."""
    m, d = len(right), len(right[0])
    order = list(range(m))
    _shuffled_runs(block, [order])
    mate, slot, pick, words = {}, {}, {}, []
    for start in order:
        here = start
        while here is not None:
            words = words or _drawn(block, m)[:m]
            word = words.pop(0)
            if here in slot:
                others = [s for s in range(d) if s != slot[here]]
                pick[here] = others[word * (d - 1) >> 32]
            else:
                pick[here] = word * d >> 32
            here = mate.get(right[here][pick[here]])
        here = start
        while here is not None:
            slot[here] = pick[here]
            person = right[here][slot[here]]
            here, mate[person] = mate.get(person), here
    return [slot[j] for j in range(m)]


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


def hilbert_keys(places, bits):
    keys = []
    for point in places.tolist():
        x = list(point)
        for bit in range(bits - 1, 0, -1):
            low = (1 << bit) - 1
            for j in range(len(x)):
                if x[j] >> bit & 1:
                    x[0] ^= low
                else:
                    swap = (x[0] ^ x[j]) & low
                    x[0] ^= swap
                    x[j] ^= swap
        for j in range(1, len(x)):
            x[j] ^= x[j - 1]
        turned = 0
        for bit in range(1, bits):
            if x[-1] >> bit & 1:
                turned ^= (1 << bit) - 1
        digits = "".join(str((number ^ turned) >> bit & 1) for bit in range(bits - 1, -1, -1) for number in x)
        keys.append(int(digits, 2))
    return np.array(keys, np.uint64)


def group_loss(codes, begin, end, losses, sets):
    """What best_groups has to pay for one group: rows times the losses of its cells."""
    total = 0.0
    for j in range(len(codes)):
        own = sorted({int(code) for code in codes[j, begin:end]})
        at = [int(losses.shape[j, 6]) + code for code in own]
        if sets.how == 0:
            total += range_loss(losses, j, own[0], own[-1])
        elif sets.how == 1:
            total += (len(own) - 1) * sets.unit[j]
        elif len(own) > 1:
            rows = max(sets.mass[at].sum(), 1.0)
            total += max(np.log2(rows) - sets.logs[at].sum() / rows, 0.0) * sets.unit[j]
    return total * (end - begin)


def best_groups(codes, blocks, k, losses, sets):
    def cheapest(begin, end):
        """Cost and cuts of the best way, by trying all."""
        found = []
        for first in range(k, min(2 * k - 1, end - begin) + 1):
            own = group_loss(codes, begin, begin + first, losses, sets)
            if begin + first == end:
                found.append((own, (begin,)))
            elif end - begin - first >= k:
                cost, cuts = cheapest(begin + first, end)
                found.append((own + cost, (begin, *cuts)))
        return min(found)

    starts = [cut for begin, end in pairwise(blocks) for cut in cheapest(int(begin), int(end))[1]]
    return np.array([*starts, blocks[-1]], np.int64)


def linked_rows(clusters):
    """The rows of each cluster, in the order of its list."""
    members = []
    for row in clusters.head:
        members.append([])
        while row >= 0:
            members[-1].append(int(row))
            row = clusters.next_row[row]
    return members


def relink(clusters, members, codes, row_item, losses):
    for c, rows in enumerate(members):
        clusters.head[c] = rows[0] if rows else -1
        for row, following in pairwise([*rows, -1]):
            clusters.next_row[row] = following
        clusters.size[c] = len(rows)
        clusters.loss[c] = rows_loss(codes, row_item[rows], losses) if rows else 0.0


def dissolve(codes, row_item, near, clusters, k, losses, begin, end):
    members, losses, gained = linked_rows(clusters), losses, 0.0

    def cost(rows):
        return len(rows) * rows_loss(codes, row_item[rows], losses) if rows else 0.0

    def closest(row, choices, budget):
        growths = [(cost([row, *members[b]]) - cost(members[b]), at) for at, b in enumerate(choices)]
        growths = [pair for pair in growths if pair[0] < budget - 1e-9]
        return (choices[min(growths)[1]], min(growths)[0]) if growths else (None, 0.0)

    for a in range(begin, end):
        if not members[a] or cost(members[a]) == 0.0 or len(members[a]) > 256:
            continue
        rows = list(members[a])
        around = [near[row_item[row], n] for n in range(near.shape[1]) for row in rows]
        choices = dict.fromkeys(int(clusters.cluster_of[item]) for item in around if item >= 0)
        choices = [b for b in choices if b != a and members[b]][:256]
        for row in rows:
            if len(members[a]) <= k:
                break
            without = [other for other in members[a] if other != row]
            b, growth = closest(row, choices, cost(members[a]) - cost(without))
            if b is not None:
                gained += cost(members[a]) - cost(without) - growth
                members[a] = without
                members[b].insert(0, row)
                clusters.cluster_of[row_item[row]] = b
        # Rows beyond a code in some column go together, in the order of rows at the start; at last all rows.
        codes_of = {row: codes[row_item[row]] for row in rows}
        turns = [(j, above, row) for j in range(codes.shape[1]) for above in (False, True) for row in rows]
        for turn in [*turns, None]:
            here = [row for row in rows if row in members[a]]
            goes = here
            if turn is not None:
                j, above, edge = turn
                earlier = here[: here.index(edge)] if edge in here else []
                if edge not in here or len(here) == k:
                    continue
                if any(codes_of[row][j] == codes_of[edge][j] for row in earlier):
                    continue
                goes = [
                    row
                    for row in here
                    if (
                        codes_of[row][j] > codes_of[edge][j]
                        if above
                        else codes_of[row][j] < codes_of[edge][j]
                    )
                ]
                if not goes or len(here) - len(goes) < k:
                    continue
            stay = [row for row in here if row not in goes]
            budget, spent, moved = cost(here) - cost(stay), 0.0, {}
            if turn is not None and budget <= len(goes) * 1e-9:
                continue
            before = [list(rows) for rows in members]
            for row in goes:
                moved[row], growth = closest(row, choices, budget - spent)
                if moved[row] is None:
                    members = before
                    break
                spent += growth
                members[moved[row]].insert(0, row)
            else:
                gained += budget - spent
                members[a] = stay
                for row, b in moved.items():
                    clusters.cluster_of[row_item[row]] = b
    relink(clusters, members, codes, row_item, losses)
    return gained


def follow(number):
    for shift in (13, -7, 17):
        number ^= (number << shift if shift > 0 else number >> -shift) & (2**64 - 1)
    return number


def below(number, count):
    return (int(number) >> 11) % count


class _Choices:
    """The sequence of numbers that decides what the search does."""

    def __init__(self, number):
        self.number = int(number)

    def below(self, count):
        self.number = follow(self.number)
        return below(self.number, count)

    def near(self, near, item):
        """Some neighbour of an item, a nearer one more likely."""
        rank = self.below(near.shape[1])
        return int(near[item, min(rank, self.below(near.shape[1]))])


def rebuild(
    codes, row_item, item_start, item_rows, near, pool, k, losses, seeds, warmth, number, work, spare
):
    """Every loss is computed from the rows, and a step that is not kept leaves the lists as they were."""
    members, choices = linked_rows(pool), _Choices(number)
    cluster_of = [int(c) for c in pool.cluster_of]
    free = [int(c) for c in spare[1 : 1 + spare[0]]]
    most = 4 * (k + k // 2)

    def mean(rows):
        return rows_loss(codes, row_item[list(rows)], losses) if rows else 0.0

    def cost_of(rows):
        return len(rows) * mean(rows)

    def rows_of(item):
        return [int(row) for row in item_rows[item_start[item] : item_start[item + 1]]]

    def neighbour(rows):
        """A row near to one of some rows, or None."""
        item = choices.near(near, row_item[rows[choices.below(len(rows))]])
        return None if item < 0 else rows_of(item)[choices.below(len(rows_of(item)))]

    def here(c, piece):
        return c >= 0 and pool.piece[c] == piece

    def choose(first):
        together, wanted = [first], 2 + choices.below(2)
        rows = list(members[first])
        for _ in range(4 * wanted):
            if len(together) == wanted:
                break
            row = neighbour(rows)
            c = -1 if row is None else cluster_of[row]
            if not here(c, pool.piece[first]) or c in together or len(rows) + len(members[c]) > most:
                continue
            if mean(members[c]) == 0.0 and len(members[c]) <= k:
                continue
            together.append(c)
            rows += members[c]
        return together, rows

    def invite(piece, together, around, many, guests):
        for _ in range(4 * many):
            if len(guests) == many:
                break
            row = neighbour(around or guests)
            c = -1 if row is None else cluster_of[row]
            if not here(c, piece) or mean(members[c]) == 0.0 or c in together or row in guests:
                continue
            if len(members[c]) - sum(cluster_of[guest] == c for guest in guests) > k:
                guests.append(row)
        return guests

    def cut_off(rows):
        """The rows that stay, and those that go."""
        j = choices.below(codes.shape[1])
        code = {row: int(codes[row_item[row], j]) for row in rows}
        above, looks = choices.below(2) == 0, 1 + choices.below(max(len(rows) // 4, 1))
        cut = (max if above else min)(code[rows[choices.below(len(rows))]] for _ in range(looks))
        rows, stay, end = list(rows), 0, len(rows)
        if cut == (min if above else max)(code.values()):
            return rows, []
        while stay < end:
            if code[rows[stay]] < cut if above else code[rows[stay]] > cut:
                stay += 1
            else:
                end -= 1
                rows[stay], rows[end] = rows[end], rows[stay]
        return rows[:stay], rows[stay:]

    def take(rest, at):
        row = rest[at]
        rest[at] = rest[-1]
        rest.pop()
        return row

    while work > 0:
        work -= 4
        seed = int(seeds[choices.below(len(seeds))])
        first = cluster_of[seed]
        piece = pool.piece[first]
        if mean(members[first]) == 0.0 or len(members[first]) > most:
            continue
        kind, plan = choices.below(1024), choices.below(16)
        apart, founded = min(384, 9600 // k), min(128, 640 // k)
        guests, kept = [], []
        if kind >= apart + founded:
            together = [first]
            kept, gone = cut_off(members[first])
            if not gone or len(kept) < k - k // 4:
                continue
            rows, goal = kept + gone, 1
            if len(kept) < k:
                guests = invite(piece, together, kept, 2 * (k - len(kept)) + 2, [])
        elif kind >= apart:
            if len(members[first]) <= k:
                continue
            together, rows, goal = [], [], 1
            guests = invite(piece, [], [], 4 * k, [seed])
        else:
            together, rows = choose(first)
            if len(together) < 2:
                continue
            goal = len(rows) // k
            if plan < 4:
                goal -= 1
            elif plan < 8:
                goal += 1
                guests = invite(piece, together, rows, k, [])
        work -= len(rows) + len(guests)
        limit = sum(cost_of(members[c]) for c in together) + warmth * (choices.below(1024) / 1024.0)
        cost = -sum(mean(members[cluster_of[row]]) for row in guests)
        rest = list(guests) if kept else rows + guests
        new = []
        while len(new) < goal and cost < limit and (kept or len(rest) >= k):
            own = list(kept)
            if not kept:
                at = choices.below(len(rest))
                own.append(take(rest, 0 if not together else at))
            work -= len(rest)
            left = limit - cost
            while rest and max(len(own), k) * mean(own) <= left:
                losses_now = [mean([*own, row]) for row in rest]
                at = losses_now.index(min(losses_now))
                if losses_now[at] == np.inf or (len(own) >= k and losses_now[at] > mean(own)):
                    break
                own.append(take(rest, at))
                work -= len(rest)
            cost += np.inf if len(own) < k else cost_of(own)
            new.append(own)
        cost += sum(mean(members[cluster_of[row]]) for row in guests if row in rest)
        placed = [row for own in new for row in own]
        over = [row for row in rows if row not in placed]
        candidates = []
        if cost < limit:
            places = [n * near.shape[1] // 10 for n in range(10)]
            items = [int(near[row_item[row], n]) for row in over for n in places]
            found = dict.fromkeys(cluster_of[rows_of(item)[0]] for item in items if item >= 0)
            candidates = [c for c in found if here(c, piece) and c not in together][:256]
        joined = {c: list(members[c]) for c in candidates}
        for row in over:
            if cost >= limit:
                break
            takers = [*new, *joined.values()]
            growths = [cost_of([row, *taker]) - cost_of(taker) for taker in takers]
            work -= len(takers)
            if not growths or min(growths) >= limit - cost:
                cost = limit
                break
            cost += min(growths)
            takers[growths.index(min(growths))].append(row)
        if cost >= limit:
            continue
        numbers = list(together)
        while len(numbers) < len(new):
            numbers.append(free.pop())
            pool.piece[numbers[-1]] = piece
        free.extend(numbers[len(new) :])
        target = {row: numbers[at] for at, own in enumerate(new) for row in own}
        target |= {row: c for c, own in joined.items() for row in own if row in over}
        for c in together:
            members[c] = []
        for row in [*rows, *guests]:
            if row in target:
                if row in guests:
                    members[cluster_of[row]].remove(row)
                members[target[row]].insert(0, row)
                cluster_of[row] = target[row]
    relink(pool, members, codes, row_item, losses)
    pool.cluster_of[:] = cluster_of
    spare[0] = len(free)
    spare[1 : 1 + len(free)] = free
    for c, rows in enumerate(members):
        if rows:
            own = codes[row_item[rows]]
            pool.box[c, ::2], pool.box[c, 1::2] = own.min(axis=0), own.max(axis=0)
    return choices.number


def parted(codes, items, k, best, losses):
    """The cheapest way to part items in two that costs less than `best`, and the places of one part."""

    def loss(places):
        return rows_loss(codes, [items[i] for i in places], losses)

    found = None
    for seed in range(len(items)):
        if items[seed] in items[:seed]:
            continue
        inside = [seed]
        while True:
            outside = [i for i in range(len(items)) if i not in inside]
            if len(inside) >= k:
                cost = len(inside) * loss(inside) + len(outside) * loss(outside)
                if cost < best:
                    best, found = cost, set(inside)
            if len(inside) >= len(items) - k:
                break
            add = min(outside, key=lambda i: (loss([*inside, i]), i))
            if len(inside) >= k and loss([*inside, add]) > loss(inside):
                break
            inside.append(add)
    return best, found


def resplit(codes, row_item, near, clusters, k, most_rows, partners, losses, begin, end):
    members, losses, gained = linked_rows(clusters), losses, 0.0
    changed, seen, clock = clusters.changed, clusters.seen, clusters.clock

    def cost(rows):
        return len(rows) * rows_loss(codes, row_item[rows], losses)

    for a in range(begin, end):
        if not members[a] or len(members[a]) > most_rows - k:
            continue
        around = [near[row_item[row], n] for row in members[a] for n in range(near.shape[1])]
        choices = dict.fromkeys(int(clusters.cluster_of[item]) for item in around if item >= 0)
        choices = [b for b in choices if b != a and members[b]]
        choices = [b for b in choices if changed[a] > seen[a] or changed[b] > seen[a]]
        unions = [rows_loss(codes, row_item[members[a] + members[b]], losses) for b in choices]
        ranked = sorted((union, at) for at, union in enumerate(unions) if union < np.inf)[:partners]
        seen[a] = clock[0]
        for b in [choices[at] for _, at in ranked]:
            rows = members[a] + members[b]
            if len(rows) > most_rows:
                continue
            now = cost(members[a]) + cost(members[b])
            best, side = parted(codes, row_item[rows].tolist(), k, now - 1e-9, losses)
            if side is None:
                continue
            gained += now - best
            clock[0] += 1
            for c, part in ((a, False), (b, True)):
                members[c] = [row for i, row in enumerate(rows) if (i in side) == part]
                for row in reversed(members[c]):
                    clusters.cluster_of[row_item[row]] = c
                changed[c] = clock[0]
    relink(clusters, members, codes, row_item, losses)
    return gained


def grow_forest(codes, count, tree, losses, k):
    items = [item for item in range(len(codes)) if count[item] > 0]
    component = {item: item for item in items}
    edges = []

    def rows(own):
        return sum(int(count[item]) for item in items if component[item] == own)

    grown = True
    while grown:
        grown = False
        offers = {}
        for own in sorted(set(component.values())):
            if rows(own) < k:
                edges_out = [
                    (rows_loss(codes, [item, other], losses), item, other)
                    for item in items
                    for other in items
                    if component[item] == own != component[other]
                ]
                edges_out = [offer for offer in edges_out if offer[0] < np.inf]
                if edges_out:
                    offers[own] = min(edges_out)[1:]
        for own in sorted(offers):
            start, end = offers[own]
            if component[start] == component[end] or rows(component[start]) >= k:
                continue
            grown = True
            edges.append((start, end))
            mine, other = component[start], component[end]
            component = {item: other if c == mine else c for item, c in component.items()}
    above = np.full(len(codes), -1, np.int64)
    # The root of a tree is the root of the component that was joined to last, and so on back.
    for start, end in edges:
        node, to = start, end
        while node >= 0:
            following = above[node]
            above[node] = to
            node, to = following, node
    return above


def cut_trees(above, rows, k):
    def root(row):
        return row if above[row] < 0 else root(above[row])

    def depth(row):
        return 0 if above[row] < 0 else 1 + depth(above[row])

    left = {}
    for row in rows:
        left.setdefault(root(row), set()).add(int(row))
    children = {row: [child for child in rows if above[child] == row] for row in rows}
    # From the leaves up: a row comes when all rows below it have come, first come first served.
    order = [row for row in rows if not children[row]]
    for row in order:
        up = above[row]
        if up >= 0 and up not in order and all(child in order for child in children[up]):
            order.append(up)
    part = np.full(len(above), -1, np.int32)
    gathered = {int(row): {int(row)} for row in rows}
    for row in map(int, order):
        own, below = left[root(row)], gathered[row]
        if len(below) >= k and len(own) > max(2 * k - 1, 3 * k - 5) and len(own) - len(below) >= k:
            own -= below
            part[list(below)] = row
        elif above[row] >= 0:
            gathered[int(above[row])] |= below
    for own, rest in left.items():
        part[list(rest)] = own
    return part


def cheapest_closures(codes, count, near, far, losses, k, patience):
    """By trying all sets of neighbours."""
    best = np.zeros(len(codes))
    for item in range(len(codes)):
        if count[item] >= k:
            continue
        best[item] = far[item]
        others = [int(other) for other in near[item] if other >= 0]
        for many in range(len(others) + 1):
            for chosen in itertools.combinations(others, many):
                members = [item, *chosen]
                if count[members].sum() >= k:
                    best[item] = min(best[item], rows_loss(codes, members, losses))
    return best


# --- membership in shuffled buckets ---------------------------------------------------------------------------


def choose(n, k):
    """Binomial coefficient, by its recursion."""
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in itertools.pairwise(row)), 1]
    return row[k] if 0 <= k <= n else 0


def extend_states(states, word, shift, mask, cap, step, most, limit):
    children, child_of = {}, np.full((len(states), most + 1), -1, np.int32)
    for s, state in enumerate(states.tolist()):
        for x in range(most + 1):
            left = [
                (state[w] >> int(b) & int(m)) - x
                for w, b, m in zip(word.tolist(), shift.tolist(), mask.tolist(), strict=True)
            ]
            if all(0 <= have <= c for have, c in zip(left, cap.tolist(), strict=True)):
                child = tuple(value - x * one for value, one in zip(state, step.tolist(), strict=True))
                child_of[s, x] = children.setdefault(child, len(children))
    made = np.array(list(children), np.uint64).reshape(len(children), states.shape[1])
    return made, child_of, len(children) <= limit


def match_states(left, right, whole):
    place = {tuple(state): i for i, state in enumerate(right.tolist())}
    words = range(left.shape[1])
    rest = [tuple((int(whole[w]) - state[w]) % 2**64 for w in words) for state in left.tolist()]
    return np.array([place.get(state, -1) for state in rest], np.int32)


def push_ways(ways, child_of, weight, prime, children):
    reached = [0] * children
    for s, line in enumerate(child_of.tolist()):
        for x, child in enumerate(line):
            if child >= 0:
                reached[child] += int(ways[s]) * int(weight[x])
    return np.array([value % int(prime) for value in reached], np.uint64)


def pull_ways(rest, ways, child_of, weight, prime):
    onward, people = [0] * len(ways), 0
    for s, line in enumerate(child_of.tolist()):
        for x, child in enumerate(line):
            if child >= 0:
                part = int(weight[x]) * int(rest[child])
                onward[s] += part
                people += x * part * int(ways[s])
    return np.array([value % int(prime) for value in onward], np.uint64), people % int(prime)


def push_shares(ways, child_of, weight, children):
    reached = np.zeros(children)
    for s, line in enumerate(child_of.tolist()):
        for x, child in enumerate(line):
            if child >= 0:
                reached[child] += ways[s] * weight[x]
    return reached


def pull_shares(rest, ways, child_of, weight):
    onward, people, lacking = [0.0] * len(ways), 0.0, 0.0
    for s, line in enumerate(child_of.tolist()):
        for x, child in enumerate(line):
            if child >= 0:
                onward[s] += weight[x] * rest[child]
                people += x * weight[x] * rest[child] * ways[s]
                lacking += (len(line) - 1 - x) * weight[x] * rest[child] * ways[s]
    return np.array(onward), people, lacking


def walk_sets(counts_of, least, most, people, near_start, near, far, penalty, inside, chosen, left, draws):
    seen, fits = np.zeros(inside.shape, np.int64), np.zeros(len(inside), np.int64)
    tuples = len(people)
    for w in range(len(inside)):
        for who, where, luck in draws[w].tolist():
            if not left[w].any():
                fits[w] += 1
                seen[w] += inside[w]
            place = int(who * chosen.shape[1])
            old = chosen[w, place]
            around = near[near_start[old] : near_start[old + 1]]
            ratio = 1.0
            if where < far:
                new = int(where / far * tuples)
            elif len(around) == 0:
                continue
            else:
                new = around[int((where - far) / (1.0 - far) * len(around))]
                ratio = len(around) / (near_start[new + 1] - near_start[new])
            if new == old or inside[w, old] == least[w, old] or inside[w, new] == most[w, new]:
                continue
            after = left[w].copy()
            after[counts_of[old]] += 1
            after[counts_of[new]] -= 1
            change = int(np.abs(after).sum() - np.abs(left[w]).sum())
            ratio *= (people[new] - inside[w, new]) / (people[old] - inside[w, old] + 1)
            if luck >= ratio * np.exp(-penalty[w] * change):
                continue
            left[w] = after
            inside[w, old] -= 1
            inside[w, new] += 1
            chosen[w, place] = new
    return seen, fits


def regions_of_people(low, high, codes):
    lists = [
        [r for r in range(len(low)) if all(low[r][j] <= v <= high[r][j] for j, v in enumerate(person))]
        for person in codes.tolist()
    ]
    start = np.cumsum([0, *map(len, lists)])
    return start, np.array([r for own in lists for r in own], np.int32)


def _circles(start, neighbours):
    return [set(neighbours[a:b].tolist()) for a, b in pairwise(start.tolist())]


def grow_network_clusters(
    start, neighbours, order, rank, atoms, labels, p, losses, by_loss, by_distance, k, progress, patience
):  # fmt: skip
    circles, cluster_of, clusters = _circles(start, neighbours), progress.cluster_of, 0
    codes = atoms.codes[atoms.of]
    own_labels = labels[atoms.kind[atoms.of]]
    block = atoms.block[atoms.of]

    def lacking(members):
        return [int(p[d]) - len(set(own_labels[members, d].tolist())) for d in range(len(p))]

    def gain(x, members):
        return sum(
            missing
            for d, missing in enumerate(lacking(members))
            if missing > 0 and own_labels[x, d] not in own_labels[members, d]
        )

    def cost(x, members):
        together = codes[[*members, x]]
        lost = sum(
            range_loss(losses, j, together[:, j].min(), together[:, j].max()) for j in range(codes.shape[1])
        )
        differing = sum(len((circles[x] ^ circles[y]) - {x, y}) for y in members)
        return by_loss * lost + by_distance * differing / len(members)

    for seed in order.tolist():
        if cluster_of[seed] >= 0 or progress.closed[block[seed]]:
            continue
        members = [seed]
        while len(members) < k or max(lacking(members)) > 0:
            free = [
                x
                for x in np.flatnonzero(cluster_of < 0).tolist()
                if x not in members and block[x] == block[seed]
            ]
            short = max(lacking(members)) > 0
            free.sort(key=lambda x: (-gain(x, members), cost(x, members), rank[x]))
            if not free or (short and gain(free[0], members) == 0):
                progress.closed[block[seed]] = 1
                break
            members.append(free[0])
        else:
            cluster_of[members] = clusters
            clusters += 1
    progress.state[:] = len(order), clusters


def network_contacts(start, neighbours, cluster_of, members, clusters):
    circles = _circles(start, neighbours)
    contacts = np.zeros(clusters, int)
    for x, y in itertools.product(members.tolist(), range(len(circles))):
        if x != y and cluster_of[y] >= 0:
            contacts[cluster_of[y]] += (y in circles[x]) + len(circles[x] & circles[y])
    return contacts


def common_neighbours(start, neighbours):
    circles = _circles(start, neighbours)
    ends = ((x, y) for x, circle in enumerate(circles) for y in sorted(circle))
    return np.array([len(circles[x] & circles[y]) for x, y in ends], int)


def ego_keys(start, neighbours, common, noise):
    """Looks instead of keys, numbered: nodes with equal numbers have equal keys."""
    circles = _circles(start, neighbours)
    looks = []
    for circle in circles:
        first = {y: len(circle & circles[y]) for y in circle}
        looks.append(tuple(sorted((first[y], sorted(first[z] for z in circle & circles[y])) for y in circle)))
    return np.array([looks.index(look) for look in looks], int)


def pivot_centrality(start, neighbours, pivots):
    circles = _circles(start, neighbours)
    nodes = range(len(circles))

    def paths(a, b):
        """All shortest paths."""
        found = [[a]]
        for _ in nodes:
            if done := [path for path in found if path[-1] == b]:
                return done
            found = [[*path, y] for path in found for y in circles[path[-1]] if y not in path]
        return []

    between, far, reached = np.zeros(len(circles)), np.zeros(len(circles), int), np.zeros(len(circles), int)
    for a, b in itertools.product(pivots.tolist(), nodes):
        ways = paths(a, b)
        if ways:
            far[b] += len(ways[0]) - 1
            reached[b] += 1
            for x in set(nodes) - {a, b}:
                between[x] += sum(x in way for way in ways) / len(ways)
    return between, far, reached


def neighbours_match(degrees, low, high, start, other, room, by_high):
    def placed(left, rest):
        """Whether some way to give each degree a cluster exists."""
        if not rest:
            return True
        return any(
            left[d] > 0 and low[d] <= rest[0] <= high[d] and placed({**left, d: left[d] - 1}, rest[1:])
            for d in left
        )

    fits = []
    for c, (a, b) in enumerate(pairwise(start.tolist())):
        left = dict(zip(other[a:b].tolist(), room[a:b].tolist(), strict=True))
        fits.append(bool(low[c] <= len(degrees) <= high[c]) and placed(left, degrees.tolist()))
    return np.array(fits, bool)


def nearest_order(codes, starts, units, look):
    order = []
    for begin, end in pairwise(starts):
        left = list(range(begin, end))
        here = left[0]
        while left:
            apart = [sum(units[codes[at] != codes[here]]) for at in left[:look]]
            here = left.pop(apart.index(min(apart)))
            order.append(here)
    return np.array(order, np.int32)


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


def class_totals(keys, people, rows):
    totals = {}
    for key, p, r in zip(keys.tolist(), people.tolist(), rows.tolist(), strict=True):
        before = totals.get(key, (0, 0))
        totals[key] = (before[0] + p, before[1] + r)
    return [p for p, _ in totals.values()], [r for _, r in totals.values()]


def cut_boxes(codes, people, rows, order, ends, losses, low, high):
    """The boxes themselves, as lists of tuples, in the order in which they are finished, and the number of cuts."""

    def within(part):
        p, r = sum(int(people[t]) for t in part), sum(int(rows[t]) for t in part)
        return low * p - 1e-9 * p <= r <= high * p + 1e-9 * p

    def split(box, j, name):
        values = sorted({name(int(codes[t, j])) for t in box})
        return [[t for t in box if name(int(codes[t, j])) == value] for value in values]

    def cuts_of(box, j):
        """All ways to cut one column: parts, and the codes of each of them, or of the child that it is shown as."""
        ordered = int(losses.shape[j, 3])
        present = sorted({int(codes[t, j]) for t in box})
        if len(present) < 2:
            return
        if 0 <= present[-1] < ordered:
            for value in present[1:]:
                parts = split(box, j, lambda code, value=value: code >= value)
                yield parts, shown(parts, j)
        elif ordered >= 0:
            parts = split(box, j, lambda code: 0 if code < ordered else code)
            yield parts, shown(parts, j)
        else:
            nodes, level = _level(losses, j, present[0], present[-1])
            parts = split(box, j, lambda code: int(nodes[level - 1, code]))
            children = [
                np.flatnonzero(nodes[level - 1] == nodes[level - 1, own[0]]) for own in shown(parts, j)
            ]
            yield parts, children

    def shown(parts, j):
        return [[int(codes[t, j]) for t in part] for part in parts]

    begin = [0, *ends.tolist()[:-1]]
    open_ = [order[a:b].tolist() for a, b in zip(begin, ends.tolist(), strict=True)]
    done, cuts = [], 0
    while open_:
        box = open_.pop()
        best, best_gain = None, -1e-9
        for j in range(codes.shape[1]) if any(rows[t] for t in box) else ():
            for parts, covered in cuts_of(box, j):
                present = [int(codes[t, j]) for t in box]
                whole = range_loss(losses, j, min(present), max(present))
                saved = [whole - range_loss(losses, j, min(own), max(own)) for own in covered]
                owned = (sum(int(rows[t]) for t in part) for part in parts)
                gain = sum(r * s for r, s in zip(owned, saved, strict=True))
                if gain > best_gain and all(within(part) for part in parts):
                    best, best_gain = parts, gain
        if best is None:
            done.append(box)
        else:
            cuts += 1
            open_ += best
    return done, cuts


def shrink_boxes(
    codes, people, rows, order, begin, end, cells_low, cells_high, tight_low, tight_high, open_low, high
):
    for b, (start, stop) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        box = order[start:stop].tolist()
        total, total_in = sum(int(people[t]) for t in box), sum(int(rows[t]) for t in box)
        saved = {
            j: int(cells_high[b, j] - cells_low[b, j] - tight_high[b, j] + tight_low[b, j])
            for j in range(codes.shape[1])
        }
        for j in sorted(saved, key=lambda j: -saved[j]):
            low_trial, high_trial = cells_low[b].copy(), cells_high[b].copy()
            low_trial[j], high_trial[j] = tight_low[b, j], tight_high[b, j]
            left = sum(
                int(people[t]) for t in box if ((low_trial <= codes[t]) & (codes[t] <= high_trial)).all()
            )
            if left == total or (open_low and total_in <= high * left + 1e-9 * left):
                cells_low[b], cells_high[b] = low_trial, high_trial


def seek_set(counts_of, column_of, least, most, member_start, member, inside, left, weight, draws):
    def rotated(count, luck):
        own = member[member_start[count] : member_start[count + 1]].tolist()
        at = int(luck * len(own))
        return own[at:] + own[:at]

    for step, (one, two, three, four) in enumerate(draws.tolist()):
        if not left.any():
            return step
        above = [i for i in range(len(left)) if left[i] < 0]
        high = above[int(one * len(above))]
        below = [i for i in range(len(left)) if left[i] > 0 and column_of[i] == column_of[high]]
        low = below[int(two * len(below))]
        pairs = [
            (old, new)
            for old in rotated(high, three)
            for new in rotated(low, four)
            if inside[old] > least[old] and inside[new] < most[new]
        ]

        def lacking(old, new):
            after = left.copy()
            after[counts_of[old]] += 1
            after[counts_of[new]] -= 1
            return after

        costs = [int((np.abs(lacking(*pair)) - np.abs(left)) @ weight) for pair in pairs]
        if not pairs or min(costs) >= 0:
            weight[left != 0] += 1
        if pairs:
            old, new = pairs[costs.index(min(costs))]
            left[:] = lacking(old, new)
            inside[old] -= 1
            inside[new] += 1
    return -1 if left.any() else len(draws)


def found(
    codes,
    row_item,
    item_start,
    item_rows,
    near,
    cluster_of,
    size,
    loss,
    k,
    losses,
    clusters,
    begin,
    end,
):
    for seed in range(begin, end):
        if clusters == len(size):
            break
        members, looked, candidates, fresh = [], [], [], seed

        def cost(row):
            box = np.array([[x for j in codes.T for x in (min(j[inside]), max(j[inside]))]])  # noqa: B023
            return k * box_losses(box, losses)[0] - loss[cluster_of[row]]

        while len(members) < k:
            for item in [i for i in [fresh, *near[fresh].tolist()] if i >= 0 and i not in looked]:
                looked.append(item)
                rows = item_rows[item_start[item] : item_start[item + 1]].tolist()
                candidates += [row for row in rows if loss[cluster_of[row]] > 0]
            taken = [cluster_of[row] for row in members]
            costs = []
            for row in candidates:
                spare = size[cluster_of[row]] - taken.count(cluster_of[row]) > k
                if row not in members and spare:
                    inside = [seed, *row_item[members].tolist(), row_item[row]]
                    costs.append((cost(row), row))
            least = min((value for value, _ in costs), default=np.inf)
            if least == np.inf:
                break
            members.append(next(row for value, row in costs if value == least))
            fresh = row_item[members[-1]]
        if len(members) < k:
            continue
        inside = [seed, *row_item[members].tolist()]
        now = (cost(members[0]) + loss[cluster_of[members[0]]]) / k
        if loss[cluster_of[members]].sum() <= k * now + 1e-6:
            continue
        for row in members:
            size[cluster_of[row]] -= 1
            cluster_of[row] = clusters
        size[clusters], loss[clusters] = k, now
        clusters += 1
    return clusters


def sum_waves(
    coefficients, axis_start, source, target, choices, rest, after, points, power, turn, wanted, cut, limit
):
    """The sum over the whole grid, and its derivatives by the coefficients of the factors, as complex numbers."""
    axis_of = [d for d in range(len(points) + 1) for _ in range(axis_start[d], axis_start[d + 1])]
    factors = []
    for i in range(len(source)):
        if source[i] >= 0:
            chain = [i]
            while after[chain[-1]] >= 0:
                chain.append(int(after[chain[-1]]))
            shape = tuple(int(choices[j]) for j in chain)
            size = int(np.prod(shape))
            factors.append((source[i], [axis_of[j] for j in chain], shape, size))

    def whole(tensors):
        total = 0j
        for ks in itertools.product(*(range(p) for p in points)):
            polynomial = np.ones(1, complex)
            for (_, axes, shape, _), tensor in zip(factors, tensors, strict=True):
                own = np.zeros(wanted + 1 + max(shape), complex)
                for place in itertools.product(*(range(s) for s in shape)):
                    term, at = complex(tensor[place]), 0
                    for d, m in zip(axes, place, strict=True):
                        if d < len(points):
                            term *= complex(power[d, 0, m, ks[d]], power[d, 1, m, ks[d]])
                        else:
                            at = m
                    own[at] += term
                polynomial = np.convolve(polynomial, own)
            for d, k in enumerate(ks):
                polynomial = polynomial * complex(turn[d, 0, k], turn[d, 1, k])
            total += polynomial[wanted] if wanted < len(polynomial) else 0.0
        return total

    tensors = [
        np.asarray(coefficients[start : start + size]).reshape(shape) for start, _, shape, size in factors
    ]
    slope = np.zeros(len(coefficients))
    for f, (start, _, shape, size) in enumerate(factors):
        for c in range(size):
            unit = np.zeros(size)
            unit[c] = 1.0
            slope[start + c] = whole([*tensors[:f], unit.reshape(shape), *tensors[f + 1 :]]).real
    return whole(tensors).real, slope


def by_value(values, of, count):
    start = [sum(value < limit for value in values) for limit in range(count + 1)]
    found = [of[row] for row in sorted(range(len(values)), key=lambda row: (values[row], row))]
    return np.array(start, np.int64), np.array(found, np.int32)


def unmatched(own_start, own, their_start, their, start, links, classes, people, first, last):
    """One published row after the other, each along any augmenting path to an original row of its value."""
    lost = 0
    for value in range(first, last):
        rows = their[their_start[value] : their_start[value + 1]].tolist()
        holder = {}

        def find(g, seen, rows=rows, holder=holder):
            inside = set(links[start[g] : start[g + 1]].tolist())
            for at, row in enumerate(rows):
                if row in inside and at not in seen:
                    seen.add(at)
                    if at not in holder or find(holder[at], seen):
                        holder[at] = g
                        return True
            return False

        lost += sum(not find(g, set()) for g in own[own_start[value] : own_start[value + 1]].tolist())
    return lost


def rows_by_group(group_of, groups, person):
    own = [[row for row in range(len(group_of)) if group_of[row] == g] for g in range(groups)]
    start = np.cumsum([0, *map(len, own)])
    ascending = all(sorted(people) == people for people in ([person[row] for row in rows] for rows in own))
    return np.array([row for rows in own for row in rows], np.int64), start.astype(np.int64), ascending


def count_people(order, start, person):
    return np.array([len({person[row] for row in order[a:b]}) for a, b in pairwise(start)], np.int64)


def of_one_person(group_of, groups, owner):
    owners = [{owner[row] for row in range(len(owner)) if group_of[row] == g} for g in range(groups)]
    return np.array([len(owners[g]) == 1 and -1 not in owners[g] for g in group_of], bool)


def once_per_person(order, start, person, codes, values):
    first = {}
    for g, (a, b) in enumerate(pairwise(start)):
        for row in order[a:b]:
            first.setdefault((g, person[row], codes[row]), (row, g))
    rows, groups = zip(*first.values(), strict=True) if first else ((), ())
    return np.array(rows, np.int64), np.array(groups, np.int32)


def pair_shares(fits, people, places, most):
    """All complete assignments, one by one; `most` is not looked at."""
    kinds = [u for u, many in enumerate(people) for _ in range(many)]
    rows = [g for g, many in enumerate(places) for _ in range(many)]
    found = np.zeros((len(people), len(places)))
    total = 0
    for chosen in itertools.permutations(range(len(rows))):
        if all(fits[u][rows[row]] for u, row in zip(kinds, chosen, strict=True)):
            total += 1
            for u, row in zip(kinds, chosen, strict=True):
                found[u, rows[row]] += 1
    if not total or sum(int(many).bit_length() for many in places) > 62:
        return np.zeros((0, 0))
    return np.array(
        [
            [
                float(Fraction(int(found[u, g]), total * int(people[u]) * int(places[g])))
                for g in range(len(places))
            ]
            for u in range(len(people))
        ]
    )


def walk_assignments(
    kind, start, before, classes, first, holder, link, longest, steps, state, counts, left, visits
):
    """A circle of people passes rows on; every person is looked at in every turn."""
    mask = (1 << 64) - 1

    def random(below):
        state[0] = np.uint64((int(state[0]) + 0x9E3779B97F4A7C15) & mask)
        z = int(state[0])
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        bits = (z ^ (z >> 31)) >> 32
        return bits if below is None else (bits * below) >> 32

    for batch in range(len(visits)):
        done = 0
        while done < steps:
            visits[batch] += 1
            for p in range(len(kind)):
                counts[batch, link[p]] += 1
            coins, scale = random(None), 2
            while coins & 1 and 4 * scale <= longest:
                coins, scale = coins >> 1, 2 * scale
            many = scale + random(scale)
            held = {int(p): row for row, p in enumerate(holder)}
            p = random(len(kind))
            free = held[p]
            circle = []
            while len(circle) < many - 1 and p not in [q for q, _, _ in circle]:
                u = int(kind[p])
                choices = [
                    (edge, int(first[classes[edge]]) + place)
                    for edge in range(start[u], start[u + 1])
                    for place in range(before[edge + u + 1] - before[edge + u])
                ]
                edge, row = choices[random(len(choices))]
                circle.append((p, edge, row))
                p = int(holder[row])
            done += len(circle) + 1
            own = classes[link[circle[0][0]]]
            back = [edge for edge in range(start[kind[p]], start[kind[p] + 1]) if classes[edge] == own]
            if not back or p in [q for q, _, _ in circle]:
                continue
            for q, edge, row in [*circle, (p, back[0], free)]:
                left[link[q]] += link[q] != edge
                link[q], holder[row] = edge, q


# --- rows that can be followed --------------------------------------------------------------------------------------


def fitting_crowds(
    own_start, own_rows, match_start, match_class, holds_start, holds_crowd, crowd_start, crowd_class, most
):
    """Twin of shoal.kernels.followed.fitting_crowds: all ways to give each published row a row of its own are tried."""
    del holds_start, holds_crowd
    covering = [
        set(match_class[match_start[row] : match_start[row + 1]]) for row in range(len(match_start) - 1)
    ]
    pairs = []
    for i in range(len(own_start) - 1):
        own = own_rows[own_start[i] : own_start[i + 1]]
        for g in range(len(crowd_start) - 1):
            shown = crowd_class[crowd_start[g] : crowd_start[g + 1]]
            if 0 <= len(own) - len(shown) <= most and any(
                all(c in covering[row] for c, row in zip(shown, chosen, strict=True))
                for chosen in itertools.permutations(own, len(shown))
            ):
                pairs.append((i, g))
    return np.array([i for i, _ in pairs], np.int64), np.array([g for _, g in pairs], np.int64)


def mdav(points, labels, weights, starts, k):
    total = points.shape[1] if len(points) else labels.shape[1]
    left = list(range(total))
    groups = []

    def between(row, other):
        numbers = sum((float(c[row]) - float(c[other])) ** 2 for c in points)
        return numbers + sum(float(w) for c, w in zip(labels, weights, strict=True) if c[row] != c[other])

    def from_centre(row):
        far = 0.0
        for column in points:
            far += (float(column[row]) - sum(float(column[i]) for i in left) / len(left)) ** 2
        for j, column in enumerate(labels):
            # A label is a corner of a simplex with edges of this squared length; the centre lies inside.
            corners = range(starts[j + 1] - starts[j])
            centre = [sum(column[i] == a for i in left) / len(left) for a in corners]
            off = sum(((column[row] == a) - centre[a]) ** 2 for a in corners)
            far += 0.5 * float(weights[j]) * off
        return far

    def take(seed):
        others = sorted((i for i in left if i != seed), key=lambda i: (between(seed, i), i))
        groups.append([seed, *others[: k - 1]])
        left[:] = [i for i in left if i not in groups[-1]]

    while len(left) >= 2 * k:
        twice = len(left) >= 3 * k
        away = {i: from_centre(i) for i in left}
        far = max(left, key=lambda i: (round(away[i], 9), -i))
        take(far)
        if twice:
            take(max(left, key=lambda i: (round(between(far, i), 9), -i)))
    groups.append(list(left))
    out = np.zeros(total, np.int32)
    for number_, members in enumerate(groups):
        out[members] = number_
    return out


def best_cuts(values, k):
    total = len(values)

    def cost(cuts):
        ends = [*cuts[1:], total]
        parts = [values[a:b] for a, b in zip(cuts, ends, strict=True)]
        return sum(sum((v - sum(part) / len(part)) ** 2 for v in part) for part in parts)

    choices = [
        (0, *cuts)
        for many in range(total)
        for cuts in itertools.combinations(range(1, total), many)
        if all(b - a >= k for a, b in pairwise((0, *cuts, total)))
    ]
    return np.array(min(choices, key=cost), np.int64)


def people_within(rows, weights, low, high, begin, end, most):
    found = []
    for c in range(len(low)):
        inside = [
            int(weights[r])
            for r in range(begin[c], end[c])
            if all(low[c][j] <= rows[r][j] <= high[c][j] for j in range(len(low[c])))
        ]
        total = 0
        for people in inside:
            if total < most:
                total += people
        found.append(total)
    return np.array(found, np.int64)


def _to_class(values, low, high, codes, cells, tables, starts, widths, person, group):
    total = 0.0
    for j in range(values.shape[1]):
        value = float(values[person, j])
        total += max(float(low[group, j]) - value, value - float(high[group, j]), 0.0) ** 2
    for j in range(codes.shape[1]):
        matrix = tables[starts[j] :]
        total += float(matrix[cells[group, j] * widths[j] + codes[person, j]])
    return total


def closest_classes(values, low, high, codes, cells, tables, starts, widths, sizes, best, ties):
    given = values, low, high, codes, cells, tables, starts, widths
    for person in range(len(best)):
        far = [_to_class(*given, person, group) for group in range(len(sizes))]
        best[person] = min(far)
        ties[person] = sum(int(size) for size, own in zip(sizes, far, strict=True) if own == min(far))


def distances_to(values, low, high, codes, cells, tables, starts, widths, person, group, out):
    given = values, low, high, codes, cells, tables, starts, widths
    out[:] = [_to_class(*given, p, g) for p, g in zip(person, group, strict=True)]
