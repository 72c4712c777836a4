"""All assignments of whole groups to classes, one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product


def assign_groups(sizes, room):
    """Return ``[group][class]`` the share of the assignments that put a group into a class, of those in which the
    groups of each class have together as many rows as it has room.
    """
    good = [
        where
        for where in product(range(len(room)), repeat=len(sizes))
        if all(
            sum(size for size, place in zip(sizes, where, strict=True) if place == c) == wanted
            for c, wanted in enumerate(room)
        )
    ]
    return [
        [Fraction(sum(where[g] == c for where in good), len(good)) for c in range(len(room))]
        for g in range(len(sizes))
    ]
