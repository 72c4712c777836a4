"""What an adversary believes about people: the sensitive labels of all published rows that match them."""

from __future__ import annotations

import numpy as np

from shoal.kernels.compiled import njit


@njit(cache=True, nogil=True)
def beliefs(codes, low, high, set_start, set_codes, start, label, count, labels, own_start, own_label):
    """Count the rows of all classes that cover each point, those with its most frequent label, and those with its
    own labels (``own_label[own_start[i]:own_start[i + 1]]``).

    Class c shows ``low[c]..high[c]``, or the sets of codes (``set_start``, ``set_codes``) if there are any, and
    holds the labels ``label[start[c]:start[c + 1]]``, each `count` times. O(points x classes); one or two columns
    rule out most pairs.
    """
    points, width = codes.shape
    fitting = np.zeros(points, np.int64)
    top = np.zeros(points, np.int64)
    own = np.zeros(len(own_label), np.int64)
    seen = np.zeros(labels, np.int64)
    for i in range(points):
        for value in range(labels):
            seen[value] = 0
        for c in range(len(low)):
            fits = True
            for j in range(width):
                code = codes[i, j]
                if code < low[c, j] or code > high[c, j]:
                    fits = False
                    break
                if len(set_start):
                    at, end = set_start[c * width + j], set_start[c * width + j + 1]
                    while at < end and set_codes[at] != code:
                        at += 1
                    if at == end:
                        fits = False
                        break
            if fits:
                for at in range(start[c], start[c + 1]):
                    seen[label[at]] += count[at]
        for value in range(labels):
            fitting[i] += seen[value]
            top[i] = max(top[i], seen[value])
        for at in range(own_start[i], own_start[i + 1]):
            own[at] = seen[own_label[at]]
    return fitting, top, own
