"""Masked codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from shoal.coding.hierarchy.kinds.kind import Flaw, TableKind, not_growing
from shoal.coding.hierarchy.meanings import Meaning, Reader, mask_label
from shoal.errors import did_you_mean
from shoal.support.wording import format_value

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
    show: int | None = None
    """No release shows more than so many characters: `021*`."""
    small: tuple[str, ...] | None = None
    """With `show`: beginnings that too few people have. They are shown as zeros, `000*`, and told apart by nobody."""

    name: ClassVar[str] = "mask"
    example: ClassVar[Mapping[str, Any]] = {"mask": "right"}
    builder: ClassVar[str] = "shoal.coding.hierarchy.masks:from_mask"
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
        "show": {"type": "integer", "minimum": 1},
        "small": {"type": "array", "items": {"type": "string"}},
    }

    @property
    def readers(self) -> tuple[Reader, ...]:  # type: ignore[override]  # they follow from the settings
        """Codes with masked characters, and the group of the small ones."""
        return (self._read,)

    def _read(self, label: str) -> Meaning:
        zeros = None if self.show is None else ("0" * self.show, "*")
        if (
            zeros is not None
            and self.small
            and label == "".join(zeros if self.mask == "right" else zeros[::-1])
        ):
            hidden = dict.fromkeys([zeros[0], *self.small])
            return Meaning("starts-with" if self.mask == "right" else "ends-with", values=tuple(hidden))
        return mask_label(label, self.mask)

    @property
    def hides(self) -> bool:
        """Whether codes are never shown as they are."""
        return self.show is not None

    def tells_more(self, label: str) -> bool | None:
        """Whether a label shows too many characters, or those of a small group."""
        kept = label.rstrip("*") if self.mask == "right" else label.lstrip("*")
        return len(kept) > (self.show or 0) or kept in (self.small or ())

    def flaws(self) -> Iterator[Flaw]:
        """Yield an unknown side, and numbers of characters that are none."""
        if self.mask not in _SIDES:
            message = f"must be 'right' or 'left', not {format_value(self.mask)}"
            yield Flaw(("mask",), message, did_you_mean(str(self.mask), _SIDES))
        if self.keep is not None and not _at_least(0, self.keep):
            yield Flaw(("keep",), f"must be a whole number, 0 or more, not {format_value(self.keep)}")
        if self.show is not None and not _at_least(1, self.show):
            yield Flaw(("show",), f"must be a whole number, 1 or more, not {format_value(self.show)}")
        elif self.small is not None:
            yield from self._flaws_of_small()
        steps = self.steps if isinstance(self.steps, tuple) else (self.steps,)
        if self.steps is None:
            return
        if not steps or not all(_at_least(1, step) for step in steps):
            message = f"must be a whole number, 1 or more, or a list of them, not {format_value(self.steps)}"
            yield Flaw(("steps",), message)
        else:
            yield from not_growing([step for step in steps if step is not None], "steps")

    def _flaws_of_small(self) -> Iterator[Flaw]:
        if not isinstance(self.small, tuple) or not all(isinstance(one, str) for one in self.small):
            yield Flaw(("small",), "must be a list of texts", 'for example ["036", "059"]')
        elif self.show is None:
            yield Flaw(("small",), "goes with show, which says how many characters are shown", "add show = 3")
        else:
            for at, one in enumerate(self.small):
                if len(one) != self.show:
                    message = f"{format_value(one)} has {len(one)} characters, but show is {self.show}"
                    yield Flaw(("small", at), message, "write as many characters as are shown")


def _at_least(least: int, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
