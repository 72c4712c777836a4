"""Exact integers from their remainders modulo primes."""

from __future__ import annotations

import math
from collections.abc import Sequence


def find_primes(most: int) -> list[int]:
    """Return the largest primes below 2**31, as many as have a product above `most`, and at least one."""
    primes = [_next_prime(1 << 31)]
    product = primes[0]
    while product <= most:
        primes.append(_next_prime(primes[-1]))
        product *= primes[-1]
    return primes


def combine_remainders(remainders: Sequence[Sequence[int]], primes: Sequence[int]) -> list[int]:
    """Return the numbers below the product of the primes that have these remainders, listed for each prime."""
    product = math.prod(primes)
    numbers = [0] * len(remainders[0])
    for prime, own in zip(primes, remainders, strict=True):
        other = product // prime
        factor = other * pow(other, -1, prime)
        numbers = [number + rest * factor for number, rest in zip(numbers, own, strict=True)]
    return [number % product for number in numbers]


def _next_prime(below: int) -> int:
    """Return the largest prime below a number under 2**31, by the Miller-Rabin test, exact with these bases."""
    candidate = below - 1
    while not _is_prime(candidate):
        candidate -= 1
    return candidate


def _is_prime(n: int) -> bool:
    bases = (2, 3, 5, 7)
    if n < 2 or any(n % b == 0 for b in bases):
        return n in bases
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in bases:
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        if not any((x := x * x % n) == n - 1 for _ in range(s - 1)):
            return False
    return True
