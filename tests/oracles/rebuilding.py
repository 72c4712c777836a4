"""Plain twins of the kernels in `shoal/kernels/rebuilding.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np

from tests.oracles.choosing import below, follow
from tests.oracles.improve import linked_rows, relink, rows_loss


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
