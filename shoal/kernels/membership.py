"""Counting the groups of people that fit a bucket of shuffled columns (see shoal/membership.py).

A state holds what is left of all counts, packed side by side into the bits of a few 64-bit words. Callers see to it
that a count never outgrows its bits, so states are added and subtracted as whole words.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def extend_states(states, word, shift, mask, cap, step, most, limit):
    """Decide one tuple in every state: how many of its people are in, from 0 to `most`.

    ``word``, ``shift`` and ``mask`` say where the counts of the tuple's values are, and `cap` how much of each later
    tuples can take. Return the new states, ``child_of[state, people in]`` (-1: does not fit), and whether there were
    at most `limit` new states; with more the other two are useless. O(states x choices x columns), hashed.
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
    """Give each state of `left` the state of `right` that adds up with it to `whole`, or -1. O(states), hashed."""
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
    """Return the number of ways to go on from each state, and the people of the tuple that are in, over all ways.

    `rest` is the number of ways to go on from each child; all modulo a prime below 2**31.
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
def walk_subsets(bounds_of, tuple_of, order, inside, left, pairs, chances, penalty, stride):
    """Walk over sets of people by swaps, and count who is in whenever all counts are right.

    ``order[:inside]`` are the people in the set; `left` is what the set lacks of each count. Step i swaps the pair
    ``pairs[i]`` unless ``chances[i] >= exp(-penalty x what it makes worse)``. Every `stride` steps the set is looked
    at. Changes `order` and `left`; returns how often each tuple was in (people summed up), and how often the set fit.
    O(steps x columns).
    """
    seen = np.zeros(len(bounds_of), np.int64)
    fits = 0
    columns = bounds_of.shape[1]
    wrong = 0
    for i in range(len(left)):
        wrong += abs(left[i])
    for step in range(len(pairs)):
        a = pairs[step, 0]
        b = pairs[step, 1]
        out = tuple_of[order[a]]
        new = tuple_of[order[b]]
        change = 0
        for j in range(columns):
            p = bounds_of[out, j]
            q = bounds_of[new, j]
            if p != q:
                change += abs(left[p] + 1) - abs(left[p]) + abs(left[q] - 1) - abs(left[q])
        if change <= 0 or chances[step] < np.exp(-penalty * change):
            for j in range(columns):
                left[bounds_of[out, j]] += 1
                left[bounds_of[new, j]] -= 1
            order[a], order[b] = order[b], order[a]
            wrong += change
        if wrong == 0 and step % stride == 0:
            fits += 1
            for i in range(inside):
                seen[tuple_of[order[i]]] += 1
    return seen, fits
