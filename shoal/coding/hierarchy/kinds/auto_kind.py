"""A hierarchy that Shoal makes from the data."""

from __future__ import annotations

from typing import ClassVar

from shoal.coding.hierarchy.kinds.kind import WordKind
from shoal.coding.hierarchy.meanings import Reader, number_label, span_label, time_label


class Automatic(WordKind):
    """Shoal builds a balanced tree from the data."""

    name: ClassVar[str] = "auto"
    example: ClassVar[str] = "auto"
    builder: ClassVar[str] = "shoal.coding.hierarchy.automatic:automatic"
    readers: ClassVar[tuple[Reader, ...]] = (number_label, time_label, span_label)
    has_bounds: ClassVar[bool] = True
    meaning: ClassVar[str] = "an automatic hierarchy"
