"""`Run`: the randomness, progress, cancellation and division of a method or an attack."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import ARGUMENTS, PolicyError, Problem
from shoal.support.wording import format_value

Progress = Callable[[str, float], None]


def silent(_stage: str, _share: float) -> None:
    """Show no progress."""


def check_seed(seed: Any) -> int | None:
    """Return a seed as a plain number, or raise PolicyError if it is none."""
    if seed is None:
        return None
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise PolicyError(
            [Problem("seed", f"must be a whole number, 0 or higher, not {format_value(seed)}")],
            where=ARGUMENTS,
        )
    return int(seed)


@dataclass(frozen=True)
class Division:
    """Whether large tables are divided into parts, and how many processes work on them."""

    part_rows: int | None = None
    """How many rows a part has at most; None: the method and the memory decide."""
    jobs: int | None = None
    """How many processes work on parts; None: one per processor."""


UNDIVIDED = Division(part_rows=0)
"""The table stays whole."""


@dataclass(frozen=True)
class Run:
    """Randomness, progress and division for one piece of work."""

    random: np.random.Generator
    """All randomness of the work. Draw arrays from it and pass them to kernels."""
    seed: int | None = None
    """The seed, if one was given: a release made with a seed is not for publication."""
    progress: Progress = silent
    """Called with the name of the stage and the share done, 0..1, at most a few times a second. It may raise
    KeyboardInterrupt, so call it where it is safe to stop."""
    division: Division = Division()
    """How methods that work on parts divide the table."""

    @classmethod
    def start(
        cls, seed: int | None = None, progress: Progress = silent, division: Division | None = None
    ) -> Run:
        """Begin a run. Randomness comes from the operating system, unless a seed is given."""
        seed = check_seed(seed)
        entropy = secrets.randbits(256) if seed is None else seed
        drawn = np.random.Generator(np.random.PCG64DXSM(entropy))
        return cls(drawn, seed, progress, division or Division())
