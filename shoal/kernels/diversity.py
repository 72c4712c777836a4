"""Counts of the most frequent sensitive values of each group, and how evenly all of them are spread."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit

# Most groups of a search are small: looking up c log c is several times faster than computing it.
_C_LOG_C = np.arange(1024) * np.log(np.maximum(np.arange(1024), 1))


@njit(cache=True, nogil=True)
def top_counts(start, count, many):
    """Return per group its largest count, and the sum of its `many` largest.

    Keeps the largest in order by insertion: O(values) for many = 1, at worst O(values x many).
    """
    groups = len(start) - 1
    largest = np.zeros(groups, np.int64)
    sums = np.zeros(groups, np.int64)
    for g in range(groups):
        most = np.int64(0)
        for i in range(start[g], start[g + 1]):
            most = max(most, count[i])
        largest[g] = most
        sums[g] = most if many == 1 else 0
    if many <= 1:
        return largest, sums
    top = np.zeros(many, np.int64)
    for g in range(groups):
        used = 0
        for i in range(start[g], start[g + 1]):
            c = count[i]
            if used < many:
                at = used
                used += 1
            elif c > top[many - 1]:
                at = many - 1
            else:
                continue
            while at > 0 and top[at - 1] < c:
                top[at] = top[at - 1]
                at -= 1
            top[at] = c
        for i in range(used):
            sums[g] += top[i]
    return largest, sums


@njit(cache=True, nogil=True)
def group_entropies(start, count, size):
    """Return the entropy of each group's values in nats; 0 for an empty group. O(values)."""
    groups = len(start) - 1
    entropy = np.zeros(groups)
    for g in range(groups):
        if start[g + 1] - start[g] < 2:
            continue
        spread = 0.0
        for i in range(start[g], start[g + 1]):
            c = count[i]
            spread += _C_LOG_C[c] if c < 1024 else c * np.log(c)
        n = size[g]
        entropy[g] = ((_C_LOG_C[n] if n < 1024 else n * np.log(n)) - spread) / n
    return entropy
