"""Counting the sets of people that are consistent with a bucket of shuffled columns (see shoal/membership/).

A state holds what is left of all counts, packed next to each other into the bits of a few 64-bit words. Callers make
sure that a count never outgrows its bits, so states are added and subtracted as whole words.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def extend_states(states, word, shift, mask, cap, step, most, limit):
    """Decide one tuple in every state: how many of its people are in, from 0 to `most`.

    ``word``, ``shift`` and ``mask`` say where the counts of the tuple's values are, and `cap` how much of each later
    tuples can take. Return the new states, ``child_of[state, people in]`` (-1: inconsistent), and whether there were
    at most `limit` new states; if not, the other two are useless. O(states x choices x columns), hashed.
    """
    count, words = states.shape
    room = min(count * (most + 1), limit) + 1
    children = np.empty((room, words), np.uint64)
    child_of = np.full((count, most + 1), -1, np.int32)
    slots = 16
    while slots < 2 * room:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    born = 0
    fresh = np.empty(words, np.uint64)
    for s in range(count):
        for x in range(most + 1):
            fits = True
            for j in range(len(word)):
                left = np.int64((states[s, word[j]] >> shift[j]) & mask[j]) - x
                if left < 0 or left > cap[j]:
                    fits = False
                    break
            if not fits:
                continue
            code = np.uint64(0)
            for w in range(words):
                fresh[w] = states[s, w] - np.uint64(x) * step[w]
                code = (code ^ fresh[w]) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(29)
            at = np.int64(code & np.uint64(slots - 1))
            while True:
                found = table[at]
                if found < 0:
                    break
                same = True
                for w in range(words):
                    if children[found, w] != fresh[w]:
                        same = False
                        break
                if same:
                    break
                at = (at + 1) & (slots - 1)
            if found < 0:
                if born == limit:
                    return children[:0], child_of, False
                found = born
                table[at] = born
                for w in range(words):
                    children[born, w] = fresh[w]
                born += 1
            child_of[s, x] = found
    return children[:born].copy(), child_of, True


@njit(cache=True, nogil=True)
def match_states(left, right, whole):
    """Return, per state of `left`, the state of `right` that adds up with it to `whole`, or -1. O(states), hashed."""
    words = left.shape[1]
    slots = 16
    while slots < 2 * len(right):
        slots *= 2
    table = np.full(slots, -1, np.int32)
    partner = np.full(len(left), -1, np.int32)
    for turn in range(2):
        many = len(right) if turn == 0 else len(left)
        for s in range(many):
            code = np.uint64(0)
            for w in range(words):
                part = right[s, w] if turn == 0 else whole[w] - left[s, w]
                code = (code ^ part) * np.uint64(0x9E3779B97F4A7C15)
                code ^= code >> np.uint64(29)
            at = np.int64(code & np.uint64(slots - 1))
            while table[at] >= 0:
                if turn == 1:
                    same = True
                    for w in range(words):
                        if right[table[at], w] != whole[w] - left[s, w]:
                            same = False
                            break
                    if same:
                        partner[s] = table[at]
                        break
                at = (at + 1) & (slots - 1)
            if turn == 0:
                table[at] = s
    return partner


@njit(cache=True, nogil=True)
def push_ways(ways, child_of, weight, prime, children):
    """Return the number of ways to reach each child, modulo a prime below 2**31."""
    reached = np.zeros(children, np.uint64)
    for s in range(len(ways)):
        for x in range(child_of.shape[1]):
            child = child_of[s, x]
            if child >= 0:
                reached[child] = (reached[child] + ways[s] * weight[x]) % prime
    return reached


@njit(cache=True, nogil=True)
def pull_ways(rest, ways, child_of, weight, prime):
    """Return the number of ways to continue from each state, and the people of the tuple that are in, over all ways.

    `rest` is the number of ways to continue from each child; all modulo a prime below 2**31.
    """
    onward = np.zeros(len(ways), np.uint64)
    people = np.uint64(0)
    for s in range(len(ways)):
        used = np.uint64(0)
        for x in range(child_of.shape[1]):
            child = child_of[s, x]
            if child >= 0:
                part = weight[x] * rest[child] % prime
                onward[s] = (onward[s] + part) % prime
                used = (used + np.uint64(x) * part) % prime
        people = (people + used * ways[s]) % prime
    return onward, people


@njit(cache=True, nogil=True)
def push_shares(ways, child_of, weight, children):
    """Return the number of ways to reach each child, as a float."""
    reached = np.zeros(children)
    for s in range(len(ways)):
        for x in range(child_of.shape[1]):
            child = child_of[s, x]
            if child >= 0:
                reached[child] += ways[s] * weight[x]
    return reached


@njit(cache=True, nogil=True)
def pull_shares(rest, ways, child_of, weight):
    """Return the number of ways to continue from each state, the people of the tuple that are in, over all ways, and
    how many more of the tuple could be in; all as floats."""
    onward = np.zeros(len(ways))
    people = 0.0
    lacking = 0.0
    most = child_of.shape[1] - 1
    for s in range(len(ways)):
        used = 0.0
        unused = 0.0
        for x in range(most + 1):
            child = child_of[s, x]
            if child >= 0:
                part = weight[x] * rest[child]
                onward[s] += part
                used += x * part
                unused += (most - x) * part
        people += used * ways[s]
        lacking += unused * ways[s]
    return onward, people, lacking


@njit(cache=True, nogil=True)
def walk_sets(counts_of, least, most, people, near_start, near, far, penalty, inside, chosen, left, draws):
    """Walk over sets of people of one size, several walks at once, and add up who is in whenever all counts are right.

    ``inside[w, t]`` people of tuple t are in the set of walk w, ``chosen[w]`` names their tuples one by one, and
    ``left[w]`` is what the set lacks of each count; from ``least[w, t]`` to ``most[w, t]`` people of tuple t may be in.
    A step replaces one person of the set by another from one of the tuples ``near[near_start[t]:near_start[t + 1]]``,
    or with probability `far` from any tuple. It prefers sets by ``exp(-penalty[w] x wrong counts)``. Changes `inside`,
    `chosen` and `left`; returns the people of each tuple over all steps at which all counts were right, and the number
    of these steps, by walk. ``draws[w, step]`` are three random numbers from 0 to 1.
    O(walks x steps x columns).
    """
    walks, tuples = inside.shape
    columns = counts_of.shape[1]
    size = chosen.shape[1]
    seen = np.zeros((walks, tuples), np.int64)
    fits = np.zeros(walks, np.int64)
    since = np.zeros(tuples, np.int64)
    for w in range(walks):
        since[:] = 0
        right = 0
        wrong = 0
        for i in range(left.shape[1]):
            wrong += abs(left[w, i])
        for step in range(draws.shape[1]):
            if wrong == 0:
                right += 1
            place = min(int(draws[w, step, 0] * size), size - 1)
            old = chosen[w, place]
            around = near_start[old + 1] - near_start[old]
            choice = draws[w, step, 1]
            if choice < far:
                new = min(int(choice / far * tuples), tuples - 1)
                ratio = 1.0
            elif around == 0:
                continue
            else:
                new = near[near_start[old] + min(int((choice - far) / (1.0 - far) * around), around - 1)]
                ratio = around / (near_start[new + 1] - near_start[new])
            if new == old or inside[w, old] == least[w, old] or inside[w, new] == most[w, new]:
                continue
            change = 0
            for j in range(columns):
                p = counts_of[old, j]
                q = counts_of[new, j]
                if p != q:
                    change += abs(left[w, p] + 1) - abs(left[w, p]) + abs(left[w, q] - 1) - abs(left[w, q])
            # People who could enter, divided by those who could return: the choice of a person within a tuple.
            ratio *= (people[new] - inside[w, new]) / (people[old] - inside[w, old] + 1)
            if draws[w, step, 2] >= ratio * np.exp(-penalty[w] * change):
                continue
            for j in range(columns):
                left[w, counts_of[old, j]] += 1
                left[w, counts_of[new, j]] -= 1
            seen[w, old] += inside[w, old] * (right - since[old])
            seen[w, new] += inside[w, new] * (right - since[new])
            since[old] = right
            since[new] = right
            inside[w, old] -= 1
            inside[w, new] += 1
            chosen[w, place] = new
            wrong += change
        for t in range(tuples):
            seen[w, t] += inside[w, t] * (right - since[t])
        fits[w] = right
    return seen, fits


@njit(cache=True, nogil=True)
def seek_set(counts_of, column_of, least, most, member_start, member, inside, left, weight, draws):
    """Look for a set of people with all counts right; return the steps taken, or -1.

    Each step chooses a count that is too high, and a count of the same column that is too low, and exchanges a person
    of the one for a person of the other: the pair with the least total weight of wrong counts afterwards. If nothing
    improves, wrong counts gain weight, so the search leaves every dead end.
    ``member[member_start[i]:member_start[i + 1]]`` are the tuples of count i, ``inside[t]`` people of tuple t are in,
    `left` is what they lack of each count. Changes `inside`, `left` and `weight`. ``draws[step]`` are four random
    numbers from 0 to 1. O(pairs x columns) per step.
    """
    columns = counts_of.shape[1]
    listed = np.empty(len(left), np.int64)
    for step in range(len(draws)):
        many = 0
        for i in range(len(left)):
            if left[i] < 0:
                listed[many] = i
                many += 1
        if many == 0:
            return step
        high = listed[min(int(draws[step, 0] * many), many - 1)]
        many = 0
        for i in range(len(left)):
            if left[i] > 0 and column_of[i] == column_of[high]:
                listed[many] = i
                many += 1
        low = listed[min(int(draws[step, 1] * many), many - 1)]
        highs = member_start[high + 1] - member_start[high]
        lows = member_start[low + 1] - member_start[low]
        # Equally good pairs are tried in turn, beginning with a random one.
        turn = int(draws[step, 2] * highs)
        other_turn = int(draws[step, 3] * lows)
        best = 0
        best_old = -1
        best_new = -1
        for a in range(highs):
            old = member[member_start[high] + (a + turn) % highs]
            if inside[old] <= least[old]:
                continue
            for b in range(lows):
                new = member[member_start[low] + (b + other_turn) % lows]
                if inside[new] >= most[new]:
                    continue
                change = 0
                for j in range(columns):
                    p = counts_of[old, j]
                    q = counts_of[new, j]
                    if p != q:
                        change += weight[p] * (1 if left[p] >= 0 else -1)
                        change += weight[q] * (1 if left[q] <= 0 else -1)
                if best_old < 0 or change < best:
                    best = change
                    best_old = old
                    best_new = new
        if best_old < 0 or best >= 0:
            for i in range(len(left)):
                if left[i] != 0:
                    weight[i] += 1
        if best_old < 0:
            continue
        for j in range(columns):
            left[counts_of[best_old, j]] += 1
            left[counts_of[best_new, j]] -= 1
        inside[best_old] -= 1
        inside[best_new] += 1
    for i in range(len(left)):
        if left[i] != 0:
            return -1
    return len(draws)
