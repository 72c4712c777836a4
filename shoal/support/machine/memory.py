"""How much memory is left, how much this process may reserve, if the system limits it, and what becomes of freed
memory."""

from __future__ import annotations

import contextlib
import errno
import os

BASE, PER_PROCESSOR = 1.6, 0.2
"""Gigabytes of addresses that libraries reserve, most of it for threads; they use a small part of it."""
_SIGNS = ("Cannot allocate memory", "failed to map segment", "can't start new thread", "cannot allocate")
"""What libraries and the system say when they cannot even be loaded."""

ARENAS, MAPPED, TRIMMED = -8, -3, -1
"""Settings of the allocator of the GNU C library: pools for threads, the size from which the system gives blocks one by
one, and the free memory at which some is given back."""
LARGEST_KEPT = 1 << 25
"""Larger blocks go back to the system: kept, they would not fit what comes next. The library allows no more."""


def keep_freed() -> None:
    """Let this process use the memory again that it has freed, in all its threads.

    The system clears what it gives, and would do so for every array of more than some kilobytes. Pools of single
    threads would keep what others need: with one pool, ten million rows take a tenth less memory. Other C libraries
    stay as they are.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        setting = ctypes.CDLL(None).mallopt
        for name, value in ((ARENAS, 1), (MAPPED, LARGEST_KEPT), (TRIMMED, 2**31 - 1)):
            setting(name, value)


def memory_left() -> int | None:
    """Return how many bytes of memory programs can still get; None if the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            left = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    try:
        with open("/sys/fs/cgroup/memory.max") as most, open("/sys/fs/cgroup/memory.current") as used:
            return min(left, max(int(most.read()) - int(used.read()), 0))
    except (OSError, ValueError):  # no limit
        return left


def limit_memory(allowed: int | None) -> None:
    """Let this process use so many bytes and no more, if any are given and the system can limit it, and let the system
    end it before others if memory runs out. It leaves no memory image behind: that would show the data."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if allowed is not None:
        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        allowed = allowed if most == resource.RLIM_INFINITY else min(allowed, most)
        resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))


_TO_START = 0.25
"""Gigabytes of addresses, for any command."""


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


def too_few_to_start() -> bool:
    """Whether the limit is so low that Python itself fails while it imports, in ways that nobody understands."""
    allowed = addresses_allowed()
    return allowed is not None and allowed < _TO_START


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


def is_lack_of_memory(error: BaseException | None) -> bool:
    """Whether lack of memory is behind an error."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if isinstance(error, OSError | ImportError | RuntimeError) and any(
            sign in str(error) for sign in _SIGNS
        ):
            return True
        error = error.__cause__ or error.__context__
    return False
