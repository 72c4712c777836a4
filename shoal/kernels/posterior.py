"""How likely each pair of a person and a row is, if all complete assignments are equally likely.

Equal people are one kind with several members, equal rows one class with several places.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

MOST_BITS = 62
"""A state holds how many places of each class are taken, in one number of this many bits."""


@njit(cache=True, nogil=True)
def _sequence(fits, people, places):
    """Return the kinds of people one by one, such that few classes are partly taken at any time."""
    kinds, classes = fits.shape
    sequence = np.empty(people.sum(), np.int64)
    done = np.zeros(kinds, np.bool_)
    opened = np.zeros(classes, np.bool_)
    waiting = np.zeros(classes, np.int64)
    for u in range(kinds):
        for g in range(classes):
            waiting[g] += fits[u, g]
    at = 0
    for _ in range(kinds):
        best, least = -1, np.inf
        for u in range(kinds):
            if done[u]:
                continue
            cost = 0.0
            for g in range(classes):
                if fits[u, g]:
                    size = np.log2(places[g] + 1.0)
                    cost += 0.0 if opened[g] else size
                    cost -= size if waiting[g] == 1 else 0.0
            if cost < least:
                best, least = u, cost
        done[best] = True
        for g in range(classes):
            if fits[best, g]:
                opened[g] = True
                waiting[g] -= 1
        for _ in range(people[best]):
            sequence[at] = best
            at += 1
    return sequence


@njit(cache=True, nogil=True)
def _find(keys, begin, end, key):
    """Return where an ascending run of keys has this one, or -1."""
    last = end
    while begin < end:
        middle = (begin + end) // 2
        if keys[middle] < key:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < last and keys[begin] == key else -1


@njit(cache=True, nogil=True)
def pair_shares(fits, people, places, most):
    """Return the share of all complete assignments that contain one pair of a kind of people and a class.

    `fits` says which kinds match which classes; there are as many people as places. People are assigned one by one; a
    state is how many places of each class are taken, and a class that nobody else fits must be full by then. Weights of
    states are passed forth and back. Nothing is returned if there are more than `most` states, if a state needs more
    than 62 bits, or if there is no complete assignment. O(states x classes x log states).
    """
    kinds, classes = fits.shape
    nothing = np.zeros((0, 0))
    shift = np.zeros(classes + 1, np.int64)
    for g in range(classes):
        bits = 0
        while (np.int64(1) << bits) <= places[g]:
            bits += 1
        shift[g + 1] = shift[g] + bits
    if shift[classes] > MOST_BITS:
        return nothing
    sequence = _sequence(fits, people, places)
    count = len(sequence)
    last = np.full(classes, -1, np.int64)
    for t in range(count):
        for g in range(classes):
            if fits[sequence[t], g]:
                last[g] = t
    keys = np.empty(most, np.int64)
    weight = np.empty(most, np.float64)
    begin = np.zeros(count + 2, np.int64)
    keys[0], weight[0] = 0, 1.0
    begin[1] = 1
    for t in range(count):
        u = sequence[t]
        new_keys = np.empty((begin[t + 1] - begin[t]) * classes, np.int64)
        new_weight = np.empty(len(new_keys), np.float64)
        found = 0
        for state in range(begin[t], begin[t + 1]):
            for g in range(classes):
                taken = (keys[state] >> shift[g]) & ((np.int64(1) << (shift[g + 1] - shift[g])) - 1)
                if not fits[u, g] or taken == places[g]:
                    continue
                key = keys[state] + (np.int64(1) << shift[g])
                full = True
                for h in range(classes):
                    own = (key >> shift[h]) & ((np.int64(1) << (shift[h + 1] - shift[h])) - 1)
                    if last[h] == t and own < places[h]:
                        full = False
                        break
                if full:
                    new_keys[found] = key
                    new_weight[found] = weight[state] * (places[g] - taken)
                    found += 1
        order = np.argsort(new_keys[:found])
        to, largest = begin[t + 1], 0.0
        for at in order:
            if to > begin[t + 1] and keys[to - 1] == new_keys[at]:
                weight[to - 1] += new_weight[at]
            else:
                if to == most:
                    return nothing
                keys[to], weight[to] = new_keys[at], new_weight[at]
                to += 1
            largest = max(largest, weight[to - 1])
        if to == begin[t + 1]:
            return nothing
        begin[t + 2] = to
        for state in range(begin[t + 1], to):
            weight[state] /= largest
    shares = np.zeros((kinds, classes))
    rest = np.ones(1)
    for t in range(count - 1, -1, -1):
        u = sequence[t]
        before = np.zeros(begin[t + 1] - begin[t])
        own = np.zeros(classes)
        for state in range(begin[t], begin[t + 1]):
            for g in range(classes):
                taken = (keys[state] >> shift[g]) & ((np.int64(1) << (shift[g + 1] - shift[g])) - 1)
                if not fits[u, g] or taken == places[g]:
                    continue
                child = _find(keys, begin[t + 1], begin[t + 2], keys[state] + (np.int64(1) << shift[g]))
                if child < 0:
                    continue
                ways = (places[g] - taken) * rest[child - begin[t + 1]]
                before[state - begin[t]] += ways
                own[g] += weight[state] * ways
        total = own.sum()
        for g in range(classes):
            shares[u, g] += own[g] / total
        rest = before / before.max()
    for u in range(kinds):
        for g in range(classes):
            shares[u, g] /= people[u] * places[g]
    return shares


@njit(cache=True, nogil=True)
def _random(state):
    """Return the next random 32 bits (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(32)


@njit(cache=True, nogil=True)
def walk_assignments(
    kind, start, before, classes, first, holder, link, longest, steps, state, counts, left, visits
):
    """Walk over complete assignments, each equally likely in the long run; count how often each pair occurs.

    Person p is of kind ``kind[p]``, which matches the classes ``classes[start[u]:start[u + 1]]``, ascending. ``before``
    has one more entry per kind: how many rows come before those of each link, and their number. The rows of class g
    are numbered from ``first[g]``. ``holder`` says who has each row, ``link`` by which link.

    Each turn draws how many people are to move, few more often than many, at most `longest`. A random person takes a
    random row that matches, its holder another one, and so on; if the last one matches the first one's row, all move,
    else nobody does, nor if somebody would move twice. A circle of people may begin with each of them, so it is as
    likely as the same circle backwards, which undoes it: all complete assignments are equally likely in the long run.

    Batch b ends after `steps` steps: ``visits[b]`` assignments with ``counts[b, link]`` pairs in all. ``left`` counts
    how often a pair was given up. O(steps x log links).
    """
    people = len(kind)
    held = np.empty(people, np.int64)
    for row in range(len(holder)):
        held[holder[row]] = row
    since = np.zeros(people, np.int64)
    asked = np.full(people, -1, np.int64)
    who = np.empty(longest, np.int64)
    new_row = np.empty(longest, np.int64)
    new_link = np.empty(longest, np.int64)
    turn = 0
    for batch in range(len(visits)):
        since[:] = 0
        seen, done = 0, 0
        while done < steps:
            seen += 1
            turn += 1
            coins, scale = _random(state), 2
            while coins & np.uint64(1) and 4 * scale <= longest:
                scale *= 2
                coins >>= np.uint64(1)
            many = scale + np.int64((_random(state) * np.uint64(scale)) >> np.uint64(32))
            p = np.int64((_random(state) * np.uint64(people)) >> np.uint64(32))
            free = held[p]
            own = classes[link[p]]
            depth = 0
            while depth < many - 1 and asked[p] != turn:
                asked[p] = turn
                u = kind[p]
                low, high = start[u] + u, start[u + 1] + u
                x = np.int64((_random(state) * np.uint64(before[high])) >> np.uint64(32))
                while high - low > 1:
                    middle = (low + high) // 2
                    if before[middle] <= x:
                        low = middle
                    else:
                        high = middle
                who[depth], new_link[depth] = p, low - u
                new_row[depth] = first[classes[low - u]] + x - before[low]
                p = holder[new_row[depth]]
                depth += 1
            done += depth + 1
            if asked[p] == turn:
                continue
            back = _find(classes, start[kind[p]], start[kind[p] + 1], own)
            if back < 0:
                continue
            who[depth], new_link[depth], new_row[depth] = p, back, free
            for at in range(depth + 1):
                p = who[at]
                counts[batch, link[p]] += seen - since[p]
                left[link[p]] += link[p] != new_link[at]
                since[p], link[p], held[p] = seen, new_link[at], new_row[at]
                holder[new_row[at]] = p
        for p in range(people):
            counts[batch, link[p]] += seen - since[p]
        visits[batch] = seen
