"""Plain twins of the kernels in `shoal/kernels/p_k.py`, written to be read and not to be fast."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.oracles.losses import range_loss


def grow_classes(pool, losses, rules, workspace, patience):
    """One class after the other, everything counted again at every step."""
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
