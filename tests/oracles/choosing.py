"""Plain twins of the kernels in `shoal/kernels/choosing.py`, written to be read and not to be fast."""

from __future__ import annotations

import itertools


def follow(number):
    for shift in (13, -7, 17):
        number ^= (number << shift if shift > 0 else number >> -shift) & (2**64 - 1)
    return number


def below(number, count):
    return (int(number) >> 11) % count


def choose(n, k):
    """Binomial coefficient, by its recursion."""
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in itertools.pairwise(row)), 1]
    return row[k] if 0 <= k <= n else 0
