"""What an adversary believes about people: the sensitive labels of all published rows that match them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def beliefs(over_start, over, start, label, count, labels, own_start, own_label):
    """Count the rows of all classes that cover each point, those with its most frequent label, and those with its
    own labels (``own_label[own_start[i]:own_start[i + 1]]``).

    The classes ``over[over_start[i]:over_start[i + 1]]`` cover point i. Class c holds the labels
    ``label[start[c]:start[c + 1]]``, each `count` times. O(pairs of point and class x labels of a class).
    """
    points = len(over_start) - 1
    fitting = np.zeros(points, np.int64)
    top = np.zeros(points, np.int64)
    own = np.zeros(len(own_label), np.int64)
    seen = np.zeros(labels, np.int64)
    for i in range(points):
        for link in range(over_start[i], over_start[i + 1]):
            c = over[link]
            for at in range(start[c], start[c + 1]):
                seen[label[at]] += count[at]
                fitting[i] += count[at]
                top[i] = max(top[i], seen[label[at]])
        for at in range(own_start[i], own_start[i + 1]):
            own[at] = seen[own_label[at]]
        for link in range(over_start[i], over_start[i + 1]):
            c = over[link]
            for at in range(start[c], start[c + 1]):
                seen[label[at]] = 0
    return fitting, top, own
