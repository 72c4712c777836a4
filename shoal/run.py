"""`Run`: the randomness, progress and cancellation of a method or an attack."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import ARGUMENTS, PolicyError, Problem

Progress = Callable[[str, float], None]


def silent(_stage: str, _share: float) -> None:
    """Show no progress."""


def checked_seed(seed: Any) -> int | None:
    """Return a seed as a plain number, or raise PolicyError if it is none."""
    if seed is None:
        return None
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise PolicyError(
            [Problem("seed", f"must be a whole number, 0 or higher, not {seed!r}")], where=ARGUMENTS
        )
    return int(seed)


@dataclass(frozen=True)
class Run:
    """Randomness and progress for one piece of work."""

    random: np.random.Generator
    """All randomness of the work. Draw arrays from it and pass them to kernels."""
    seed: int | None = None
    """The seed, if one was given: a release made with a seed is not for publication."""
    progress: Progress = silent
    """Called with the name of the stage and the share done, 0..1, at most a few times a second. It may raise
    KeyboardInterrupt, so call it where it is safe to stop."""

    @classmethod
    def start(cls, seed: int | None = None, progress: Progress = silent) -> Run:
        """Begin a run. Randomness comes from the operating system, unless a seed is given."""
        seed = checked_seed(seed)
        entropy = secrets.randbits(256) if seed is None else seed
        return cls(np.random.Generator(np.random.PCG64DXSM(entropy)), seed, progress)
