"""`Verdict`: whether a release satisfies one requirement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """Whether a release satisfies a model, and by how much."""

    model: str
    """Name and parameter as a person reads it, such as ``5-anonymity`` or ``distinct 3-diversity of disease``."""
    required: Any
    reached: Any
    holds: bool
    detail: str = ""
    """What decided it, in words, with nothing about individuals: ``smallest class has 3 rows``."""
