"""How much memory this process may reserve, if the system limits it."""

from __future__ import annotations

import os

BASE, PER_PROCESSOR = 1.6, 0.2
"""Gigabytes of addresses that libraries reserve, most of it for threads; they use a small part of it."""


def addresses_allowed() -> float | None:
    """Return the limit of addresses (``ulimit -v``) in gigabytes; None if there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if allowed == resource.RLIM_INFINITY else allowed / 1e9


def addresses_needed() -> float:
    """Return how many gigabytes of addresses the smallest table needs."""
    return BASE + PER_PROCESSOR * (os.cpu_count() or 1)


def check_addresses() -> None:
    """Raise MemoryError if the limit is so low that libraries would fail or, worse, wait for ever."""
    allowed = addresses_allowed()
    if allowed is not None and allowed < addresses_needed():
        raise MemoryError(address_advice())


def address_advice() -> str:
    """Say what the limit is and what it should be; "" if there is none."""
    allowed = addresses_allowed()
    if allowed is None:
        return ""
    return (
        f"This shell allows a process {allowed:.1f} GB of addresses (`ulimit -v`). Libraries reserve more than "
        f"they use: raise it to {addresses_needed():.1f} GB or more, or limit the memory in use instead"
    )
