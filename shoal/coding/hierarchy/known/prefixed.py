"""`Prefixed`: code systems whose codes say more with each character: `E` > `E1` > `E11`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place, starts_with
from shoal.coding.hierarchy.meanings import ANY, Meaning


def level_names(code: str, lengths: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names above a code: its first characters and a star, from long to short. A code that is shorter than
    a level stays as it is there.
    """
    return tuple(f"{code[:length]}{ANY}" if len(code) >= length else code for length in lengths)


@dataclass(frozen=True)
class Prefixed(CodeSystem):
    """A code system whose nodes are first characters."""

    lengths: ClassVar[tuple[int, ...]]
    """How many characters each level shows, from fine to coarse."""
    pattern: ClassVar[str]
    """What its codes look like, without points and spaces."""

    def place(self, text: str) -> Place | None:
        """Return the place of a code by its first characters."""
        code = re.sub(r"[ .\-]", "", text)
        return Place((code,), level_names(code, self.lengths)) if re.fullmatch(self.pattern, code) else None

    def contents(self, label: str) -> Meaning | None:
        """Return the codes that begin like a label."""
        kept = label.removesuffix(ANY)
        return starts_with(kept) if kept != label and len(kept) in self.lengths else None
