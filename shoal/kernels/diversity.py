"""What the most frequent sensitive values of each group amount to, and how evenly all of them are spread."""

from __future__ import annotations

import numpy as np
from numba import njit

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
    top = np.zeros(max(many, 1), np.int64)
    for g in range(groups):
        used = 0
        for i in range(start[g], start[g + 1]):
            c = count[i]
            largest[g] = max(largest[g], c)
            if many > 1:
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
        if many == 1:
            sums[g] = largest[g]
        else:
            for i in range(used):
                sums[g] += top[i]
    return largest, sums


@njit(cache=True, nogil=True)
def group_entropies(start, count, size):
    """Return the entropy of each group's values in nats; 0 for an empty group. O(values)."""
    groups = len(start) - 1
    entropy = np.zeros(groups)
    for g in range(groups):
        spread = 0.0
        for i in range(start[g], start[g + 1]):
            c = count[i]
            spread += _C_LOG_C[c] if c < 1024 else c * np.log(c)
        if size[g] > 0 and start[g + 1] - start[g] > 1:
            entropy[g] = np.log(size[g]) - spread / size[g]
    return entropy
