"""Plain twins of the kernels in `shoal/kernels/membership.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


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
