"""A hierarchy that Shoal makes from the data."""

from __future__ import annotations

from typing import ClassVar

from shoal.hierarchy.kinds.base import WordKind


class Automatic(WordKind):
    """Shoal builds a balanced tree from the data."""

    name: ClassVar[str] = "auto"
    example: ClassVar[str] = "auto"
    builder: ClassVar[str] = "shoal.hierarchy.automatic:automatic"
    meaning: ClassVar[str] = "an automatic hierarchy"
