"""Plain twins of the kernels in `shoal/kernels/singling.py`, written to be read and not to be fast."""

from __future__ import annotations

import numpy as np


def of_one_person(group_of, groups, owner):
    owners = [{owner[row] for row in range(len(owner)) if group_of[row] == g} for g in range(groups)]
    return np.array([len(owners[g]) == 1 and -1 not in owners[g] for g in group_of], bool)
