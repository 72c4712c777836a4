"""Sets of people who use up all rows that they match, in the graph of components that `few_known` builds.

A component points to the components whose rows its people match; the graph has no cycle. Component c points to
``heads[start[c]:start[c + 1]]``, and has ``weight[c]`` people and as many rows. A set of components is closed if none
points out of it, and the closure of a component is what can be reached from it.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def closure_weights(start, heads, weight, most):
    """Return how many people the closure of each component has; ``most + 1`` if more than `most`.

    O(components x edges among `most` people).
    """
    count = len(weight)
    found = np.zeros(count, np.int64)
    seen = np.full(count, -1, np.int64)
    queue = np.empty(count, np.int64)
    for origin in range(count):
        queue[0] = origin
        seen[origin] = origin
        _, total = _reach(queue, 1, weight[origin], seen, origin, start, heads, weight, most)
        found[origin] = min(total, most + 1)
    return found


@njit(cache=True, nogil=True)
def _reach(queue, queued, total, seen, stamp, start, heads, weight, most):
    """Add everything that can be reached to the queue of `queued` components with `total` people, which bear the stamp;
    stop above `most` people. Return how many are queued, and their people.
    """
    at = 0
    while at < queued and total <= most:
        c = queue[at]
        at += 1
        for edge in range(start[c], start[c + 1]):
            other = heads[edge]
            if seen[other] != stamp:
                seen[other] = stamp
                queue[queued] = other
                queued += 1
                total += weight[other]
                if total > most:
                    break
    return queued, total


@njit(cache=True, nogil=True)
def most_removed(item_start, items, profit, start, heads, weight, most, tries, begin, end, removed, limit):
    """Find the closed set of at most `most` people that contains most rows of each target from `begin` to `end`.

    Target u matches ``profit[i]`` rows of each component ``items[i]`` of ``item_start[u]:item_start[u + 1]``, whose
    closures have at most `most` people each. ``removed[u]`` becomes the rows of the best set that was found, and
    ``limit[u]`` a number that no set exceeds. They are the same unless the search looks at more than `tries` items.
    """
    count = len(weight)
    seen = np.full(count, -1, np.int64)
    queue = np.empty(count, np.int64)
    stamp = 0
    own = np.zeros(count, np.int64)
    covered = np.zeros(count, np.bool_)
    for u in range(begin, end):
        first, last = item_start[u], item_start[u + 1]
        everything = np.int64(0)
        stamp += 1
        queued, total = 0, np.int64(0)
        for i in range(first, last):
            everything += profit[i]
            if seen[items[i]] != stamp:
                seen[items[i]] = stamp
                queue[queued] = items[i]
                queued += 1
                total += weight[items[i]]
        queued, total = _reach(queue, queued, total, seen, stamp, start, heads, weight, most)
        if total <= most:
            removed[u] = limit[u] = everything
            continue
        # All together are too many people: search for the best choice.
        many = last - first
        order = first + np.argsort(-profit[first:last], kind="mergesort")
        begins = np.zeros(many + 1, np.int64)
        listed = np.empty(16, np.int64)
        size = 0
        for place in range(many):
            stamp += 1
            queue[0] = items[order[place]]
            seen[queue[0]] = stamp
            queued, _ = _reach(queue, 1, weight[queue[0]], seen, stamp, start, heads, weight, most)
            if size + queued > len(listed):
                longer = np.empty(2 * (size + queued), np.int64)
                longer[:size] = listed[:size]
                listed = longer
            listed[size : size + queued] = queue[:queued]
            size += queued
            begins[place + 1] = size
        for i in range(first, last):
            own[items[i]] = profit[i]
        removed[u], finished = _search(order, items, begins, listed, own, weight, most, tries, covered)
        limit[u] = removed[u] if finished else min(everything, most)
        for i in range(first, last):
            own[items[i]] = 0


@njit(cache=True, nogil=True)
def _search(order, items, begins, listed, own, weight, most, tries, covered):
    """Branch over the items, each taken with its closure or left out. `covered` is false everywhere, and is again."""
    many = len(order)
    state = np.zeros(many, np.int8)  # 1: taken, 2: left out, or covered already
    marks = np.empty(many + 1, np.int64)
    added = np.empty(len(listed), np.int64)
    height, people, gain, best, place, steps = 0, np.int64(0), np.int64(0), np.int64(0), 0, 0
    while True:
        steps += 1 + many - place
        open_ = np.int64(0)
        for later in range(place, many):
            if not covered[items[order[later]]]:
                open_ += own[items[order[later]]]
        if place < many and gain + min(open_, most - people) > best and steps <= tries:
            extra = np.int64(0)
            for at in range(begins[place], begins[place + 1]):
                if not covered[listed[at]]:
                    extra += weight[listed[at]]
            state[place] = 2
            if extra and people + extra <= most:
                state[place] = 1
                marks[place] = height
                for at in range(begins[place], begins[place + 1]):
                    c = listed[at]
                    if not covered[c]:
                        covered[c] = True
                        added[height] = c
                        height += 1
                        gain += own[c]
                people += extra
                best = max(best, gain)
            place += 1
            continue
        # Go back to the last item that was taken, and leave it out.
        while place > 0 and state[place - 1] != 1:
            place -= 1
        if place == 0:
            return best, steps <= tries
        state[place - 1] = 2
        while height > marks[place - 1]:
            height -= 1
            c = added[height]
            covered[c] = False
            gain -= own[c]
            people -= weight[c]
