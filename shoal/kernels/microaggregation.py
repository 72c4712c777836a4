"""Microaggregation: groups of at least k points that are close to each other."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def _distances(points, labels, weights, point, label, left, out):
    """Write the squared distance of each remaining point to one point. Column by column, so that it is vectorized."""
    out[:left] = 0.0
    for j in range(len(points)):
        column, own = points[j], point[j]
        for i in range(left):
            step = column[i] - own
            out[i] += step * step
    for j in range(len(labels)):
        names, name, weight = labels[j], label[j], weights[j]
        for i in range(left):
            out[i] += weight if names[i] != name else 0.0


@njit(cache=True, nogil=True)
def _from_centre(points, labels, weights, starts, counts, sums, left, out, costs):
    """Write the squared distance of each remaining point to the centre of all. A label is a corner of a simplex."""
    out[:left] = 0.0
    for j in range(len(points)):
        column, own = points[j], sums[j] / left
        for i in range(left):
            step = column[i] - own
            out[i] += step * step
    for j in range(len(labels)):
        first, last = starts[j], starts[j + 1]
        squares = 0.0
        for at in range(first, last):
            share = counts[at] / left
            squares += share * share
        for at in range(first, last):
            costs[at] = 0.5 * weights[j] * (1.0 - 2.0 * (counts[at] / left) + squares)
        names = labels[j]
        for i in range(left):
            out[i] += costs[first + names[i]]


@njit(cache=True, nogil=True)
def _farthest(distance, ids, left):
    """Return the place of the largest distance, the lowest id among equals."""
    best = 0
    for i in range(1, left):
        if distance[i] > distance[best] or (distance[i] == distance[best] and ids[i] < ids[best]):
            best = i
    return best


@njit(cache=True, nogil=True)
def _nearest(distance, ids, left, k, near):
    """Write the places of the k smallest distances into `near`, the lowest ids among equals. O(left + k changes)."""
    held = 0
    for i in range(left):
        at = held
        while at > 0:
            other = near[at - 1]
            if distance[i] > distance[other] or (distance[i] == distance[other] and ids[i] > ids[other]):
                break
            at -= 1
        if at == k:
            continue
        if held < k:
            held += 1
        for place in range(held - 1, at, -1):
            near[place] = near[place - 1]
        near[at] = i


@njit(cache=True, nogil=True)
def _remove(points, labels, starts, counts, sums, ids, near, k, left):
    """Take the points at `near` out: the last ones fill the gaps. Returns how many remain."""
    places = np.sort(near[:k])
    for at in range(k - 1, -1, -1):
        place = places[at]
        left -= 1
        for j in range(len(points)):
            sums[j] -= points[j, place]
            points[j, place] = points[j, left]
        for j in range(len(labels)):
            counts[starts[j] + labels[j, place]] -= 1
            labels[j, place] = labels[j, left]
        ids[place] = ids[left]
    return left


@njit(cache=True, nogil=True)
def mdav(points, labels, weights, starts, k):
    """Return a group number per point, by MDAV: maximum distance to the average vector.

    ``points[d, n]`` are numbers, ``labels[m, n]`` categories from 0; column j of them has ``starts[j + 1] - starts[j]``
    categories. Squared distances add up over all columns; two different labels are `weights` apart. While 3k points
    remain, the one farthest from the centre, and then the one farthest from that, each make a group with their k - 1
    nearest. Lowest numbers win among equals. Every group has k to 2k - 1 points if there are k. O(n^2 / k x columns).
    """
    total = points.shape[1] if len(points) else labels.shape[1]
    points, labels = points.copy(), labels.copy()
    group_of = np.zeros(total, np.int32)
    ids = np.arange(total)
    counts = np.zeros(starts[len(starts) - 1], np.int64)
    costs = np.zeros(starts[len(starts) - 1])
    sums = np.zeros(len(points))
    for i in range(total):
        for j in range(len(points)):
            sums[j] += points[j, i]
        for j in range(len(labels)):
            counts[starts[j] + labels[j, i]] += 1
    distance = np.empty(total)
    near = np.empty(k, np.int64)
    point = np.empty(len(points))
    label = np.empty(len(labels), np.int32)
    left, group = total, 0
    while left >= 2 * k:
        _from_centre(points, labels, weights, starts, counts, sums, left, distance, costs)
        far = _farthest(distance, ids, left)
        for side in range(2 if left >= 3 * k else 1):
            if side == 1:
                # `point` still is the one that the group before was made around.
                _distances(points, labels, weights, point, label, left, distance)
                far = _farthest(distance, ids, left)
            for j in range(len(points)):
                point[j] = points[j, far]
            for j in range(len(labels)):
                label[j] = labels[j, far]
            _distances(points, labels, weights, point, label, left, distance)
            # The point itself comes first, whatever else lies at its place.
            distance[far] = -1.0
            _nearest(distance, ids, left, k, near)
            for place in range(k):
                group_of[ids[near[place]]] = group
            left = _remove(points, labels, starts, counts, sums, ids, near, k, left)
            group += 1
    for i in range(left):
        group_of[ids[i]] = group
    return group_of


@njit(cache=True, nogil=True)
def best_cuts(values, k):
    """Return where each group of sorted values begins, so that the sum of squared distances to the means of groups of
    at least k is smallest (Hansen and Mukherjee 2003).

    No group of an optimum needs 2k values, because splitting it never costs more. Among equals, the last group is the
    shortest. At least k values. O(n k).
    """
    total = len(values)
    middle = values.mean() if total else 0.0
    sums = np.zeros(total + 1)
    squares = np.zeros(total + 1)
    for i in range(total):
        value = values[i] - middle
        sums[i + 1] = sums[i] + value
        squares[i + 1] = squares[i] + value * value
    best = np.full(total + 1, np.inf)
    best[0] = 0.0
    before = np.zeros(total + 1, np.int64)
    for end in range(k, total + 1):
        for first in range(end - k, max(end - 2 * k, -1), -1):
            if best[first] == np.inf:
                continue
            whole = sums[end] - sums[first]
            cost = best[first] + max(squares[end] - squares[first] - whole * whole / (end - first), 0.0)
            if cost < best[end]:
                best[end], before[end] = cost, first
    starts = np.empty(total // k, np.int64)
    count, end = 0, total
    while end > 0:
        end = before[end]
        starts[count] = end
        count += 1
    return starts[:count][::-1].copy()
