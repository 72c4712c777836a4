"""`Listed`: a code system with few entries, each of which can be written in several ways."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple

from shoal.coding.hierarchy.known.code_system import CodeSystem, Place
from shoal.coding.hierarchy.meanings import ANY, Meaning, without


class Entry(NamedTuple):
    """One entry of a list."""

    spellings: tuple[str, ...]
    """How it is written, in the order of the systems of spelling; "" where a system has none. Others come last."""
    above: tuple[str, ...]
    """The names of the nodes above it, from fine to coarse."""

    def spell(self, system: int) -> str:
        """Return how a system of spelling writes it."""
        return (self.spellings[system] if system < len(self.spellings) else "") or self.spellings[0]


_LEFT_OUT = frozenset(" .,'’`´-–()_")


def plain(text: str) -> str:
    """Return a text without accents, capitals, points and spaces: as spellings are compared."""
    bare = unicodedata.normalize("NFKD", text.strip().replace("ß", "ss")).casefold()
    return "".join(letter for letter in bare if letter not in _LEFT_OUT and not unicodedata.combining(letter))


@dataclass(frozen=True)
class Listed(CodeSystem):
    """A list of entries in a fixed order."""

    mixed_case: ClassVar[bool] = True
    entries: ClassVar[Sequence[Entry]]
    """All entries in their order."""

    def place(self, text: str) -> Place | None:
        """Return the place of an entry, by any of its spellings."""
        at = _spellings(type(self)).get(plain(text))
        return None if at is None else Place((at,), self.entries[at].above)

    def contents(self, label: str) -> Meaning | None:
        """Return the entries under a node, by their first spelling."""
        return self._contents(label, 0)

    def _contents(self, label: str, system: int) -> Meaning | None:
        inside = [entry.spell(system) for entry in self.entries if label in entry.above]
        return Meaning("set", values=tuple(inside)) if inside else None

    def meanings(self, labels: Sequence[str], limit: int | Sequence[str] | None = None) -> list[Meaning]:
        """Return what labels mean. Nodes are sets of entries, written as most single entries among the labels are."""
        system = self._likely_system(labels)
        found = [
            Meaning("any")
            if label == ANY
            else self._contents(label, system) or Meaning("value", values=(label,))
            for label in labels
        ]
        if limit is None or isinstance(limit, int):
            return found
        return without(found, self.meanings(limit), limit)

    def _likely_system(self, labels: Sequence[str]) -> int:
        """Return the system of spelling that most labels use."""
        systems = max(len(entry.spellings) for entry in self.entries)
        known = [{plain(entry.spell(at)) for entry in self.entries} for at in range(systems)]
        texts = [plain(label) for label in labels]
        return max(range(systems), key=lambda at: (sum(text in known[at] for text in texts), -at))


@cache
def _spellings(system: type[Listed]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for at, entry in enumerate(system.entries):
        for text in entry.spellings:
            if text:
                found.setdefault(plain(text), at)
    return found
