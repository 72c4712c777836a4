"""Plain twins of the kernels in `shoal/kernels/disclosure.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def beliefs(over_start, over, start, label, count, labels, own_start, own_label):
    fitting, top, own = [], [], []
    for i in range(len(over_start) - 1):
        seen = [0] * labels
        for c in over[over_start[i] : over_start[i + 1]]:
            for at in range(start[c], start[c + 1]):
                seen[label[at]] += int(count[at])
        fitting.append(sum(seen))
        top.append(max(seen))
        own += [seen[value] for value in own_label[own_start[i] : own_start[i + 1]]]
    return np.array(fitting), np.array(top), np.array(own)
