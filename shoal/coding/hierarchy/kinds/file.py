"""A hierarchy in a CSV file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from shoal.coding.hierarchy.kinds.kind import Flaw, Kind, Misspelled


@dataclass(frozen=True)
class File(Kind):
    """A CSV file, relative to the policy."""

    path: Path

    name: ClassVar[str] = "file"
    example: ClassVar[str] = "zip.csv"
    builder: ClassVar[str] = "shoal.coding.hierarchy.tree_files:from_file"
    meaning: ClassVar[str] = "a hierarchy from a file"
    knows_domain: ClassVar[bool] = True
    names_values: ClassVar[bool] = False

    @classmethod
    def claims(cls, spec: object) -> bool:
        """Whether this is a text; the words of other kinds are taken before."""
        return isinstance(spec, str | os.PathLike)

    @classmethod
    def parse(cls, spec: Any) -> Self:
        """Return the file of this name."""
        if not os.fspath(spec):
            raise Misspelled([Flaw((), "must be the name of a file, not ''", f"for example '{cls.example}'")])
        return cls(Path(spec))

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return that any text names a file."""
        return {"type": "string", "description": "A CSV file, relative to the policy."}
