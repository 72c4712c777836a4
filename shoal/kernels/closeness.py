"""Earth mover's distances between the values of each group and those of the whole table."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def level_distances(start, value, count, size, low, totals):
    """Return per group the mean over levels of the total variation distance to `totals`.

    ``low[level, code]`` names the node of a code; level 0 alone is the equal distance. If moving mass between
    two leaves costs (lowest common level) / (number of levels), each level that separates them costs one step,
    so the earth mover's distance is the sum over levels of the mass that changes nodes there.
    All sums are integers. An empty group is infinitely far. O(levels x (values + codes)).
    """
    levels, codes = low.shape
    groups = len(start) - 1
    whole = np.int64(0)
    of_node = np.zeros((levels, codes), np.int64)
    for code in range(codes):
        whole += totals[code]
        for level in range(levels):
            of_node[level, low[level, code]] += totals[code]
    distance = np.empty(groups)
    for g in range(groups):
        if size[g] == 0 or whole == 0:
            distance[g] = np.inf
            continue
        moved = np.int64(0)
        for level in range(levels):
            i = start[g]
            while i < start[g + 1]:
                node = low[level, value[i]]
                inside = np.int64(0)
                while i < start[g + 1] and low[level, value[i]] == node:
                    inside += count[i]
                    i += 1
                excess = inside * whole - size[g] * of_node[level, node]
                if excess > 0:
                    moved += excess
        distance[g] = moved / (np.float64(whole) * size[g] * levels)
    return distance


@njit(cache=True, nogil=True)
def ordered_distances(start, value, count, size, totals):
    """Return per group the earth mover's distance to `totals` if neighbouring values are equally far apart.

    Only codes that occur in `totals` are places, and the first and the last are 1 apart: the distance is the
    sum over gaps between neighbours of the share that must cross. While the cumulated share of a group stays
    constant, the share of the table only grows, so prefix sums and a binary search for the crossing handle a long
    run of gaps at once: O(values x log codes + codes). An empty group is infinitely far.
    """
    codes = len(totals)
    groups = len(start) - 1
    rank = np.empty(codes, np.int32)  # occurring codes below this one
    below = np.zeros(codes + 1, np.int64)  # rows with one of the first r occurring codes
    summed = np.zeros(codes + 1, np.float64)  # sum of below[0..r]
    places = 0
    for code in range(codes):
        rank[code] = places
        if totals[code] > 0:
            places += 1
            below[places] = below[places - 1] + totals[code]
            summed[places] = summed[places - 1] + below[places]
    whole = below[places]
    # With few places it is faster to visit them all, without branches and in integers, which cannot overflow.
    dense = places <= 64 and whole < 1 << 28
    own_count = np.zeros(64, np.int64)
    distance = np.empty(groups)
    for g in range(groups):
        if size[g] == 0 or whole == 0:
            distance[g] = np.inf
            continue
        if dense:
            for i in range(start[g], start[g + 1]):
                own_count[min(rank[value[i]], places - 1)] += count[i]
            own = np.int64(0)
            whole_crossing = np.int64(0)
            for place in range(places - 1):
                own += own_count[place]
                own_count[place] = 0
                whole_crossing += abs(own * whole - size[g] * below[place + 1])
            own_count[places - 1] = 0
            distance[g] = whole_crossing / (np.float64(whole) * size[g] * max(places - 1, 1))
            continue
        share = 1.0 / size[g]
        crossing = 0.0
        done = 0  # gaps 1..done are summed; gap r lies after the r-th place
        own = np.int64(0)
        for i in range(start[g], start[g + 1] + 1):
            last = places - 1
            if i < start[g + 1]:
                last = min(last, rank[value[i]])
            if last > done:
                # In the first `turn - done` of these gaps, the table's share is not larger.
                turn, above = done, last
                while turn < above:
                    middle = (turn + above + 1) // 2
                    if below[middle] * size[g] <= own * whole:
                        turn = middle
                    else:
                        above = middle - 1
                lower = (turn - done) * (own * share) - (summed[turn] - summed[done]) / whole
                upper = (summed[last] - summed[turn]) / whole - (last - turn) * (own * share)
                crossing += lower + upper
                done = last
            if i < start[g + 1]:
                own += count[i]
        distance[g] = crossing / (places - 1) if places > 1 else 0.0
    return distance


@njit(cache=True, nogil=True)
def level_keepable(start, value, count, size, low, totals, most):
    """Return per group an upper bound on the rows of a subset whose `level_distances` is at most `most`.

    A subset of s rows has at most the c rows of the group in a node, so it shares at most min(c / s, the node's share
    of the table) with the table there. The rest has to move, and it grows with s. What is shared is concave in s, so
    its tangent at an s that is too large leads to a smaller one that no fitting subset exceeds: a few steps of
    O(levels x values) per group that is too far as a whole.
    """
    levels, codes = low.shape
    groups = len(start) - 1
    whole = 0.0
    of_node = np.zeros((levels, codes))
    for code in range(codes):
        whole += totals[code]
        for level in range(levels):
            of_node[level, low[level, code]] += totals[code]
    for level in range(levels):
        for code in range(codes):
            of_node[level, code] /= max(whole, 1.0)
    needed = levels * (1.0 - most - 1e-8)
    inside = np.empty(levels * codes)
    shares = np.empty(levels * codes)
    keep = np.empty(groups, np.int64)
    for g in range(groups):
        nodes = 0
        for level in range(levels):
            last = -1
            for i in range(start[g], start[g + 1]):
                node = low[level, value[i]]
                if node != last:
                    last = node
                    inside[nodes] = 0.0
                    shares[nodes] = of_node[level, node]
                    nodes += 1
                inside[nodes - 1] += count[i]
        trial = size[g] if whole > 0 else np.int64(0)
        while trial > 0:
            rows = 0.0  # of nodes that the group has too few rows in
            share = 0.0  # of the other nodes
            for node in range(np.uint64(nodes)):
                few = inside[node] < trial * shares[node]
                rows += inside[node] if few else 0.0
                share += 0.0 if few else shares[node]
            if rows + trial * share >= trial * needed:
                break
            # The tangent: rows + s x share is no more than s rows need where s is larger than this.
            trial = min(trial - 1, np.int64(rows / (needed - share) + 1e-6))
        keep[g] = max(trial, np.int64(0))
    return keep
