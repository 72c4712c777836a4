"""Masked codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from shoal.errors import did_you_mean
from shoal.hierarchy.kinds.base import Flaw, TableKind, not_growing
from shoal.hierarchy.meanings import Reader, mask_label
from shoal.wording import shown

_SIDES = ("right", "left")


@dataclass(frozen=True)
class Mask(TableKind):
    """Characters of a code are replaced by `*`, more at each level."""

    mask: Literal["right", "left"]
    """The side from which characters are masked."""
    keep: int | None = None
    """So many characters on the other side are masked at the top only."""
    steps: int | tuple[int, ...] | None = None
    """How many more characters each level masks, or the list of how many each level masks."""

    name: ClassVar[str] = "mask"
    example: ClassVar[Mapping[str, Any]] = {"mask": "right"}
    builder: ClassVar[str] = "shoal.hierarchy.masks:from_mask"
    meaning: ClassVar[str] = "masks"
    names_values: ClassVar[bool] = False
    shapes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "mask": {"enum": list(_SIDES)},
        "keep": {"type": "integer", "minimum": 0},
        "steps": {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
            ]
        },
    }

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Codes with masked characters."""
        return (lambda label: mask_label(label, self.mask),)

    def flaws(self) -> Iterator[Flaw]:
        """Yield an unknown side, and numbers of characters that are none."""
        if self.mask not in _SIDES:
            message = f"must be 'right' or 'left', not {shown(self.mask)}"
            yield Flaw(("mask",), message, did_you_mean(str(self.mask), _SIDES))
        if self.keep is not None and not _at_least(0, self.keep):
            yield Flaw(("keep",), f"must be a whole number, 0 or more, not {shown(self.keep)}")
        steps = self.steps if isinstance(self.steps, tuple) else (self.steps,)
        if self.steps is None:
            return
        if not steps or not all(_at_least(1, step) for step in steps):
            message = f"must be a whole number, 1 or more, or a list of them, not {shown(self.steps)}"
            yield Flaw(("steps",), message)
        else:
            yield from not_growing([step for step in steps if step is not None], "steps")


def _at_least(least: int, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
